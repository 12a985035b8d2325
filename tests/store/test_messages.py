"""One API message over many lines, counted once."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from desk import NOON, Desk, entry, said

from indexer.records import Prompt

ORDERS = list(permutations(range(3)))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def message(desk: Desk, columns: str) -> tuple[Any, ...]:
    (row,) = desk.rows(f"SELECT {columns} FROM assistant_messages")
    return row


def body(desk: Desk) -> Any:
    return desk.one("SELECT body FROM search_texts WHERE id % 8 = 1")


def test_lines_of_one_message_are_one_row_and_texts_of_their_own(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", said("m", "one")), entry("u2", said("m")), entry("u3", said("m", "two")))
    assert message(desk, "message_id, record_uuid") == ("m", "u1")
    assert desk.rows("SELECT uuid, position, text FROM assistant_texts") == [("u1", 1, "one"), ("u3", 3, "two")]
    assert body(desk) == "one\ntwo"


@pytest.mark.parametrize("apart", [False, True])
def test_of_repeated_token_counts_the_largest_is_kept(desk: Desk, apart: bool) -> None:
    lines = [
        entry(f"u{n}", said("m", tokens=tokens)) for n, tokens in enumerate([(1, 1, 9, 2), (1, 7, 3, 2), (1, 5, 3, 4)])
    ]
    for group in [[line] for line in lines] if apart else [lines]:
        desk.write(desk.file(), *group)
    assert message(desk, "input_tokens, output_tokens, cache_creation_tokens, cache_read_tokens") == (1, 7, 9, 4)


def test_a_replay_appends_nothing(desk: Desk) -> None:
    lines = [entry("u1", said("m", "one")), entry("u2", said("m", "two"))]
    desk.write(desk.file(), *lines)
    desk.again(desk.file(), *lines)
    desk.write(desk.file("b"), *(line._replace(session_id="b") for line in lines))
    assert body(desk) == "one\ntwo"
    assert desk.one("SELECT count(*) FROM assistant_texts") == 2


def test_a_line_that_comes_later_joins_the_index_text(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", said("m")))
    assert desk.rows("SELECT * FROM search_texts") == []
    desk.write(desk.file(), entry("u2", said("m", "two")))
    desk.write(desk.file(), entry("u3", said("m", "three")))
    assert body(desk) == "two\nthree"
    assert desk.rows("SELECT rowid % 8 FROM search_fts WHERE search_fts MATCH 'three'") == [(1,)]


def test_a_model_that_is_known_is_kept(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", said("m", model=None)), entry("u2", said("m", model="m2")))
    desk.write(desk.file(), entry("u3", said("m", model="m3")))
    assert message(desk, "model") == ("m2",)


@pytest.mark.parametrize("order", ORDERS)
def test_the_oldest_session_owns_a_message(desk: Desk, order: tuple[int, ...]) -> None:
    for place in order:
        session = "cab"[place]
        desk.write(desk.file(session), entry("u1", said("m", "x"), session=session, time=place))
    assert message(desk, "content_session_id, created_at_epoch") == ("c", NOON)
    assert desk.rows("SELECT created_at_epoch FROM assistant_texts") == [(NOON,)]


@pytest.mark.parametrize("agent_first", [False, True])
def test_an_agents_repetition_does_not_take_a_message_to_itself(desk: Desk, agent_first: bool) -> None:
    lines = [(desk.file(), [entry("u0", Prompt("go")), entry("u1", said("m", "x"))])]
    lines.append((desk.file(agent="x"), [entry("u1", said("m", "x"))]))
    for file, made in reversed(lines) if agent_first else lines:
        desk.write(file, *made)
    assert message(desk, "agent_id, prompt_number") == (None, 1)


@pytest.mark.parametrize("agent_first", [False, True])
def test_a_main_line_leads_a_message_that_an_agent_has_part_of(desk: Desk, agent_first: bool) -> None:
    turns: list[Any] = [(desk.file(), entry("u1", said("m", "a")), entry("u2", said("m", "b")))]
    turns.append((desk.file(agent="x"), entry("u2", said("m", "b"))))
    desk.writes(*(reversed(turns) if agent_first else turns))
    assert message(desk, "record_uuid, agent_id") == ("u1", None)
    assert body(desk) == "a\nb"


@pytest.mark.parametrize("first", ["x", "y"])
def test_lines_of_two_files_are_put_in_one_order(desk: Desk, first: str) -> None:
    """The files of a session stand by path where nothing else tells them apart."""
    lines = {"x": entry("u1", said("m", "one")), "y": entry("u2", said("m", "two"))}
    for name in (first, "xy".replace(first, "")):
        desk.write(desk.file(name=name), lines[name])
    assert (message(desk, "record_uuid"), body(desk)) == (("u1",), "one\ntwo")


# --- the session's model


def model(desk: Desk) -> Any:
    return desk.one("SELECT observed_model FROM sdk_sessions WHERE content_session_id = 'a'")


@pytest.mark.parametrize("order", ORDERS)
def test_a_sessions_model_is_that_of_its_latest_message(desk: Desk, order: tuple[int, ...]) -> None:
    for place in order:
        desk.write(
            desk.file(name=f"f{place}"), entry(f"u{place}", said(f"k{place}", model=f"m{place}"), time=(3, 9, 5)[place])
        )
    assert model(desk) == "m1"


def test_what_a_sub_agent_ran_on_is_not_the_sessions_model(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", said("m", model="main"), time=1))
    desk.write(desk.file(agent="x"), entry("u2", said("n", model="small"), time=9))
    assert model(desk) == "main"


def test_a_message_without_a_time_or_a_model_says_nothing_of_it(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", said("m", model="m1"), time=1))
    desk.write(desk.file(), entry("u2", said("n", model=None), time=5), entry("u3", said("o", model="m9"), time=None))
    assert model(desk) == "m1"


def test_a_fork_has_the_model_of_its_copied_history(desk: Desk) -> None:
    desk.write(desk.file("b"), entry("u1", said("m", model="m1"), session="b", time=1))
    desk.write(desk.file(), entry("u1", said("m", model="m1"), time=1, forked_from="b"))
    assert model(desk) == "m1"
