from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

ORIGIN, FORK = "8c1f0a52-0000-4000-8000-000000000001", "8c1f0a52-0000-4000-8000-000000000002"


def found(answer: Any) -> set[str]:
    return {hit["id"] for hit in answer.json["results"]}


# --- for programs


def test_a_hit_for_programs(ask: Any) -> None:
    answer = ask("search", "auth timeout fire", "--json")
    hit = answer.json["results"][0]
    assert hit.keys() == {
        *(
            "kind",
            "id",
            "project",
            "project_key",
            "session",
            "session_title",
            "time",
            "title",
            "snippet",
            "score",
        ),
        *("source", "resume"),
    }
    assert (hit["kind"], hit["id"], hit["project"], hit["session"]) == (
        "prompt",
        "prompt:1",
        "shop-api",
        ORIGIN,
    )
    assert hit["time"] == "2026-11-20T10:00:00.000Z"
    assert hit["source"] == {"file": "/home/dev/.claude/projects/shop/1.jsonl", "line": 1}
    assert hit["resume"] == f"cd /home/dev/work/shop-api && claude --resume {ORIGIN}"
    assert "timeout" in hit["snippet"]
    assert isinstance(hit["score"], float)


def test_the_answer_says_what_was_asked_and_what_answered(ask: Any) -> None:
    answer = ask("search", "timeout", "--json", "--limit", "2").json
    assert answer.keys() == {"schema_version", "query", "limit", "offset", "results", "via", "notes"}
    assert (answer["query"], answer["limit"], answer["offset"], len(answer["results"])) == (
        "timeout",
        2,
        0,
        2,
    )
    assert answer["via"]


def test_every_hit_can_be_shown(ask: Any) -> None:
    for name in found(ask("search", "timeout", "--json")):
        assert ask("show", name).code == 0


def test_pages_do_not_overlap(ask: Any) -> None:
    pages = [found(ask("search", "timeout", "--json", "--limit", "1", "--offset", str(n))) for n in range(3)]
    assert len(set.union(*pages)) == 3


@pytest.mark.parametrize(
    "words",
    ["zzzz", "", "NOT", 'auth.ts "timeout', "C++", "-", "''", "*", "title:", "\x00", "\udcff", "(" * 500],
)
def test_odd_words_are_never_an_error(ask: Any, words: str) -> None:
    answer = ask("search", words, "--json")
    assert (answer.code, answer.err) == (0, "")
    assert isinstance(answer.json["results"], list)


TEXTS = (
    "修改了项目配置",
    "설정을 바꿨다",
    "payload优先使用LLM",
    "install claude-mem now",
    'auth.ts says "timeout',
    "written in C++ and NOT in Rust",
    "the deployment to the staging cluster failed because the certificate had expired",
)


@pytest.fixture
def mixed(call: Any, tmp_path: Path) -> Any:
    """A memory of one session with TEXTS as its prompts, read from a transcript."""
    folder = tmp_path / "projects" / "-home-dev-mixed"
    folder.mkdir(parents=True)
    (folder / f"{ORIGIN}.jsonl").write_text("".join(map(prompt, range(len(TEXTS)))), encoding="utf-8")
    home = ("--home", str(tmp_path / "mixed"))
    assert call("rescan", "--root", str(tmp_path / "projects"), *home).code == 0
    return lambda *words: call("search", "--json", *home, *words)


def prompt(number: int) -> str:
    record = {
        "type": "user",
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": ORIGIN,
        "cwd": "/home/dev/mixed",
        "version": "2.1.240",
        "userType": "external",
        "isSidechain": False,
        "parentUuid": None,
        "timestamp": f"2026-11-20T10:00:{number:02}.000Z",
        "message": {"role": "user", "content": TEXTS[number]},
    }
    return json.dumps(record) + "\n"


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("项目", 0),
        ("配", 0),
        ("설정", 1),
        ("payload", 2),
        ("LLM", 2),
        ("优先", 2),
        ("claude-mem", 3),
        ("mem", 3),
        ('auth.ts "timeout', 4),
        ("C++", 5),
        ("NOT Rust", 5),
        ("why did the deployment to our staging cluster fail last week", 6),
    ],
)
def test_every_language_and_every_sign_is_found(mixed: Any, words: str, text: int) -> None:
    answer = mixed(words)
    assert answer.code == 0
    assert answer.json["results"][0]["snippet"] == TEXTS[text]


def test_hits_are_the_words_of_the_transcript_itself(mixed: Any) -> None:
    hit = mixed("payload").json["results"][0]
    assert hit["source"]["line"] == 3
    assert hit["resume"] == f"cd /home/dev/mixed && claude --resume {ORIGIN}"


def test_json_holds_what_was_written_untouched(ask: Any) -> None:
    content = ask("show", "prompt:6", "--json").json["item"]["content"]
    assert content["text"] == "修改了项目配置\x1b[31m \u202eevil\nsecond line"


def test_words_to_leave_out_need_no_quotes(ask: Any) -> None:
    assert found(ask("search", "timeout", "--json")) > found(ask("search", "timeout", "-fire", "--json"))
    assert "prompt:1" not in found(ask("search", "timeout", "-fire", "--json"))


