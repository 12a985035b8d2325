"""Finds a model's file inside an installed package, and takes it only if it is the one that was measured.

The models come from small packages by one or two authors each (retrieval.md section 6): another file under
the same name would give other vectors, silently, or worse. The SHA-256 of 30 MB costs 20 to 90 ms, once a
process.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from indexer.embedders.base import NoEmbedder


def find(package: str, file: str, sha256: str, distribution: str) -> Path:
    """The path of `file` in an importable package, which is not imported.

    Raises NoEmbedder when there is none, or it is another one. distribution: what to tell to install.
    """
    hint = f"install it with `pip install {distribution}`"
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise NoEmbedder(f"the package {distribution} is not installed", hint)
    path = Path(found.submodule_search_locations[0]) / file
    if not path.is_file():
        raise NoEmbedder(f"the package {distribution} holds no {file}", hint)
    if digest(path) != sha256:
        raise NoEmbedder(
            f"{path.name} of {distribution} is not the file this program knows", f"{hint}, in the version it asks for"
        )
    return path


def digest(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
