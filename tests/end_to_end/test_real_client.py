"""The real Claude Code client, offline, with the plugins of this repository: what it finds and what it passes on.

Opt-in: CLAUDE_BINARY=/path/to/claude and `-m realclaude`. It runs in a HOME of its own against a scripted API on
loopback (tests/support/scripted_api.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parent.parent.parent
BINARY = os.environ.get("CLAUDE_BINARY", "")
SEARCH = "mcp__plugin_memory_memory__search"
SCRIPT: list[list[dict[str, Any]]] = [
    [{"type": "text", "text": "The upload test is flaky because the mock server closes early."}],
    [{"type": "tool_use", "name": "WaitForMcpServers", "input": {}}],
    [{"type": "tool_use", "name": SEARCH, "input": {"query": "flaky upload test"}}],
    [{"type": "text", "text": "We met it before."}],
]

pytestmark = [
    pytest.mark.realclaude,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not BINARY, reason="needs the real client: CLAUDE_BINARY"),
]


class Seen(NamedTuple):
    """What the commands printed, and the requests the client made."""

    printed: dict[str, str]
    requests: list[dict[str, Any]]


class Stage:
    """A home, a project, our command on PATH, and the client."""

    def __init__(self, folder: Path, port: str) -> None:
        self.home, self.project = folder / "home", folder / "project"
        for path in (self.home, self.project, folder / "bin"):
            path.mkdir()
        command = folder / "bin" / "transcript-indexer"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m indexer "$@"\n')
        command.chmod(0o755)
        self.env = {
            "PATH": f"{command.parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "sk-ant-api03-" + "a" * 40,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words, cwd=self.project, env=self.env, capture_output=True, text=True, timeout=180, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def claude(self, *words: str) -> str:
        return self.run(BINARY, *words)

    def ask(self, prompt: str) -> str:
        return self.claude("-p", prompt, "--dangerously-skip-permissions")


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("api")
    (folder / "script.json").write_text(json.dumps(SCRIPT))
    words = [
        sys.executable,
        str(ROOT / "tests/support/scripted_api.py"),
        str(folder / "script.json"),
        str(folder / "log"),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process.stdout.readline().strip(), folder / "log"
        process.kill()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, api: tuple[str, Path]) -> Seen:
    stage = Stage(tmp_path_factory.mktemp("stage"), api[0])
    stage.claude("plugin", "marketplace", "add", str(ROOT))
    for plugin in ("memory", "memory-at-start"):
        stage.claude("plugin", "install", f"{plugin}@transcript-indexer")
    printed = {"first": stage.ask("Why is the upload test flaky?"), "rescan": stage.run("transcript-indexer", "rescan")}
    printed |= {"mcp": stage.claude("mcp", "list"), "second": stage.ask("Did we meet this before?")}
    return Seen(printed, [json.loads(line) for line in api[1].read_text().splitlines()])


def test_the_client_reaches_the_server(seen: Seen) -> None:
    assert "plugin:memory:memory: transcript-indexer mcp - ✔ Connected" in seen.printed["mcp"]


def test_a_session_begins_with_what_an_earlier_one_was_about(seen: Seen) -> None:
    told = json.dumps(seen.requests[1])
    assert "SessionStart hook additional context: Earlier sessions in this project" in told
    assert "| Why is the upload test flaky? | session:" in told
    assert "Earlier sessions in this project" not in json.dumps(seen.requests[0])


def test_the_models_search_is_answered(seen: Seen) -> None:
    blocks = [
        block for one in seen.requests[-1]["messages"] if isinstance(one["content"], list) for block in one["content"]
    ]
    result = [block for block in blocks if block["type"] == "tool_result"][-1]
    assert not result.get("is_error")
    assert "the mock server closes early" in json.dumps(result)
    assert seen.printed["second"].strip() == "We met it before."


def test_every_tool_is_offered_to_the_model(seen: Seen) -> None:
    offered = {tool["name"] for tool in seen.requests[-1]["tools"]}
    assert {SEARCH, SEARCH.replace("search", "get_tool_uses")} <= offered
