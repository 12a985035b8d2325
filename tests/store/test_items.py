from __future__ import annotations

import sqlite3

import pytest

from indexer.store import items
from indexer.store.items import Item, Place, Turn

FILE = "/home/dev/.claude/projects/shop/1.jsonl"
QUESTION = "Why does the auth timeout fire early?"


def item(conn: sqlite3.Connection, kind: str, row_id: int) -> Item:
    found = items.item(conn, kind, row_id)
    assert found is not None
    return found


# --- one item


def test_a_prompt_with_what_is_around_it(memory: sqlite3.Connection) -> None:
    found = item(memory, "prompt", 1)
    assert (found.id, found.time, found.place) == ("prompt:1", 1795168800000, Place(FILE, 1))
    assert found.session.title == "Fix the auth timeout"
    assert found.turn == Turn("prompt:1", 1, QUESTION)
    assert found.content == {"text": QUESTION, "private": 0, "queued": 0}


def test_a_tool_use_with_the_prompt_of_its_turn(memory: sqlite3.Connection) -> None:
    found = item(memory, "tool_use", 2)
    assert found.turn == Turn("prompt:4", 2, "Now write a test")
    assert found.content["name"] == "Bash"
    assert (found.content["is_error"], found.content["answered"]) == (1, 1)


def test_an_answer_joins_its_texts(memory: sqlite3.Connection) -> None:
    memory.execute("INSERT INTO assistant_texts VALUES ('a0', 1, 1, 3, 'First.')")
    assert item(memory, "assistant", 1).content["text"] == "First.\n\nIt counts in seconds."


def test_an_answer_without_text_is_empty_not_null(memory: sqlite3.Connection) -> None:
    memory.execute("DELETE FROM assistant_texts")
    assert item(memory, "assistant", 1).content["text"] == ""


def test_an_observation_stands_in_no_file(memory: sqlite3.Connection) -> None:
    found = item(memory, "observation", 1)
    assert (found.place, found.content["title"]) == (None, "The timeout was in seconds")
    assert found.turn == Turn("prompt:1", 1, QUESTION)


def test_a_summary_without_a_turn(memory: sqlite3.Connection) -> None:
    found = item(memory, "summary", 1)
    assert (found.turn, found.content["learned"]) == (None, "Units matter")


def test_a_command_is_not_found_as_a_prompt(memory: sqlite3.Connection) -> None:
    assert items.item(memory, "prompt", 2) is None
    assert item(memory, "command", 2).content["text"] == "/compact"
    assert item(memory, "shell", 3).turn == Turn("prompt:1", 1, QUESTION)


@pytest.mark.parametrize("kind", items.CODES)
def test_what_is_not_there_is_not_found(memory: sqlite3.Connection, kind: str) -> None:
    assert items.item(memory, kind, 999) is None


def test_in_a_fork_the_turn_may_be_opened_by_a_prompt_of_the_origin(memory: sqlite3.Connection) -> None:
    assert item(memory, "tool_use", 3).turn == Turn("prompt:1", 1, QUESTION)


