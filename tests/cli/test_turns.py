from __future__ import annotations

from typing import Any

from indexer.cli import turns
from indexer.cli.render import Style
from indexer.store.items import Act, Reaction

PLAIN = Style(False)


def call(number: int, **changed: Any) -> Act:
    act = Act("tool_use", f"tool_use:{number}", 0, '{"command": "ls"}', "Bash", None, False, True)
    return act._replace(**changed)


def answer(text: str) -> Act:
    return Act("assistant", "assistant:1", 0, text, None, None, False, True)


def lines(*acts: Act, agents: tuple[int, int] = (0, 0)) -> list[str]:
    return list(turns.turn_lines(Reaction(acts, *agents), "s1", PLAIN, 80))[2:]


def test_a_call_is_one_line() -> None:
    assert lines(call(1), call(2, file="/src/a.py", tool="Read")) == [
        "→ Bash ls · tool_use:1",
        "→ Read /src/a.py · tool_use:2",
    ]


def test_a_failed_or_unanswered_call_says_so() -> None:
    assert lines(call(1, is_error=True), call(2, answered=False)) == [
        "→ Bash ls · error · tool_use:1",
        "→ Bash ls · no answer yet · tool_use:2",
    ]


def test_an_answer_stands_below_its_id() -> None:
    assert lines(answer("Done.\nAll of it.")) == ["• assistant:1", "  Done.", "  All of it."]


def test_a_long_answer_does_not_hide_what_follows() -> None:
    shown = lines(answer("line\n" * 99), call(1))
    assert shown[-2:] == ["  …", "→ Bash ls · tool_use:1"]
    assert len(shown) == 13


def test_a_long_turn_ends_with_how_to_see_the_rest() -> None:
    shown = lines(*map(call, range(50)))
    assert len(shown) == turns.LINES + 1
    assert shown[-1] == "and 10 more: show session:s1"


def test_sub_agents_are_summed_up() -> None:
    assert lines(agents=(1, 20)) == ["sub-agents: 1 answer · 20 tool uses"]


def test_a_turn_without_anything_says_nothing() -> None:
    assert list(turns.turn_lines(Reaction((), 0, 0), "s1", PLAIN, 80)) == []
    assert list(turns.turn_lines(None, "s1", PLAIN, 80)) == []


def test_what_opens_no_turn_has_no_fields_of_one(ask: Any) -> None:
    assert "turn" not in ask("show", "tool_use:1", "--json").json["item"]


def test_the_turn_for_programs(ask: Any) -> None:
    item = ask("show", "prompt:4", "--json").json["item"]
    assert [act["id"] for act in item["turn"]] == ["tool_use:2", "assistant:2"]
    assert item["turn"][0] == {
        "kind": "tool_use",
        "id": "tool_use:2",
        "time": "2026-11-20T10:21:00.000Z",
        "tool": "Bash",
        "file": None,
        "text": '{"command": "npm test…[truncated: 9000 bytes]',
        "is_error": True,
        "answered": True,
    }


def test_the_turn_of_a_sub_agent_is_a_count(ask: Any) -> None:
    item = ask("show", "prompt:7", "--json").json["item"]
    assert (item["turn"], item["turn_agents"]) == ([], {"answers": 0, "tool_uses": 1})


def test_odd_inputs_are_given_as_they_stand() -> None:
    assert [turns.first_of(given) for given in ("{}", "[1]", "7", "{cut", "")] == ["", "[1]", "7", "{cut", ""]
