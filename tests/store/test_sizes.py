"""What each table takes: exactly where SQLite can tell, else what its values add up to."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from indexer.store.sizes import by_table


class WithoutDbstat:
    """A connection of a SQLite that was built without dbstat (simulated)."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        if "dbstat" in sql:
            raise sqlite3.OperationalError("no such table: dbstat")
        return self._conn.execute(sql, *values)


def has_dbstat() -> bool:
    with sqlite3.connect(":memory:") as conn:
        return ("ENABLE_DBSTAT_VTAB",) in conn.execute("PRAGMA compile_options").fetchall()


exact = pytest.mark.skipif(not has_dbstat(), reason="this SQLite has no dbstat")


@exact
def test_all_pages_but_the_free_ones_are_some_tables(memory: sqlite3.Connection) -> None:
    found = by_table(memory)
    (pages,) = memory.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()
    assert found.exact
    assert pages * 0.95 <= sum(found.tables.values()) <= pages


@exact
def test_indexes_count_for_their_table_and_fts_is_one(memory: sqlite3.Connection) -> None:
    found = by_table(memory).tables
    assert {"user_prompts", "tool_uses", "search_texts", "search_fts"} <= found.keys()
    assert not [name for name in found if name.startswith("idx_") or name.endswith(("_data", "_docsize", "_config"))]


@exact
def test_the_largest_comes_first(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE user_prompts SET prompt_text = zeroblob(1000000) WHERE id = 1")
    name, size = next(iter(by_table(memory).tables.items()))
    assert name == "user_prompts"
    assert size > 1_000_000


def test_without_dbstat_the_values_are_added_up(memory: sqlite3.Connection) -> None:
    conn: Any = WithoutDbstat(memory)
    before = by_table(conn)
    memory.execute("UPDATE user_prompts SET prompt_text = prompt_text || ? WHERE id = 1", ("é" * 1000,))
    after = by_table(conn)
    assert (before.exact, after.exact) == (False, False)
    assert after.tables["user_prompts"] - before.tables["user_prompts"] == 2000
    assert "search_fts" in after.tables