# --- filters


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ("--kind prompt", {"prompt:1"}),
        ("--kind prompt,observation", {"prompt:1", "observation:1"}),
        ("--kind prompt --kind Tool-Use", {"prompt:1", "tool_use:1", "tool_use:3"}),
        ("--tool Read", {"tool_use:1"}),
        ("--file auth.ts", {"tool_use:1"}),
        ("--type bugfix", {"observation:1"}),
        ("--concept units", {"observation:1"}),
        ("--session 8c1f0a52-0000-4000-8000-000000000002", {"prompt:1", "tool_use:1", "tool_use:3"}),
        ("--session session:4444", set()),
        ("--project notes", set()),
        ("--project SHOP-api --kind prompt --platform claude", {"prompt:1"}),
        ("--since 2026-11-20T12:00Z", {"tool_use:3"}),
        ("--until 2026-11-20T10:00Z", {"prompt:1"}),
        ("--platform other", set()),
    ],
)
def test_filters_of_a_search(ask: Any, filters: str, names: set[str]) -> None:
    assert found(ask("search", "timeout", "--json", *filters.split())) == names


def test_a_sub_agent_by_id_or_type(ask: Any) -> None:
    assert found(ask("search", "ls", "--json", "--agent", "a1")) == {"tool_use:4"}
    assert found(ask("search", "ls", "--json", "--agent", "explore")) == {"tool_use:4"}


@pytest.mark.parametrize(
    ("filters", "code", "kind", "words"),
    [
        ("--kind promt", 2, "usage", "did you mean prompt?"),
        ("--kind zzz", 2, "usage", "kinds are prompt, command"),
        ("--session zzz", 1, "not-found", "`sessions` show ids"),
        ("--session 8c1f", 2, "usage", ORIGIN),
        ("--project tools", 2, "ambiguous-project", "github.com/other/tools"),
        ("--project shopapi", 1, "not-found", "did you mean shop-api"),
        ("--since soon", 2, "usage", "2026-11-20"),
        ("--since 2026-11-21 --until 2026-11-20", 2, "usage", "swap"),
    ],
)
def test_filters_that_make_no_sense(ask: Any, filters: str, code: int, kind: str, words: str) -> None:
    answer = ask("search", "x", "--json", *filters.split())
    assert (answer.code, answer.json["error"]["kind"]) == (code, kind)
    assert words in answer.json["error"]["hint"]


def test_a_kind_left_empty_is_no_filter(ask: Any) -> None:
    assert found(ask("search", "timeout", "--json", "--kind", ",")) == found(ask("search", "timeout", "--json"))


