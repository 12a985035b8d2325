"""The real Claude Code client as a compressor, offline: it takes every flag, answers, and leaves no transcript.

Opt-in: CLAUDE_BINARY=/path/to/claude and `-m realclaude`, against a scripted API on loopback.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from indexer.compressors.base import Ask, Told
from indexer.compressors.claude_cli import ClaudeCli
from indexer.compressors.prompt import INSTRUCTIONS, MARK

BINARY = os.environ.get("CLAUDE_BINARY", "")
API = Path(__file__).parent.parent / "support" / "scripted_api.py"

pytestmark = [
    pytest.mark.realclaude,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not BINARY, reason="needs the real client: CLAUDE_BINARY"),
]


def asked(folder: Path, port: str) -> object:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "ANTHROPIC_API_KEY": "dummy"}
    env["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
    model = ClaudeCli(folder / "work", program=BINARY, env=env)
    return model.ask(Ask(INSTRUCTIONS, f"{MARK}\n<turn>\nfix it\n</turn>", 1500, 20_000))


def test_it_answers_and_leaves_no_transcript(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text("[]")
    command = [sys.executable, str(API), str(script), str(tmp_path / "log.jsonl")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as api:
        assert api.stdout is not None
        told = asked(tmp_path, api.stdout.readline().strip())
        api.terminate()
    assert isinstance(told, Told), told
    assert ("Scripted" in told.text, list(tmp_path.rglob("*/projects/**/*.jsonl"))) == (True, [])
