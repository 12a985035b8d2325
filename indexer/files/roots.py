"""Keeps an eye on the folders to be watched: which exist, what they really are, whether they changed.

watchdog follows a root that was renamed away for ever and never sees the new one of its name; a root
behind a link makes it deaf for new folders (tailing.md 1f, 0). So a root is its real path *and* its
(dev, ino), looked up again every tick (about 20 us each); a mount over it changes both. A missing root
is looked for after 2 s, then ever more seldom, up to 30 s.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from indexer.files.walk import is_below

SOONEST = 2.0
LATEST = 30.0


class Root(NamedTuple):
    """A root that exists: real path and identity."""

    path: str
    dev: int
    ino: int


class Roots:
    """The configured roots and the folders outside them that links lead to."""

    def __init__(self, configured: Iterable[str]) -> None:
        self._configured = tuple(dict.fromkeys(configured))
        self._linked: tuple[str, ...] = ()
        self._present: dict[str, Root] = {}
        self._look_again = 0.0
        self._pause = SOONEST

    def refresh(self, now: float) -> bool:
        """Look at all that exist, and at the missing ones if it is time. True if anything changed."""
        missing_too = now >= self._look_again
        known = [*self._configured, *self._linked]
        looked = [given for given in known if missing_too or given in self._present]
        present = {given: root for given in looked if (root := _look(given))}
        changed = present != self._present
        self._present = present
        if missing_too or changed:
            self._pause = SOONEST if changed else min(self._pause * 2, LATEST)
            self._look_again = now + self._pause
        return changed

    def link(self, folders: Iterable[str]) -> None:
        """Set the folders that links lead to; the next refresh takes them up."""
        linked = tuple(sorted(set(folders)))
        if linked != self._linked:
            self._linked = linked
            self._look_again = 0.0

    @property
    def folders(self) -> tuple[str, ...]:
        """The real folders to watch: none lies inside another."""
        paths = sorted({root.path for root in self._present.values()})
        return tuple(path for path in paths if not any(is_below(path, top) for top in paths if top != path))

    @property
    def missing(self) -> tuple[str, ...]:
        """Configured roots that do not exist."""
        return tuple(given for given in self._configured if given not in self._present)


def _look(given: str) -> Root | None:
    path = os.path.realpath(given)
    try:
        info = os.stat(path)
    except OSError:
        return None
    return Root(path, info.st_dev, info.st_ino) if stat.S_ISDIR(info.st_mode) else None
