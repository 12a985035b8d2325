"""Entries become rows: each record once, dated and dealt with where it belongs."""

from __future__ import annotations

import gc
import json
import weakref

import pytest
from desk import NOON, Desk, call, entry, resolve, result, said

from indexer.records import AgentLink, Ignored, Prompt, QueueOperation, ToolResult, TurnEvent, Unreadable
from indexer.store.writer import Placed, Turn, Writer


@pytest.fixture
def desk() -> Desk:
    return Desk()


# --- the transaction


def test_what_was_added_is_counted(desk: Desk) -> None:
    written = desk.write(
        desk.file(),
        entry("u1", Prompt("hello")),
        entry("u2", Prompt("/ship", "command")),
        entry("u3", said("m1", "on it"), call("toolu_1")),
        entry("u4", said("m1", "done")),
        entry(None, Unreadable("bad", 3, 9)),
    )
    assert written == (1, 1, 1, 1, 0)


def test_reading_again_adds_nothing(desk: Desk) -> None:
    file = desk.file()
    lines = [entry("u1", Prompt("hello")), entry("u2", said("m1", "on it"), call("toolu_1"))]
    desk.write(file, *lines)
    assert desk.again(file, *lines) == (0, 0, 0, 0, 0)


def test_a_writer_is_gone_with_its_transaction_without_a_collection(desk: Desk) -> None:
    """A bulk load runs without the collector: what holds itself would stay, with all its rows."""
    desk.conn.execute("BEGIN")
    writer = Writer(desk.conn, "claude", resolve)
    writer.write([Turn(desk.file(), [Placed(1, 0, entry("u1", Prompt("a"), said("m1", "x"), call("toolu_1")))])])
    gone = weakref.ref(writer)
    gc.disable()
    del writer
    gc.enable()
    desk.conn.execute("ROLLBACK")
    assert gone() is None


def test_nothing_is_committed_here(desk: Desk) -> None:
    desk.conn.execute("BEGIN")
    Writer(desk.conn, "claude", lambda *_: pytest.fail("no project needed")).write([Turn(desk.file(), [])])
    assert desk.conn.in_transaction
    desk.conn.execute("ROLLBACK")
    assert desk.rows("SELECT * FROM ingest_files") == []


def test_a_new_file_has_its_row_before_its_records(desk: Desk) -> None:
    file = desk.file()
    desk.write(file)
    assert desk.rows("SELECT id, path FROM ingest_files") == [(file.id, file.path)]


# --- sessions of records


def test_a_records_own_session_counts_not_the_files(desk: Desk) -> None:
    desk.write(desk.file("a"), entry("u1", Prompt("hello"), session="b"))
    assert desk.rows("SELECT content_session_id FROM user_prompts") == [("b",)]


def test_without_one_the_files_session_counts(desk: Desk) -> None:
    desk.write(desk.file("a"), entry("u1", Prompt("hello"), session=None))
    assert desk.rows("SELECT content_session_id FROM user_prompts") == [("a",)]


def test_a_record_that_belongs_nowhere_is_left_out_and_counted(desk: Desk) -> None:
    file = desk.file(agent="x")
    desk.write(
        file, entry("u1", Prompt("hello"), session=None), entry(None, QueueOperation("enqueue", "b"), session=None)
    )
    assert desk.rows("SELECT * FROM user_prompts") == desk.rows("SELECT * FROM sdk_sessions") == []
    assert file.ignored == {"no-session": 2}


def test_a_record_that_lacks_its_uuid_is_counted(desk: Desk) -> None:
    file = desk.file("a")
    desk.write(file, entry(None, TurnEvent("duration", {"ms": 1})))
    assert desk.rows("SELECT * FROM turn_events") == []
    assert file.ignored == {"no-uuid": 1}


# --- times


def dated(desk: Desk) -> list[tuple[object, ...]]:
    sql = "SELECT native_prompt_id, created_at_epoch - ?, time_source FROM user_prompts ORDER BY 1"
    return desk.rows(sql, NOON)


