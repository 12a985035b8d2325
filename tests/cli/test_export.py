"""`export SESSION` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ORIGIN = "8c1f0a52-0000-4000-8000-000000000001"


def test_markdown_is_printed(ask: Any) -> None:
    answer = ask("export", ORIGIN)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("# Fix the auth timeout\n")
    assert "## You · 2026-11-20 10:00 UTC" in answer.out


def test_html_is_written_to_a_new_file(ask: Any, tmp_path: Path) -> None:
    answer = ask("export", "33333333", "--format", "html", "--output", str(tmp_path / "s.html"))
    assert (answer.code, answer.out, answer.err) == (0, "", f"wrote {tmp_path / 's.html'}\n")
    assert (tmp_path / "s.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "s.html").stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_over(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "s.md").write_text("mine")
    answer = ask("export", ORIGIN, "--output", str(tmp_path / "s.md"))
    assert (answer.code, (tmp_path / "s.md").read_text()) == (2, "mine")


def test_a_half_written_file_is_taken_away(ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(*_: object) -> Any:
        yield "# begun"
        raise OSError(28, "No space left on device", "s.md")

    monkeypatch.setattr("indexer.cli.export._FORMATS", {"markdown": break_off})
    assert ask("export", ORIGIN, "--output", str(tmp_path / "s.md")).code == 1
    assert not (tmp_path / "s.md").exists()


def test_what_was_written_for_programs(ask: Any, tmp_path: Path) -> None:
    answer = ask("export", ORIGIN, "--output", str(tmp_path / "s.md"), "--json").json
    assert (answer["session"], answer["size_bytes"]) == (ORIGIN, (tmp_path / "s.md").stat().st_size)
    assert ask("export", ORIGIN, "--json").json["error"]["hint"].endswith("`transcript-indexer show ID --json`")


def test_an_unknown_session_is_said(ask: Any, tmp_path: Path) -> None:
    answer = ask("export", "zzz", "--output", str(tmp_path / "s.md"))
    assert (answer.code, list(tmp_path.glob("*.md"))) == (1, [])


def test_control_characters_do_not_reach_the_terminal(ask: Any, clean: Any) -> None:
    clean(ask("export", "33333333").out)
