"""Prompt numbers, the turns of sub-agents, titles: what follows from several records."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from desk import Desk, call, entry, result, said

from indexer.records import AgentLink, Prompt, Title, TurnEvent

BOTH = [(0, 1), (1, 0)]


@pytest.fixture
def desk() -> Desk:
    return Desk()


def numbers(desk: Desk, table: str = "user_prompts", name: str = "native_prompt_id") -> dict[str, int]:
    return dict(desk.rows(f"SELECT {name}, prompt_number FROM {table}"))


def shown(desk: Desk, columns: str = "prompt_counter, user_prompt", session: str = "a") -> tuple[Any, ...]:
    (row,) = desk.rows(f"SELECT {columns} FROM sdk_sessions WHERE content_session_id = ?", session)
    return row


# --- prompts


def test_prompts_are_numbered_in_the_order_of_the_file(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("one"), time=9), entry("u2", Prompt("two"), time=1))
    desk.write(desk.file(), entry("u3", Prompt("three"), time=5))
    assert numbers(desk) == {"u1": 1, "u2": 2, "u3": 3}
    assert shown(desk) == (3, "one")


def test_everything_else_has_the_number_of_the_prompt_before_it(desk: Desk) -> None:
    desk.write(
        desk.file(),
        entry("u0", said("m0", "before")),
        entry("u1", Prompt("/ship", "command")),
        entry("u2", Prompt("one")),
        entry("u3", Prompt("ls", "shell")),
        entry("u4", said("m1"), call("toolu_1")),
    )
    assert numbers(desk) == {"u1": 0, "u2": 1, "u3": 1}
    assert numbers(desk, "assistant_messages", "message_id") == {"m0": 0, "m1": 1}
    assert numbers(desk, "tool_uses", "identity") == {"toolu_1": 1}


def test_commands_and_shell_input_are_not_counted_and_name_nothing(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("/ship", "command")), entry("u2", Prompt("hello")))
    assert shown(desk) == (1, "hello")


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_older_records_that_arrive_late_come_first(desk: Desk, order: tuple[int, ...]) -> None:
    for place in order:
        desk.write(desk.file(name=f"part{place}"), entry(f"u{place}", Prompt(f"text {place}"), time=place * 10))
    assert numbers(desk) == {"u0": 1, "u1": 2, "u2": 3}
    assert shown(desk) == (3, "text 0")


@pytest.mark.parametrize("order", BOTH)
def test_a_fork_counts_its_copied_history(desk: Desk, order: tuple[int, ...]) -> None:
    copied = [entry("u1", Prompt("one"), time=1), entry("u2", Prompt("two"), time=2)]
    files = [
        (desk.file("a"), copied),
        (
            desk.file("b"),
            [*(e._replace(session_id="b") for e in copied), entry("u3", Prompt("three"), session="b", time=9)],
        ),
    ]
    for place in order:
        desk.write(files[place][0], *files[place][1])
    assert numbers(desk) == {"u1": 1, "u2": 2, "u3": 3}
    assert (shown(desk), shown(desk, session="b")) == ((2, "one"), (3, "one"))


def test_the_first_prompt_is_kept_short(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x" * 5_000)))
    assert shown(desk, "length(user_prompt)") == (1_000,)


# --- turns of sub-agents


def main_thread(desk: Desk) -> list[Any]:
    """Two prompts; the first one's turn spawns an agent that works on while the second one runs."""
    lines = [
        entry("u1", Prompt("one"), time=10),
        entry("u2", call("toolu_spawn", "Agent"), time=20),
        entry("u3", Prompt("two"), time=30),
    ]
    return [desk.file(), *lines]


def agent_thread(desk: Desk, agent: str = "x", time: int = 40) -> list[Any]:
    made = [
        entry(f"{agent}1", call(f"toolu_{agent}"), time=time),
        entry(f"{agent}2", said(f"m{agent}", "found"), time=time),
    ]
    return [desk.file(agent=agent), *made]


LINK = entry(None, AgentLink("x", "toolu_spawn", "explore", None))


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_background_work_belongs_to_the_turn_that_spawned_it(desk: Desk, order: tuple[int, ...]) -> None:
    turns = [main_thread(desk), agent_thread(desk), [desk.file(agent="x"), LINK]]
    for place in order:
        desk.write(*turns[place])
    assert desk.rows("SELECT prompt_number, agent_type FROM tool_uses WHERE agent_id = 'x'") == [(1, "explore")]
    assert numbers(desk, "assistant_messages", "message_id") == {"mx": 1}


@pytest.mark.parametrize("order", BOTH)
def test_without_a_known_call_it_belongs_to_the_last_prompt_before_it(desk: Desk, order: tuple[int, ...]) -> None:
    turns = [main_thread(desk), agent_thread(desk)]
    for place in order:
        desk.write(*turns[place])
    assert numbers(desk, "tool_uses", "identity") == {"toolu_spawn": 1, "toolu_x": 2}


def test_an_agent_of_an_agent_belongs_to_the_outermost_call(desk: Desk) -> None:
    desk.write(*main_thread(desk))
    desk.write(*agent_thread(desk), LINK)
    desk.write(*agent_thread(desk, "y", 99), entry(None, AgentLink("y", "toolu_x", "plan", None)))
    assert numbers(desk, "tool_uses", "identity")["toolu_y"] == 1


def test_agents_that_name_each_other_as_parents_do_no_harm(desk: Desk) -> None:
    desk.write(*main_thread(desk))
    for agent, parent in (("x", "y"), ("y", "x")):
        desk.write(*agent_thread(desk, agent), entry(None, AgentLink(agent, f"toolu_{parent}", None, None)))
    assert set(numbers(desk, "tool_uses", "identity")) == {"toolu_spawn", "toolu_x", "toolu_y"}


