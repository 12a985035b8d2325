"""Whose a record is, whichever copy of it is read first."""

from __future__ import annotations

from itertools import permutations
from typing import Any, TypeAlias

import pytest
from desk import NOON, Desk, entry

from indexer.records import Prompt
from indexer.store.membership import FORKED, OWNER, SIDECHAIN

HELLO = Prompt("hello")
BOTH = [(0, 1), (1, 0)]
"""Both orders of two copies."""
Copies: TypeAlias = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def members(desk: Desk) -> dict[str, tuple[str, int, int]]:
    """File, line and flags of record u1 by session."""
    sql = (
        "SELECT content_session_id, path, position, flags FROM session_records r JOIN ingest_files f ON f.id = file_id "
        "JOIN sdk_sessions s ON s.id = session_db_id WHERE uuid = 'u1'"
    )
    return {session: (path.rpartition("/root/")[2], line, flags) for session, path, line, flags in desk.rows(sql)}


def owner(desk: Desk) -> tuple[Any, ...]:
    """What the only prompt says of whose it is: session, time, folder."""
    sql = "SELECT content_session_id, created_at_epoch - ?, cwd FROM user_prompts"
    (row,) = desk.rows(sql, NOON)
    return row


def read(desk: Desk, *copies: tuple[str, dict[str, Any]]) -> None:
    """Write record u1 into the file of each session, in this order, each in its own transaction."""
    for session, more in copies:
        desk.write(desk.file(session, name=more.pop("name", "")), entry("u1", HELLO, session=session, **more))


# --- between sessions


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_older_session_owns_a_shared_record(desk: Desk, order: tuple[int, ...]) -> None:
    copies: Copies = [("c", {"time": 5, "cwd": "/c"}), ("a", {"time": 9, "cwd": "/a"}), ("b", {"time": 7, "cwd": "/b"})]
    read(desk, *(copies[place] for place in order))
    assert owner(desk) == ("c", 5, "/c")
    assert {session: flags for session, (_, _, flags) in members(desk).items()} == {"a": 0, "b": 0, "c": OWNER}


@pytest.mark.parametrize("order", BOTH)
def test_of_two_equally_old_the_smaller_id_owns_it(desk: Desk, order: tuple[int, ...]) -> None:
    copies: Copies = [("b", {"time": 5}), ("a", {"time": 5})]
    read(desk, *(copies[place] for place in order))
    assert owner(desk)[0] == "a"


@pytest.mark.parametrize("order", BOTH)
def test_a_copy_that_names_its_origin_owns_nothing_even_if_older(desk: Desk, order: tuple[int, ...]) -> None:
    copies: Copies = [("a", {"time": 1, "forked_from": "b"}), ("b", {"time": 5})]
    read(desk, *(copies[place] for place in order))
    assert owner(desk)[:2] == ("b", 5)
    assert members(desk)["a"][2] == FORKED


@pytest.mark.parametrize("order", BOTH)
def test_a_side_chain_copy_never_owns_what_a_main_thread_holds(desk: Desk, order: tuple[int, ...]) -> None:
    copies: Copies = [("a", {"time": 1, "sidechain": True}), ("b", {"time": 5})]
    read(desk, *(copies[place] for place in order))
    assert owner(desk)[:2] == ("b", 5)


@pytest.mark.parametrize("order", BOTH)
def test_an_undated_session_is_the_youngest(desk: Desk, order: tuple[int, ...]) -> None:
    copies: Copies = [("a", {"time": None}), ("b", {"time": 5})]
    read(desk, *(copies[place] for place in order))
    assert owner(desk)[0] == "b"


def test_a_time_that_is_missing_takes_the_copys_with_it(desk: Desk) -> None:
    read(desk, ("b", {"time": 5, "forked_from": "a"}), ("a", {"time": None}))
    assert owner(desk)[:2] == ("a", None)


def test_a_known_folder_is_not_overwritten_by_an_unknown_one(desk: Desk) -> None:
    read(desk, ("b", {"time": 9, "cwd": "/b"}), ("a", {"time": 1, "cwd": None}))
    assert owner(desk) == ("a", 1, "/b")


# --- within a session


@pytest.mark.parametrize("order", BOTH)
def test_of_two_files_the_one_named_for_the_session_counts(desk: Desk, order: tuple[int, ...]) -> None:
    copies: Copies = [("b", {"time": 5, "cwd": "/mine"}), ("b", {"time": 9, "cwd": "/other", "name": "a-other"})]
    read(desk, *((copies[place][0], dict(copies[place][1])) for place in order))
    assert owner(desk) == ("b", 5, "/mine")
    assert members(desk)["b"] == ("-w-a/b.jsonl", 1, OWNER)


