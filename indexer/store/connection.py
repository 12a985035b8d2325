"""Opens the database: the one writer with its lock, any number of readers, and transactions.

PRAGMAs and why: WAL so that readers never wait; synchronous NORMAL because rows and checkpoint roll
back together and the source is read again (150 of 150 cut WALs converged, tailing.md 1i); page_size
16384 (10-15 % cheaper inserts, performance.md section 3) and auto_vacuum INCREMENTAL can only be
chosen while the file is empty; journal_size_limit keeps the WAL file small after a checkpoint.
A process that writes has umask 077, and repairs what it finds loose of its files before it begins.
The lock is an flock held for life, not a pid file: the kernel frees it 0.06 ms after kill -9.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from indexer.errors import Busy, CorruptDatabase, IndexerError, NoDatabase
from indexer.store.migrations import check_version

Connection: TypeAlias = sqlite3.Connection
"""For those outside the store, who pass connections on but speak no SQL."""

DATABASE = "index.db"
LOCK = "index.db.lock"
OURS = (
    DATABASE,
    "status.json",
    "key",
    "control.sock",
    "mcp.token",
    "web.token",
    "metrics.sock",
    "archive",
    "vectors",
    "logs",
    "scratch",
)
"""How the names of our files and folders in a home begin."""
UMASK = 0o077
PAGE_SIZE = 16_384
BUSY_TIMEOUT_MS = 5_000
JOURNAL_LIMIT = 4 << 20
CACHE_KIB = 16_384

_CORRUPT = ("malformed", "not a database", "disk image")
_BUSY = ("locked", "busy")
_BUSY_HINT = (
    "try again in a moment; if it lasts, another program (a database browser, say) has begun to write and not "
    "ended: close it"
)
_NO_ROOM = {
    "disk is full": ("the disk is full", "make room on the disk that holds the memory; nothing is lost meanwhile"),
    "disk I/O error": (
        "the database cannot be written: disk I/O error",
        "look for a full disk, a quota or a limit on file sizes (ulimit -f) where the memory is",
    ),
}


def database_path(home: Path) -> Path:
    """Where the database of `home` stands."""
    return home / DATABASE


def identity(home: Path) -> tuple[int, int] | None:
    """Which file (dev, ino) stands there as the database of `home`; None if there is none."""
    try:
        info = database_path(home).stat()
    except FileNotFoundError:
        return None
    return info.st_dev, info.st_ino


def prepare_home(home: Path) -> None:
    """Make `home` if needed and tighten it to 0700: what is remembered is for its owner alone."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.stat().st_mode & 0o077:
        home.chmod(0o700)


def use_scratch(home: Path) -> None:
    """Have SQLite put what it needs for a moment into HOME/scratch: VACUUM writes texts there, and the service may
    not write to /tmp. Without a place, VACUUM fails, and Chroma cannot be opened at all (6410,
    SQLITE_IOERR_GETTEMPPATH; seen under systemd 252 with ProtectSystem=strict).

    By a variable, for a library that is loaded later, as Chroma's own; ours has read it, and is told by a pragma
    (`open_writer`), which is deprecated and the only way."""
    _scratch(home).mkdir(mode=0o700, exist_ok=True)
    os.environ["SQLITE_TMPDIR"] = str(_scratch(home))


def _scratch(home: Path) -> Path:
    return home / "scratch"


def tighten(home: Path) -> None:
    """Take from others what they may do with files of ours in `home`, whatever made them so. By name only: a
    person may have put files of their own there. Links are left alone; a folder's content lies behind it."""
    for entry in os.scandir(home):
        if not entry.name.startswith(OURS) or entry.is_symlink():
            continue
        with suppress(FileNotFoundError):
            info = entry.stat(follow_symlinks=False)
            if info.st_mode & 0o077:
                Path(entry.path).chmod(stat.S_IMODE(info.st_mode) & 0o700)


