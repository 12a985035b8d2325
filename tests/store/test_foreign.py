"""A foreign database is read as it is, and nothing of it or beside it is touched."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from indexer.errors import CorruptDatabase, IndexerError, NotFound, UsageError
from indexer.store import foreign
from indexer.store.foreign import is_database, opened, stands, tables


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database of somebody's, in a folder of its own."""
    (tmp_path / "theirs").mkdir()
    conn = sqlite3.connect(tmp_path / "theirs" / "x.db")
    conn.execute("CREATE TABLE photos (name TEXT)")
    conn.execute("INSERT INTO photos VALUES ('one')")
    conn.commit()
    conn.close()
    return tmp_path / "theirs" / "x.db"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def names(path: Path, home: Path) -> list[str]:
    with opened(path, home) as conn:
        return [row["name"] for row in conn.execute("SELECT name FROM photos ORDER BY name")]


def folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def test_rows_are_read(path: Path, home: Path) -> None:
    assert names(path, home) == ["one"]


def test_nothing_is_left_beside_it_or_with_us(path: Path, home: Path) -> None:
    before = folder(path), path.parent.stat().st_mtime_ns
    names(path, home)
    assert ((folder(path), path.parent.stat().st_mtime_ns), list(home.iterdir())) == (before, [])


def test_the_log_counts(path: Path, home: Path) -> None:
    live = sqlite3.connect(path)
    live.execute("PRAGMA journal_mode = WAL")
    live.execute("INSERT INTO photos VALUES ('two')")
    live.commit()
    before = folder(path)
    assert names(path, home) == ["one", "two"]
    assert (folder(path), list(home.iterdir())) == (before, [])
    live.close()


def test_it_cannot_be_written_to(path: Path, home: Path) -> None:
    with pytest.raises(CorruptDatabase), opened(path, home) as conn:
        conn.execute("DELETE FROM photos")
    assert names(path, home) == ["one"]


def test_a_copy_may_be_changed_and_is_for_its_owner_alone(path: Path, home: Path) -> None:
    before = folder(path)
    with opened(path, home, writable=True) as conn:
        conn.execute("DELETE FROM photos")
        modes = [file.stat().st_mode & 0o077 for file in (home / foreign.SCRATCH).iterdir()]
    assert (folder(path), set(modes), list(home.iterdir())) == (before, {0}, [])


def test_what_a_killed_import_has_left_goes(path: Path, home: Path) -> None:
    (home / foreign.SCRATCH).mkdir()
    (home / foreign.SCRATCH / "copy.db").write_text("old")
    names(path, home)
    assert list(home.iterdir()) == []


def test_damage_is_found_before_the_first_row(path: Path, home: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(CorruptDatabase, match=r"x\.db"):
        names(path, home)
    assert list(home.iterdir()) == []


def test_what_is_no_database_is_said(tmp_path: Path, home: Path) -> None:
    (tmp_path / "x.txt").write_text("SQLite is a database")
    with pytest.raises(CorruptDatabase, match="not an SQLite database"):
        names(tmp_path / "x.txt", home)


def test_files_are_told_from_what_is_none(path: Path, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("notes")
    assert (is_database(path), is_database(tmp_path / "x.txt")) == (True, False)
    with pytest.raises(NotFound):
        is_database(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError):
        is_database(tmp_path / "pipe")


def test_one_that_is_written_all_the_time_is_not_copied(
    path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path.parent / "x.db-wal").write_bytes(b"log")
    clock = iter(range(1000))
    monkeypatch.setattr(foreign, "_stand", lambda _: foreign.Stand(1, next(clock), 1))
    with pytest.raises(IndexerError, match="is being written to"):
        names(path, home)
    assert list(home.iterdir()) == []


def test_its_state_is_told_from_another(path: Path) -> None:
    before = stands(path)
    assert stands(path) == before
    (path.parent / "x.db-wal").write_bytes(b"log")
    assert stands(path) != before


def test_only_plain_tables_are_tables(path: Path, home: Path) -> None:
    conn = sqlite3.connect(path)
    conn.execute("CREATE VIEW more AS SELECT * FROM photos")
    conn.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
    conn.close()
    with opened(path, home) as found:
        known = tables(found)
    assert known["photos"] == {"name"}
    assert not {"more", "words"} & known.keys()


def test_bytes_that_are_no_text_do_not_stop_it(path: Path, home: Path) -> None:
    conn = sqlite3.connect(path)
    conn.execute("INSERT INTO photos VALUES (CAST(x'ff41' AS TEXT))")
    conn.commit()
    conn.close()
    assert names(path, home) == ["one", "\ufffdA"]
