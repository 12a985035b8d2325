"""Loads a whole history into a side file, which then takes the database's place in one rename.

The side file has its journal in memory and no syncing (8 instead of 12 us a row, as much as without any
journal: performance.md section 3; and an interrupted batch can be rolled back). Its readers' indexes,
triggers and full-text index are made last, from sorted rows. A crash leaves the database as it was, and a
side file that the next run throws away.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from indexer.store.connection import configure, database_path, prepare_home, private_file, translated
from indexer.store.migrations import migrate, tables

SIDE = "index.db.build"
_BULK_CACHE_KIB = 20_480


def open_side(home: Path) -> sqlite3.Connection:
    """An empty side file with tables and without the rest. The caller holds the writer lock."""
    prepare_home(home)
    path = home / SIDE
    path.unlink(missing_ok=True)
    private_file(path)
    with translated():
        conn = sqlite3.connect(path, isolation_level=None)
        configure(conn)
        conn.execute("PRAGMA journal_mode = MEMORY")
        conn.execute("PRAGMA synchronous = OFF")
        conn.execute("PRAGMA locking_mode = EXCLUSIVE")
        conn.execute(f"PRAGMA cache_size = -{_BULK_CACHE_KIB}")
        # Every row is written beside its parent by one writer: checked once, at the end.
        conn.execute("PRAGMA foreign_keys = OFF")
        conn.executescript(tables())
    return conn


def publish(conn: sqlite3.Connection, home: Path) -> None:
    """Finish the side file and put it in the database's place. Closes `conn`.

    Raises IndexerError, leaving the database as it was, if the side file does not hold together.
    """
    with translated():
        migrate(conn)
        broken = conn.execute("PRAGMA foreign_key_check").fetchone()
        if broken is not None:
            raise sqlite3.DatabaseError(f"the new database is malformed: a row of {broken[0]} has no parent")
        conn.execute("PRAGMA optimize")
        conn.close()
    side, path = home / SIDE, database_path(home)
    _sync(side)
    # The old database's WAL must not be taken for the new one's.
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    side.rename(path)
    _sync(home)


def discard(conn: sqlite3.Connection, home: Path) -> None:
    """Take away a side file that will not be published; no harm if it has been."""
    conn.close()
    (home / SIDE).unlink(missing_ok=True)


def remove_leftovers(home: Path) -> None:
    """Take away a side file that a killed load has left. The caller holds the writer lock."""
    for suffix in ("", "-journal", "-wal", "-shm"):
        (home / (SIDE + suffix)).unlink(missing_ok=True)


def is_empty(conn: sqlite3.Connection) -> bool:
    """Whether a database holds nothing that a new one would lack."""
    known = {name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    kept = {"sdk_sessions", "ingest_files", "project_resolutions", "tombstones"} & known
    return not any(conn.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in kept)


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
