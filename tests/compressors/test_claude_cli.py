"""A fake `claude` on PATH: how it is started, what it answers, and what is left of it."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from scripted_model import GOOD, USAGE, Backlog

from indexer import guard
from indexer.compressors.base import Ask, Failure, Told
from indexer.compressors.claude_cli import OVERHEAD, ClaudeCli
from indexer.compressors.prompt import MARK
from indexer.refine import Job, Wanted

ASK = Ask("the instructions", "the turn 日", 1500, 5000)
FAKE = """#!{python}
import json, os, sys, time
text = sys.stdin.buffer.read().decode()
seen = {{"argv": sys.argv[1:], "cwd": os.getcwd(), "env": dict(os.environ), "text": text, "pid": os.getpid()}}
with open({log!r}, "a") as log:
    log.write(json.dumps(seen) + "\\n")
{body}
"""


class Fake:
    """The program, and what its calls looked like."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log.jsonl"
        self.bin = folder / "bin"
        self.bin.mkdir()

    def does(self, body: str, **how: Any) -> ClaudeCli:
        """A provider whose `claude` does this."""
        program = self.bin / "claude"
        program.write_text(FAKE.format(python=sys.executable, log=str(self.log), body=body))
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        env = {"PATH": f"{self.bin}:{os.environ['PATH']}", "HOME": str(self.folder)}
        return ClaudeCli(self.folder / "work", env=env, **how)

    def prints(self, value: object) -> ClaudeCli:
        """The same, which prints this as JSON."""
        return self.does(f"print({json.dumps(json.dumps(value))})")

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@pytest.fixture
def claude(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


def result(text: object = GOOD, **more: Any) -> dict[str, Any]:
    said = text if isinstance(text, str) else json.dumps(text)
    return {"type": "result", "is_error": False, "result": said, "usage": USAGE, **more}


def failure(model: ClaudeCli) -> Failure:
    found = model.ask(ASK)
    assert isinstance(found, Failure)
    return found


def test_how_it_is_started(claude: Fake) -> None:
    claude.prints(result()).ask(ASK)
    (call,) = claude.calls
    given = dict(zip(call["argv"], [*call["argv"][1:], ""], strict=True))
    assert {"-p", "--no-session-persistence", "--strict-mcp-config"} <= set(call["argv"])
    assert (given["--tools"], given["--setting-sources"], given["--model"]) == ("", "", "haiku")
    assert (given["--system-prompt"], json.loads(given["--json-schema"])["type"]) == ("the instructions", "object")
    assert (call["cwd"], call["text"]) == (str(claude.folder / "work"), "the turn 日")
    assert (call["env"][guard.NAME], call["env"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]) == ("1", "1500")


def test_the_turn_stands_in_no_argument(claude: Fake) -> None:
    claude.prints(result()).ask(ASK)
    assert "the turn" not in " ".join(claude.calls[0]["argv"])


def test_its_folder_is_for_the_user_alone(claude: Fake) -> None:
    claude.prints(result()).ask(ASK)
    assert stat.S_IMODE((claude.folder / "work").stat().st_mode) == 0o700


def test_what_it_answers(claude: Fake) -> None:
    assert claude.prints(result("text")).ask(ASK) == Told("text", 1000)
    assert claude.prints(result("text", structured_output=GOOD)).ask(ASK) == Told(json.dumps(GOOD), 1000)
    assert claude.prints(result("text", usage=None)).ask(ASK) == Told("text", None)


def test_what_the_client_adds_is_set_aside_the_next_time(claude: Fake) -> None:
    model = claude.prints(result(usage={"input_tokens": 40_000, "output_tokens": 10}))
    assert model.overhead == OVERHEAD
    model.ask(ASK._replace(most=OVERHEAD + 5000))
    assert model.overhead == 35_010


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("Invalid API key · Please run /login", "auth"),
        ("Claude AI usage limit reached|1795176000", "quota"),
        ("API Error: 529 overloaded", "busy"),
        ("something else", "lost"),
    ],
)
def test_errors_it_tells_of(said: str, kind: str, claude: Fake) -> None:
    found = failure(claude.prints(result(said, is_error=True)))
    assert (found.kind, said in found.message) == (kind, False)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("sys.exit('error: unknown option --json-schema')", "setup"),
        ("sys.exit('Invalid API key')", "auth"),
        ("print('{')", "lost"),
        ("print('[]')", "lost"),
        ("os.kill(os.getpid(), 9)", "lost"),
        ("pass", "lost"),
    ],
)
def test_ends_without_an_answer(body: str, kind: str, claude: Fake) -> None:
    assert failure(claude.does(body)).kind == kind


def test_there_is_no_claude(tmp_path: Path) -> None:
    found = failure(ClaudeCli(tmp_path, program="claude", env={"PATH": str(tmp_path)}))
    assert (found.kind, found.tokens) == ("setup", 0)


def test_one_that_hangs_is_ended_with_all_it_started(claude: Fake) -> None:
    child = "import subprocess\nchild = subprocess.Popen(['sleep', '99'])\n"
    body = f"{child}print(child.pid, file=open('pid', 'w'), flush=True)\ntime.sleep(99)"
    model = claude.does(body, seconds=1.5)
    found = failure(model)
    assert (found.kind, found.tokens) == ("lost", None)
    pid = int((claude.folder / "work" / "pid").read_text())
    assert is_over(pid)


def is_over(pid: int) -> bool:
    """Gone, or a zombie that nobody has asked for yet."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)  # the kernel's own time, after the signal
    return False


def test_a_backlog_through_it(claude: Fake, tmp_path: Path) -> None:
    backlog = Backlog(tmp_path / "memory")
    ran = backlog.run(claude.prints(result()))
    assert (ran.made, len(claude.calls), backlog.states) == (3, 3, {"made": 3})
    assert all(call["text"].startswith(MARK) for call in claude.calls)


def test_its_own_sessions_would_be_known_by_their_first_prompt(tmp_path: Path) -> None:
    backlog = Backlog(tmp_path)
    asked = backlog.desk.take(Wanted("m", 0))
    assert isinstance(asked, Job)
    backlog.conn.execute("UPDATE sdk_sessions SET user_prompt = ?", (asked.ask.text[:200],))
    assert backlog.desk.price(Wanted("m", 0)) == (0, 0)
