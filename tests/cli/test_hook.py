"""`hook session-start`: a whole answer or nothing, and exit code 0 whatever happens."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from indexer.cli import hook
from indexer.recall import digest


@pytest.fixture
def begin(ask: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The hook's answer to this on its standard input."""

    def run(given: object, *more: str) -> Any:
        file = tmp_path / "stdin"
        file.write_text(given if isinstance(given, str) else json.dumps(given))
        with file.open() as stream:
            monkeypatch.setattr(sys, "stdin", stream)
            return ask("hook", "session-start", *more)

    return run


GIVEN = {"session_id": "new", "cwd": "/home/dev/work/shop-api", "hook_event_name": "SessionStart", "source": "startup"}


def test_the_answer_is_what_the_client_wants(begin: Any) -> None:
    answer = begin(GIVEN)
    output = answer.json["hookSpecificOutput"]
    assert (answer.code, answer.err, output["hookEventName"]) == (0, "", "SessionStart")
    assert "Fix the auth timeout" in output["additionalContext"]


def test_every_answer_has_marks_of_its_own(begin: Any) -> None:
    assert begin(GIVEN).out != begin(GIVEN).out


def test_an_unknown_project_is_told_nothing(begin: Any) -> None:
    assert begin(GIVEN | {"cwd": "/home/dev/unknown"})[:3] == (0, "", "")


@pytest.mark.parametrize("given", ["", "no json", "[]", "[" * 100_000, {"cwd": None}, {"cwd": 5, "session_id": []}])
def test_whatever_comes_in_nothing_fails(begin: Any, given: object) -> None:
    answer = begin(given)
    assert (answer.code, answer.err) == (0, "")


def test_without_a_memory_there_is_nothing_to_say(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}"))
    assert call("hook", "session-start", "--home", str(tmp_path / "none")) == (0, "", "")
    assert not (tmp_path / "none").exists()


def test_a_damaged_memory_is_nothing_to_talk_of(begin: Any, home: Path) -> None:
    for path in home.glob("index.db*"):
        path.unlink()
    (home / "index.db").write_bytes(b"x" * 5000)
    assert begin(GIVEN) == (0, "", "")


def test_settings_with_a_mistake_do_not_stop_a_session(begin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_SEARCH_LIMIT", "many")
    assert begin(GIVEN) == (0, "", "")


def test_a_pipe_that_says_nothing_is_not_waited_for(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert ask("hook", "session-start").code == 0
    os.close(writing)


def test_a_memory_that_is_held_up_is_given_up(begin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    left, gone = list[int](), threading.Event()

    def leave(code: int) -> None:
        left.append(code)
        gone.set()

    monkeypatch.setattr(hook, "GIVE_UP", 0.01)
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr(digest, "session_start", lambda *_: str(gone.wait(10) or ""))
    begin(GIVEN)
    assert left == [0]
