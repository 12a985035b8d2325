"""The Claude Code plugins: what the client needs of them, and that they name what there is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from indexer.cli.parser import parse
from indexer.recall.tools import TOOLS

ROOT = Path(__file__).parent.parent
PLUGINS = ROOT / "config" / "plugin"
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
CLIENT = os.environ.get("CLAUDE_BINARY") or shutil.which("claude")


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


MARKET = load(ROOT / ".claude-plugin" / "marketplace.json")


def test_the_marketplace_lists_every_plugin_by_its_own_name() -> None:
    named = {(entry["name"], (ROOT / entry["source"]).resolve()) for entry in MARKET["plugins"]}
    there = {(load(path)["name"], path.parent.parent) for path in PLUGINS.glob("*/.claude-plugin/plugin.json")}
    assert named == there
    assert MARKET["description"]


@pytest.mark.parametrize("entry", MARKET["plugins"], ids=lambda entry: entry["name"])
def test_a_plugin_is_described_and_of_this_version(entry: Any) -> None:
    manifest = load(ROOT / entry["source"] / ".claude-plugin" / "plugin.json")
    assert (manifest["version"], manifest["description"]) == (VERSION, entry["description"])
    assert re.fullmatch(r"[a-z][a-z-]+", manifest["name"])
    assert len((ROOT / entry["source"] / "README.md").read_text(encoding="utf-8").split()) >= 40


def test_the_server_is_a_command_that_exists() -> None:
    (server,) = load(PLUGINS / "memory" / ".mcp.json")["mcpServers"].values()
    assert server["command"] == "transcript-indexer"
    assert parse(server["args"]).run == "indexer.cli.mcp:mcp"


def test_tool_names_stay_within_the_clients_limit() -> None:
    (server,) = load(PLUGINS / "memory" / ".mcp.json")["mcpServers"]
    assert max(len(f"mcp__plugin_memory_{server}__{tool.name}") for tool in TOOLS) <= 128


def hook() -> Any:
    ((group,),) = load(PLUGINS / "session-start" / "hooks" / "hooks.json")["hooks"].values()
    (one,) = group["hooks"]
    return one


def test_the_hook_is_a_command_that_exists() -> None:
    words = hook()["command"].partition(" 2>")[0].split()
    assert words[0] == "transcript-indexer"
    assert parse(words[1:]).run == "indexer.cli.hook:session_start"
    assert hook()["timeout"] <= 5


def test_the_hook_is_silent_where_the_command_is_missing(tmp_path: Path) -> None:
    done = subprocess.run(["/bin/sh", "-c", hook()["command"]], env={"PATH": "/nowhere"}, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_the_skill_has_its_front_matter_and_names_real_tools() -> None:
    text = (PLUGINS / "memory" / "skills" / "recall" / "SKILL.md").read_text(encoding="utf-8")
    head = dict(re.findall(r"^(\w+): (.+)$", text.split("---")[1], re.MULTILINE))
    assert head["name"] == "recall"
    assert len(head["description"]) <= 1024
    assert {tool.name for tool in TOOLS} <= set(re.findall(r"`(\w+)`", text))


def test_the_skills_commands_are_understood() -> None:
    text = (PLUGINS / "memory" / "skills" / "recall" / "SKILL.md").read_text(encoding="utf-8")
    lines = text.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert [parse(line.split()[1:]).command for line in lines] == ["search", "show", "sessions"]


@pytest.mark.realclaude
@pytest.mark.skipif(not CLIENT, reason="needs the real client: CLAUDE_BINARY or PATH")
@pytest.mark.parametrize("path", [".", *(f"config/plugin/{path.name}" for path in sorted(PLUGINS.iterdir()))])
def test_the_real_client_finds_nothing_wrong(path: str, isolated: Path) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(isolated), "DISABLE_AUTOUPDATER": "1"}
    words = [str(CLIENT), "plugin", "validate", str(ROOT / path)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert "warning" not in (done.stdout + done.stderr).lower()
