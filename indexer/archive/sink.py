"""The archive as a place that lets go of what is forgotten (see indexer.forget.Sink)."""

from __future__ import annotations

from collections.abc import Set
from pathlib import Path

from indexer.archive.erase import erase
from indexer.archive.keep import Archive
from indexer.store.connection import Connection


class ArchiveSink:
    """The archive of the memory in `home`, whether new lines are archived or not."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def erase(self, conn: Connection, sessions: Set[str], uuids: Set[str]) -> None:
        """Take every line of these sessions and records out. Raises DamagedArchive for a chunk that cannot
        be read."""
        erase(conn, Archive(conn, self._home), sessions, uuids)
