"""One writer with its lock, any number of readers, and errors in our words."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.errors import Busy, CorruptDatabase, IndexerError, NewerDatabase, NoDatabase
from indexer.store import connection
from indexer.store.connection import (
    LOCK,
    PAGE_SIZE,
    WriterLock,
    database_path,
    open_reader,
    open_writer,
    transaction,
    translated,
    writer_alive,
)
from indexer.store.migrations import SCHEMA_VERSION, migrate


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def pragma(conn: sqlite3.Connection, name: str) -> object:
    return conn.execute(f"PRAGMA {name}").fetchone()[0]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with an empty, present database."""
    conn = open_writer(tmp_path / "home")
    migrate(conn)
    conn.close()
    return tmp_path / "home"


GARBAGE = [b"garbage" * 100, b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\xff" * 600, bytes(600), b""]


@pytest.mark.parametrize("data", GARBAGE, ids=["text", "magic", "zeros", "empty"])
def test_a_journal_left_beside_the_database_keeps_no_reader_out(home: Path, data: bytes) -> None:
    home.joinpath("index.db-journal").write_bytes(data)
    conn = open_reader(home)
    assert conn.execute("SELECT count(*) FROM sdk_sessions").fetchone()[0] == 0
    conn.close()


def test_a_journal_that_comes_while_another_writes_says_what_to_do(home: Path) -> None:
    writer = open_writer(home)
    writer.execute("SELECT 1 FROM sqlite_master").fetchone()
    home.joinpath("index.db-journal").write_bytes(GARBAGE[0])
    with pytest.raises(IndexerError, match=r"index\.db-journal is in the way") as caught:
        open_reader(home)
    assert "stop `watch`" in caught.value.hint
    writer.close()


def write_an_orphan(writer: sqlite3.Connection) -> None:
    """A row without its parent, which COMMIT finds out."""
    with transaction(writer):
        writer.execute("PRAGMA defer_foreign_keys = ON")
        writer.execute(
            "INSERT INTO assistant_messages (message_id, session_db_id, content_session_id, record_uuid) "
            "VALUES ('m', 99, 's', 'u')"
        )


def test_a_commit_that_fails_leaves_nothing_open(home: Path) -> None:
    writer = open_writer(home)
    with pytest.raises(sqlite3.IntegrityError):
        write_an_orphan(writer)
    assert not writer.in_transaction
    with transaction(writer):
        assert writer.execute("SELECT count(*) FROM assistant_messages").fetchone()[0] == 0
    writer.close()


# --- files and their modes


def test_home_and_database_are_their_owners_alone(home: Path) -> None:
    assert (mode(home), mode(database_path(home))) == (0o700, 0o600)


def test_wider_modes_are_tightened(home: Path) -> None:
    home.chmod(0o755)
    database_path(home).chmod(0o644)
    open_writer(home).close()
    assert (mode(home), mode(database_path(home))) == (0o700, 0o600)


def test_the_journal_is_private_too(home: Path) -> None:
    writer = open_writer(home)
    writer.execute("INSERT INTO session_titles VALUES ('a', 'b')")
    assert {mode(path) for path in home.glob("index.db*")} == {0o600}
    writer.close()


# --- the writer


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("journal_mode", "wal"),
        ("page_size", PAGE_SIZE),
        ("auto_vacuum", 2),
        ("busy_timeout", 5_000),
        ("foreign_keys", 1),
        ("synchronous", 1),
        ("journal_size_limit", 4 << 20),
        ("secure_delete", 1),
    ],
)
def test_the_writers_pragmas(home: Path, name: str, value: object) -> None:
    writer = open_writer(home)
    assert pragma(writer, name) == value
    writer.close()


def test_a_transaction_is_kept_whole(home: Path) -> None:
    writer = open_writer(home)
    with transaction(writer):
        writer.execute("INSERT INTO session_titles VALUES ('a', 'b')")
    assert not writer.in_transaction
    assert writer.execute("SELECT count(*) FROM session_titles").fetchone()[0] == 1
    writer.close()


def fail(conn: sqlite3.Connection, sql: str, error: BaseException) -> None:
    """Run a statement in a transaction in which then something is raised."""
    with transaction(conn):
        conn.execute(sql)
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_whatever_is_raised_rolls_back(home: Path, error: type[BaseException]) -> None:
    writer = open_writer(home)
    with pytest.raises(error):
        fail(writer, "INSERT INTO session_titles VALUES ('a', 'b')", error())
    assert not writer.in_transaction
    assert writer.execute("SELECT count(*) FROM session_titles").fetchone()[0] == 0
    writer.close()


def test_a_transaction_that_sqlite_ended_itself_is_no_second_error(home: Path) -> None:
    writer = open_writer(home)
    with pytest.raises(ValueError, match="mine"):
        fail(writer, "ROLLBACK", ValueError("mine"))
    writer.close()


# --- readers


def test_a_reader_cannot_write(home: Path) -> None:
    reader = open_reader(home)
    with pytest.raises(sqlite3.OperationalError, match="readonly database"):
        reader.execute("INSERT INTO session_titles VALUES ('a', 'b')")
    reader.close()


def test_a_reader_sees_rows_by_name_and_what_was_committed(home: Path) -> None:
    writer, reader = open_writer(home), open_reader(home)
    writer.execute("INSERT INTO session_titles VALUES ('a', 'b')")
    assert reader.execute("SELECT title FROM session_titles").fetchone()["title"] == "b"
    writer.close()
    reader.close()