def test_the_limit_of_the_settings_counts(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_SEARCH_LIMIT", "1")
    assert len(ask("search", "timeout", "--json").json["results"]) == 1


# --- groups


def test_groups_hold_the_hits_of_a_session(ask: Any) -> None:
    groups = ask("search", "timeout", "--json", "--group", "session").json["groups"]
    by_id = {group["session"]: group for group in groups}
    assert by_id[ORIGIN]["title"] == "Fix the auth timeout"
    assert set(by_id[ORIGIN]["results"]) == {"prompt:1", "tool_use:1", "observation:1"}
    assert by_id[ORIGIN]["resume"].endswith(f"claude --resume {ORIGIN}")


def test_a_fork_shows_the_hits_it_was_copied_with(ask: Any) -> None:
    groups = ask("search", "timeout", "--json", "--group", "session").json["groups"]
    fork = next(group for group in groups if group["session"] == FORK)
    assert set(fork["results"]) == {"prompt:1", "tool_use:1", "tool_use:3"}


def test_a_search_in_one_session_has_one_group(ask: Any) -> None:
    groups = ask("search", "timeout", "--json", "--group", "session", "--session", FORK).json["groups"]
    assert [group["session"] for group in groups] == [FORK]


def test_groups_come_with_the_plain_results(ask: Any) -> None:
    grouped = ask("search", "timeout", "--json", "--group", "session")
    assert found(grouped) == found(ask("search", "timeout", "--json"))


def test_nothing_found_is_no_group(ask: Any) -> None:
    assert ask("search", "zzzz", "--json", "--group", "session").json["groups"] == []


# --- for people


def test_hits_for_people(ask: Any) -> None:
    lines = ask("search", "timeout", "--kind", "prompt").out.splitlines()
    assert lines[0].startswith("› prompt:1")
    assert any("Why does the auth timeout fire early?" in line for line in lines)
    assert "  shop-api · 2026-11-20 10:00 UTC · /home/dev/.claude/projects/shop/1.jsonl:1" in lines


def test_a_summary_follows_on_stderr(ask: Any) -> None:
    assert ask("search", "timeout", "--limit", "2").err.splitlines()[-1] == "2 results · --offset 2 for more"
    assert "--offset 2 for more" in ask("search", "timeout", "--limit", "2").err
    assert "for more" not in ask("search", "fire").err


def test_nothing_found_is_no_error(ask: Any) -> None:
    code, out, err = ask("search", "zzzz")
    assert (code, out, err.splitlines()[-1]) == (0, "", "nothing found")
    assert ask("search", "timeout", "--offset", "99").err.splitlines()[-1] == "nothing more found after the first 99"


def test_what_was_searched_is_marked(ask: Any) -> None:
    out = ask("search", "auth timeout", "--kind", "prompt", "--color", "always").out
    assert "the \x1b[1;33mauth\x1b[0m \x1b[1;33mtimeout\x1b[0m fire" in out
    assert "\x1b" not in ask("search", "auth timeout", "--kind", "prompt", "--color", "never").out


def test_groups_for_people(ask: Any) -> None:
    lines = ask("search", "timeout", "--group", "session", "--kind", "prompt").out.splitlines()
    assert lines[:4] == [
        "Fix the auth timeout",
        "shop-api · 2026-11-20 10:00 UTC · 1 hit",
        f"cd /home/dev/work/shop-api && claude --resume {ORIGIN}",
        next(line for line in lines if line.startswith("  › prompt:1")),
    ]
    assert "A second try" in lines


@pytest.mark.parametrize("words", ["项目", "evil", "exit"])
@pytest.mark.parametrize("color", ["never", "always"])
@pytest.mark.parametrize("group", [(), ("--group", "session")])
def test_nothing_repaints_the_terminal(ask: Any, clean: Any, words: str, color: str, group: tuple[str, ...]) -> None:
    answer = ask("search", words, "--color", color, *group)
    assert answer.code == 0
    assert answer.out
    clean(answer.out)
    clean(answer.err)


def test_times_name_the_zone_of_the_reader(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "PST8PDT,M3.2.0,M11.1.0")
    time.tzset()
    assert "2026-11-20 02:00 PST" in ask("search", "fire").out


def test_long_snippets_are_cut_to_a_few_lines(ask: Any, edit: Any) -> None:
    edit("UPDATE user_prompts SET prompt_text = prompt_text || ? WHERE id = 1", " word" * 400)
    assert len(ask("search", "fire").out.splitlines()) <= 6


# --- relatives


def hits(answer: Any) -> list[str]:
    assert (answer.code, answer.json["schema_version"]) == (0, 1)
    return [hit["id"] for hit in answer.json["results"]]


@pytest.mark.parametrize("mode", ["hybrid", "lexical", "semantic"])
def test_every_mode_answers_without_vectors(ask: Any, mode: str) -> None:
    assert "prompt:1" in hits(ask("search", "auth timeout", "--mode", mode, "--json"))


def test_observations_of_a_type(ask: Any) -> None:
    kind = ask("show", "observation:1", "--json").json["item"]["content"]["type"]
    assert hits(ask("by-type", kind, "--json")) == ["observation:1"]
    assert hits(ask("by-type", kind, "timeout", "--json")) == ["observation:1"]
    assert hits(ask("by-type", kind, "zzzz", "--json")) == []
    assert hits(ask("by-type", "nowhere", "--json")) == []


def test_observations_with_a_concept(ask: Any, edit: Any) -> None:
    edit("""UPDATE observations SET concepts = '["gotcha"]' WHERE id = 1""")
    assert hits(ask("by-concept", "gotcha", "--json")) == ["observation:1"]
    assert hits(ask("by-concept", "other", "--json")) == []


def test_what_touched_a_file(ask: Any, edit: Any) -> None:
    edit("UPDATE tool_uses SET file_path = '/home/dev/work/shop-api/auth.ts' WHERE id IN (1, 2)")
    assert set(hits(ask("by-file", "auth.ts", "--json", "--kind", "tool_use"))) == {"tool_use:1", "tool_use:2"}
    assert hits(ask("by-file", "auth.ts", "timeout", "--json", "--kind", "tool_use"))[0] == "tool_use:1"
    assert hits(ask("by-file", "nowhere.ts", "--json")) == []


def test_what_is_like_a_result(ask: Any) -> None:
    found = hits(ask("similar", "prompt:1", "--json"))
    assert "prompt:1" not in found
    assert "tool_use:1" in found
    assert hits(ask("similar", "prompt:1", "--json", "--limit", "1")) == found[:1]


@pytest.mark.parametrize("name", ["prompt:99", "prompt:x", "nothing:1", "8c1f"])
def test_nothing_is_like_what_is_not_there(ask: Any, name: str) -> None:
    answer = ask("similar", name, "--json")
    assert (answer.code, answer.json["error"]["message"]) == (1, f"there is no {name!r}")


@pytest.mark.parametrize("command", ["similar prompt:1", "by-type discovery", "by-file auth.ts", "by-concept x"])
def test_relatives_speak_to_people_too(ask: Any, command: str) -> None:
    answer = ask(*command.split())
    assert (answer.code, answer.err.splitlines()[-1].endswith(("found", "result", "results"))) == (0, True)


def test_a_page_of_groups_counts_sessions(ask: Any) -> None:
    answer = ask("search", "timeout", "--group", "session", "--limit", "1")
    assert answer.err.splitlines()[-1] == "1 session · --offset 1 for more"
