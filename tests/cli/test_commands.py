"""Every command is there, and leads to what carries it out."""

from __future__ import annotations

from importlib import import_module

import pytest
from grammar import COMMANDS, argv

from indexer.cli.parser import parse


def test_the_commands() -> None:
    assert set(COMMANDS) == {
        *("watch", "rescan", "redact", "search", "show", "sessions", "projects", "project explain", "status", "doctor"),
        *("archive status", "archive restore", "archive prune", "forget", "mcp", "hook session-start", "stats"),
        *("metrics", "backup", "export", "completions"),
        *("service install", "service uninstall", "service status", "service logs"),
        *("config show", "config path", "config init"),
        *("observations", "summary", "work", "context", "compress"),
        *("dedup candidates", "dedup accept", "dedup dismiss", "dedup scan"),
        *("timeline", "similar", "by-file", "by-type", "by-concept"),
        *("help", "web", "import"),
        *("vectors status", "vectors sync", "vectors rebuild", "vectors serve"),
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_leads_to_a_function(command: str) -> None:
    module, _, function = parse(argv(command)).run.partition(":")
    assert callable(getattr(import_module(module), function))