def test_an_undated_record_has_the_time_before_it_in_the_file(desk: Desk) -> None:
    file = desk.file()
    desk.write(file, entry("u1", Prompt("a"), time=5), entry("u2", Prompt("b"), time=None))
    desk.write(file, entry("u3", Prompt("c"), time=None), entry("u4", Prompt("d"), time=9))
    assert dated(desk) == [("u1", 5, "record"), ("u2", 5, "neighbour"), ("u3", 5, "neighbour"), ("u4", 9, "record")]


def test_before_the_first_time_it_has_the_next_one(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("a"), time=None), entry("u2", Prompt("b"), time=7))
    assert dated(desk) == [("u1", 7, "neighbour"), ("u2", 7, "record")]


def test_without_any_time_it_has_none_and_says_so(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("a"), time=None))
    assert dated(desk) == [("u1", None, "none")]


@pytest.mark.parametrize("provisional", [False, True])
def test_a_time_that_comes_later_dates_what_stood_before_it(desk: Desk, provisional: bool) -> None:
    file = desk.file()
    line = entry("u1", Prompt("a"), said("m1", "x"), call("toolu_1"), TurnEvent("exit", {}), time=None)
    desk.write(file, line, entry("u2", result("toolu_1"), time=None))
    desk.write(file, entry("u3", Prompt("b"), time=7), provisional=provisional)
    assert dated(desk) == [("u1", 7, "neighbour"), ("u3", 7, "record")]
    times = {
        desk.one(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL LIMIT 1")
        for table in ("tool_uses", "assistant_messages", "assistant_texts", "turn_events", "search_texts")
        for column in ("created_at_epoch", "result_at_epoch" if table == "tool_uses" else "created_at_epoch")
    }
    assert times == {NOON + 7}


def test_no_row_of_any_kind_stays_undated(desk: Desk) -> None:
    file = desk.file()
    line = entry("u1", Prompt("a"), said("m1", "x"), call("toolu_1"), TurnEvent("exit", {}), time=None)
    desk.write(file, line, entry("u2", result("toolu_1"), time=None), entry("u3", result("toolu_2"), time=None))
    desk.write(file, entry("u4", said("m2", "y"), time=7))
    undated = {
        table: desk.one(f"SELECT count(*) FROM {table} WHERE created_at_epoch IS NULL")
        for table in ("user_prompts", "assistant_messages", "assistant_texts", "tool_uses", "turn_events",
                      "unmatched_results", "search_texts")
    }  # fmt: skip
    assert not any(undated.values()), undated


def test_what_stands_after_the_first_time_keeps_what_it_had(desk: Desk) -> None:
    """Read again, a file is dated anew; that touches nothing but what had no time."""
    file = desk.file()
    lines = [entry("u1", Prompt("a"), time=None), entry("u2", Prompt("b"), time=7), entry("u3", Prompt("c"), time=9)]
    desk.write(file, *lines)
    desk.again(file, *lines)
    assert dated(desk) == [("u1", 7, "neighbour"), ("u2", 7, "record"), ("u3", 9, "record")]


def test_a_last_line_that_was_taken_early_is_dated_when_the_file_is(desk: Desk) -> None:
    file = desk.file()
    desk.write(file, entry("u1", Prompt("a"), time=None), provisional=True)
    desk.write(file, entry("u1", Prompt("a"), time=None), entry("u2", Prompt("b"), time=7))
    assert dated(desk) == [("u1", 7, "neighbour"), ("u2", 7, "record")]


# --- what belongs to the file


def test_bytes_that_are_no_record_are_kept_as_a_place_and_a_reason(desk: Desk) -> None:
    file = desk.file()
    desk.write(file, entry("u1", Prompt("a")), entry(None, Unreadable("bad", 3, 9)))
    wanted = [(file.id, 103, 9, 2, "bad")]
    assert desk.rows("SELECT * FROM dead_letters") == wanted
    desk.again(file, entry("u1", Prompt("a")), entry(None, Unreadable("bad", 3, 9)))
    assert desk.rows("SELECT * FROM dead_letters") == wanted


def test_what_is_ignored_is_counted_by_kind(desk: Desk) -> None:
    file = desk.file()
    for _ in range(2):
        desk.write(file, entry(None, Ignored("mode")), entry("u1", Ignored("meta")), entry("u2", Ignored("mode")))
    assert json.loads(desk.one("SELECT ignored FROM ingest_files")) == {"mode": 4, "meta": 2}


def test_a_last_line_that_may_go_on_counts_nothing(desk: Desk) -> None:
    file = desk.file()
    line = entry("u1", Prompt("a"), Ignored("x"), QueueOperation("enqueue", "b"), version="2.0.1")
    desk.write(file, line, provisional=True)
    assert desk.rows("SELECT prompt_text FROM user_prompts") == [("a",)]
    assert (file.ignored, desk.rows("SELECT * FROM queue_operations")) == ({}, [])
    desk.write(file, line)
    assert (file.ignored, desk.one("SELECT count(*) FROM queue_operations")) == ({"x": 1}, 1)
    assert desk.one("SELECT count(*) FROM user_prompts") == 1


# --- sub-agents


def agents(desk: Desk) -> list[tuple[object, ...]]:
    return desk.rows("SELECT agent_id, tool_use_id, agent_type, description FROM session_agents")


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_what_several_notes_say_of_a_sub_agent_is_merged(desk: Desk, order: tuple[int, ...]) -> None:
    notes = [
        AgentLink("x", "toolu_2", None, "look"),
        AgentLink("x", "toolu_1", "explore", None),
        AgentLink("x", None, "zoo", None),
    ]
    for place in order:
        desk.write(desk.file(name=f"f{place}"), entry(None, notes[place]))
    assert agents(desk) == [("x", "toolu_1", "explore", "look")]


def test_a_result_without_a_call_waits_once(desk: Desk) -> None:
    file = desk.file()
    line = entry("u1", ToolResult("toolu_1", "toolu_1", "late", None, None))
    desk.write(file, line)
    desk.again(file, line)
    assert desk.rows("SELECT uuid, identity, tool_response FROM unmatched_results") == [("u1", "toolu_1", "late")]


# --- the age of sessions


def test_a_session_that_turns_out_older_has_its_file_read_again(desk: Desk) -> None:
    desk.write(desk.file("a"), entry("u1", Prompt("hello"), time=10))
    desk.write(desk.file("b"), entry("u1", Prompt("hello"), session="b", time=20))
    assert desk.to_read_again() == []
    older = desk.file("b", name="b-begins", folder="-w-b")
    desk.write(older, entry("u0", Prompt("before"), session="b", time=1))
    assert desk.to_read_again() == ["b.jsonl"]


def test_a_file_in_hand_is_read_again_after_its_turn(desk: Desk) -> None:
    desk.write(desk.file("a"), entry("u1", Prompt("hello"), time=10))
    file = desk.file("b")
    desk.write(file, entry("u1", Prompt("hello"), session="b", time=None))
    desk.write(file, entry("u2", Prompt("more"), session="b", time=1))
    assert desk.to_read_again() == ["b.jsonl"]
    assert file.generation == 1


def test_a_file_is_not_read_again_for_ever(desk: Desk) -> None:
    """Its first line is undated, so that with every start the session's age might seem to change."""
    desk.write(desk.file("a"), entry("u1", Prompt("hello"), time=10), entry("u3", Prompt("x"), time=11))
    file = desk.file("b")
    lines = [entry("u1", Prompt("hello"), session="b", time=None), entry("u2", Prompt("more"), session="b", time=1)]
    turns = 0
    while file.line_no < len(lines) and turns < 9:
        desk.write(file, lines[file.line_no])
        turns += 1
    assert turns == 4
    assert (file.generation, desk.to_read_again()) == (1, [])
