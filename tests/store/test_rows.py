"""Rows of one transaction: ids beforehand, everything written in bulk."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from desk import NOON, Desk, call, entry, result, said

from indexer.records import Prompt
from indexer.store.rows import Rows

LINES = [
    entry("u1", Prompt("hello"), time=1),
    entry("u2", said("m", "on it"), call("toolu_1"), time=2),
    entry("u3", result("toolu_1"), time=3),
]
CODES = {"user_prompts": 0, "assistant_messages": 1, "tool_uses": 2}


@pytest.fixture
def desk() -> Desk:
    return Desk()


def traced(desk: Desk, *lines: Any) -> list[str]:
    """The statements of one transaction."""
    seen: list[str] = []
    desk.conn.set_trace_callback(seen.append)
    desk.write(desk.file(), *lines)
    desk.conn.set_trace_callback(None)
    return seen


@pytest.mark.parametrize(("table", "code"), CODES.items())
def test_a_search_text_has_its_rows_id_and_the_tables_code(desk: Desk, table: str, code: int) -> None:
    desk.write(desk.file(), *LINES)
    assert desk.one(f"SELECT count(*) FROM {table} t JOIN search_texts s ON s.id = t.id * 8 + {code}") == 1


def test_filter_columns_are_those_of_the_row(desk: Desk) -> None:
    desk.write(desk.file(), *LINES)
    rows = desk.rows(
        "SELECT kind, uuid, session_db_id, project_key, created_at_epoch - ?, detail FROM search_texts", NOON
    )
    assert rows == [
        ("prompt", "u1", 1, "/w/a", 1, None),
        ("assistant", "u2", 1, "/w/a", 2, None),
        ("tool_use", "u2", 1, "/w/a", 2, "Bash"),
    ]


def test_ids_go_on_where_the_last_transaction_ended(desk: Desk) -> None:
    desk.write(desk.file(), *LINES)
    desk.write(desk.file(), entry("u4", Prompt("more")), entry("u5", said("n"), call("toolu_2")))
    assert [desk.rows(f"SELECT id FROM {table} ORDER BY 1") for table in CODES] == [[(1,), (2,)]] * 3


@pytest.mark.parametrize("table", CODES)
def test_an_id_is_never_given_out_again(desk: Desk, table: str) -> None:
    desk.write(desk.file(), *LINES)
    desk.conn.execute(f"DELETE FROM {table}")
    assert Rows(desk.conn).new_id(table) == 2


def test_the_newest_ids_are_known_beforehand(desk: Desk) -> None:
    rows = Rows(desk.conn)
    assert rows.last_ids() == (0, 0)
    rows.new_id("tool_uses")
    assert (rows.last_ids(), Rows(desk.conn).last_ids()) == ((1, 0), (0, 0))


def test_texts_reach_the_index_by_one_statement(desk: Desk) -> None:
    lines = [entry(f"u{n}", Prompt(f"text {n}")) for n in range(20)]
    inserts = {sql for sql in traced(desk, *lines) if sql.startswith("INSERT INTO search_texts")}
    assert inserts == {"INSERT INTO search_texts SELECT * FROM temp.stage"}
    assert desk.one("SELECT count(*) FROM search_fts WHERE search_fts MATCH 'text'") == 20


def test_the_stage_is_left_empty(desk: Desk) -> None:
    desk.write(desk.file(), *LINES)
    assert desk.one("SELECT count(*) FROM temp.stage") == 0


def test_updates_run_after_inserts_in_their_order(desk: Desk) -> None:
    rows = Rows(desk.conn)
    rows.update("UPDATE turn_events SET kind = ? WHERE uuid = 'u'", "one")
    rows.update("UPDATE turn_events SET kind = kind || ? WHERE uuid = 'u'", "two")
    desk.write(desk.file(), LINES[0])
    rows.events.append(("u", 0, 1, None, "new", "{}"))
    rows.flush()
    assert desk.rows("SELECT kind FROM turn_events") == [("onetwo",)]
    rows.flush()
    assert desk.one("SELECT count(*) FROM turn_events") == 1


def test_a_row_that_cannot_be_written_fails_the_transaction(desk: Desk) -> None:
    desk.conn.execute("CREATE TRIGGER no BEFORE INSERT ON tool_uses BEGIN SELECT raise(ABORT, 'no'); END")
    with pytest.raises(sqlite3.IntegrityError, match="no"):
        desk.write(desk.file(), *LINES)
    assert not desk.conn.in_transaction
    assert [desk.rows(f"SELECT * FROM {table}") for table in CODES] == [[], [], []]
