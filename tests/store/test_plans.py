"""No statement of the reading side walks a big table or sorts to find the newest N of a project.

claude-mem read 63 MB a session start because one did. Every statement is a module constant, so every
one of them is looked at here, on the schema as it stands.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from types import ModuleType

import pytest

from indexer.store import browse, health, items, portrait, reads, recall, story

BIG = (
    *(
        "search_texts",
        "tool_uses",
        "user_prompts",
        "assistant_messages",
        "assistant_texts",
        "session_records",
    ),
    *("observations", "session_summaries", "turn_events"),
)
MODULES = (reads, browse, items, health, recall, portrait, story)


def statements(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name, value in vars(module).items():
        if name.isupper() and not name.startswith("_") and isinstance(value, str) and "SELECT" in value:
            yield f"{module.__name__.rpartition('.')[2]}.{name}", value


STATEMENTS = {name: sql for module in MODULES for name, sql in statements(module)}
NEWEST = [name for name in STATEMENTS if "NEWEST" in name or "SESSIONS" in name.partition(".")[2]]


def plan(conn: sqlite3.Connection, sql: str) -> list[str]:
    values = dict.fromkeys(re.findall(r":([a-z_]+)", sql), 1)
    return [row["detail"] for row in conn.execute(f"EXPLAIN QUERY PLAN {sql}", values)]


def big_names(sql: str) -> set[str]:
    """The big tables of a statement by the names its plan calls them: their own and their aliases."""
    aliases = re.findall(rf"\b(?:FROM|JOIN)\s+({'|'.join(BIG)})\s+(?!WHERE|JOIN|ON|ORDER|USING)(\w+)", sql)
    return {*BIG, *(alias for _, alias in aliases)}


def test_statements_are_found() -> None:
    assert len(STATEMENTS) > 30
    assert len(NEWEST) > 8


@pytest.mark.parametrize("name", sorted(STATEMENTS))
def test_no_big_table_is_walked(memory: sqlite3.Connection, name: str) -> None:
    big = big_names(STATEMENTS[name])
    walks = [step for step in plan(memory, STATEMENTS[name]) if step.startswith("SCAN ")]
    assert [step for step in walks if step.split()[1] in big and "COVERING INDEX" not in step] == []


@pytest.mark.parametrize("name", sorted(NEWEST))
def test_the_newest_come_without_a_sort(memory: sqlite3.Connection, name: str) -> None:
    assert [step for step in plan(memory, STATEMENTS[name]) if "TEMP B-TREE" in step and "ORDER BY" in step] == []


@pytest.mark.parametrize("name", sorted(name for name in STATEMENTS if ":key" in STATEMENTS[name]))
def test_a_project_is_found_by_its_key(memory: sqlite3.Connection, name: str) -> None:
    steps = plan(memory, STATEMENTS[name])
    assert any("(project_key=?" in step or "(merged_into_project=?" in step for step in steps)


def test_nothing_is_selected_by_a_list_of_keys() -> None:
    assert [name for name, sql in STATEMENTS.items() if re.search(r"\bIN \(", sql)] == []


def foreign_keys(conn: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    tables = conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
    for (table,) in tables.fetchall():
        for row in conn.execute(f"PRAGMA foreign_key_list({table})"):
            yield table, row["from"]


def leading_columns(conn: sqlite3.Connection, table: str) -> set[str]:
    indexes = [row["name"] for row in conn.execute(f"PRAGMA index_list({table})")]
    row_id = {
        row["name"] for row in conn.execute(f"PRAGMA table_info({table})") if row["pk"] and row["type"] == "INTEGER"
    }
    return row_id | {conn.execute(f"PRAGMA index_info({name})").fetchone()["name"] for name in indexes}


def test_every_foreign_key_has_an_index(memory: sqlite3.Connection) -> None:
    """Without one, deleting a session walks each child table once for every row it has."""
    found = list(foreign_keys(memory))
    assert len(found) > 10
    assert [(table, column) for table, column in found if column not in leading_columns(memory, table)] == []


def test_partial_indexes_serve_their_foreign_keys(memory: sqlite3.Connection) -> None:
    steps = plan(memory, "UPDATE tool_uses SET observation_id = NULL WHERE observation_id = :id")
    assert steps == ["SEARCH tool_uses USING COVERING INDEX idx_tool_uses_observation (observation_id=?)"]
