"""Opens databases of others to be read, and leaves no mark on them.

A database whose log is empty is opened as immutable: SQLite then takes no lock and makes no file beside it. One
with a log (claude-mem keeps its last rows there) cannot be read so, and opened in place SQLite would write its
index of the log beside it; so both are copied into a folder of ours, for its owner alone, which goes with the
last look. What the file claims is not trusted: no function or trigger of it is run, every page is checked before
the first row is given out, and whatever then goes wrong is said of the file, not of our memory.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from indexer.errors import CorruptDatabase, IndexerError, NotFound, UsageError
from indexer.store.connection import Connection

MAGIC = b"SQLite format 3\0"
SCRATCH = "index.db.import"
"""Folder in HOME; named so that it is one of ours (connection.OURS)."""
TRIES = 5
LONGEST = 64 << 20
"""Bytes of a value: what is longer is refused by SQLite itself."""
_BESIDE = ("-wal", "-journal")
_DAMAGED = "nothing was imported; a copy from a backup may be whole"
_PLAIN = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"


class Stand(NamedTuple):
    """What tells one state of a file from another."""

    size: int
    mtime_ns: int
    ino: int


def is_database(path: Path) -> bool:
    """Whether a file begins as SQLite's do. Raises NotFound, UsageError for what is no file."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFound(f"there is no {path}", "give the path of the file") from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise UsageError(f"{path} is not a file", "give the path of a file")
        return os.read(fd, len(MAGIC)) == MAGIC
    finally:
        os.close(fd)


@contextmanager
def opened(path: Path, home: Path, *, writable: bool = False) -> Iterator[Connection]:
    """A connection to read a foreign database by, with rows as sqlite3.Row.

    writable: a copy in any case, which may be changed (brought to the present schema).
    Raises CorruptDatabase for one that is damaged or no database, and for what turns out so while it is read;
    IndexerError when somebody goes on writing to it."""
    if not is_database(path):
        raise CorruptDatabase(f"{path} is not an SQLite database", _DAMAGED)
    scratch = home / SCRATCH
    shutil.rmtree(scratch, ignore_errors=True)
    before = stands(path)
    copied = writable or any(size for size, _, _ in before[1:])
    try:
        if copied:
            _copy(path, scratch)
        conn = _connect(scratch / "copy.db" if copied else path, immutable=not copied, writable=writable)
        try:
            _check(conn, path)
            yield conn
        finally:
            conn.close()
    except sqlite3.Error as error:
        raise CorruptDatabase(f"{path} cannot be read: {error}", _DAMAGED) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def stands(path: Path) -> tuple[Stand, ...]:
    """How a database and what stands beside it are now: another answer means that somebody wrote."""
    return tuple(map(_stand, (path, *(path.with_name(path.name + suffix) for suffix in _BESIDE))))


def _stand(path: Path) -> Stand:
    try:
        info = path.stat()
    except FileNotFoundError:
        return Stand(0, 0, 0)
    return Stand(info.st_size, info.st_mtime_ns, info.st_ino)


def _copy(path: Path, scratch: Path) -> None:
    """Database and log as they were at one moment. Raises IndexerError when there is no such moment."""
    scratch.mkdir(mode=0o700)
    for _ in range(TRIES):
        before = stands(path)
        for suffix in ("", *_BESIDE):
            target = scratch / f"copy.db{suffix}"
            target.unlink(missing_ok=True)
            source = path.with_name(path.name + suffix)
            if source.exists():
                shutil.copyfile(source, target)
                target.chmod(0o600)
        if stands(path) == before:
            return
    raise IndexerError(f"{path} is being written to", "stop the program that writes there, then import again")


def _connect(path: Path, *, immutable: bool, writable: bool) -> Connection:
    how = "immutable=1&mode=ro" if immutable else "mode=rw"
    conn = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None)
    conn.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
    conn.execute("PRAGMA trusted_schema = OFF")
    conn.execute("PRAGMA cell_size_check = ON")
    if not writable:
        conn.execute("PRAGMA query_only = ON")
    conn.row_factory = sqlite3.Row
    conn.text_factory = lambda data: data.decode("utf-8", "replace")
    return conn


def _check(conn: Connection, path: Path) -> None:
    found = conn.execute("PRAGMA quick_check(1)").fetchone()
    if found is None or found[0] != "ok":
        raise CorruptDatabase(f"{path} is damaged: {found[0] if found else 'nothing can be read'}", _DAMAGED)


def tables(conn: Connection) -> dict[str, set[str]]:
    """The plain tables, each with its columns: no views, no virtual tables."""
    names = [row[0] for row in conn.execute(_PLAIN)]
    columns = "SELECT name FROM pragma_table_info(?)"
    return {name: {row[0] for row in conn.execute(columns, (name,))} for name in names}
