from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indexer import config

ORIGIN, FORK = "8c1f0a52-0000-4000-8000-000000000001", "8c1f0a52-0000-4000-8000-000000000002"


def shown(answer: Any) -> list[str]:
    return [row["session"][:4] + row["session"][-1] for row in answer.json["sessions"]]


# --- sessions


def test_sessions_for_people(ask: Any) -> None:
    lines = ask("sessions", "--project", "example/shop-api", "--limit", "2").out.splitlines()
    assert lines == [
        "A second try",
        "    Shop-API · 2026-11-20 12:00 UTC · 1 min · 2 prompts · 2 tool uses · claude-sonnet-4-5 · active",
        f"    cd '/home/dev/work/shop api' && claude --resume {FORK}",
        "Fix the auth timeout",
        "    shop-api · 2026-11-20 10:00 UTC · 1 h 00 min · 2 prompts · 2 tool uses · claude-sonnet-4-5",
        f"    cd /home/dev/work/shop-api && claude --resume {ORIGIN}",
    ]


def test_sessions_for_programs(ask: Any) -> None:
    answer = ask("sessions", "--json", "--limit", "2", "--offset", "1")
    assert shown(answer) == ["8c1f2", "8c1f1"]
    assert (answer.json["limit"], answer.json["offset"], answer.json["schema_version"]) == (2, 1, 1)
    assert answer.json["sessions"][1]["title"] == "Fix the auth timeout"


def test_a_session_that_cannot_be_taken_up_shows_its_id(ask: Any) -> None:
    lines = ask("sessions", "--offset", "6").out.splitlines()
    assert lines == ["(untitled)", "    undated · 0 prompts · 0 tool uses", "    --help"]


@pytest.mark.parametrize(
    ("filters", "sessions"),
    [
        ("--project notes", ["33333"]),
        ("--project old-shop", ["8c1f2", "8c1f1", "44444"]),
        ("--project /home/dev/work/shop-api", ["8c1f2", "8c1f1", "44444"]),
        ("--since 2026-11-21", ["33333"]),
        ("--until 2026-11-19 --limit 1", ["44444"]),
        ("--since 2026-11-20 --until 2026-11-20 --project shop-api", ["8c1f2", "8c1f1"]),
        ("--since 2026-11-20T10:30Z --until 2026-11-20T10:30Z", ["8c1f1"]),
        ("--since 1d --until now", []),
    ],
)
def test_filters_of_sessions(ask: Any, filters: str, sessions: list[str]) -> None:
    answer = ask("sessions", "--json", *filters.split())
    assert (answer.code, shown(answer)) == (0, sessions)


