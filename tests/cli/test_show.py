from __future__ import annotations

from typing import Any

import pytest

ORIGIN = "8c1f0a52-0000-4000-8000-000000000001"


def test_a_prompt_for_people(ask: Any) -> None:
    assert ask("show", "prompt:4").out.splitlines() == [
        "› prompt:4",
        f"  session  Fix the auth timeout · {ORIGIN}",
        "  project  shop-api (github.com/example/shop-api)",
        "  time     2026-11-20 10:20 UTC",
        "  source   /home/dev/.claude/projects/shop/1.jsonl:7",
        f"  resume   cd /home/dev/work/shop-api && claude --resume {ORIGIN}",
        "",
        "Now write a test",
        "",
        "what followed:",
        '→ Bash {"command": "npm test…[truncated: 9000 bytes] · error · tool_use:2',
        "• assistant:2",
        "  The test is there.",
    ]


def test_a_prompt_for_programs(ask: Any) -> None:
    item = ask("show", "prompt:1", "--json").json["item"]
    assert [act["id"] for act in item.pop("turn")] == ["tool_use:1", "assistant:1"]
    assert item.pop("turn_agents") == {"answers": 0, "tool_uses": 0}
    assert item == {
        "id": "prompt:1",
        "kind": "prompt",
        "time": "2026-11-20T10:00:00.000Z",
        "project": "shop-api",
        "project_key": "github.com/example/shop-api",
        "session": ORIGIN,
        "session_title": "Fix the auth timeout",
        "resume": f"cd /home/dev/work/shop-api && claude --resume {ORIGIN}",
        "source": {"file": "/home/dev/.claude/projects/shop/1.jsonl", "line": 1},
        "prompt": {"id": "prompt:1", "number": 1, "text": "Why does the auth timeout fire early?"},
        "content": {"text": "Why does the auth timeout fire early?", "private": False, "queued": False},
        "origin": None,
    }


def test_what_was_imported_says_from_where(ask: Any) -> None:
    lines = [" ".join(line.split()) for line in ask("show", "observation:2").out.splitlines()]
    assert "imported from claude-mem (observation:7)" in lines
    assert ask("show", "prompt:6", "--json").json["item"]["origin"] == {
        "origin_device_id": "claude-mem",
        "origin_local_id": "user_prompts:4",
    }


def test_a_tool_use_for_people(ask: Any) -> None:
    lines = ask("show", "tool_use:1").out.splitlines()
    assert lines[0] == "→ tool_use:1"
    assert "  turn         prompt:1  Why does the auth timeout fire early?" in lines
    assert "  result time  2026-11-20 10:01 UTC" in lines
    assert lines[lines.index("input:") + 1 :] == [
        "file_path: /home/dev/work/shop-api/auth.ts",
        "limit: 20",
        "",
        "response:",
        "const timeout = 30",
    ]


def test_a_tool_use_for_programs(ask: Any) -> None:
    content = ask("show", "tool_use:1", "--json").json["item"]["content"]
    assert content["input"] == {"file_path": "/home/dev/work/shop-api/auth.ts", "limit": 20}
    assert (content["answered"], content["is_error"]) == (True, False)
    assert content["result_time"] == "2026-11-20T10:01:01.000Z"


def test_an_input_that_was_cut_is_given_as_it_stands(ask: Any) -> None:
    content = ask("show", "tool_use:2", "--json").json["item"]["content"]
    assert content["input"] == '{"command": "npm test…[truncated: 9000 bytes]'
    assert content["response"] == "exit\x1b[1A 1"
    assert "npm test…[truncated: 9000 bytes]" in ask("show", "tool_use:2").out


def test_an_unanswered_call_says_so(ask: Any) -> None:
    assert "  answered     not yet" in ask("show", "tool_use:3").out.splitlines()
    content = ask("show", "tool_use:3", "--json").json["item"]["content"]
    assert (content["answered"], content["is_error"], content["response"]) == (False, None, None)


def test_an_input_of_several_lines_stands_by_itself(ask: Any, edit: Any) -> None:
    edit("""UPDATE tool_uses SET tool_input = '{"command": "a\\nb", "n": [1]}' WHERE id = 4""")
    assert "input:\ncommand: \na\nb\nn: [1]\n" in ask("show", "tool_use:4").out


def test_an_answer_with_its_usage(ask: Any) -> None:
    lines = ask("show", "assistant:2").out.splitlines()
    assert "  input tokens   1,000" in lines
    assert lines[-1] == "The test is there."


