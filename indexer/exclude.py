"""Which projects are not to be remembered: globs of the settings against a project's names. Pure.

A glob is held against the key (`github.com/owner/repo`), the display name (`repo`), and the folder with
every folder above it, so that excluding a folder excludes what lies in it. `*` and `?` stand for any
characters, slashes too; letter case does not count; `~` is the home folder.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from indexer.project import fold


class Exclusion:
    """The globs of `exclude.projects`."""

    def __init__(self, globs: Iterable[str] = (), home: str = "") -> None:
        spelled = [glob.strip().rstrip("/") or glob for glob in globs]
        at_home = [home + glob[1:] if home and (glob == "~" or glob.startswith("~/")) else glob for glob in spelled]
        self._globs = sorted({fold(glob.replace("\\", "/")) for glob in at_home})
        self._fits = [re.compile(fnmatch.translate(glob)) for glob in self._globs]

    @property
    def any(self) -> bool:
        """Whether anything is excluded."""
        return bool(self._globs)

    @property
    def spelling(self) -> str:
        """The same for settings that mean the same, another for others."""
        return "\n".join(self._globs)

    def covers(self, key: str, display: str, path: str | None) -> bool:
        """Whether a project is excluded. path: the folder that the session was started in."""
        names = (fold(key), fold(display), *_folders(path or ""))
        return any(fits.match(name) for fits in self._fits for name in names if name)


def _folders(path: str) -> Iterator[str]:
    """The folder and those above it, but for the root."""
    place = PurePosixPath(fold(path.replace("\\", "/")))
    yield str(place) if path else ""
    yield from (str(above) for above in place.parents if above != above.parent)