def test_the_limit_of_the_settings_counts(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_SEARCH_LIMIT", "3")
    assert len(ask("sessions", "--json").json["sessions"]) == 3


def test_no_sessions_is_no_error(ask: Any) -> None:
    assert ask("sessions", "--until", "2000-01-01") == (0, "", "no sessions\n")


def test_an_ambiguous_project_lists_candidates(ask: Any) -> None:
    answer = ask("sessions", "--project", "tools", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (2, "ambiguous-project")
    assert "github.com/other/tools" in answer.json["error"]["hint"]


def test_an_unknown_project_is_1(ask: Any) -> None:
    answer = ask("sessions", "--project", "shopapi")
    assert answer.code == 1
    assert "did you mean shop-api" in answer.err


def test_a_time_that_is_none_is_2(ask: Any) -> None:
    answer = ask("sessions", "--since", "soon")
    assert answer.code == 2
    assert "'soon' is not a time" in answer.err


@pytest.mark.parametrize("command", ["sessions", "projects"])
@pytest.mark.parametrize("color", ["never", "always"])
def test_nothing_repaints_the_terminal(ask: Any, clean: Any, command: str, color: str) -> None:
    answer = ask(command, "--color", color)
    assert answer.code == 0
    clean(answer.out)


def test_colour_is_laid_on_when_asked(ask: Any) -> None:
    assert "\x1b[1mA second try\x1b[0m" in ask("sessions", "--color", "always").out
    assert "\x1b" not in ask("sessions", "--color", "never").out


# --- projects


def test_projects_for_people(ask: Any) -> None:
    assert ask("projects").out.splitlines()[:4] == [
        "Notes     2026-11-21 10:01 UTC · 1 session · 1 prompt · 0 tool uses",
        "    /home/dev/notes · path",
        "shop-api  2026-11-20 12:01 UTC · 3 sessions · 4 prompts · 4 tool uses",
        "    github.com/example/shop-api · git-remote · also Shop-API, old-shop · with /home/dev/old-shop",
    ]


def test_projects_for_programs(ask: Any) -> None:
    assert ask("projects", "--json").json["projects"][1] == {
        "project": "shop-api",
        "project_key": "github.com/example/shop-api",
        "source": "git-remote",
        "sessions": 3,
        "prompts": 4,
        "tool_uses": 4,
        "last": "2026-11-20T12:01:00.000Z",
        "spellings": ["Shop-API", "shop-api", "old-shop"],
        "keys": ["github.com/example/shop-api", "/home/dev/old-shop"],
    }


def test_no_projects_is_no_error(ask: Any, edit: Any) -> None:
    edit("DELETE FROM projects")
    assert ask("projects") == (0, "", "no projects\n")


# --- explain


def test_explain_needs_no_memory(call: Any, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    lines = call("project", "explain", str(folder), "--home", str(tmp_path / "none")).out.splitlines()
    assert lines[0] == str(folder)
    assert "    project: plain" in lines
    assert not (tmp_path / "none").exists()


def test_explain_for_programs(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "Plain"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    answer = call("project", "--json", "explain", "Plain").json
    assert (answer["path"], answer["display"], answer["source"]) == (str(folder), "Plain", "path")
    assert answer["key"] == str(folder).lower()
    assert any(line.startswith("decided by: path") for line in answer["why"])


def test_explain_means_the_folder_one_is_in(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("project", "explain").out.splitlines()[0] == str(tmp_path)


@pytest.mark.parametrize("path", ["~nobody-of-this-name", "a\x00b", "\udcff", "/" + "x" * 5000])
def test_explain_takes_any_path(call: Any, path: str) -> None:
    assert call("project", "explain", "--json", "--", path).code == 0


def test_explain_shows_odd_names_clean(call: Any, clean: Any, tmp_path: Path) -> None:
    answer = call("project", "explain", f"{tmp_path}/gone\x1b[2J\u202e")
    assert answer.code == 0
    clean(answer.out)


def test_explain_follows_the_environments_of_the_settings(call: Any, tmp_path: Path) -> None:
    config.user_file().parent.mkdir(parents=True)
    config.user_file().write_text(
        f'[[project.environment]]\nname = "work"\npatterns = ["{tmp_path}/**"]\n', encoding="utf-8"
    )
    assert call("project", "explain", str(tmp_path / "x"), "--json").json["display"] == "work"


@pytest.mark.parametrize(
    ("options", "note"), [("--limit 2", "--offset 2 for more"), ("--offset 99", "after the first")]
)
def test_sessions_say_where_they_stop(ask: Any, options: str, note: str) -> None:
    assert note in ask("sessions", *options.split()).err


def test_all_sessions_say_nothing_more(ask: Any) -> None:
    assert ask("sessions").err == ""


def test_explain_names_the_alias(call: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = config.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[project.aliases]\n"{str(tmp_path).lower()}" = "github.com/example/shop"\n')
    assert "alias: read as github.com/example/shop" in call("project", "explain", str(tmp_path)).out


def test_explain_names_stored_sessions_that_keep_another_key(ask: Any) -> None:
    answer = ask("project", "explain", "/home/dev/tools", "--json").json
    assert answer["stored_keys"] == {"github.com/example/tools": 1}
    assert "1 session of this folder kept under github.com/example/tools" in answer["why"][-1]


def test_explain_is_silent_about_sessions_of_the_same_key(ask: Any) -> None:
    assert ask("project", "explain", "/home/dev/notes", "--json").json["stored_keys"] == {}


def test_exactly_as_many_sessions_as_asked_for_promise_no_more(ask: Any) -> None:
    assert ask("sessions", "--limit", "7").err == ""
    assert "--offset 6 for more" in ask("sessions", "--limit", "6").err


def test_sessions_of_projects_of_one_name_are_told_apart(ask: Any) -> None:
    out = ask("sessions").out
    assert "    example/tools · " in out
    assert "    other/tools · " in out