def test_an_old_clients_inline_side_chain_follows_the_file(desk: Desk) -> None:
    side: dict[str, Any] = {"sidechain": True, "time": 1}
    desk.write(desk.file(), entry("u1", Prompt("one"), time=10), entry("s1", call("toolu_s"), **side))
    desk.write(desk.file(), entry("u2", Prompt("two"), time=0), entry("s2", call("toolu_t"), **side))
    assert desk.rows("SELECT agent_id, prompt_number FROM tool_uses") == [("inline", 1), ("inline", 2)]


@pytest.mark.parametrize("order", BOTH)
def test_work_in_a_fork_is_placed_by_the_history_it_shows(desk: Desk, order: tuple[int, ...]) -> None:
    one, two = entry("u1", Prompt("one"), time=10), entry("u3", Prompt("two"), time=30)
    worked = entry("x1", call("toolu_x"), session="b", time=40)
    files: list[Any] = [
        [(desk.file("a"), one, two)],
        [(desk.file("b"), *(e._replace(session_id="b") for e in (one, two))), (desk.file("b", agent="x"), worked)],
    ]
    for place in order:
        for file, *lines in files[place]:
            desk.write(file, *lines)
    assert numbers(desk, "tool_uses", "identity") == {"toolu_x": 2}


@pytest.mark.parametrize("apart", [False, True])
def test_work_in_a_fork_follows_when_the_origins_prompt_gets_its_time(desk: Desk, apart: bool) -> None:
    prompt, dated = entry("u1", Prompt("one"), time=None), entry("u2", said("m"), time=9)
    if not apart:
        desk.write(desk.file("a"), prompt, dated)
    else:
        desk.write(desk.file("a"), prompt)
    desk.write(
        desk.file("b"), prompt._replace(session_id="b", forked_from="a"), entry("u3", said("n"), session="b", time=5)
    )
    desk.write(desk.file("b", agent="x"), entry("x1", call("toolu_x"), session="b", time=6))
    if apart:
        desk.write(desk.file("a"), dated)
    assert numbers(desk, "tool_uses", "identity") == {"toolu_x": 0}


# --- titles


def test_the_last_title_of_a_kind_counts(desk: Desk) -> None:
    desk.write(desk.file(), entry(None, Title("custom", "one")), entry(None, Title("ai", "x")))
    desk.write(desk.file(), entry(None, Title("ai", "y")), entry(None, Title("custom", "two")))
    assert shown(desk, "custom_title, ai_title") == ("two", "y")


@pytest.mark.parametrize("order", BOTH)
def test_of_two_files_the_titles_of_the_later_one_count(desk: Desk, order: tuple[int, ...]) -> None:
    turns: list[Any] = [
        [desk.file(name="z"), entry("u1", Prompt("one"), time=1), entry(None, Title("custom", "early"), time=None)],
        [desk.file(name="b"), entry("u2", Prompt("two"), time=9), entry(None, Title("custom", "late"), time=None)],
    ]
    for place in order:
        desk.write(*turns[place])
    assert shown(desk, "custom_title") == ("late",)


def test_a_title_repeated_in_an_agents_file_names_nothing(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("one")), entry(None, Title("ai", "mine")))
    desk.write(desk.file(agent="x"), entry(None, Title("ai", "copied")))
    assert shown(desk, "ai_title") == ("mine",)


def leaf(title: str, uuid: str) -> Any:
    return entry(None, Title("summary", title, uuid), session=None, time=None)


@pytest.mark.parametrize("order", BOTH)
def test_a_summary_names_the_session_that_holds_its_leaf(desk: Desk, order: tuple[int, ...]) -> None:
    turns = [[desk.file("a"), entry("u1", Prompt("one"))], [desk.file("b"), leaf("Old title", "u1")]]
    for place in order:
        desk.write(*turns[place])
    assert shown(desk, "summary_title, ai_title") == ("Old title", None)
    assert desk.rows("SELECT content_session_id FROM sdk_sessions") == [("a",)]


def test_of_two_leaves_the_later_one_names_the_session(desk: Desk) -> None:
    desk.write(desk.file(), leaf("zzz", "u1"), leaf("aaa", "u2"), leaf("nobody's", "u9"))
    desk.write(desk.file(), entry("u1", Prompt("one")), entry("u2", Prompt("two")))
    assert shown(desk, "summary_title") == ("aaa",)


def test_a_fork_is_named_by_the_history_it_shows(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("one")))
    desk.write(desk.file("b"), entry("u1", Prompt("one"), session="b", time=9), leaf("Old title", "u1"))
    assert desk.rows("SELECT summary_title FROM sdk_sessions") == [("Old title",)] * 2


def test_titles_are_kept_short(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("one")), entry(None, Title("ai", "t" * 2_000)), leaf("s" * 2_000, "u1"))
    assert shown(desk, "length(ai_title), length(summary_title)") == (1_000, 1_000)


def test_a_record_of_no_prompt_or_call_can_be_a_leaf(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", TurnEvent("duration", {"ms": 1})), leaf("Old title", "u1"))
    assert shown(desk, "summary_title") == ("Old title",)


def test_an_answer_does_not_start_a_turn(desk: Desk) -> None:
    desk.write(*main_thread(desk), entry("u4", result("toolu_spawn"), time=50))
    assert numbers(desk, "tool_uses", "identity") == {"toolu_spawn": 1}