@pytest.mark.parametrize("order", BOTH)
def test_else_the_smaller_path_counts(desk: Desk, order: tuple[int, ...]) -> None:
    copies: Copies = [("z", {"time": 5, "name": "a"}), ("z", {"time": 9, "name": "b"})]
    read(desk, *((copies[place][0], dict(copies[place][1])) for place in order))
    assert owner(desk)[:2] == ("z", 5)


def test_a_file_that_is_gone_speaks_last(desk: Desk) -> None:
    read(desk, ("a", {"time": 5}))
    desk.conn.execute("UPDATE ingest_files SET status = 'gone'")
    read(desk, ("a", {"time": 9, "name": "a-copy"}))
    assert members(desk)["a"][0] == "-w-a/a-copy.jsonl"


@pytest.mark.parametrize("agent_first", [False, True])
def test_the_main_thread_stands_before_an_agents_repetition(desk: Desk, agent_first: bool) -> None:
    lines = [(desk.file("a"), entry("u1", HELLO, cwd="/main")), (desk.file(agent="x"), entry("u1", HELLO, cwd="/side"))]
    for file, line in reversed(lines) if agent_first else lines:
        desk.write(file, line)
    assert owner(desk) == ("a", 0, "/main")
    assert members(desk)["a"] == ("-w-a/a.jsonl", 1, OWNER)


def test_only_an_agent_has_it_then_it_is_its_side_chain(desk: Desk) -> None:
    desk.write(desk.file(agent="x"), entry("u1", HELLO))
    assert members(desk)["a"] == ("-w-a/agent-x.jsonl", 1, SIDECHAIN | OWNER)


def test_a_line_written_twice_stands_at_its_first_place(desk: Desk) -> None:
    desk.write(desk.file("a"), entry("u1", HELLO, cwd="/first"), entry("u0", HELLO), entry("u1", HELLO, cwd="/again"))
    assert members(desk)["a"] == ("-w-a/a.jsonl", 1, OWNER)
    assert desk.one("SELECT cwd FROM user_prompts WHERE native_prompt_id = 'u1'") == "/first"


# --- reading again


def test_a_line_that_moved_in_its_file_gets_its_new_place(desk: Desk) -> None:
    file = desk.file("a")
    desk.write(file, entry("u0", HELLO), entry("u1", HELLO))
    desk.again(file, entry("u1", HELLO, cwd="/new"))
    assert members(desk)["a"] == ("-w-a/a.jsonl", 1, OWNER)
    assert desk.one("SELECT cwd FROM user_prompts WHERE native_prompt_id = 'u1'") == "/w/a"


def test_a_line_that_left_its_file_stands_before_all_that_is_there(desk: Desk) -> None:
    file = desk.file("a")
    desk.write(file, entry("u1", HELLO), entry("u2", HELLO))
    desk.again(file, entry("u2", HELLO))
    assert members(desk)["a"][1] < 0
    numbers = "SELECT native_prompt_id, prompt_number FROM user_prompts ORDER BY 1"
    assert desk.rows(numbers) == [("u1", 1), ("u2", 2)]


def test_a_copy_elsewhere_stands_in_for_a_line_that_left(desk: Desk) -> None:
    file = desk.file("a")
    desk.write(file, entry("u1", HELLO))
    desk.again(file)
    desk.write(desk.file("a", name="a-copy"), entry("u1", HELLO))
    assert members(desk)["a"] == ("-w-a/a-copy.jsonl", 1, OWNER)


def test_a_better_file_speaks_even_while_the_other_is_read_again(desk: Desk) -> None:
    other = desk.file("a", name="x")
    desk.write(other, entry("u1", HELLO, time=5))
    desk.again(other)
    read(desk, ("a", {"time": 9}))
    assert owner(desk)[:2] == ("a", 9)
    desk.write(other, entry("u1", HELLO, time=5))
    assert owner(desk)[:2] == ("a", 9)


def test_the_best_copy_is_read_again_rather_than_another_of_its_session(desk: Desk) -> None:
    read(desk, ("a", {"time": 5}), ("b", {"time": 5, "cwd": "/mine"}))
    desk.write(desk.file("b", name="a-old"), entry("u1", HELLO, session="b", time=1, cwd="/other"))
    assert owner(desk) == ("a", 5, "/w/a")
    assert desk.to_read_again() == ["b.jsonl"]
