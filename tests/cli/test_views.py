from __future__ import annotations

import pytest

from indexer.cli import views
from indexer.cli.render import Style
from indexer.store.browse import Session
from indexer.store.items import Place

SESSION = Session(
    row_id=1,
    session="8c1f0a52-0000-4000-8000-000000000001",
    platform="claude",
    title="Fix the\nauth timeout",
    project="shop-api",
    project_key="github.com/example/shop-api",
    prompts=2,
    tool_uses=1,
    started=1795168800000,
    last=1795172400000,
    model="claude-sonnet-4-5",
    status="completed",
    cwd="/home/dev/shop",
    git_branch="main",
    forked_from=None,
)


def test_a_session_for_programs() -> None:
    assert views.session_json(SESSION) == {
        "id": "session:8c1f0a52-0000-4000-8000-000000000001",
        "session": "8c1f0a52-0000-4000-8000-000000000001",
        "title": "Fix the auth timeout",
        "project": "shop-api",
        "project_key": "github.com/example/shop-api",
        "platform": "claude",
        "started": "2026-11-20T10:00:00.000Z",
        "last": "2026-11-20T11:00:00.000Z",
        "duration_ms": 3_600_000,
        "prompts": 2,
        "tool_uses": 1,
        "model": "claude-sonnet-4-5",
        "status": "completed",
        "cwd": "/home/dev/shop",
        "git_branch": "main",
        "forked_from": None,
        "resume": "cd /home/dev/shop && claude --resume 8c1f0a52-0000-4000-8000-000000000001",
    }


def test_a_session_that_says_little_has_nulls() -> None:
    answer = views.session_json(SESSION._replace(title=None, started=None, session="--x"))
    assert (answer["title"], answer["started"], answer["duration_ms"], answer["resume"]) == (None,) * 4


def test_a_session_for_people() -> None:
    assert views.session_facts(SESSION, Style(False)) == [
        "  session  8c1f0a52-0000-4000-8000-000000000001",
        "  project  shop-api (github.com/example/shop-api)",
        "  begun    2026-11-20 10:00 UTC · 1 h 00 min",
        "  holds    2 prompts · 1 tool use",
        "  model    claude-sonnet-4-5",
        "  branch   main",
        "  status   completed",
        "  resume   cd /home/dev/shop && claude --resume 8c1f0a52-0000-4000-8000-000000000001",
    ]


def test_a_project_is_called_by_name_and_key_where_they_differ() -> None:
    assert views.project_text(SESSION._replace(project="/home/dev/X", project_key="/home/dev/x")) == "/home/dev/X"
    assert views.project_text(SESSION._replace(project="")) == "github.com/example/shop-api"
    assert views.project_text(SESSION._replace(project="", project_key="")) == ""


def test_places_as_editors_take_them() -> None:
    assert views.place_text(Place("/a\x1b[2J.jsonl", 7)) == "/a.jsonl:7"
    assert views.place_text(Place("/a.jsonl", None)) == "/a.jsonl"
    assert views.place_text(None) == ""
    assert views.place_json(None) is None
    assert views.place_json(Place("/a.jsonl", None)) == {"file": "/a.jsonl", "line": None}


def test_a_place_below_home_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/dev")
    assert views.place_text(Place("/home/dev/.claude/a.jsonl", 3)) == "~/.claude/a.jsonl:3"
    assert views.place_text(Place("/home/devil/a.jsonl", 3)) == "/home/devil/a.jsonl:3"


def test_projects_of_one_name_are_told_apart_by_their_keys() -> None:
    names = views.project_names(
        [("tools", "github.com/a/tools"), ("tools", "github.com/b/tools"), ("x", "/home/dev/x")]
    )
    assert sorted(names.values()) == ["a/tools", "b/tools", "x"]


def test_as_much_of_a_key_is_shown_as_it_takes() -> None:
    names = views.project_names([("p", "/one/src/p"), ("P", "/two/src/p")])
    assert names == {("p", "/one/src/p"): "one/src/p", ("P", "/two/src/p"): "two/src/p"}


def test_keys_that_end_alike_are_shown_whole() -> None:
    names = views.project_names([("p", "work"), ("p", "/src/p"), ("p", "/src/p/src/p")])
    assert names["p", "work"] == "work"
    assert len(set(names.values())) == 3


def test_spellings_of_one_project_stay_as_they_are() -> None:
    names = views.project_names([("Shop", "/shop"), ("shop", "/shop")])
    assert sorted(names.values()) == ["Shop", "shop"]
