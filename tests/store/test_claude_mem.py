"""Rows of a claude-mem database are sorted to their sessions, whatever names its era gives to columns."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from claude_mem_db import GONE, SHOP, add, old, v13

from indexer.errors import CorruptDatabase
from indexer.store.claude_mem import Database, Session
from indexer.store.connection import Connection

ERAS = pytest.mark.parametrize("era", [v13, old])
Era = Callable[[Path], Path]
_THEIRS = "CREATE TABLE sdk_sessions (content_session_id TEXT); CREATE TABLE observations (id INTEGER)"


@contextmanager
def read(path: Path) -> Iterator[Connection]:
    conn = sqlite3.connect(path)
    conn.row_factory = sqlite3.Row
    yield conn
    conn.close()


def sessions(path: Path) -> dict[str, Session]:
    with read(path) as conn:
        return {session.about["content"]: session for session in Database(conn).sessions()}


def sized(session: Session) -> tuple[int, ...]:
    return tuple(map(len, session[1:]))


@ERAS
def test_every_session_has_its_rows(era: Era, tmp_path: Path) -> None:
    found = sessions(era(tmp_path / "cm.db"))
    calls = 1 if era is v13 else 0
    assert list(found) == [SHOP, GONE, "mem-lost"]
    assert (sized(found[SHOP]), sized(found[GONE])) == ((2, calls, 1, 0), (3, calls, 1, 1))
    assert sized(found["mem-lost"]) == (0, 0, 1, 0)


@ERAS
def test_columns_have_one_name(era: Era, tmp_path: Path) -> None:
    (row,) = sessions(era(tmp_path / "cm.db"))[SHOP].observations
    assert (row["title"], row["facts"], row["type"]) == ("Login fixed", '["one fact"]', "bugfix")
    assert row["local"] is None


def test_a_stub_knows_what_its_rows_know(tmp_path: Path) -> None:
    assert sessions(v13(tmp_path / "cm.db"))["mem-lost"].about["project"] == "attic"


def test_a_row_may_name_its_session_by_the_row_of_it(tmp_path: Path) -> None:
    path = v13(tmp_path / "cm.db")
    conn = sqlite3.connect(path)
    conn.execute("UPDATE user_prompts SET content_session_id = '' WHERE session_db_id = 1")
    conn.commit()
    conn.close()
    assert len(sessions(path)[SHOP].prompts) == 2


def test_a_session_without_any_name_is_none(tmp_path: Path) -> None:
    path = v13(tmp_path / "cm.db")
    conn = sqlite3.connect(path)
    add(conn, "sdk_sessions", content_session_id=" ", project="x", started_at="", started_at_epoch=0)
    conn.commit()
    conn.close()
    assert list(sessions(path)) == [SHOP, GONE, "mem-lost"]


def test_to_dos_are_of_the_newer_era_alone(tmp_path: Path) -> None:
    with read(v13(tmp_path / "a.db")) as conn:
        assert [row["list_name"] for row in Database(conn).work()] == ["chores", "chores"]
    with read(old(tmp_path / "b.db")) as conn:
        assert list(Database(conn).work()) == []


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE photos (name TEXT)",
        "CREATE TABLE sdk_sessions (id INTEGER)",
        "CREATE TABLE sdk_sessions (content_session_id TEXT)",
        f"{_THEIRS}; CREATE TABLE ingest_files (id INTEGER)",
    ],
    ids=["another program's", "no ids", "no observations", "ours"],
)
def test_another_program_s_is_refused(sql: str, tmp_path: Path) -> None:
    with read(tmp_path / "x.db") as conn:
        conn.executescript(sql)
        with pytest.raises(CorruptDatabase):
            Database(conn)
