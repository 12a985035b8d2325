"""`import` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from claude_mem_db import v13
from moving import rewritten


@pytest.fixture
def exported(ask: Any, tmp_path: Path) -> Path:
    """An export of the hand-filled memory."""
    assert ask("export", "--output", str(tmp_path / "x.jsonl")).code == 0
    return tmp_path / "x.jsonl"


@pytest.fixture
def into(call: Any, tmp_path: Path) -> Any:
    """A command on a new memory."""
    return lambda *argv: call(*argv, "--home", str(tmp_path / "new"))


def test_what_came_of_it_is_said(into: Any, exported: Path) -> None:
    answer = into("import", str(exported))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("imported 5 prompts, 4 tool uses, 2 answers, ")


def test_again_there_is_nothing_new(into: Any, exported: Path) -> None:
    into("import", str(exported))
    lines = into("import", str(exported)).out.splitlines()
    assert lines[0].startswith("nothing new · ")
    assert lines[1].endswith(" were known already")


def test_for_programs(into: Any, exported: Path) -> None:
    found = into("import", str(exported), "--json").json["import"]
    assert (found["prompts"], found["faulty"], found["faults"]) == (5, 0, [])


def test_faults_are_named_with_file_and_line(into: Any, exported: Path) -> None:
    lines: list[Any] = [*exported.read_text(encoding="utf-8").splitlines()[:3], "{torn", '{"kind":"spell"}']
    answer = into("import", str(rewritten(exported, lines)))
    assert answer.code == 1
    assert f"{exported}:4: not JSON" in answer.out
    assert f"{exported}:5: of no known kind" in answer.out


def test_claude_mem_s_usual_place(into: Any, isolated: Path) -> None:
    v13(isolated / ".claude-mem" / "claude-mem.db")
    assert into("import", "claude-mem").out.startswith("imported 5 prompts, 2 tool uses, 0 answers, 6 memories")


def test_claude_mem_elsewhere(into: Any, tmp_path: Path) -> None:
    v13(tmp_path / "cm.db")
    assert into("import", "claude-mem", str(tmp_path / "cm.db")).code == 0
    assert into("search", "attic lamp").out.count("The attic lamp is broken") >= 1


def test_where_there_is_none_that_is_said(into: Any) -> None:
    answer = into("import", "claude-mem")
    assert (answer.code, ".claude-mem/claude-mem.db" in answer.err) == (1, True)


def test_a_file_takes_no_second_path(into: Any, exported: Path) -> None:
    assert into("import", str(exported), "more").code == 2


def test_what_is_no_export_is_refused(into: Any, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("my notes\n")
    answer = into("import", str(tmp_path / "notes.txt"))
    assert (answer.code, "line 1: not an export" in answer.err) == (2, True)
    assert not (tmp_path / "new").exists()


def test_control_characters_do_not_reach_the_terminal(into: Any, exported: Path, clean: Any) -> None:
    name = exported.rename(exported.with_name("x\x1b[31m.jsonl"))
    clean(into("import", str(rewritten(name, [name.read_text().splitlines()[0], "{"]))).out)
