"""Prompts of old clients that exist as a line of the queue only."""

from __future__ import annotations

from typing import Any

import pytest
from desk import NOON, Desk, entry

from indexer.records import Entry, Prompt, QueueOperation
from indexer.store.queued import is_old

OLD = "2.1.100"


@pytest.fixture
def desk() -> Desk:
    return Desk()


def line(operation: str, text: str | None = None, time: int = 5, session: str = "a") -> Entry:
    return entry(None, QueueOperation(operation, text), time=time, version=None, session=session)


def handed(text: str, time: int = 5, session: str = "a") -> list[Entry]:
    """A prompt that is given to the running turn."""
    return [line("enqueue", text, time, session), line("remove", None, time + 1, session)]


def begun(uuid: str = "u1", text: str = "begin", version: str = OLD, **more: Any) -> Entry:
    return entry(uuid, Prompt(text), version=version, **more)


def queued(desk: Desk) -> list[tuple[Any, ...]]:
    sql = "SELECT prompt_text, created_at_epoch - ?, prompt_number FROM user_prompts WHERE is_queued ORDER BY 2, 1"
    return desk.rows(sql, NOON)


# --- the rule


def test_a_prompt_that_was_removed_from_the_queue_and_never_repeated_is_one(desk: Desk) -> None:
    written = desk.write(desk.file(), begun(), *handed("and this"))
    assert queued(desk) == [("and this", 5, 2)]
    assert written.prompts == 2
    assert desk.one("SELECT prompt_counter FROM sdk_sessions") == 2


@pytest.mark.parametrize("operations", [["enqueue"], ["enqueue", "dequeue"], ["enqueue", "popAll"], ["remove"], []])
def test_waiting_sent_and_taken_back_prompts_are_none(desk: Desk, operations: list[str]) -> None:
    desk.write(desk.file(), begun(), *(line(name, "text" if name == "enqueue" else None) for name in operations))
    assert queued(desk) == []


@pytest.mark.parametrize("text", ["<task-notification>x", "/compact", "", "   "])
def test_machine_text_and_commands_are_none(desk: Desk, text: str) -> None:
    desk.write(desk.file(), begun(), *handed(text))
    assert queued(desk) == []


def test_an_enqueue_without_a_text_is_none(desk: Desk) -> None:
    desk.write(desk.file(), begun(), line("enqueue"), line("remove"))
    assert queued(desk) == []


def test_lines_are_matched_first_in_first_out(desk: Desk) -> None:
    enqueued = [line("enqueue", text, time) for text, time in (("one", 1), ("two", 2), ("three", 3))]
    desk.write(desk.file(), begun(), *enqueued, line("dequeue"), line("remove"), line("dequeue"))
    assert [row[0] for row in queued(desk)] == ["two"]


def test_taking_everything_back_empties_the_queue(desk: Desk) -> None:
    desk.write(desk.file(), begun(), line("enqueue", "one"), line("popAll"), *handed("two"))
    assert [row[0] for row in queued(desk)] == ["two"]


def test_the_same_text_at_another_time_is_another_prompt(desk: Desk) -> None:
    desk.write(desk.file(), begun(), *handed("again", 5), *handed("again", 7))
    assert [row[:2] for row in queued(desk)] == [("again", 5), ("again", 7)]


def test_each_file_has_a_queue_of_its_own(desk: Desk) -> None:
    desk.write(desk.file(name="x"), begun("u1"), line("enqueue", "one"))
    desk.write(desk.file(name="y"), begun("u2"), line("remove"))
    assert queued(desk) == []


def test_lines_repeated_in_an_agents_file_are_none(desk: Desk) -> None:
    desk.write(desk.file(agent="x"), begun(sidechain=True), *handed("and this"))
    assert desk.rows("SELECT * FROM queue_operations") == queued(desk) == []


# --- twins


@pytest.mark.parametrize("place", [0, 1, 3])
@pytest.mark.parametrize("apart", [False, True])
def test_a_prompt_that_has_a_record_is_not_made_of_its_queue_line(desk: Desk, place: int, apart: bool) -> None:
    lines = [begun(), *handed("and this")]
    lines.insert(place, begun("u2", "and this"))
    for group in [[one] for one in lines] if apart else [lines]:
        desk.write(desk.file(), *group)
    assert queued(desk) == []
    assert desk.one("SELECT count(*) FROM user_prompts") == 2


def test_a_twin_that_comes_later_withdraws_it_everywhere(desk: Desk) -> None:
    desk.write(desk.file(), begun(), *handed("and this"))
    assert desk.one("SELECT count(*) FROM search_texts WHERE body = 'and this'") == 1
    desk.write(desk.file(), begun("u2", "and this"))
    assert queued(desk) == []
    assert desk.rows("SELECT uuid FROM session_records ORDER BY 1") == [("u1",), ("u2",)]
    assert desk.one("SELECT count(*) FROM search_texts WHERE body = 'and this'") == 1


def test_it_is_withdrawn_from_a_side_file_too(desk: Desk) -> None:
    desk.conn.execute("DROP TRIGGER user_prompts_ad")
    desk.write(desk.file(), begun(), *handed("and this"))
    desk.write(desk.file(), begun("u2", "and this"))
    orphans = "SELECT count(*) FROM search_texts WHERE id / 8 NOT IN (SELECT id FROM user_prompts)"
    assert desk.one(orphans) == 0


