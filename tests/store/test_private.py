"""Of the turn of a wholly private prompt nothing is kept but that there was one, in any order of reading."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest
from daemons import settings
from desk import Desk, call, entry, result, said
from forgetting import holding
from memories import Memory
from stores import check
from transcripts import Transcript

from indexer import app
from indexer.records import Prompt, TurnEvent

PRIVATE = Prompt("", "prompt", True)
WORD = "zqprivate"


def texts(desk: Desk) -> list[str]:
    """All that was answered and called."""
    return sorted(
        [text for (text,) in desk.rows("SELECT text FROM assistant_texts")]
        + [given for (given,) in desk.rows("SELECT tool_input FROM tool_uses")]
    )


def turn(start: int) -> list[object]:
    return [
        entry(f"u{start + 1}", said(f"m{start}", f"text {start}"), time=start + 1),
        entry(f"u{start + 2}", call(f"toolu_{start}", given=f"call {start}"), time=start + 2),
        entry(f"u{start + 3}", result(f"toolu_{start}"), TurnEvent("exit", {"n": start}), time=start + 3),
    ]


def lines() -> list[object]:
    """An open turn, a private one with a slash command in it, another open one."""
    return [
        entry("u0", Prompt("open"), time=0), *turn(0),
        entry("u10", PRIVATE, time=10), *turn(10), entry("u15", Prompt("/x", "command"), time=15), *turn(16),
        entry("u20", Prompt("open again"), time=20), *turn(20),
    ]  # fmt: skip


KEPT = ['"call 0"', '"call 20"', "text 0", "text 20"]


def test_what_follows_a_private_prompt_is_not_stored_until_the_next_one() -> None:
    desk = Desk()
    desk.write(desk.file(), *lines())  # type: ignore[arg-type]
    assert texts(desk) == KEPT
    assert desk.rows("SELECT json_extract(data, '$.n') FROM turn_events ORDER BY 1") == [(0,), (20,)]
    assert desk.rows("SELECT count(*) FROM unmatched_results") == [(0,)]
    check(desk.conn)


def test_the_prompt_itself_and_what_was_typed_beside_it_stay() -> None:
    desk = Desk()
    desk.write(desk.file(), *lines())  # type: ignore[arg-type]
    assert desk.rows("SELECT prompt_text, is_private, prompt_number FROM user_prompts ORDER BY id") == [
        ("open", 0, 1), ("", 1, 2), ("/x", 0, 2), ("open again", 0, 3),
    ]  # fmt: skip


def test_line_by_line_is_the_same() -> None:
    desk = Desk()
    for line in lines():
        desk.write(desk.file(), line)  # type: ignore[arg-type]
    assert texts(desk) == KEPT


def test_read_again_it_is_the_same() -> None:
    desk = Desk()
    desk.write(desk.file(), *lines())  # type: ignore[arg-type]
    for _ in range(2):
        desk.again(desk.file(), *lines())  # type: ignore[arg-type]
        assert texts(desk) == KEPT
        check(desk.conn)


def test_an_answer_that_comes_in_the_turn_is_not_kept() -> None:
    desk = Desk()
    desk.write(desk.file(), entry("u0", Prompt("open")), entry("u1", call("toolu_1")))
    desk.write(desk.file(), entry("u2", PRIVATE, time=5), entry("u3", result("toolu_1", "late"), time=6))
    assert desk.rows("SELECT tool_response FROM tool_uses") == [(None,)]


def test_an_answer_that_was_stored_before_its_turn_was_known_goes() -> None:
    desk = Desk()
    held = entry("u3", result("toolu_1", "late words"), time=6)
    desk.write(desk.file(), entry("u0", Prompt("open")), entry("u1", call("toolu_1")), held)
    desk.again(
        desk.file(), entry("u0", Prompt("open")), entry("u1", call("toolu_1")), entry("u2", PRIVATE, time=5), held
    )
    assert desk.rows("SELECT tool_response FROM tool_uses") == [(None,)]
    assert "late" not in desk.one("SELECT body FROM search_texts WHERE kind = 'tool_use'")


def test_a_fork_that_goes_on_in_the_turn_keeps_nothing_of_it_either() -> None:
    desk = Desk()
    shared = [entry("u0", Prompt("open")), entry("u1", PRIVATE, time=1), entry("u2", said("m", "shared"), time=2)]
    desk.write(desk.file("a"), *shared)
    copies = [one._replace(session_id="b") for one in shared]
    desk.write(desk.file("b"), *copies, entry("u9", said("m9", "own"), session="b", time=9))
    assert texts(desk) == []
    desk.write(
        desk.file("b"),
        entry("v1", Prompt("next"), session="b", time=20),
        entry("v2", said("m10", "kept"), session="b", time=21),
    )
    assert texts(desk) == ["kept"]


def test_without_private_prompts_nothing_is_looked_for() -> None:
    desk = Desk()
    desk.write(desk.file(), entry("u0", Prompt("open")), *turn(0))  # type: ignore[arg-type]
    assert desk.rows("SELECT * FROM erasures") == []


# --- whole transcripts


def secret_history(root: Path) -> list[Path]:
    """A session with a private turn that spawned a sub-agent, in two files."""
    main = Transcript("p")
    main.user("open words")
    main.text("open answer")
    main.user(f"<private>{WORD} prompt</private>")
    spawn = main.call("Task", {"prompt": f"{WORD} task", "description": f"{WORD} description"})
    main.result(spawn, f"{WORD} result", toolUseResult={"agentId": "f00", "agentType": "scout"})
    main.text(f"{WORD} answer")
    agent = main.subagent("f00")
    agent.user(f"{WORD} look")
    agent.tool("Read", {"file_path": f"/{WORD}"}, f"{WORD} content")
    agent.text(f"{WORD} report")
    main.user("open again")
    main.text("more")
    return [main.write(root), agent.write(root)]


@pytest.mark.parametrize("order", list(permutations([0, 1])), ids=str)
@pytest.mark.parametrize("apart", [False, True])
def test_sub_agents_of_the_turn_are_left_out_in_any_order(tmp_path: Path, order: tuple[int, ...], apart: bool) -> None:
    memory = Memory(tmp_path)
    paths = [str(path) for path in secret_history(memory.root)]
    found = sorted(memory.found(), key=lambda one: order.index(paths.index(one.file.path)))
    for group in [[one] for one in found] if apart else [found]:
        list(memory.ingest().run(group))
    assert memory.rows("SELECT text FROM assistant_texts ORDER BY 1") == [("more",), ("open answer",)]
    assert memory.rows("SELECT * FROM tool_uses") == []
    assert memory.rows("SELECT body FROM search_texts WHERE body LIKE '%zqprivate%'") == []
    assert memory.rows("SELECT description FROM session_agents WHERE description IS NOT NULL") == []
    memory.read()
    memory.close()


def test_no_byte_of_it_is_in_any_file(tmp_path: Path) -> None:
    secret_history(tmp_path / "projects")
    config = settings(tmp_path / "home", tmp_path / "projects")
    for _ in range(2):
        app.rescan(config)
        assert holding(tmp_path / "home", WORD) == []
