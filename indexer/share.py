"""Finds the files that ship beside the code: `config/` and `systemd/`.

They stand at the top of the repository, where people look for them. A wheel carries them inside the
package instead (`indexer/data`, pyproject.toml's force-include). `importlib.resources` would find
only the second kind, and an editable install has only the first.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def find(name: str) -> Path:
    """The path of a bundled file or folder, as `config/default.toml`.

    Raises FileNotFoundError when the installation lacks it, which no user can mend but by installing
    again: it is not an IndexerError.
    """
    for base in _bases():
        if (base / name).exists():
            return base / name
    raise FileNotFoundError(f"this installation of transcript-indexer lacks {name}")


def _bases() -> list[Path]:
    # Only a folder with our pyproject.toml is a checkout: site-packages may hold anyone's `config`.
    checkout = _PACKAGE.parent
    return [_PACKAGE / "data"] + ([checkout] if (checkout / "pyproject.toml").is_file() else [])
