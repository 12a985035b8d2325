"""Keeps a database that lives for years small and quick, a few milliseconds at a time while it is idle.

FTS5 leaves a segment for each transaction and merges them only as it must: a service that commits one
line at a time builds hundreds (claude-mem's index grew to 12.3 GB over an 18 MB table; merged, 140 MB).
Pages freed by deletions go back to the file system in steps, and the WAL is folded back, so that it
does not stay at the size of the largest backlog.
"""

from __future__ import annotations

import sqlite3

from indexer.store.connection import transaction

MERGE_PAGES = 64
"""Pages an FTS merge step may write: about 10 ms."""
VACUUM_PAGES = 64
"""Pages of 16 KiB given back in a step: a megabyte."""
SPARE_PAGES = 256
"""Free pages worth keeping for what comes next."""


def step(conn: sqlite3.Connection) -> bool:
    """One small piece of upkeep; says whether there may be more. Holds the write lock for milliseconds."""
    return _merge(conn) or _give_back(conn)


def _merge(conn: sqlite3.Connection) -> bool:
    """Merge some of the full-text index's segments. A merge with nothing to do changes less than two
    rows (FTS5's documented sign that it is done)."""
    if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_fts'").fetchone():
        return False
    before = conn.total_changes
    with transaction(conn):
        conn.execute("INSERT INTO search_fts(search_fts, rank) VALUES ('merge', ?)", (MERGE_PAGES,))
    return conn.total_changes - before >= 2


def _give_back(conn: sqlite3.Connection) -> bool:
    """Return some free pages to the file system, beyond a small reserve."""
    free = int(conn.execute("PRAGMA freelist_count").fetchone()[0])
    if free <= SPARE_PAGES:
        return False
    # The pragma gives one row a page and frees as these are fetched.
    conn.execute(f"PRAGMA incremental_vacuum({min(VACUUM_PAGES, free - SPARE_PAGES)})").fetchall()
    return int(conn.execute("PRAGMA freelist_count").fetchone()[0]) > SPARE_PAGES


def fold_log(conn: sqlite3.Connection) -> None:
    """Write the WAL back into the database and empty it, as far as readers allow."""
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
