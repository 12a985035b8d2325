"""`doctor` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indexer import app
from indexer.finding import Finding


def found(monkeypatch: pytest.MonkeyPatch, *findings: Finding) -> None:
    monkeypatch.setattr(app, "doctor", lambda *_: list(findings))


def test_a_problem_is_exit_code_1_with_its_remedy(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, Finding("memory", "problem", "there is none", "run rescan"))
    answer = call("doctor")
    assert (answer.code, answer.err) == (1, "1 problem found\n")
    assert answer.out.splitlines() == [
        "problem  memory              there is none",
        "                             -> run rescan",
    ]


def test_a_note_is_no_problem(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, Finding("roots", "ok", "fine"), Finding("polling", "note", "slow", "sysctl"))
    answer = call("doctor")
    assert (answer.code, answer.err) == (0, "no problem found\n")


def test_findings_for_programs(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found(monkeypatch, Finding("roots", "ok", "fine"))
    assert call("doctor", "--json").json["findings"] == [
        {"kind": "roots", "level": "ok", "message": "fine", "remedy": ""}
    ]


def test_names_of_files_do_not_reach_the_terminal_raw(call: Any, monkeypatch: pytest.MonkeyPatch, clean: Any) -> None:
    found(monkeypatch, Finding("unreadable", "problem", "a\x1b]0;owned\x07\nb", "chmod \x1b[31m"))
    clean(call("doctor").out)


def test_it_looks_at_what_is_there(call: Any, tmp_path: Path) -> None:
    answer = call("doctor", "--home", str(tmp_path / "none"), "--root", str(tmp_path / "projects"), "--json")
    assert answer.code == 1
    assert {finding["kind"] for finding in answer.json["findings"]} >= {"roots", "memory", "no-watcher"}