def private_file(path: Path) -> None:
    """Create `path` as 0600 before SQLite would create it by the umask; tighten a loose one."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


class WriterLock:
    """The right to write: one process at a time, for as long as it lives.

    The pid inside is for messages only and never trusted. Raises Busy when another process holds it.
    """

    def __init__(self, home: Path) -> None:
        os.umask(UMASK)  # also for what libraries make
        prepare_home(home)
        tighten(home)
        use_scratch(home)
        self._fd = _open_lock(home / LOCK, os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._fd, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._fd)
            raise Busy(
                f"another transcript-indexer (pid {holder}) is writing to {home}",
                "a running `watch` keeps the memory up to date by itself; stop it to write from here",
            ) from None
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the lock up; closing the descriptor is what frees it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _open_lock(path: Path, flags: int) -> int:
    """A lock is a file of ours: a link would have us write our pid elsewhere, a pipe keep us waiting."""
    fd = os.open(path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise IndexerError(f"{path} is not a file", "move it away")
    return fd


def writer_alive(home: Path) -> int | None:
    """The pid of the process that holds the writer lock, 0 if it is not known, None if nobody does."""
    try:
        fd = _open_lock(home / LOCK, os.O_RDONLY)
    except (OSError, IndexerError):
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        text = os.pread(fd, 32, 0).decode("ascii", "replace").strip()
        return int(text) if text.isdigit() else 0
    finally:
        os.close(fd)
    return None


def lock_trouble(home: Path) -> str:
    """Why the writer lock of an existing folder cannot be asked for, "" if it can; it is asked for, not taken."""
    try:
        fd = _open_lock(home / LOCK, os.O_RDONLY)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    except IndexerError as error:
        return error.message
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return ""
    except OSError as error:
        return error.strerror or str(error)
    finally:
        os.close(fd)
    return ""


def open_writer(home: Path) -> sqlite3.Connection:
    """A connection that may write, on a database that may be new (no tables yet: see migrations).

    The caller holds the WriterLock. Transactions are explicit (`transaction`).
    Raises CorruptDatabase, Busy.
    """
    prepare_home(home)
    path = database_path(home)
    private_file(path)
    with translated():
        conn = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
        configure(conn)
        conn.execute("PRAGMA journal_mode = WAL")
        if _scratch(home).is_dir():  # not for a database that is only read or made beside
            conn.execute("PRAGMA temp_store_directory = '{}'".format(str(_scratch(home)).replace("'", "''")))
    return conn


def configure(conn: sqlite3.Connection) -> None:
    """Set the writer's PRAGMAs; those of a new file only take effect while it is empty."""
    if not conn.execute("PRAGMA page_count").fetchone()[0]:
        conn.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        # On a filled database this one would write a page, each time.
        conn.execute("PRAGMA auto_vacuum = INCREMENTAL")
    conn.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    conn.execute("PRAGMA foreign_keys = ON")
    conn.execute("PRAGMA main.secure_delete = ON")
    conn.execute("PRAGMA synchronous = NORMAL")
    conn.execute(f"PRAGMA journal_size_limit = {JOURNAL_LIMIT}")
    conn.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    conn.execute("PRAGMA temp_store = MEMORY")
    # What is deleted or replaced is overwritten with zeros: a secret that newer rules find is gone from disk.
    conn.execute("PRAGMA secure_delete = ON")


def open_reader(home: Path) -> sqlite3.Connection:
    """A connection that cannot write, with rows as sqlite3.Row.

    Raises NoDatabase when nothing has been indexed, CorruptDatabase, NewerDatabase, Busy.
    """
    try:
        return _reader(home)
    except IndexerError as error:
        if getattr(error.__cause__, "sqlite_errorname", "") != "SQLITE_READONLY_ROLLBACK":
            raise
    _roll_back(home)
    return _reader(home)


def _roll_back(home: Path) -> None:
    """Have SQLite deal with a rollback journal that another program left beside the database: a reader may
    not, and we leave none. Garbage is dropped, a change that was begun is undone."""
    try:
        conn = sqlite3.connect(database_path(home), isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
        try:
            conn.execute("SELECT 1 FROM sqlite_master").fetchone()
        finally:
            conn.close()
    except sqlite3.Error as error:
        raise IndexerError(
            f"{database_path(home)}-journal is in the way: {error}", "stop `watch`, and run any command once more"
        ) from error


def _reader(home: Path) -> sqlite3.Connection:
    path = database_path(home)
    if not path.exists():
        raise NoDatabase(f"there is no memory yet in {home}", "run `transcript-indexer rescan` first")
    if not path.is_file():
        raise CorruptDatabase(f"{path} is not a file", "move it away and run `transcript-indexer rescan`")
    with translated():
        conn = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        conn.row_factory = sqlite3.Row
        conn.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        conn.execute("PRAGMA query_only = ON")
        conn.execute("PRAGMA trusted_schema = OFF")
    with ExitStack() as undo:
        undo.callback(conn.close)
        _check_readable(conn, home)
        undo.pop_all()
    return conn


def _check_readable(conn: sqlite3.Connection, home: Path) -> None:
    """Refuse a database that is empty, damaged or newer than this program."""
    with translated():
        if check_version(conn) == 0:
            raise NoDatabase(f"the memory in {home} is empty", "run `transcript-indexer rescan` first")


@contextmanager
def transaction(conn: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """BEGIN IMMEDIATE … COMMIT; anything raised rolls back, also by a COMMIT that finds the disk full. Holds no
    lock while it waits to begin."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        yield conn
        conn.execute("COMMIT")
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


@contextmanager
def translated() -> Iterator[None]:
    """Turn SQLite's errors into ours: CorruptDatabase, Busy, or IndexerError with SQLite's words."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if any(word in text for word in _CORRUPT):
            raise CorruptDatabase(
                f"the database is damaged: {text}", "move it away and run `transcript-indexer rescan`"
            ) from error
        if any(word in text for word in _BUSY):
            raise Busy(f"the database is busy: {text}", _BUSY_HINT) from error
        for words, (message, hint) in _NO_ROOM.items():
            if words in text:
                raise IndexerError(message, hint) from error
        raise IndexerError(f"SQLite: {text}", "run `transcript-indexer status` to see the state") from error
