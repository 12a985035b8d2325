"""Seeded secrets in every place of a transcript: not one byte of a redacted one in any file under HOME."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from daemons import Service, settings
from seeded import CONTEXTS, Secret, innocent, pem, secrets
from transcripts import Transcript

from indexer import events
from indexer.config import Config
from indexer.redact import Redactor
from indexer.rescan import rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import open_reader

EVEN = Redactor(b"k" * 32)
SEEDED = list(secrets())


def transcript(found: list[Secret]) -> Transcript:
    """A session with each secret in a prompt, an answer, a call, a result, a file, a title, an event."""
    made = Transcript()
    contexts = list(CONTEXTS.values())
    for number, one in enumerate(found):
        text = contexts[number % len(contexts)](one.written)
        made.user(text)
        made.text(text)
        made.tool("Bash", {"command": f"echo {one.written}"}, text, toolUseResult={"stdout": text, "stderr": ""})
        made.tool("Write", {"file_path": "/home/dev/x/.env", "content": f"A=1\n{one.written}\n"}, "File created")
        made.plain("custom-title", customTitle=text)
        made.plain("queue-operation", operation="enqueue", content=text, timestamp="2026-11-01T10:00:00Z")
        made.user(text, isCompactSummary=True)
    return made


def certain() -> list[Secret]:
    """The secrets that are redacted in every context."""
    return [one for one in SEEDED if all(one.value not in EVEN.text(write(one.written)) for write in CONTEXTS.values())]


def held(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def needles(found: list[Secret]) -> list[str]:
    """Each secret as it was, and as the index would spell it."""
    lines = [line for one in found for line in one.value.split("\n") if len(line) >= 12 and "KEY-----" not in line]
    return [*lines, *(line.lower() for line in lines)]


def config(tmp_path: Path) -> Config:
    return settings(tmp_path / "home", tmp_path / "projects")


def test_nearly_all_seeded_secrets_are_certain() -> None:
    assert len(SEEDED) > 300
    assert len(certain()) >= 0.97 * len(SEEDED)


@pytest.mark.slow
def test_no_byte_of_a_secret_is_under_home_after_a_rescan(tmp_path: Path) -> None:
    found = certain()
    transcript(found).write(tmp_path / "projects")
    rescan(config(tmp_path), ClaudeCode(), {})
    data = held(tmp_path / "home")
    assert [one for one in needles(found) if one.encode() in data] == []


@pytest.mark.slow
def test_nor_after_watching(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = certain()
    events.configure("debug", "json")
    service = Service(config(tmp_path))
    service.settle()
    service.hint(transcript(found).write(tmp_path / "projects"))
    data = held(tmp_path / "home")
    service.stop()
    events.silence()
    data += held(tmp_path / "home") + "".join(capsys.readouterr()).encode()
    assert [one for one in needles(found) if one.encode() in data] == []


def test_ids_are_stored_as_they_are(tmp_path: Path) -> None:
    made = Transcript()
    made.user(" ".join(innocent()))
    made.write(tmp_path / "projects")
    rescan(config(tmp_path), ClaudeCode(), {})
    data = held(tmp_path / "home")
    assert [one for one in innocent() if one.encode() not in data] == []


def test_a_secret_that_straddles_the_cut_is_gone_whole(tmp_path: Path) -> None:
    token = next(one.value for one in SEEDED if one.kind == "gitlab")
    made = Transcript()
    for before in range(65536 - len(token), 65537, 5):
        made.tool("Bash", {"command": "x"}, "y" * before + " " + token + "z" * 50)
    made.write(tmp_path / "projects")
    rescan(config(tmp_path), ClaudeCode(), {})
    assert token[:12].encode() not in held(tmp_path / "home")


def test_case_27(tmp_path: Path) -> None:
    """cases/lay.py c27: a key in a prompt, `.env` by `cat`, a URL's password, a private key, a commit sha."""
    key = "sk-" + "ant-api03-" + "Ab1" * 20
    env = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzzz12\nDATABASE_URL=postgres://u:hunter2hunter2@db.invalid/x\n"
    made = Transcript()
    made.user(f"key {key} zqsec")
    made.tool("Bash", {"command": "cat .env"}, env + pem(random.Random(1)))
    made.tool("Bash", {"command": "printenv"}, env + pem(random.Random(2)))
    made.text("sha 3f786850e387550fdab836ed7e6dc881de23001b is a commit, not a secret")
    made.write(tmp_path / "projects")
    rescan(config(tmp_path), ClaudeCode(), {})
    data = held(tmp_path / "home")
    gone = (key, "wJalrXUtnFEMIK7MDENGbPxRfiCY", "hunter2hunter2", *pem(random.Random(1)).split("\n")[1:-1])
    assert [one for one in gone if one.encode() in data or one.lower().encode() in data] == []
    assert b"3f786850e387550fdab836ed7e6dc881de23001b" in data


def test_a_wholly_private_prompt_is_a_row_without_text(tmp_path: Path) -> None:
    made = Transcript()
    made.user("<PRIVATE>hush <private>hush</private>")
    made.user("and <private>hush")
    made.write(tmp_path / "projects")
    rescan(config(tmp_path), ClaudeCode(), {})
    conn = open_reader(tmp_path / "home")
    rows = [tuple(row) for row in conn.execute("SELECT prompt_text, is_private FROM user_prompts ORDER BY id")]
    conn.close()
    assert rows == [("", 1), ("and", 0)]


def test_dead_letters_and_torn_lines_hold_nothing(tmp_path: Path) -> None:
    token = next(one.value for one in SEEDED if one.kind == "github")
    made = Transcript()
    made.user("before")
    path = made.write(tmp_path / "projects")
    torn = json.dumps(made.user(f"use {token}"))[:-30]
    whole = json.dumps(made.user(f"and {token}"))
    path.write_bytes(path.read_bytes() + f"{torn}{whole}\n{token}\n".encode())
    rescan(config(tmp_path), ClaudeCode(), {})
    data = held(tmp_path / "home")
    assert token.encode() not in data
    assert b"and [REDACTED:github-token:" in data


def test_the_answer_to_a_call_that_was_read_before_is_guarded(tmp_path: Path) -> None:
    """The process that read the call has ended: the stored call guards its answer."""
    made = Transcript()
    made.user("look at the settings")
    call = made.call("Bash", {"command": "cat /home/dev/x/.env"})
    path = made.write(tmp_path / "projects")
    rescan(config(tmp_path), ClaudeCode(), {})
    made.result(call, "FOO zzguarded by nothing but its place")
    path.write_bytes(made.data)
    rescan(config(tmp_path), ClaudeCode(), {})
    conn = open_reader(tmp_path / "home")
    (answer,) = conn.execute("SELECT tool_response FROM tool_uses").fetchone()
    conn.close()
    assert answer.startswith("[REDACTED:")
    assert b"zzguarded" not in held(tmp_path / "home")
