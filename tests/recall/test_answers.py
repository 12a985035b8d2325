"""What each tool answers, on the hand-filled memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indexer.errors import NotFound, UsageError
from indexer.recall import answers
from indexer.text import token_estimate

ORIGIN = "8c1f0a52-0000-4000-8000-000000000001"


def ids(answer: Any) -> list[str]:
    return [one["id"] for one in answer["results"]]


# --- search


def test_a_hit_says_what_where_and_when(ask: Any) -> None:
    (hit,) = ask("search", query="ms")["results"]
    assert hit == {
        "id": "observation:1",
        "title": "The timeout was in seconds",
        "snippet": "Read as ms. 30 s",
        "time": "2026-11-20T10:01:40.000Z",
        "project": "shop-api",
        "session": ORIGIN,
    }


def test_what_answered_is_said(ask: Any) -> None:
    assert ask("search", query="timeout")["via"] == ["lexical"]


def test_nothing_found_is_an_answer(ask: Any) -> None:
    assert ask("search", query="xyzzy")["results"] == []


def test_pages_follow_each_other_and_end(ask: Any) -> None:
    first = ask("search", query="timeout", limit=2)
    second = ask("search", query="timeout", limit=2, cursor=first["next_cursor"])
    assert len(set(ids(first) + ids(second))) == 4
    whole = ids(ask("search", query="timeout", limit=50))
    assert ids(first) + ids(second) == whole[:4]
    assert "next_cursor" not in ask("search", query="timeout", limit=50)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"kind": ["command"]}, ["command:2"]),
        ({"tool": "Bash", "project": "old-shop"}, ["tool_use:4", "tool_use:2"]),
        ({"file": "auth.ts"}, ["tool_use:1"]),
        ({"agent": "Explore"}, ["tool_use:4"]),
        ({"type": "bugfix"}, ["observation:1"]),
        ({"concept": "units"}, ["observation:1"]),
        ({"session": "33333333"}, ["prompt:6"]),
        ({"since": "2026-11-21", "until": "2026-11-21"}, ["prompt:6"]),
        ({"platform": "codex"}, []),
    ],
)
def test_every_filter_of_the_command_line(ask: Any, given: dict[str, Any], found: list[str]) -> None:
    assert sorted(ids(ask("search", query="", **given))) == sorted(found)


def test_filters_that_make_no_sense_are_errors_of_use(ask: Any) -> None:
    for given in ({"since": "soon"}, {"since": "2026-11-21", "until": "2026-11-20"}):
        with pytest.raises(UsageError):
            ask("search", query="x", **given)
    with pytest.raises(NotFound, match="no project is called"):
        ask("search", query="x", project="nope")
    with pytest.raises(NotFound, match="nothing has the id"):
        ask("search", query="x", session="nope")


# --- timeline


def test_around_an_entry(ask: Any) -> None:
    answer = ask("timeline", id="prompt:4", before=2, after=1)
    assert ids(answer) == ["command:2", "shell:3", "prompt:4", "tool_use:2"]
    assert (answer["anchor"], answer["total"]) == ("prompt:4", 10)
    assert answer["session"]["title"] == "Fix the auth timeout"


def test_a_tool_call_is_told_by_its_first_argument(ask: Any) -> None:
    steps = {one["id"]: one["text"] for one in ask("timeline", id="prompt:1")["results"]}
    assert steps["tool_use:1"] == "Read /home/dev/work/shop-api/auth.ts"


def test_an_observation_stands_where_its_prompt_does(ask: Any) -> None:
    assert ask("timeline", id="observation:1")["anchor"] == "prompt:1"


def test_an_observation_without_a_turn_stands_for_itself(ask: Any) -> None:
    assert ask("timeline", id="observation:2")["anchor"] == "observation:2"


def test_a_session_from_its_start(ask: Any) -> None:
    first = ask("timeline", id=ORIGIN[:20] + ORIGIN[20:], before=1, after=1)
    assert ids(first)[0] == "prompt:1"
    second = ask("timeline", id=ORIGIN, before=1, after=1, cursor=first["next_cursor"])
    assert ids(second) == ["assistant:1", "command:2", "shell:3"]


def test_a_timeline_ends(ask: Any) -> None:
    answer = ask("timeline", id="prompt:4", before=0, after=50)
    assert "next_cursor" not in answer


def test_a_fork_shows_its_copied_history(ask: Any) -> None:
    assert ids(ask("timeline", id="prompt:5"))[:2] == ["prompt:1", "tool_use:1"]


def test_what_sub_agents_did_is_shown_only_around_their_own(ask: Any) -> None:
    assert ids(ask("timeline", id="prompt:7")) == ["prompt:7"]
    assert ask("timeline", id="tool_use:4")["results"][-1] == {
        "id": "tool_use:4",
        "time": "2026-11-19T10:00:30.000Z",
        "text": "Bash ls",
        "agent": True,
    }


@pytest.mark.parametrize("name", ["prompt:99", "observation:99", "nothing"])
def test_an_id_that_is_not_there_is_said(ask: Any, name: str) -> None:
    with pytest.raises(NotFound):
        ask("timeline", id=name)


def test_the_start_of_several_ids_lists_them(ask: Any) -> None:
    with pytest.raises(UsageError) as raised:
        ask("timeline", id="8c1f")
    assert ORIGIN in raised.value.hint


# --- whole entries


def test_an_observation_in_whole(ask: Any) -> None:
    (one,) = ask("get_observations", ids=["1"])["results"]
    assert (one["id"], one["type"], one["narrative"]) == ("observation:1", "bugfix", "Read as ms.")
    assert (one["facts"], one["concepts"], one["prompt"]) == (["30 s"], ["units"], "prompt:1")
    assert one["tool_uses"] == ["tool_use:1"]


def test_several_kinds_at_once_each_once(ask: Any) -> None:
    answer = ask("get_observations", ids=["prompt:1", "summary:1", "prompt:1", "assistant:2", "command:2"])
    assert ids(answer) == ["prompt:1", "summary:1", "assistant:2", "command:2"]
    assert answer["results"][0]["source"] == "/home/dev/.claude/projects/shop/1.jsonl:1"


def test_what_is_not_there_is_listed(ask: Any) -> None:
    answer = ask("get_observations", ids=["1", "99", "shell:2"])
    assert (ids(answer), answer["missing"]) == (["observation:1"], ["observation:99", "shell:2"])


def test_long_texts_are_cut_and_said_to_be(ask: Any, edit: Any) -> None:
    edit("UPDATE observations SET narrative = ? WHERE id = 1", "x" * 500)
    (one,) = ask("get_observations", ids=["1"], max_chars=100)["results"]
    assert (len(one["narrative"]), one["cut"]) == (100, ["narrative"])


def test_tool_calls_have_a_tool_of_their_own(ask: Any) -> None:
    with pytest.raises(UsageError) as raised:
        ask("get_observations", ids=["tool_use:1"])
    assert "get_tool_uses" in raised.value.hint


@pytest.mark.parametrize("name", ["x", "prompt:x", "file:1", "observation:", "1" * 19, "-1"])
def test_what_is_no_id_is_refused(ask: Any, name: str) -> None:
    for tool in ("get_observations", "get_tool_uses"):
        with pytest.raises(UsageError, match="is no id"):
            ask(tool, ids=[name])


def test_a_broken_list_is_shown_as_it_is(ask: Any, edit: Any) -> None:
    edit("UPDATE observations SET facts = 'no json' WHERE id = 1")
    assert ask("get_observations", ids=["1"])["results"][0]["facts"] == "no json"


def test_what_passes_the_budget_is_left_for_the_next_call(ask: Any, edit: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(answers, "BUDGET", 60)
    answer = ask("get_observations", ids=["prompt:1", "prompt:4", "prompt:5"])
    assert (ids(answer), answer["left"]) == (["prompt:1"], ["prompt:4", "prompt:5"])


# --- tool calls


def test_a_call_with_input_and_output(ask: Any) -> None:
    (one,) = ask("get_tool_uses", ids=["tool_use:2"])["results"]
    assert (one["name"], one["is_error"]) == ("Bash", True)
    assert one["input"].startswith('{"command": "npm test')
    assert (one["response"], one["prompt"]) == ("exit\x1b[1A 1", "prompt:4")


def test_a_call_without_an_answer_says_so(ask: Any) -> None:
    assert ask("get_tool_uses", ids=["3"])["results"][0]["unanswered"] is True


def test_the_calls_of_a_prompts_turn(ask: Any) -> None:
    assert ids(ask("get_tool_uses", ids=["prompt:1"])) == ["tool_use:1"]


def test_the_calls_an_observation_was_made_of(ask: Any, edit: Any) -> None:
    edit("UPDATE tool_uses SET observation_id = 1 WHERE id IN (1, 3)")
    assert ids(ask("get_tool_uses", ids=["observation:1"])) == ["tool_use:1", "tool_use:3"]


def test_ids_that_lead_to_no_calls_are_listed(ask: Any) -> None:
    answer = ask("get_tool_uses", ids=["tool_use:99", "observation:2", "assistant:1"])
    assert (answer["results"], answer["missing"]) == ([], ["tool_use:99", "observation:2", "assistant:1"])


def test_a_long_output_is_read_on(ask: Any, edit: Any) -> None:
    edit("UPDATE tool_uses SET tool_response = ? WHERE id = 1", "a" * 100 + "b" * 50)
    first = ask("get_tool_uses", ids=["1"], max_chars=100)["results"][0]
    second = ask("get_tool_uses", ids=["1"], max_chars=100, from_char=first["next_char"])["results"][0]
    assert (first["response"], second["response"]) == ("a" * 100, "b" * 50)
    assert "next_char" not in second


def test_more_calls_than_wanted_are_named(ask: Any) -> None:
    answer = ask("get_tool_uses", ids=["1", "2", "3"], limit=1)
    assert (ids(answer), answer["left"]) == (["tool_use:1"], ["tool_use:2", "tool_use:3"])


# --- recent


def test_the_newest_sessions(ask: Any) -> None:
    answer = ask("recent", limit=2)
    assert ids(answer) == [
        "session:33333333-0000-4000-8000-000000000003",
        "session:8c1f0a52-0000-4000-8000-000000000002",
    ]
    assert answer["results"][1]["prompts"] == 2
    assert len(ids(ask("recent", limit=50, cursor=answer["next_cursor"]))) == 5


def test_the_newest_of_a_kind_in_a_project(ask: Any) -> None:
    assert ids(ask("recent", kind="prompt", project="shop-api")) == ["prompt:5", "prompt:4", "prompt:1"]


def test_sessions_of_a_time(ask: Any) -> None:
    assert len(ids(ask("recent", since="2026-11-21"))) == 1


# --- work


def todo(edit: Any, key: str, status: str, time: int, **more: Any) -> None:
    fields = json.dumps({"key": key, "subject": f"do {key}", "status": status})
    edit(
        "INSERT INTO work_state_entries (project, project_key, list_name, fields, created_at_epoch)"
        " VALUES ('shop-api', ?, 's1', ?, ?)",
        more.get("project", "github.com/example/shop-api"),
        fields,
        time,
    )


def test_there_is_nothing_to_do_yet(ask: Any) -> None:
    assert ask("work")["results"] == []


def test_the_last_state_of_a_to_do_counts(ask: Any, edit: Any) -> None:
    todo(edit, "1", "pending", 1000)
    todo(edit, "2", "pending", 2000)
    todo(edit, "1", "completed", 3000)
    (one,) = ask("work")["results"]
    assert one["fields"] == {"key": "2", "subject": "do 2", "status": "pending"}
    assert len(ask("work", status="all")["results"]) == 2


def test_to_dos_of_a_project(ask: Any, edit: Any) -> None:
    todo(edit, "1", "pending", 1000)
    todo(edit, "2", "pending", 2000, project="/home/dev/notes")
    assert [one["fields"]["key"] for one in ask("work", project="shop-api")["results"]] == ["1"]


def test_to_dos_come_in_pages(ask: Any, edit: Any) -> None:
    for key in range(3):
        todo(edit, str(key), "in_progress", 1000 + key)
    first = ask("work", limit=2)
    assert [one["fields"]["key"] for one in first["results"]] == ["2", "1"]
    assert [one["fields"]["key"] for one in ask("work", limit=2, cursor=first["next_cursor"])["results"]] == ["0"]


# --- what an answer costs


def test_an_answer_says_what_it_costs(ask: Any) -> None:
    answer = ask("search", query="timeout")
    estimate = answer.pop("token_estimate")
    assert estimate == token_estimate(json.dumps(answer, ensure_ascii=False))


def test_an_answer_never_passes_the_budget(ask: Any, edit: Any) -> None:
    edit("UPDATE tool_uses SET tool_response = ?", "x" * 65_000)
    answer = ask("get_tool_uses", ids=["1", "2", "3", "4"], max_chars=65_536)
    assert answer["left"] == ["tool_use:2", "tool_use:3", "tool_use:4"]


def test_a_list_cut_by_the_budget_goes_on_after_its_last_row(ask: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(answers, "BUDGET", 100)
    first = ask("search", query="timeout", limit=50)
    second = ask("search", query="timeout", limit=50, cursor=first["next_cursor"])
    assert len(first["results"]) < 4
    assert not set(ids(first)) & set(ids(second))
