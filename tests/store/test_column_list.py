"""tests/fixtures/columns.tsv: every column of claude-mem v13 and of ours, and why it is there or not."""

from __future__ import annotations

import csv
import sqlite3
from pathlib import Path

import pytest

from indexer.store.migrations import migrate

LIST = Path(__file__).parent.parent / "fixtures" / "columns.tsv"
with LIST.open(encoding="utf-8", newline="") as table:
    ROWS = [tuple(row.values()) for row in csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE)]
SHARED = {
    "sdk_sessions",
    "observations",
    "session_summaries",
    "user_prompts",
    "tool_uses",
    "work_state_entries",
    "schema_versions",
}
"""Tables of claude-mem v13 that we have under the same name (DESIGN, section 8)."""


def columns() -> list[tuple[str, str]]:
    """Every column of a new database, computed ones too, without those of the full-text index."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    migrate(conn)
    tables = conn.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
    ).fetchall()
    found = [
        (name, str(row[1])) for (name,) in tables for row in conn.execute(f"PRAGMA table_xinfo({name})").fetchall()
    ]
    conn.close()
    return sorted(found)


def test_the_list_is_that_of_the_schema() -> None:
    assert sorted(row[:2] for row in ROWS if row[2] != "dropped") == columns()


def test_no_column_is_listed_twice() -> None:
    assert len({row[:2] for row in ROWS}) == len(ROWS)


def test_every_status_is_one_of_three() -> None:
    assert {row[2] for row in ROWS} == {"kept", "dropped", "ours"}


@pytest.mark.parametrize("status", ["dropped", "ours"])
def test_what_differs_has_a_reason(status: str) -> None:
    assert [row[:2] for row in ROWS if row[2] == status and not row[3].strip()] == []


def test_the_tables_of_the_original_keep_their_names() -> None:
    assert {row[0] for row in ROWS if row[2] == "kept"} == SHARED
