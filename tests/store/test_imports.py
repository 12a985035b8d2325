"""Imported memories stand beside our own, and never twice."""

from __future__ import annotations

from typing import Any

import pytest
from desk import Desk, call, entry, result

from indexer.records import Prompt
from indexer.store import imports
from indexer.store.imports import Body, Origin, Told

ORIGIN = Origin("feed", "observation:9")


@pytest.fixture
def desk() -> Desk:
    """A session with a turn, and an observation of ours that tells of it."""
    desk = Desk()
    desk.write(
        desk.file("a"), entry("u1", Prompt("hello")), entry("u2", call("toolu_1")), entry("u3", result("toolu_1"))
    )
    desk.conn.execute(
        "INSERT INTO observations (memory_session_id, project, type, title, content_hash) "
        "VALUES ('claude:a', 'a', 'change', 'ours', 'h')"
    )
    desk.conn.execute(
        "INSERT INTO observation_origins (observation_id, session_db_id, turn_id, slot) VALUES (1, 1, 'u1', 'x')"
    )
    return desk


def told(**changed: Any) -> Told:
    values = {"type": "bugfix", "title": "theirs", "narrative": "It was so.", "created_at_epoch": 5}
    fields: dict[str, Any] = {"kind": "observation", "identity": "u9#x", "turn": "u9", "slot": "x", "values": values}
    return Told(**(fields | {"calls": ["toolu_1"], "origin": ORIGIN} | changed))


def put(desk: Desk, one: Told) -> bool:
    home = imports.session(desk.conn, "claude", "a")
    assert home is not None
    return imports.put(desk.conn, home, one)


def titles(desk: Desk) -> list[tuple[Any, ...]]:
    return desk.rows("SELECT id, title FROM observations ORDER BY id")


def test_a_memory_is_put_indexed_linked_and_noted(desk: Desk) -> None:
    assert put(desk, told())
    assert titles(desk) == [(1, "ours"), (2, "theirs")]
    assert desk.one("SELECT title || ' ' || body FROM search_texts WHERE id = 19") == "theirs It was so."
    assert desk.rows("SELECT * FROM observation_tool_uses") == [(2, 1)]
    assert imports.origin(desk.conn, "observation:2") == ORIGIN


def test_what_is_known_is_left_as_it_is(desk: Desk) -> None:
    put(desk, told())
    assert not put(desk, told(values={"type": "bugfix", "title": "otherwise"}))
    assert titles(desk) == [(1, "ours"), (2, "theirs")]


def test_the_same_words_in_one_session_are_not_put_twice(desk: Desk) -> None:
    put(desk, told())
    assert not put(desk, told(identity="another", turn=None, slot=None))


def test_our_own_row_of_the_turn_becomes_theirs(desk: Desk) -> None:
    assert put(desk, told(identity="u1#x", turn="u1"))
    assert titles(desk) == [(1, "theirs")]
    assert desk.rows("SELECT * FROM observation_origins") == []


def test_what_comes_back_is_no_news_while_we_tell_of_the_turn(desk: Desk) -> None:
    assert not put(desk, told(identity="u1#y", turn="u1", slot="y", own=True))
    assert titles(desk) == [(1, "ours")]


def test_what_comes_back_and_was_lost_is_put(desk: Desk) -> None:
    assert put(desk, told(own=True))


def test_a_summary_takes_the_place_of_its_part(desk: Desk) -> None:
    desk.conn.execute(
        "INSERT INTO session_summaries (memory_session_id, project, request) VALUES ('claude:a', 'a', 'ours')"
    )
    desk.conn.execute("INSERT INTO summary_origins VALUES (1, 1, 0)")
    summary = told(kind="summary", identity="a#part:0", turn="0", slot=None, values={"request": "theirs"}, calls=())
    assert put(desk, summary)
    assert desk.rows("SELECT id, request FROM session_summaries") == [(1, "theirs")]


def test_a_to_do_is_put_and_takes_the_place_of_ours(desk: Desk) -> None:
    work = told(kind="work", identity="work:i", turn="i", slot=None, calls=(),
                values={"list_name": "l", "fields": "{}"})  # fmt: skip
    desk.conn.execute(
        "INSERT INTO work_state_entries (id, project, list_name, fields) VALUES (7, 'a', 'l', '{\"a\":1}')"
    )
    desk.conn.execute("INSERT INTO work_state_origins VALUES (7, 1, 'i')")
    assert put(desk, work)
    assert desk.rows("SELECT id, fields FROM work_state_entries") == [(7, "{}")]
    assert desk.rows("SELECT * FROM work_state_origins") == []


def test_what_tells_of_a_turn_goes_with_a_record_of_it(desk: Desk) -> None:
    put(desk, told())
    put(desk, told(identity="claude-mem:1", turn=None, slot=None, values={"type": "x", "title": "of no turn"}))
    assert imports.drop_told(desk.conn, 1, whole=False) == ["u9#x"]
    assert titles(desk) == [(1, "ours"), (3, "of no turn")]
    assert imports.drop_told(desk.conn, 1, whole=True) == ["claude-mem:1"]
    assert desk.rows("SELECT count(*) FROM search_texts WHERE id % 8 = 3") == [(0,)]


def test_what_is_held_and_answered_is_known(desk: Desk) -> None:
    assert imports.held(desk.conn, ["u1", "u7"]) == {("u1", "a")}
    assert imports.answers(desk.conn, ["toolu_1", "toolu_2"]) == {"toolu_1": True}
    assert imports.typed_in(desk.conn, "claude", "a") == ["hello"]
    assert not imports.is_borrowed(desk.conn, "claude", "a")
    assert imports.is_borrowed(desk.conn, "claude", "new")


def test_only_bodies_that_an_import_owns_are_set(desk: Desk) -> None:
    imports.set_bodies(desk.conn, [Body("toolu_1", "{cut", None, "a" * 16, "b" * 16)])
    assert desk.one("SELECT tool_input FROM tool_uses") == '{"command":"ls"}'
    desk.conn.execute("INSERT INTO imported_records VALUES ('u2', 1, 'feed', 'tool_use:1')")
    imports.set_bodies(desk.conn, [Body("toolu_1", "{cut", None, "a" * 16, "b" * 16)])
    assert desk.rows("SELECT tool_input, input_hash, tool_response FROM tool_uses") == [("{cut", "a" * 16, "ok")]


def test_our_own_records_are_noted_as_nobody_else_s(desk: Desk) -> None:
    assert imports.note_records(desk.conn, {"u1": ORIGIN}) == 0
    assert imports.origin(desk.conn, "prompt:1") is None


def test_counts_by_source(desk: Desk) -> None:
    put(desk, told())
    desk.conn.execute("INSERT INTO imported_records VALUES ('u2', 1, 'claude-mem', 'tool_uses:1')")
    assert imports.counts(desk.conn) == [("claude-mem", 1, 0), ("feed", 0, 1)]
    assert imports.origin(desk.conn, "tool_use:1") == Origin("claude-mem", "tool_uses:1")


def test_every_memory_has_a_name_of_its_own() -> None:
    first, second = Desk(), Desk()
    assert len({imports.device(desk.conn) for desk in (first, second)}) == 2
    assert imports.device(first.conn) == imports.device(first.conn)
