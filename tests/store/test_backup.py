from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.errors import CorruptDatabase, UsageError
from indexer.store.backup import backup
from indexer.store.connection import open_reader, open_writer, transaction
from indexer.store.migrations import migrate


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    conn = open_writer(tmp_path / "home")
    migrate(conn)
    yield conn
    conn.close()


@pytest.fixture
def reader(tmp_path: Path, writer: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    conn = open_reader(tmp_path / "home")
    yield conn
    conn.close()


def letter(conn: sqlite3.Connection, key: str) -> None:
    with transaction(conn):
        conn.execute("INSERT INTO projects (project_key, display, source) VALUES (?, ?, 'path')", (key, key))


def projects(path: Path) -> list[str]:
    conn = sqlite3.connect(path)
    found = [row[0] for row in conn.execute("SELECT project_key FROM projects ORDER BY 1")]
    conn.close()
    return found


def test_the_copy_holds_what_was_committed(
    tmp_path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection
) -> None:
    letter(writer, "a")
    size = backup(reader, tmp_path / "copy.db")
    assert (projects(tmp_path / "copy.db"), size) == (["a"], (tmp_path / "copy.db").stat().st_size)


def test_the_copy_is_one_file_for_its_owner_alone(
    tmp_path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection
) -> None:
    backup(reader, tmp_path / "copy.db")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy.db", "home"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600


def test_a_writer_goes_on_meanwhile(tmp_path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection) -> None:
    letter(writer, "before")
    backup(reader, tmp_path / "copy.db", lambda done, of: letter(writer, f"at {done} of {of}"))
    assert "before" in projects(tmp_path / "copy.db")


def test_nothing_is_written_over(tmp_path: Path, reader: sqlite3.Connection) -> None:
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        backup(reader, tmp_path / "copy.db")
    assert (tmp_path / "copy.db").read_text() == "mine"


def test_a_file_that_comes_up_meanwhile_is_not_written_over(
    tmp_path: Path, writer: sqlite3.Connection, reader: sqlite3.Connection
) -> None:
    def come_up(*_: int) -> None:
        (tmp_path / "copy.db").write_text("mine")

    with pytest.raises(UsageError, match="exists already"):
        backup(reader, tmp_path / "copy.db", come_up)
    assert (tmp_path / "copy.db").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_damaged_copy_is_not_left(
    tmp_path: Path, reader: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.store.backup.damage", lambda _: ["row 3 missing"])
    with pytest.raises(CorruptDatabase, match="row 3 missing"):
        backup(reader, tmp_path / "copy.db")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
