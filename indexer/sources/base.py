"""The seam for agents whose transcripts we read: what a path means, and what a line holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from indexer.records import Entry, SourceFile


class Source(Protocol):
    """One agent's transcript format. Implementations keep no state between lines."""

    platform: str
    """Value of `platform_source` for rows of this source, as `claude`."""

    parser_version: int
    """Raised when the same bytes would yield other records: files are then read again from 0."""

    def describe(self, path: str, root: str) -> SourceFile | None:
        """What `path` (below `root`) is; None when it is no transcript of this source."""
        ...

    def parse(self, data: bytes, file: SourceFile) -> Sequence[Entry]:
        """The entries of one line (without its newline). Never raises: what cannot be read comes
        back as an entry with an `Unreadable` record."""
        ...

    def side_entries(self, file: SourceFile) -> Sequence[Entry]:
        """Entries from files that belong to `file` (a sub-agent's `meta.json`); empty if none."""
        ...