def test_a_reader_does_not_wait_for_a_writer(home: Path) -> None:
    writer, reader = open_writer(home), open_reader(home)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO session_titles VALUES ('a', 'b')")
    assert reader.execute("SELECT count(*) FROM session_titles").fetchone()[0] == 0
    writer.execute("ROLLBACK")
    writer.close()
    reader.close()


def test_nothing_indexed_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase, match="no memory yet"):
        open_reader(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_empty_database_is_none_either(tmp_path: Path) -> None:
    open_writer(tmp_path).close()
    with pytest.raises(NoDatabase, match="is empty"):
        open_reader(tmp_path)


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_database_is_said_to_be_one(home: Path, content: bytes) -> None:
    database_path(home).write_bytes(content)
    with pytest.raises(CorruptDatabase, match="damaged"):
        open_reader(home)


def test_a_newer_database_is_refused(home: Path) -> None:
    writer = open_writer(home)
    writer.execute("INSERT INTO schema_versions VALUES (?, 'later', '')", (SCHEMA_VERSION + 1,))
    writer.close()
    with pytest.raises(NewerDatabase):
        open_reader(home)


def test_odd_characters_in_a_path_are_part_of_the_path(tmp_path: Path) -> None:
    home = tmp_path / "a?b#c%20d é"
    writer = open_writer(home)
    migrate(writer)
    writer.close()
    open_reader(home).close()


# --- errors


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("database disk image is malformed", CorruptDatabase),
        ("file is not a database", CorruptDatabase),
        ("database is locked", Busy),
        ("no such column: x", IndexerError),
    ],
)
def test_sqlites_errors_become_ours(message: str, error: type[IndexerError]) -> None:
    with pytest.raises(IndexerError) as raised, translated():
        raise sqlite3.OperationalError(message)
    assert type(raised.value) is error
    assert message in raised.value.message
    assert raised.value.hint


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(OSError, match="disk"), translated():
        raise OSError("disk")


# --- the lock


def test_a_second_writer_is_refused_with_the_firsts_pid(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    with pytest.raises(Busy, match=f"pid {os.getpid()}"):
        WriterLock(tmp_path)
    lock.release()
    WriterLock(tmp_path).release()


def test_release_may_be_called_twice(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    lock.release()
    lock.release()
    assert writer_alive(tmp_path) is None


def test_who_writes_is_known_while_it_writes(tmp_path: Path) -> None:
    assert writer_alive(tmp_path) is None
    lock = WriterLock(tmp_path)
    assert writer_alive(tmp_path) == os.getpid()
    lock.release()
    assert writer_alive(tmp_path) is None


def test_a_pid_that_cannot_be_read_is_0(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path)
    (tmp_path / LOCK).write_text("garbage")
    assert writer_alive(tmp_path) == 0
    lock.release()


def test_a_lock_file_left_behind_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text("1\n")
    WriterLock(tmp_path).release()


def test_the_lock_dies_with_its_process(tmp_path: Path) -> None:
    code = "import sys, os; from pathlib import Path; from indexer.store.connection import WriterLock; "
    code += "lock = WriterLock(Path(sys.argv[1])); os.kill(os.getpid(), 9)"
    root = Path(connection.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=root, check=False)
    assert done.returncode == -9
    WriterLock(tmp_path).release()


# --- what stands in the place of ours


def test_a_database_of_another_program_is_refused_and_kept(tmp_path: Path) -> None:
    with sqlite3.connect(database_path(tmp_path)) as other:
        other.execute("CREATE TABLE photos (name)")
    with pytest.raises(CorruptDatabase, match="not one of"):
        open_reader(tmp_path)
    with pytest.raises(CorruptDatabase, match="not one of"):
        migrate(open_writer(tmp_path))


@pytest.mark.parametrize("put", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_a_database_that_is_no_file_is_refused_at_once(tmp_path: Path, put: Callable[[Path], None]) -> None:
    put(database_path(tmp_path))
    with pytest.raises(CorruptDatabase, match="not a file"):
        open_reader(tmp_path)


def test_a_lock_that_is_a_link_leads_nowhere(tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("dear diary")
    (tmp_path / LOCK).symlink_to("diary")
    with pytest.raises(OSError, match="symbolic link"):
        WriterLock(tmp_path)
    assert writer_alive(tmp_path) is None
    assert (tmp_path / "diary").read_text() == "dear diary"


def test_a_lock_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / LOCK)
    with pytest.raises(IndexerError, match="not a file"):
        WriterLock(tmp_path)
    assert writer_alive(tmp_path) is None


# --- what SQLite needs for a moment


def opened_by_us() -> set[str]:
    """Every file that this process holds open, also one that has no name any more."""
    links = (fd for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink())
    return {str(fd.readlink()) for fd in links if fd.is_symlink()}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux which files are open")
def test_who_writes_has_sqlite_use_a_folder_of_the_memory(tmp_path: Path) -> None:
    home = tmp_path / "it's mine"
    lock = WriterLock(home)
    conn = open_writer(home)
    conn.execute("PRAGMA temp_store = FILE")
    conn.execute("PRAGMA temp.cache_size = 1")
    conn.execute("CREATE TEMP TABLE large AS SELECT randomblob(5000000) AS bytes")
    used = opened_by_us()
    conn.close()
    lock.release()
    assert [path for path in used if path.startswith(f"{home}/scratch/")]
    assert os.environ["SQLITE_TMPDIR"] == f"{home}/scratch"
    assert ((home / "scratch").stat().st_mode & 0o777, list((home / "scratch").iterdir())) == (0o700, [])
