"""A copy of the database while it is written to: SQLite's own online backup, which sees one moment of it.

The copy is whole or is not there: it is made beside its name, checked, and renamed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from indexer.errors import CorruptDatabase, UsageError
from indexer.store.connection import Connection, translated
from indexer.store.soundness import damage

PAGES = 1024
"""A step; between two the writer gets its turn."""


def backup(conn: Connection, target: Path, tell: Callable[[int, int], None] | None = None) -> int:
    """Copy the database to `target`, readable by its owner alone; returns its bytes. tell: pages done, of.

    Raises UsageError when `target` exists, CorruptDatabase when what was copied is damaged, OSError.
    """
    if os.path.lexists(target):
        raise UsageError(f"{target} exists already", "give another name, or move it away first")
    scratch = target.with_name(f".{target.name}.{os.getpid()}.new")
    os.close(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with translated():
            _copy(conn, scratch, tell)
        os.link(scratch, target)  # unlike a rename, never over a file that came up meanwhile
    except FileExistsError:
        raise UsageError(f"{target} exists already", "give another name, or move it away first") from None
    finally:
        scratch.unlink(missing_ok=True)
    return target.stat().st_size


def _copy(conn: Connection, scratch: Path, tell: Callable[[int, int], None] | None) -> None:
    copy = sqlite3.connect(scratch, isolation_level=None)
    try:
        conn.backup(copy, pages=PAGES, progress=lambda _, left, total: tell(total - left, total) if tell else None)
        copy.execute("PRAGMA journal_mode = DELETE")  # one file that can be carried anywhere
        if wrong := damage(copy):
            raise CorruptDatabase(f"what was copied is damaged: {wrong[0]}", "`transcript-indexer doctor` says more")
    finally:
        copy.close()
