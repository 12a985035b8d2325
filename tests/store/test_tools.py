"""Calls and their results, in whatever order the two turn up."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import orjson
import pytest
from desk import NOON, Desk, call, entry, result

from indexer.records import Prompt, ToolResult

CALL, ANSWER = call("toolu_1"), result("toolu_1", "done")
ORDERS = list(permutations(range(3)))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def tool(desk: Desk, columns: str, identity: str = "toolu_1") -> tuple[Any, ...]:
    (row,) = desk.rows(f"SELECT {columns} FROM tool_uses WHERE identity = ?", identity)
    return row


def hashes(desk: Desk) -> tuple[Any, ...]:
    return tool(desk, "input_hash, content_hash")


# --- calls


def test_a_call_is_stored_with_all_that_is_known_of_it(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("toolu_1", "Read", {"file_path": "/a.py"}, "/a.py"), time=3))
    row = tool(desk, "tool_use_id, tool_name, tool_input, file_path, cwd, project, memory_session_id, record_uuid")
    assert row == ("toolu_1", "Read", '{"file_path":"/a.py"}', "/a.py", "/w/a", "a", "claude:a", "u1")
    assert tool(desk, "result_uuid, tool_response, is_error, result_at_epoch") == (None, None, None, None)


def test_an_input_is_capped_but_hashed_whole() -> None:
    made = []
    for text in ("x" * 70_000, "x" * 69_999 + "y"):
        desk = Desk()
        desk.write(desk.file(), entry("u1", call("toolu_1", given={"text": text})))
        made.append(tool(desk, "length(tool_input) < 66000, input_hash"))
    assert (made[0][0], made[1][0]) == (1, 1)
    assert made[0][1] != made[1][1]


@pytest.mark.parametrize("levels", [255, 1_000, 1_020])
def test_an_input_of_any_depth_is_stored(desk: Desk, levels: int) -> None:
    deep = orjson.loads("[" * levels + "]" * levels)
    desk.write(desk.file(), entry("u1", call("toolu_1", given={"deep": deep})))
    assert tool(desk, "tool_input") == (f'{{"deep":{"[" * levels}{"]" * levels}}}',)


def test_two_calls_of_one_record_are_two(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("toolu_1"), call("toolu_2")))
    assert desk.rows("SELECT identity FROM tool_uses") == [("toolu_1",), ("toolu_2",)]


def test_a_strong_id_is_one_call_wherever_it_stands(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", CALL), entry("u2", CALL))
    desk.write(desk.file("b"), entry("u1", CALL, session="b"))
    assert tool(desk, "record_uuid, content_session_id") == ("u1", "a")


def test_a_weak_id_is_another_call_in_another_session(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("u1:call_0")))
    desk.write(desk.file("b"), entry("u2", call("u2:call_0"), session="b"))
    desk.write(desk.file("c"), entry("u1", call("u1:call_0"), session="c"))
    rows = desk.rows("SELECT content_session_id, tool_use_id FROM tool_uses ORDER BY 1")
    assert rows == [("a", "call_0"), ("b", "call_0")]


@pytest.mark.parametrize("order", ORDERS)
def test_the_oldest_session_owns_a_call(desk: Desk, order: tuple[int, ...]) -> None:
    for place in order:
        session = "cab"[place]
        said = {"session": session, "cwd": f"/{session}"}
        lines = [entry("u1", CALL, time=place, **said), entry("u2", ANSWER, time=place + 10, **said)]
        desk.write(desk.file(session), *lines)
    wanted = ("c", "claude:c", "/c", "/c", NOON, NOON + 10)
    columns = "content_session_id, memory_session_id, project_key, cwd, created_at_epoch, result_at_epoch"
    assert tool(desk, columns) == wanted
    moved = desk.rows("SELECT project_key, created_at_epoch FROM search_texts")
    assert moved == [("/c", NOON)]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_call_written_again_under_another_id_stays_with_the_first(desk: Desk, order: tuple[int, ...]) -> None:
    lines = [(desk.file(name="a"), entry("u1", CALL)), (desk.file(name="b"), entry("u2", CALL))]
    for place in order:
        desk.write(*lines[place])
    assert tool(desk, "record_uuid") == ("u1",)


# --- results


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("apart", [False, True])
def test_a_result_meets_its_call_before_or_after_it(desk: Desk, order: tuple[int, ...], apart: bool) -> None:
    lines = [entry("u1", CALL, time=1), entry("u2", result("toolu_1", "done", True, "/out.txt"), time=5)]
    made = [lines[place] for place in order]
    for group in [[line] for line in made] if apart else [made]:
        desk.write(desk.file(), *group)
    row = tool(desk, "result_uuid, tool_response, is_error, side_file, result_at_epoch")
    assert row == ("u2", "done", 1, "/out.txt", NOON + 5)
    assert desk.rows("SELECT * FROM unmatched_results") == []
    assert desk.one("SELECT body FROM search_texts") == "ls\ndone"


def test_the_hash_is_of_the_merged_row_in_any_order() -> None:
    made = set()
    for order in ((0, 1), (1, 0)):
        for apart in (False, True):
            desk = Desk()
            lines = [entry("u1", CALL), entry("u2", ANSWER)]
            ordered = [lines[place] for place in order]
            for group in [[line] for line in ordered] if apart else [ordered]:
                desk.write(desk.file(), *group)
            made.add(hashes(desk))
    assert len(made) == 1
    ((given, merged),) = made
    assert given != merged


def test_replaying_the_call_alone_keeps_the_result_and_its_hash(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", CALL), entry("u2", ANSWER))
    before = (hashes(desk), tool(desk, "tool_response"))
    desk.write(desk.file("b"), entry("u1", CALL, session="b"))
    assert (hashes(desk), tool(desk, "tool_response")) == before


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_answers_the_older_sessions_stands(desk: Desk, order: tuple[int, ...]) -> None:
    desk.write(desk.file("b"), entry("u1", CALL, session="b", time=2))
    answers = [
        (desk.file("b"), entry("r1", result("toolu_1", "late"), session="b", time=99)),
        (desk.file("c"), entry("r2", result("toolu_1", "early"), session="c", time=3)),
    ]
    for place in order:
        desk.write(*answers[place])
    assert tool(desk, "result_uuid, tool_response") == ("r1", "late")
    assert desk.one("SELECT body FROM search_texts") == "ls\nlate"


def test_when_a_session_turns_out_older_its_answer_is_read_again(desk: Desk) -> None:
    copy: dict[str, Any] = {"session": "b", "forked_from": "a"}
    desk.write(desk.file("a"), entry("u1", CALL, time=5), entry("r1", result("toolu_1", "mine"), time=9))
    desk.write(
        desk.file("b"), entry("u1", CALL, time=2, **copy), entry("r2", result("toolu_1", "its"), session="b", time=3)
    )
    assert tool(desk, "tool_response") == ("its",)
    desk.write(desk.file("a", name="a-begins"), entry("u0", Prompt("go"), time=1))
    assert desk.to_read_again() == ["a.jsonl"]


def test_of_two_answers_in_one_file_the_first_stands(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", CALL), entry("r1", result("toolu_1", "one")))
    desk.write(desk.file(), entry("r2", result("toolu_1", "two"), time=-9))
    assert tool(desk, "tool_response") == ("one",)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_answers_that_wait_are_chosen_from_alike(desk: Desk, order: tuple[int, ...]) -> None:
    answers = [
        (desk.file("b"), entry("r1", result("toolu_1", "old"), session="b", time=1)),
        (desk.file("c"), entry("r1", result("toolu_1", "old"), session="c", time=9, forked_from="b")),
    ]
    for place in order:
        desk.write(*answers[place])
    assert desk.rows("SELECT uuid, created_at_epoch FROM unmatched_results") == [("r1", NOON + 1)]
    desk.write(desk.file(), entry("u1", CALL))
    assert tool(desk, "result_uuid, result_at_epoch") == ("r1", NOON + 1)


def test_a_long_result_is_capped_and_indexed_by_its_ends(desk: Desk) -> None:
    text = "begin " + "x " * 40_000 + "middle " + "y " * 40_000 + "end"
    desk.write(desk.file(), entry("u1", CALL), entry("u2", result("toolu_1", text)))
    assert "[truncated: " in tool(desk, "tool_response")[0]
    find = "SELECT count(*) FROM search_fts WHERE search_fts MATCH ?"
    # The end is that of what is stored, which was cut.
    assert [desk.one(find, word) for word in ("begin", "middle")] == [1, 0]


# --- weak ids


def test_a_weak_result_goes_to_the_call_its_record_names(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("u1:call_0")), entry("u2", call("u2:call_0")))
    desk.write(desk.file(), entry("r1", result("u1:call_0", "first")))
    assert (tool(desk, "tool_response", "u1:call_0"), tool(desk, "result_uuid", "u2:call_0")) == (("first",), (None,))


def test_a_weak_result_waits_for_the_record_it_names(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("u1:call_0")), entry("r2", result("u2:call_0", "mine")))
    assert tool(desk, "result_uuid", "u1:call_0") == (None,)
    desk.write(desk.file(), entry("u2", call("u2:call_0")))
    assert tool(desk, "tool_response", "u2:call_0") == ("mine",)


def test_a_weak_result_whose_record_is_no_call_goes_to_the_nearest_before_it(desk: Desk) -> None:
    lines = [entry("u1", call("u1:call_0")), entry("u2", call("u2:call_0")), entry("p", Prompt("go"))]
    answer = entry("r1", result("p:call_0", "mine"))
    desk.write(desk.file(), *lines, answer, entry("u3", call("u3:call_0")))
    assert tool(desk, "tool_response", "u2:call_0") == ("mine",)
    again = [line._replace(session_id="b", time=NOON + 9) for line in (*lines, answer)]
    desk.write(desk.file("b"), *again)
    assert tool(desk, "result_uuid, result_at_epoch", "u2:call_0") == ("r1", NOON)
    assert desk.rows("SELECT * FROM unmatched_results") == []


def test_a_weak_result_without_a_record_goes_to_the_nearest_too(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("u1:call_0")))
    desk.write(desk.file(), entry("r1", ToolResult(None, "call_0", "mine", None, None)))
    assert tool(desk, "tool_response", "u1:call_0") == ("mine",)


def test_a_weak_result_never_goes_to_another_session(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("u1:call_0")))
    desk.write(desk.file("b"), entry("r1", ToolResult(None, "call_0", "mine", None, None), session="b"))
    assert tool(desk, "result_uuid", "u1:call_0") == (None,)
    assert desk.one("SELECT count(*) FROM unmatched_results") == 1


def test_a_weak_result_finds_a_call_that_was_stored_before(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("u1:call_0")), entry("u2", call("u2:call_1")))
    late = [ToolResult(None, name, f"of {name}", None, None) for name in ("call_1", "call_0")]
    desk.write(desk.file(), entry("r1", late[0]), entry("r2", late[1]))
    assert desk.rows("SELECT tool_response FROM tool_uses ORDER BY id") == [("of call_0",), ("of call_1",)]


# --- the index


def test_name_input_and_result_are_found(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", call("toolu_1", "WebFetch", {"url": "example"})), entry("u2", ANSWER))
    find = "SELECT rowid % 8 FROM search_fts WHERE search_fts MATCH ?"
    assert [desk.rows(find, word) for word in ("webfetch", "example", "done")] == [[(2,)]] * 3


def test_a_result_that_is_replaced_is_not_found_any_more(desk: Desk) -> None:
    desk.write(
        desk.file("b"), entry("u1", CALL, session="b", time=5), entry("r", result("toolu_1", "copied"), session="b")
    )
    desk.write(desk.file(), entry("u1", CALL, time=1), entry("r", result("toolu_1", "original"), time=2))
    assert tool(desk, "tool_response") == ("original",)
    assert desk.one("SELECT body FROM search_texts") == "ls\noriginal"
    find = "SELECT rowid FROM search_fts WHERE search_fts MATCH ?"
    assert [len(desk.rows(find, word)) for word in ("copied", "original")] == [0, 1]


def test_without_an_index_results_are_still_merged() -> None:
    desk = Desk(index_text=False)
    desk.write(desk.file(), entry("u1", CALL))
    desk.write(desk.file(), entry("u2", ANSWER))
    assert tool(desk, "tool_response") == ("done",)
    assert desk.rows("SELECT * FROM search_texts") == []
