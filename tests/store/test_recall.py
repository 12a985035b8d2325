"""What was remembered comes back newest first, of one project or all, and items as their last entry has them."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest
from searchable import Searchable

from indexer.store import recall


@pytest.fixture
def memory() -> Searchable:
    return Searchable()


def item(conn: sqlite3.Connection, key: str, status: str, time: int, project: str = "p", session: str = "s") -> None:
    fields = json.dumps({"key": key, "subject": key.title(), "status": status})
    conn.execute(
        "INSERT INTO work_state_entries (project, project_key, list_name, fields, created_at_epoch) "
        "VALUES (?, ?, ?, ?, ?)",
        (project, project, session, fields, time),
    )


def rows(conn: sqlite3.Connection) -> sqlite3.Connection:
    conn.row_factory = sqlite3.Row
    return conn


@pytest.fixture
def conn(memory: Searchable) -> sqlite3.Connection:
    found: Any = memory.conn
    found.execute("INSERT OR IGNORE INTO projects (project_key, display, source) VALUES ('p', 'P', 'path')")
    return rows(found)


def test_the_last_entry_of_an_item_counts(conn: sqlite3.Connection) -> None:
    item(conn, "test", "pending", 1)
    item(conn, "test", "in_progress", 2)
    assert [(one.subject, one.status) for one in recall.work(conn, ("p",))] == [("Test", "in_progress")]


def test_what_is_done_or_dropped_is_not_open(conn: sqlite3.Connection) -> None:
    item(conn, "a", "completed", 1)
    item(conn, "b", "dropped", 2)
    assert recall.work(conn, ("p",)) == []
    assert len(recall.work(conn, ("p",), closed=True)) == 2


def test_lists_of_two_sessions_are_two(conn: sqlite3.Connection) -> None:
    item(conn, "a", "pending", 1)
    item(conn, "a", "completed", 2, session="t")
    assert [one.session for one in recall.work(conn, None)] == ["s"]


def test_other_projects_are_left_out(conn: sqlite3.Connection) -> None:
    item(conn, "a", "pending", 1, project="q")
    assert recall.work(conn, ("p",)) == []


def test_observations_come_newest_first_each_once(memory: Searchable, conn: sqlite3.Connection) -> None:
    session = memory.session("s", "p")
    for title in ("first", "second", "third"):
        memory.observation(title, session=session)
    conn.execute("UPDATE observations SET merged_into_project = 'p'")
    assert [one.title for one in recall.observations(conn, ("p",), 2)] == ["third", "second"]


def test_lists_that_are_no_json_are_empty(memory: Searchable, conn: sqlite3.Connection) -> None:
    session = memory.session("s", "p")
    memory.observation("t", session=session)
    conn.execute("UPDATE observations SET facts = 'no json', concepts = '3'")
    (one,) = recall.observations(conn, None, 5)
    assert (one.facts, one.concepts) == ((), ())


def test_counts_are_those_of_the_tables(memory: Searchable, conn: sqlite3.Connection) -> None:
    memory.observation("t", session=memory.session("s", "p"))
    conn.execute("INSERT OR REPLACE INTO compress_marks (session_db_id, error) SELECT id, 'E' FROM sdk_sessions")
    sessions = conn.execute("SELECT count(*) FROM sdk_sessions").fetchone()[0]
    assert recall.counts(conn) == (1, 0, sessions, sessions, 2)
    assert {error for _, error in recall.failed(conn, 5)} == {"E"}


def test_a_project_is_named_as_people_do(conn: sqlite3.Connection) -> None:
    assert (recall.project_name(conn, "p"), recall.project_name(conn, "q")) == ("P", "q")


def state(conn: sqlite3.Connection, fields: str, time: int | None = None, name: str = "s", key: str = "p") -> None:
    conn.execute(
        "INSERT INTO work_state_entries (project, project_key, list_name, fields, created_at_epoch) "
        "VALUES ('P', ?, ?, ?, ?)",
        (key, name, fields, time),
    )


def test_what_changed_last_comes_first_and_lists_are_told_apart(memory: Searchable, conn: sqlite3.Connection) -> None:
    state(conn, '{"key": "a", "status": "pending"}', 1)
    state(conn, '{"key": "b"}', 2)
    state(conn, '{"key": "a", "status": "completed"}', 3)
    state(conn, '{"key": "a", "status": "in_progress"}', 4, "other")
    found = [(one.session, one.key, one.status) for one in recall.work(conn, ("p", "p"), closed=True)]
    assert found == [("other", "a", "in_progress"), ("s", "a", "completed"), ("s", "b", "")]
    assert [one.key for one in recall.work(conn, ("p",))] == ["a", "b"]


@pytest.mark.parametrize("fields", ["[1]", "{", "null"])
def test_an_entry_that_is_no_json_object_is_left_out(fields: str, conn: sqlite3.Connection) -> None:
    state(conn, fields)
    assert recall.work(conn, ("p",), closed=True) == []


def test_the_calls_behind_an_observation(memory: Searchable, conn: sqlite3.Connection) -> None:
    memory.observation("t", session=memory.session("s", "p"))
    conn.execute("PRAGMA foreign_keys = OFF")
    conn.executemany("INSERT INTO observation_tool_uses VALUES (1, ?)", [(2,), (1,)])
    assert (recall.calls_of(conn, 1, 9), recall.calls_of(conn, 1, 1), recall.calls_of(conn, 2, 9)) == ([1, 2], [1], [])
    assert recall.linked(conn, 1) == ["tool_use:1", "tool_use:2"]
