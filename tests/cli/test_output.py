from __future__ import annotations

import io
import json
import sys
from argparse import Namespace
from collections.abc import Mapping

import pytest

from indexer.cli.output import Output, wants_color
from indexer.cli.render import Style
from indexer.errors import Busy, NotFound

HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\u202ec\x9bd"


class Terminal(io.TextIOWrapper):
    """Something a person looks at."""

    def __init__(self, encoding: str = "utf-8", tty: bool = True) -> None:
        self.bytes = io.BytesIO()
        self.tty = tty
        super().__init__(self.bytes, encoding=encoding)

    def isatty(self) -> bool:
        return self.tty

    def shown(self) -> bytes:
        self.flush()
        return self.bytes.getvalue()


def look(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal on standard output. Called by the test itself: pytest sets its own between phases."""
    made = Terminal()
    monkeypatch.setattr(sys, "stdout", made)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return made


def plain(as_json: bool = False) -> Output:
    return Output(as_json, Style(False), 120, 1 << 30)


# --- colour


@pytest.mark.parametrize(
    ("choice", "env", "tty", "wanted"),
    [
        ("auto", {}, True, True),
        ("auto", {}, False, False),
        (None, {}, True, True),
        ("always", {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        ("auto", {"NO_COLOR": ""}, True, True),
        ("auto", {"FORCE_COLOR": "1"}, False, True),
        ("auto", {"FORCE_COLOR": "1", "TERM": "dumb"}, False, True),
        ("auto", {"TERM": "dumb"}, True, False),
    ],
)
def test_who_decides_on_colour(choice: str, env: Mapping[str, str], tty: bool, wanted: bool) -> None:
    assert wants_color(choice, Terminal(tty=tty), env) is wanted


def test_a_terminal_gives_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch)
    monkeypatch.setenv("COLUMNS", "77")
    assert Output.of(Namespace(json=False, color=None)) == Output(False, Style(True), 77, 77)
    monkeypatch.setenv("COLUMNS", "3")
    assert Output.of(Namespace(json=False, color="never")) == Output(False, Style(False), 40, 40)


def test_a_pipe_has_room(capsys: pytest.CaptureFixture[str]) -> None:
    assert Output.of(Namespace(json=True, color=None)) == Output(True, Style(False), 120, 1 << 30)
    assert capsys.readouterr().out == ""


# --- data


def test_json_is_one_line_with_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    plain().data({"a": ["项", HOSTILE]})
    printed = capsys.readouterr().out
    assert printed.count("\n") == 1
    assert "项" in printed
    assert json.loads(printed) == {"schema_version": 1, "a": ["项", HOSTILE]}


def test_json_is_indented_for_people(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = look(monkeypatch)
    plain().data({"a": 1})
    assert terminal.shown() == b'{\n  "schema_version": 1,\n  "a": 1\n}\n'


def test_json_is_escaped_where_characters_cannot_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    latin = Terminal("latin-1", tty=False)
    monkeypatch.setattr(sys, "stdout", latin)
    plain().data({"a": "项"})
    assert json.loads(latin.shown()) == {"schema_version": 1, "a": "项"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_lines_reach_every_stream(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    stream = Terminal(encoding, tty=False)
    monkeypatch.setattr(sys, "stdout", stream)
    plain().lines(["a → 项 \udc80"])
    assert stream.shown().startswith(b"a ")
    assert stream.shown().endswith(b"?\n")


# --- talk


def test_notes_are_clean_and_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    plain().note(HOSTILE)
    assert tuple(capsys.readouterr()) == ("", "abc\n")


def test_an_error_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    plain().error(NotFound(f"no {HOSTILE}", f"try {HOSTILE}"))
    assert tuple(capsys.readouterr()) == ("", "error: no abc\nhint: try abc\n")


def test_an_error_without_a_hint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    plain().error(NotFound("no"))
    assert capsys.readouterr().err == "error: no\n"


def test_an_error_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    plain(as_json=True).error(Busy("in use", "wait"))
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out) == {
        "schema_version": 1,
        "error": {"kind": "busy", "message": "in use", "hint": "wait", "retryable": True},
    }