def test_an_observation(ask: Any) -> None:
    out = ask("show", "observation:1").out
    assert "title:\nThe timeout was in seconds\n\nnarrative:\nRead as ms.\n\nfacts:\n- 30 s\n" in out
    content = ask("show", "observation:1", "--json").json["item"]["content"]
    assert (content["facts"], content["concepts"], content["files_read"]) == (["30 s"], ["units"], None)


def test_a_summary(ask: Any) -> None:
    assert ask("show", "summary:1").out.endswith("request:\nFix the timeout\n\nlearned:\nUnits matter\n")


def test_a_private_prompt_shows_that_it_is(ask: Any) -> None:
    out = ask("show", "prompt:7").out
    assert "private: not kept" in out
    assert "undated" in out


# --- sessions


@pytest.mark.parametrize("name", [ORIGIN, f"session:{ORIGIN}"])
def test_a_session_for_people(ask: Any, name: str) -> None:
    lines = ask("show", name).out.splitlines()
    assert lines[:2] == ["Fix the auth timeout", f"  session  {ORIGIN}"]
    course = lines[lines.index("") :]
    assert course[:6] == [
        "",
        "› prompt:1 · 2026-11-20 10:00 UTC",
        "  Why does the auth timeout fire early?",
        "→ Read /home/dev/work/shop-api/auth.ts · tool_use:1",
        "",
        "• assistant:1 · 2026-11-20 10:01 UTC",
    ]
    assert "· commit abc1234" in course
    assert '→ Bash {"command": "npm test…[truncated: 9000 bytes] · tool_use:2' in course
    assert not [line for line in course if "duration" in line]


def test_a_session_for_programs(ask: Any) -> None:
    answer = ask("show", "8c1f0a52-0000-4000-8000-000000000002", "--json").json
    assert answer["session"]["forked_from"] == ORIGIN
    assert [record["id"] for record in answer["records"]] == [
        "prompt:1",
        "tool_use:1",
        "prompt:5",
        "tool_use:3",
    ]
    assert answer["records"][1] == {
        "kind": "tool_use",
        "id": "tool_use:1",
        "time": "2026-11-20T10:01:00.000Z",
        "text": "Read /home/dev/work/shop-api/auth.ts",
        "sidechain": False,
        "source": {"file": "/home/dev/.claude/projects/shop/2.jsonl", "line": 2},
    }


def test_the_start_of_one_id_is_enough(ask: Any) -> None:
    assert ask("show", "session:4444", "--json").json["session"]["title"] == "An old title"


def test_the_work_of_a_sub_agent_is_set_in(ask: Any) -> None:
    assert "    → Bash ls · tool_use:4" in ask("show", "4444").out.splitlines()


def test_a_session_without_anything_can_be_shown(ask: Any) -> None:
    assert ask("show", "session:--help").out.splitlines()[0] == "(untitled)"


# --- what is not there


@pytest.mark.parametrize(
    "name", ["prompt:99", "prompt:", "prompt:x", "prompt:-1", "prompt:²", "tool_use:" + "9" * 40, "command:1"]
)
def test_what_is_not_there_is_not_found(ask: Any, name: str) -> None:
    answer = ask("show", name, "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (1, "not-found")
    assert name in answer.json["error"]["message"]


@pytest.mark.parametrize("name", ["nonsense", "session:zzz", "session:", "magic:1", "%", "\udcff"])
def test_an_unknown_session_is_not_found(ask: Any, name: str) -> None:
    answer = ask("show", name)
    assert (answer.code, answer.out) == (1, "")
    assert "nothing has the id" in answer.err


def test_the_start_of_several_ids_lists_them(ask: Any) -> None:
    answer = ask("show", "8c1f", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (2, "usage")
    assert ORIGIN in answer.json["error"]["hint"]


# --- terminals


@pytest.mark.parametrize("name", ["prompt:6", "tool_use:2", "3333", "33333333-0000-4000-8000-000000000003"])
@pytest.mark.parametrize("color", ["never", "always"])
def test_nothing_repaints_the_terminal(ask: Any, clean: Any, name: str, color: str) -> None:
    answer = ask("show", name, "--color", color)
    assert answer.code == 0
    clean(answer.out)


def test_wide_characters_are_wrapped(ask: Any) -> None:
    assert "修改了项目配置 evil\nsecond line" in ask("show", "prompt:6").out
