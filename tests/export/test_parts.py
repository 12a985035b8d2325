from __future__ import annotations

from typing import Any

from indexer.export.parts import parts


def test_a_session_in_order_and_in_whole(memory: Any, session: Any) -> None:
    found = list(parts(memory, session(1)))
    assert [part.id for part in found] == [
        *("prompt:1", "tool_use:1", "assistant:1", "command:2", "shell:3", "prompt:4", "tool_use:2", "assistant:2"),
        *("observation:1", "summary:1"),
    ]
    assert found[1][4:6] == ("Read", '{"file_path": "/home/dev/work/shop-api/auth.ts", "limit": 20}')
    assert (found[1].text, found[1].failed, found[6].failed) == ("const timeout = 30", False, True)


def test_what_was_made_of_it_is_put_together(memory: Any, session: Any) -> None:
    made = {part.id: part.text for part in parts(memory, session(1))}
    assert made["observation:1"] == "The timeout was in seconds\n\nRead as ms."
    assert made["summary:1"] == "Fix the timeout\n\nUnits matter"


def test_a_fork_shows_its_copied_history(memory: Any, session: Any) -> None:
    assert [part.id for part in parts(memory, session(2))][:2] == ["prompt:1", "tool_use:1"]


def test_private_prompts_leave_no_empty_part_and_sub_agents_are_marked(memory: Any, session: Any) -> None:
    assert [(part.id, part.agent) for part in parts(memory, session(4))] == [("tool_use:4", True)]


def test_control_characters_are_gone(memory: Any, session: Any) -> None:
    (part,) = [part for part in parts(memory, session(3)) if part.kind == "prompt"]
    assert part.text == "修改了项目配置 evil\nsecond line"
