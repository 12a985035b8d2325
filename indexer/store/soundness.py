"""Whether the database is sound: SQLite's own look at the file, and the full-text index against its texts.

Both read a great deal (a second for 500 MB), which is for `doctor` alone; nothing here writes.
"""

from __future__ import annotations

from indexer.store.connection import Connection

QUICK_CHECK = "PRAGMA quick_check(10)"
HAS_INDEX = "SELECT 1 FROM sqlite_master WHERE name = 'search_fts'"
NOT_INDEXED = """
SELECT count(*) FROM search_texts s WHERE NOT EXISTS (SELECT 1 FROM search_fts_docsize d WHERE d.id = s.id)
"""
INDEX_ONLY = """
SELECT count(*) FROM search_fts_docsize d WHERE NOT EXISTS (SELECT 1 FROM search_texts s WHERE s.id = d.id)
"""


def damage(conn: Connection) -> list[str]:
    """What SQLite finds wrong with the file, at most ten lines."""
    return [row[0] for row in conn.execute(QUICK_CHECK) if row[0] != "ok"]


def unindexed(conn: Connection) -> tuple[int, int] | None:
    """How many texts the full-text index lacks, and how many of its entries have no text; None if there is
    no such index. Compared by id: the index's own check would have to write."""
    if not conn.execute(HAS_INDEX).fetchone():
        return None
    missing, extra = (conn.execute(query).fetchone()[0] for query in (NOT_INDEXED, INDEX_ONLY))
    return missing, extra
