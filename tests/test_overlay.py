"""A model's words on the rules' evidence."""

from __future__ import annotations

from typing import Any

import pytest

from indexer.compressors.base import Call, Finding, Observation, Text, Turn
from indexer.overlay import fingerprint, overlaid

CALLS = tuple(Call(row, f"c{row}", "Edit", f"f{row}", {}, "", False, None, None, 10 + row) for row in (1, 2, 3))
TURN = Turn("t", "t", 1, 0, "do it", "/w", 5, CALLS, (Text("done", None, 20),), (), 11)


def seen(slot: str, *calls: int, **more: Any) -> Observation:
    files = tuple(f"f{call}" for call in calls)
    fields: dict[str, Any] = {"agent_type": None, "agent_id": None, "time": 13, **more}
    return Observation(slot, "change", f"rules {slot}", "", "", (), (), ("r",), files, 1, calls=calls, **fields)


def finding(title: str) -> Finding:
    return Finding("bugfix", title, "s", "n", ("f",), ("gotcha",), ("x",))


def made(rules: list[Observation], *titles: str, turn: Turn = TURN) -> tuple[Observation, ...]:
    return overlaid(turn, rules, [finding(title) for title in titles], "m/1")


def test_words_are_the_models_evidence_the_rules() -> None:
    (one,) = made([seen("edits", 1, 2)], "a")
    assert (one.slot, one.type, one.title, one.model) == ("edits", "bugfix", "a", "m/1")
    assert (one.calls, one.files_modified, one.files_read, one.time) == ((1, 2), ("f1", "f2"), ("r", "x"), 13)


def test_no_findings_leave_the_rules() -> None:
    rules = [seen("edits", 1)]
    assert made(rules) == tuple(rules)


def test_fewer_findings_take_over_the_evidence_of_the_rest() -> None:
    (one,) = made([seen("commit:0", 1), seen("edits", 2, 3)], "a")
    assert (one.slot, one.calls, one.files_modified) == ("commit:0", (1, 2, 3), ("f1", "f2", "f3"))


def test_more_findings_get_slots_of_their_own() -> None:
    first, second = made([seen("edits", 1)], "a", "b")
    assert (first.slot, second.slot, second.calls, second.files_modified) == ("edits", "model:1", (1, 2, 3), ())


def test_where_rules_saw_nothing_all_calls_are_the_evidence() -> None:
    (one,) = made([], "a")
    assert (one.slot, one.calls, one.time) == ("model:0", (1, 2, 3), 13)


@pytest.mark.parametrize("titles", [("a",), ("a", "b"), ("a", "b", "c")])
def test_the_turns_tokens_are_shared_out(titles: tuple[str, ...]) -> None:
    assert sum(one.tokens for one in made([seen("edits", 1)], *titles)) == 11


def test_what_came_from_outside_stays_marked() -> None:
    assert made([seen("discovery", 1, outside=True)], "a")[0].outside
    assert not made([seen("edits", 1)], "a")[0].outside


@pytest.mark.parametrize(("names", "outside"), [(("WebFetch", "mcp__x__y"), True), (("WebFetch", "Edit"), False)])
def test_of_a_turn_that_rules_saw_nothing_in_the_calls_tell(names: tuple[str, ...], outside: bool) -> None:
    calls = tuple(CALLS[0]._replace(name=name) for name in names)
    assert made([], "a", turn=TURN._replace(calls=calls))[0].outside is outside


def test_an_agents_work_stays_an_agents() -> None:
    (one,) = made([seen("edits", 1, agent_type="explore", agent_id="a1")], "a")
    assert (one.agent_type, one.agent_id) == ("explore", "a1")


def test_a_fingerprint_is_of_what_a_turn_holds_and_of_nothing_else() -> None:
    moved = TURN._replace(number=9, part=3, cwd="/x", calls=tuple(c._replace(row=c.row + 100) for c in CALLS))
    assert fingerprint(moved) == fingerprint(TURN)


@pytest.mark.parametrize(
    "changed",
    [
        {"prompt": "undo it"},
        {"texts": (Text("failed", None, 20),)},
        {"calls": CALLS[:2]},
        {"calls": (CALLS[0]._replace(response="x"), *CALLS[1:])},
        {"id": "u"},
    ],
)
def test_whatever_a_turn_holds_counts(changed: dict[str, Any]) -> None:
    assert fingerprint(TURN._replace(**changed)) != fingerprint(TURN)
