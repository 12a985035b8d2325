"""Transcripts on disk, one rescan, and what every reading command then says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from indexer.cli import main

ORIGIN, FORK = "aaaaaaaa-0000-4000-8000-00000000000a", "bbbbbbbb-0000-4000-8000-00000000000b"
CWD = "/home/dev/shop"
Ask: TypeAlias = Callable[..., Any]


class Transcript:
    """A session's file in the making: one record a line, a second apart."""

    def __init__(self, root: Path, session: str, hour: int) -> None:
        folder = root / "-home-dev-shop"
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{session}.jsonl"
        self.session, self.hour, self.lines = session, hour, list[str]()

    def add(self, kind: str, content: object, **more: object) -> None:
        number = len(self.lines) + 1
        record = {
            "type": kind,
            "uuid": f"{self.session[:8]}-0000-4000-8000-{number:012}",
            "sessionId": self.session,
            "timestamp": f"2026-11-20T{self.hour}:00:{number:02}.000Z",
            "cwd": CWD,
            "version": "2.1.240",
            "gitBranch": "main",
            "userType": "external",
            "isSidechain": False,
            "parentUuid": None,
            "message": {"role": kind, "content": content},
        }
        self.lines.append(json.dumps(record | more))

    def say(self, text: str, **more: object) -> None:
        self.add("user", text, **more)

    def answer(self, *blocks: object) -> None:
        message = {
            "id": f"msg_{self.session[:8]}{len(self.lines):016}",
            "role": "assistant",
            "model": "claude-sonnet-4-5",
            "content": list(blocks),
            "usage": {"input_tokens": 10, "output_tokens": 20},
        }
        self.add("assistant", None, message=message)

    def call(self, number: int, command: str, result: str) -> None:
        name = f"toolu_{self.session[:8]}{number:016}"
        self.answer({"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}})
        block = {"type": "tool_result", "tool_use_id": name, "content": result, "is_error": False}
        self.add("user", [block], toolUseResult={"stdout": result})

    def copy(self, other: Transcript) -> None:
        """Begin as a fork does: the same records under a new session id, with where they come from."""
        for line in other.lines:
            record = json.loads(line)
            origin = {"sessionId": other.session, "messageUuid": record["uuid"]}
            self.lines.append(json.dumps(record | {"sessionId": self.session, "forkedFrom": origin}))

    def write(self, tail: str = "") -> None:
        self.path.write_text("".join(f"{line}\n" for line in self.lines) + tail, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two sessions: a question with a call and its answer, and a fork of it that goes on."""
    root = tmp_path / "projects"
    origin = Transcript(root, ORIGIN, 10)
    origin.say("Why does the payment fail?")
    origin.call(1, "npm run payments", "certificate expired")
    origin.answer({"type": "text", "text": "The certificate has expired."})
    origin.write()
    fork = Transcript(root, FORK, 12)
    fork.copy(origin)
    fork.say("Then renew it")
    fork.call(2, "certbot renew", "renewed")
    fork.lines.append("this is no JSON")
    fork.write(tail='{"type": "user", "half')
    return root


@pytest.fixture
def ask(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Call a command on the memory of these transcripts; its answer as JSON."""

    def run(*argv: str) -> Any:
        code = main([*argv, "--json", "--home", str(tmp_path / "memory"), "--root", str(root)])
        answer = json.loads(capsys.readouterr().out)
        assert code == 0, answer
        return answer

    run("rescan")
    return run


def sessions(ask: Ask) -> dict[str, Any]:
    return {row["session"]: row for row in ask("sessions")["sessions"]}


def test_everything_is_counted_once(ask: Ask) -> None:
    assert list(ask("rescan")["counts"].values()) == [2, 2, 2, 3, 1, 1]
    assert ask("status")["counts"].items() >= ask("rescan")["counts"].items()


def test_a_fork_lists_what_it_shows(ask: Ask) -> None:
    listed = sessions(ask)
    assert [(listed[name]["prompts"], listed[name]["tool_uses"]) for name in (ORIGIN, FORK)] == [(1, 1), (2, 2)]
    assert listed[FORK]["forked_from"] == ORIGIN
    assert listed[FORK]["resume"] == f"cd {CWD} && claude --resume {FORK}"


def test_a_fork_shows_its_whole_history_in_order(ask: Ask) -> None:
    shown = ask("show", FORK)["records"]
    kinds = [record["kind"] for record in shown if record["kind"] != "event"]
    assert kinds == ["prompt", "tool_use", "assistant", "prompt", "tool_use"]
    assert {record["source"]["file"].rpartition("/")[2] for record in shown} == {f"{FORK}.jsonl"}


def test_the_origin_shows_nothing_of_its_fork(ask: Ask) -> None:
    texts = [record["text"] for record in ask("show", ORIGIN)["records"]]
    assert "Why does the payment fail?" in texts
    assert "Then renew it" not in texts


def test_a_copied_record_belongs_to_its_origin(ask: Ask) -> None:
    hit = ask("search", "payment", "--kind", "prompt")["results"][0]
    assert (hit["session"], hit["source"]["line"]) == (ORIGIN, 1)
    assert len(ask("search", "payment", "--kind", "prompt")["results"]) == 1


def test_a_search_within_the_fork_finds_its_copied_history(ask: Ask) -> None:
    found = ask("search", "payment", "--session", FORK[:8], "--kind", "prompt")["results"]
    assert [hit["session"] for hit in found] == [ORIGIN]


def test_groups_hold_a_copied_hit_in_both_sessions(ask: Ask) -> None:
    groups = ask("search", "payment", "--kind", "prompt", "--group", "session")["groups"]
    assert [group["session"] for group in groups] == [ORIGIN, FORK]


def test_a_call_knows_its_turn_its_answer_and_its_line(ask: Ask) -> None:
    name = ask("search", "certbot", "--kind", "tool_use")["results"][0]["id"]
    item = ask("show", name)["item"]
    assert item["prompt"]["text"] == "Then renew it"
    assert item["prompt"]["number"] == 2
    assert item["content"]["input"] == {"command": "certbot renew"}
    assert item["content"]["response"] == "renewed"
    assert item["source"]["line"] == 6


def test_a_call_is_found_by_what_it_answered(ask: Ask) -> None:
    hit = ask("search", "certificate expired", "--tool", "bash")["results"][0]
    assert hit["kind"] == "tool_use"
    assert hit["time"] == "2026-11-20T10:00:02.000Z"


def test_what_could_not_be_read_is_told_with_its_place(ask: Ask, root: Path) -> None:
    letter = ask("status")["dead_letters"][0]
    file = root / "-home-dev-shop" / f"{FORK}.jsonl"
    assert (letter["file"], letter["line"]) == (str(file), 8)
    assert file.read_bytes()[letter["offset"] :].startswith(b"this is no JSON\n")


def test_a_line_still_being_written_is_behind(ask: Ask) -> None:
    behind = ask("status")["behind"]
    assert (behind["files"], behind["bytes"]) == (1, len('{"type": "user", "half'))


def test_what_has_grown_is_behind_until_it_is_read(ask: Ask, root: Path) -> None:
    line = json.dumps({"type": "mode", "mode": "plan", "sessionId": ORIGIN}) + "\n"
    with (root / "-home-dev-shop" / f"{ORIGIN}.jsonl").open("a", encoding="utf-8") as file:
        file.write(line)
    assert ask("status")["behind"]["files"] == 2
    ask("rescan")
    assert ask("status")["behind"]["files"] == 1


def test_a_transcript_that_is_gone_keeps_its_memory(ask: Ask, root: Path) -> None:
    (root / "-home-dev-shop" / f"{ORIGIN}.jsonl").unlink()
    ask("rescan")
    status = ask("status")
    assert (status["files"]["active"], status["files"]["gone"]) == (1, 1)
    assert ask("search", "payment", "--kind", "prompt")["results"][0]["session"] == ORIGIN


def test_one_project_by_all_its_names(ask: Ask) -> None:
    project = ask("projects")["projects"][0]
    assert (project["project"], project["project_key"], project["sessions"]) == ("shop", CWD, 2)
    for name in ("shop", "SHOP", CWD, f"{CWD}/", "dev/shop"):
        assert len(ask("sessions", "--project", name)["sessions"]) == 2
