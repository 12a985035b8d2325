from __future__ import annotations

import sqlite3

import pytest

from indexer.store import evidence

SHOP = "github.com/example/shop-api"


@pytest.fixture
def memory(memory: sqlite3.Connection) -> sqlite3.Connection:
    """The sample memory without the items of its own to-do list."""
    memory.execute("DELETE FROM work_state_origins")
    memory.execute("DELETE FROM work_state_entries")
    return memory


def add(memory: sqlite3.Connection, key: str, fields: str, time: int | None, name: str = "s1") -> None:
    memory.execute(
        "INSERT INTO work_state_entries (project, project_key, list_name, fields, created_at_epoch)"
        " VALUES ('p', ?, ?, ?, ?)",
        (key, name, fields, time),
    )


def test_the_calls_behind_an_observation(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE tool_uses SET observation_id = 1 WHERE id IN (2, 1)")
    assert evidence.calls_of(memory, 1, 10) == [1, 2]
    assert evidence.calls_of(memory, 1, 1) == [1]
    assert evidence.calls_of(memory, 2, 10) == []


def test_the_last_state_of_each_to_do_the_last_changed_first(memory: sqlite3.Connection) -> None:
    add(memory, SHOP, '{"key": "a", "status": "pending"}', 1)
    add(memory, SHOP, '{"key": "b", "status": "pending"}', 2)
    add(memory, SHOP, '{"key": "a", "status": "completed"}', 3)
    assert [(one.fields["key"], one.fields["status"]) for one in evidence.work(memory, None)] == [
        ("a", "completed"),
        ("b", "pending"),
    ]


def test_the_same_key_in_another_list_is_another_to_do(memory: sqlite3.Connection) -> None:
    add(memory, SHOP, '{"key": "a"}', 1)
    add(memory, SHOP, '{"key": "a"}', 2, "s2")
    assert [one.list for one in evidence.work(memory, [SHOP, SHOP])] == ["s2", "s1"]


def test_projects_are_told_apart(memory: sqlite3.Connection) -> None:
    add(memory, SHOP, '{"key": "a"}', None)
    add(memory, "/home/dev/notes", '{"key": "b"}', 5)
    assert [one.fields["key"] for one in evidence.work(memory, [SHOP])] == ["a"]
    assert [one.fields["key"] for one in evidence.work(memory, None)] == ["b", "a"]


def test_an_entry_that_is_no_json_object_is_left_out(memory: sqlite3.Connection) -> None:
    add(memory, SHOP, "[1]", 1)
    add(memory, SHOP, "{", 2)
    assert evidence.work(memory, None) == []
