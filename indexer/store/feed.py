"""What has been stored since one last looked, for a page that follows along.

Row ids only grow (AUTOINCREMENT, kept by a rebuild), so five of them say how far one has seen. Nothing is
written for a reader, and none is told of: whoever follows asks again, at 0.2 ms a question.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from indexer.store.connection import Connection
from indexer.store.listing import TABLES

_NEXT = "SELECT id FROM {table} WHERE id > :id ORDER BY id DESC LIMIT :limit"
_LAST = "SELECT coalesce(max(id), 0) FROM {table}"
_FORM = re.compile(r"p(\d{1,18})a(\d{1,18})t(\d{1,18})o(\d{1,18})s(\d{1,18})", re.ASCII)


class Cursor(NamedTuple):
    """The last row ids seen, in the order of listing.TABLES."""

    prompts: int
    answers: int
    calls: int
    observations: int
    summaries: int

    def __str__(self) -> str:
        """As `p1a2t3o4s5`."""
        return "".join(f"{name}{number}" for name, number in zip("patos", self, strict=True))


def read(text: str) -> Cursor | None:
    """A cursor as it was written; None for anything else."""
    found = _FORM.fullmatch(text)
    return Cursor(*map(int, found.groups())) if found else None


def end(conn: Connection) -> Cursor:
    """All has been seen."""
    return Cursor(*(conn.execute(_LAST.format(table=table)).fetchone()[0] for table in TABLES))


def since(conn: Connection, seen: Cursor, limit: int) -> tuple[list[int], Cursor]:
    """Ids of search_texts of what was stored since, of each kind at most the last `limit`; and how far that
    is. Rows that are gone since count as seen; a memory that holds less than was seen is another one, whose
    rows are all new to nobody."""
    last = end(conn)
    if any(held < known for held, known in zip(last, seen, strict=True)):
        return [], last
    found = [
        row[0] * 8 + code
        for code, table in enumerate(TABLES)
        if last[code] > seen[code]
        for row in conn.execute(_NEXT.format(table=table), {"id": seen[code], "limit": limit})
    ]
    return found, last
