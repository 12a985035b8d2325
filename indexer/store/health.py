"""How far the memory has come: files and what of them is unread, and what could not be read."""

from __future__ import annotations

import json
from collections import Counter
from typing import NamedTuple

from indexer.store.connection import Connection

FILES = """
SELECT path, status, coalesce(size, 0) AS size, offset, ignored, last_error
FROM ingest_files WHERE status <> 'replaced' AND path NOT GLOB 'forgotten:*' AND path NOT GLOB 'import:*'
"""
LAST_COMMIT = "SELECT MAX(committed_at) FROM ingest_files"
DEAD_LETTERS = """
SELECT f.path, d.offset, d.length, d.line, d.reason
FROM dead_letters d JOIN ingest_files f ON f.id = d.file_id
ORDER BY d.file_id DESC, d.offset DESC LIMIT :limit
"""
UNMATCHED = "SELECT COUNT(*) FROM unmatched_results"
FREE_BYTES = "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"


HAS_ERASURES = "SELECT 1 FROM sqlite_master WHERE name = 'erasures'"
FORGETTING = """
SELECT coalesce(max(kind = 'session' OR kind = 'record'), 0) AS rows, count(*) > 0 AS bytes FROM erasures
"""


class Forgetting(NamedTuple):
    """What is left of a forgetting that was cut off, or that a reader held up: rows, or bytes only."""

    rows: bool
    bytes: bool


class File(NamedTuple):
    """A transcript we know. status: active | gone | unreadable. size: bytes at the last complete read.

    offset: how far it has been read. ignored: records that hold nothing for a memory, by kind.
    error: why it could not be read the last time, None if it could.
    """

    path: str
    status: str
    size: int
    offset: int
    ignored: dict[str, int]
    error: str | None


class DeadLetter(NamedTuple):
    """Bytes that are no record. offset, length: bytes. line: from 1."""

    file: str
    offset: int
    length: int
    line: int
    reason: str


def files(conn: Connection) -> list[File]:
    """All transcripts known, those replaced by another file left out."""
    return [
        File(
            row["path"],
            row["status"],
            row["size"],
            row["offset"],
            _ignored(row["ignored"]),
            row["last_error"],
        )
        for row in conn.execute(FILES)
    ]


def _ignored(text: str) -> dict[str, int]:
    """The counts of a file. Written by us, but a status must not stumble over one bad row."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    pairs = found.items() if isinstance(found, dict) else ()
    return {kind: number for kind, number in pairs if isinstance(number, int)}


def ignored(known: list[File]) -> dict[str, int]:
    """Records passed over, by kind, the most frequent first."""
    total: Counter[str] = Counter()
    for file in known:
        total.update(file.ignored)
    return dict(total.most_common())


def dead_letters(conn: Connection, limit: int) -> list[DeadLetter]:
    """The last ones of the files met last."""
    return [DeadLetter(*row) for row in conn.execute(DEAD_LETTERS, {"limit": limit})]


def forgetting(conn: Connection) -> Forgetting:
    """Whether something forgotten is still to be taken out. A database of an older version has nothing."""
    if conn.execute(HAS_ERASURES).fetchone() is None:
        return Forgetting(False, False)
    return Forgetting(*map(bool, conn.execute(FORGETTING).fetchone()))


def last_commit(conn: Connection) -> str | None:
    """When something was stored last, ISO 8601 UTC; None if nothing has been."""
    row = conn.execute(LAST_COMMIT).fetchone()
    return row[0] if row else None


def unmatched_results(conn: Connection) -> int:
    """Tool results whose call has not been seen."""
    return int(conn.execute(UNMATCHED).fetchone()[0])


def free_bytes(conn: Connection) -> int:
    """Bytes of the database file that hold nothing and can be given back."""
    return int(conn.execute(FREE_BYTES).fetchone()[0])
