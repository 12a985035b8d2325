"""What of the database each table takes, its indexes included.

SQLite's `dbstat` reads every page for it: a second for 500 MB, hence only when asked for or when the file is
small. A SQLite that was built without it can still add up the values, which leaves out indexes, page ends
and the pages that are empty: a third to a half of the truth, and said to be less.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from indexer.store.connection import Connection

QUICK = 64 << 20
"""Bytes of a database whose sizes are had in a tenth of a second."""

_EXACT = """
SELECT coalesce(m.tbl_name, s.name), sum(s.pgsize) FROM dbstat s LEFT JOIN sqlite_master m ON m.name = s.name
WHERE s.aggregate = TRUE GROUP BY 1
"""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
_COLUMNS = "SELECT name FROM pragma_table_info(?)"
_SHADOWS = ("_data", "_idx", "_docsize", "_content", "_config")


class Sizes(NamedTuple):
    """bytes by table, the largest first. exact: pages; else the values alone."""

    tables: dict[str, int]
    exact: bool


def by_table(conn: Connection) -> Sizes:
    """Sizes of all tables; those that FTS5 keeps behind an index count as the index."""
    try:
        return Sizes(_gathered(conn.execute(_EXACT)), exact=True)
    except sqlite3.OperationalError:  # no such table: dbstat
        return Sizes(
            _gathered((name, _values(conn, name)) for (name,) in conn.execute(_TABLES).fetchall()), exact=False
        )


def _values(conn: Connection, table: str) -> int:
    columns = [name for (name,) in conn.execute(_COLUMNS, (table,))]
    lengths = " + ".join(f'coalesce(length(CAST("{name}" AS BLOB)), 0)' for name in columns)
    return int(conn.execute(f'SELECT coalesce(sum({lengths}), 0) FROM "{table}"').fetchone()[0])


def _gathered(found: Iterable[tuple[str, int]]) -> dict[str, int]:
    tables: dict[str, int] = {}
    for name, size in found:
        shown = next((name.removesuffix(end) for end in _SHADOWS if "_fts" in name and name.endswith(end)), name)
        tables[shown] = tables.get(shown, 0) + size
    return dict(sorted(tables.items(), key=lambda one: (-one[1], one[0])))