def test_a_twin_that_a_fork_had_first_withdraws_it_as_well(desk: Desk) -> None:
    desk.write(desk.file("b"), begun("u2", "and this", session="b", forked_from="a"))
    desk.write(desk.file(), begun(), *handed("and this"))
    desk.write(desk.file(), begun("u2", "and this"))
    assert queued(desk) == []


# --- identity


def test_reading_again_makes_no_second_one(desk: Desk) -> None:
    lines = [begun(), *handed("and this")]
    desk.write(desk.file(), *lines)
    before = desk.rows("SELECT id, native_prompt_id FROM user_prompts")
    desk.again(desk.file(), *lines)
    assert desk.rows("SELECT id, native_prompt_id FROM user_prompts") == before


@pytest.mark.parametrize("order", ["xy", "yx"])
def test_of_two_files_that_hold_it_one_is_its_place(desk: Desk, order: str) -> None:
    for name in order:
        desk.write(desk.file(name=name), begun(), *handed("and this"))
    assert len(queued(desk)) == 1
    sql = (
        "SELECT f.path, position FROM session_records JOIN ingest_files f ON f.id = file_id WHERE uuid LIKE 'queued:%'"
    )
    assert desk.rows(sql) == [("/root/-w-a/x.jsonl", 2)]


# --- versions


@pytest.mark.parametrize(
    ("version", "old"),
    [("2.0.76", True), ("2.1.100", True), ("2.1.101", False), ("2.2.0", False), ("3", False), ("x", True)],
)
def test_which_clients_give_queued_prompts_no_record(version: str, old: bool) -> None:
    assert is_old(version) is old


def test_a_client_that_writes_records_needs_no_rule(desk: Desk) -> None:
    desk.write(desk.file(), begun(version="2.1.101"), *handed("and this"))
    assert desk.rows("SELECT * FROM queue_operations") == queued(desk) == []


@pytest.mark.parametrize("apart", [False, True])
def test_lines_are_of_the_client_that_wrote_the_record_before_them(desk: Desk, apart: bool) -> None:
    lines = [begun(), *handed("old", 5), begun("u2", "upgraded", "2.1.240"), *handed("new", 7)]
    for group in [[one] for one in lines] if apart else [lines]:
        desk.write(desk.file(), *group)
    assert [row[0] for row in queued(desk)] == ["old"]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(("version", "found"), [(OLD, ["early"]), ("2.1.240", [])])
def test_lines_before_the_first_record_are_of_the_client_that_writes_it(
    desk: Desk, version: str, found: list[str], apart: bool
) -> None:
    lines = [*handed("early"), begun(version=version)]
    for group in [[one] for one in lines] if apart else [lines]:
        desk.write(desk.file(), *group)
    assert [row[0] for row in queued(desk)] == found


def test_a_last_line_that_may_go_on_is_no_queue_line_yet(desk: Desk) -> None:
    desk.write(desk.file(), begun(), line("enqueue", "and this"))
    desk.write(desk.file(), line("remove"), provisional=True)
    assert queued(desk) == []


# --- names that no rule changes

LIFTED, MARKED = "the badge is Badge-1234", "the badge is [REDACTED:badge:01234567]"


def ids(desk: Desk) -> list[tuple[Any, ...]]:
    return desk.rows("SELECT id, native_prompt_id FROM user_prompts WHERE is_queued ORDER BY id")


@pytest.mark.parametrize(("before", "after"), [(LIFTED, MARKED), (MARKED, LIFTED), (MARKED, MARKED.replace("0", "9"))])
def test_another_rule_changes_the_text_and_nothing_else(desk: Desk, before: str, after: str) -> None:
    file = desk.file()
    desk.write(file, begun(), *handed(before))
    held = ids(desk)
    file.start_over()
    desk.write(file, begun(), *handed(after))
    assert ids(desk) == held
    assert queued(desk) == [(after, 5, 2)]
    assert desk.one("SELECT count(*) FROM session_records WHERE uuid LIKE 'queued:%'") == 1


def test_the_twins_of_new_rules_are_known(desk: Desk) -> None:
    file = desk.file()
    desk.write(file, begun(), *handed(MARKED))
    file.start_over()
    desk.write(file, begun(), *handed(LIFTED), begun("u2", LIFTED, time=9))
    assert queued(desk) == []


def test_prompts_of_one_moment_are_told_apart(desk: Desk) -> None:
    lines = [line("enqueue", "first"), line("enqueue", "second"), line("remove"), line("remove")]
    desk.write(desk.file(), begun(), *lines)
    assert [text for text, *_ in queued(desk)] == ["first", "second"]
    assert len(ids(desk)) == 2


def test_a_name_of_an_older_version_gives_way_and_the_row_stays(desk: Desk) -> None:
    file = desk.file()
    desk.write(file, begun(), *handed("and this"))
    ((row, name),) = ids(desk)
    for table, column in (("user_prompts", "native_prompt_id"), ("session_records", "uuid"), ("search_texts", "uuid")):
        desk.conn.execute(f"UPDATE {table} SET {column} = 'queued:old' WHERE {column} = ?", (name,))
    file.start_over()
    desk.write(file, begun(), *handed("and this"))
    assert ids(desk) == [(row, name)]
    assert desk.one("SELECT count(*) FROM search_texts WHERE uuid = 'queued:old'") == 0
