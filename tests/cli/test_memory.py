"""`observations`, `summary` and `work`, on a memory made from transcripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from transcripts import Transcript
from turn_cases import CASES

NOTED = {case.name: case for case in CASES}


@pytest.fixture
def made(call: Any, tmp_path: Path) -> Any:
    """Ask a memory of three turns, the last of them followed by a to-do list."""
    session = Transcript("s")
    for name in ("off by one", "reading only", "登录超时"):
        NOTED[name].write(session)
    listed = [{"content": "Test it", "status": "pending"}, {"content": "Ship it", "status": "completed"}]
    session.tool("TodoWrite", {"todos": listed}, "ok", toolUseResult={"newTodos": listed})
    session.write(tmp_path / "projects")
    where = ("--home", str(tmp_path / "memory"), "--root", str(tmp_path / "projects"))
    assert call("rescan", *where).code == 0

    def ask(*argv: str) -> Any:
        return call(*argv, *where)

    return ask


def test_observations_come_newest_first(made: Any) -> None:
    found = made("observations", "--json").json["observations"]
    assert [one["type"] for one in found] == ["bugfix", "discovery", "bugfix"]
    assert found[2]["title"] == "Fixed the off-by-one in page_count"
    assert found[2]["tool_uses"][0].startswith("tool_use:")


def test_of_one_type(made: Any) -> None:
    assert [one["type"] for one in made("observations", "--json", "--type", "discovery").json["observations"]] == [
        "discovery"
    ]


def test_one_after_the_other(made: Any) -> None:
    found = made("observations", "--json", "--limit", "1", "--offset", "1").json["observations"]
    assert [one["type"] for one in found] == ["discovery"]


def test_observations_for_people(made: Any) -> None:
    assert "bugfix  Fixed the off-by-one in page_count" in made("observations").out


def test_an_observation_in_whole_names_its_calls(made: Any) -> None:
    found = made("observations", "--json").json["observations"][2]
    content = made("show", found["id"], "--json").json["item"]["content"]
    assert (content["model"], content["tool_uses"]) == ("rules/1", found["tool_uses"])


def test_a_summary(made: Any) -> None:
    session = made("observations", "--json").json["observations"][0]["session"]
    (part,) = made("summary", session[:8], "--json").json["parts"]
    assert part["next_steps"] == "Test it"
    assert "completed:" in made("summary", session).out


def test_open_work(made: Any) -> None:
    assert [item["subject"] for item in made("work", "--json").json["items"]] == ["Test it"]
    assert {item["status"] for item in made("work", "--all", "--json").json["items"]} == {"pending", "completed"}
    assert "[ ] Test it" in made("work").out


def test_status_counts_what_was_made(made: Any) -> None:
    counts = made("status", "--json").json["counts"]
    assert (counts["observations"], counts["summaries"], counts["pending_turns"]) == (3, 1, 0)
    assert "3 observations · 1 summary" in made("status").out


def test_nothing_made_is_said(call: Any, tmp_path: Path) -> None:
    where = ("--home", str(tmp_path / "m"), "--root", str(tmp_path / "p"))
    Transcript("empty").write(tmp_path / "p")
    call("rescan", *where)
    assert [call(name, *where).err.strip() for name in ("observations", "work")] == [
        "no observations",
        "nothing is open",
    ]