def test_a_turn_beyond_the_prompts_is_unknown(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE tool_uses SET prompt_number = 7 WHERE id = 3")
    assert item(memory, "tool_use", 3).turn is None


def test_a_record_that_left_its_file_has_no_line(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE session_records SET position = 1 - (1 << 40) WHERE uuid = 'p1' AND session_db_id = 1")
    assert item(memory, "prompt", 1).place == Place(FILE, None)


def test_a_row_without_membership_has_no_place(memory: sqlite3.Connection) -> None:
    memory.execute("DELETE FROM session_records WHERE uuid = 'p1'")
    assert item(memory, "prompt", 1).place is None


# --- who shows it


def test_a_copied_row_is_shown_by_both_sessions(memory: sqlite3.Connection) -> None:
    prompt, tool_use = 1 * 8, 2 * 8 + 2
    assert items.showing(memory, [tool_use, prompt]) == {prompt: [1, 2], tool_use: [1]}


def test_the_owner_comes_first(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE search_texts SET session_db_id = 2 WHERE uuid = 'p1'")
    assert items.showing(memory, [8]) == {8: [2, 1]}


def test_what_has_no_record_is_shown_by_its_owner(memory: sqlite3.Connection) -> None:
    observation, nothing = 1 * 8 + 3, 99 * 8 + 4
    assert items.showing(memory, [observation, nothing]) == {observation: [1]}


# --- the course of a session


def course(conn: sqlite3.Connection, session: int) -> list[str]:
    return [step.id or step.text.partition(" ")[0] for step in items.course(conn, session)]


def test_a_session_in_the_order_of_its_file(memory: sqlite3.Connection) -> None:
    assert course(memory, 1) == [
        *("prompt:1", "tool_use:1", "assistant:1", "command:2", "shell:3", "prompt:4", "tool_use:2"),
        *("commit", "duration", "assistant:2", "observation:1", "summary:1"),
    ]


def test_a_fork_shows_its_whole_history(memory: sqlite3.Connection) -> None:
    assert course(memory, 2) == ["prompt:1", "tool_use:1", "prompt:5", "tool_use:3"]


def test_copies_stand_on_the_lines_of_the_forks_own_file(memory: sqlite3.Connection) -> None:
    place = items.course(memory, 2)[1].place
    assert place == Place("/home/dev/.claude/projects/shop/2.jsonl", 2)


def test_files_go_by_their_first_time_and_undated_ones_last(memory: sqlite3.Connection) -> None:
    assert course(memory, 4) == ["prompt:7", "tool_use:4"]
    memory.execute("UPDATE ingest_files SET first_epoch = NULL WHERE id = 4")
    assert course(memory, 4) == ["tool_use:4", "prompt:7"]


def test_the_work_of_a_sub_agent_is_marked(memory: sqlite3.Connection) -> None:
    assert [step.sidechain for step in items.course(memory, 4)] == [False, True]


def test_a_tool_use_is_told_by_its_file_or_its_input(memory: sqlite3.Connection) -> None:
    texts = {step.id: step.text for step in items.course(memory, 1)}
    assert texts["tool_use:1"] == "Read /home/dev/work/shop-api/auth.ts"
    assert texts["tool_use:2"].startswith('Bash {"command": "npm test')
    assert len(texts["tool_use:2"]) < 420


def test_a_session_without_records_is_empty(memory: sqlite3.Connection) -> None:
    assert items.course(memory, 5) == []


# --- what a prompt set going


def acts(conn: sqlite3.Connection, kind: str, row_id: int) -> list[str]:
    found = items.reaction(conn, item(conn, kind, row_id))
    assert found is not None
    return [act.id for act in found.acts]


def test_a_turn_ends_with_what_is_typed_next(memory: sqlite3.Connection) -> None:
    assert acts(memory, "prompt", 1) == ["tool_use:1", "assistant:1"]
    assert acts(memory, "command", 2) == acts(memory, "shell", 3) == []


def test_the_last_turn_goes_on_to_the_end_of_the_file(memory: sqlite3.Connection) -> None:
    assert acts(memory, "prompt", 4) == ["tool_use:2", "assistant:2"]
    assert acts(memory, "prompt", 5) == ["tool_use:3"]


def test_what_a_sub_agent_did_is_counted_not_listed(memory: sqlite3.Connection) -> None:
    assert items.reaction(memory, item(memory, "prompt", 7)) == items.Reaction((), 0, 1)


def test_only_what_was_typed_sets_something_going(memory: sqlite3.Connection) -> None:
    assert items.reaction(memory, item(memory, "tool_use", 1)) is None


def test_a_prompt_without_a_record_has_no_turn(memory: sqlite3.Connection) -> None:
    memory.execute("DELETE FROM session_records WHERE uuid = 'p4'")
    assert acts(memory, "prompt", 4) == []
