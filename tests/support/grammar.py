"""Every command of the command line, and words that it takes."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from indexer.cli.parser import build_parser


def leaves(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command that can be carried out: its words, its parser."""
    found = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in found:
        for name, sub in action.choices.items():
            below = list(leaves(sub))
            yield from ((f"{name} {deeper}", leaf) for deeper, leaf in below) if below else [(name, sub)]


COMMANDS = dict(leaves(build_parser()))
EXAMPLES = {
    "show": ["prompt:1"],
    "similar": ["prompt:1"],
    "by-file": ["a.ts"],
    "by-type": ["bugfix"],
    "by-concept": ["gotcha"],
    "archive restore": ["--all", "--to", "/back"],
    "forget": ["--session", "s"],
    "backup": ["copy.db"],
    "import": ["export.jsonl"],
    "export": ["8c1f"],
    "completions": ["bash"],
    "summary": ["8c1f"],
    "dedup accept": ["observation:1", "observation:2"],
    "dedup dismiss": ["1", "2"],
}


def argv(command: str, *more: str) -> list[str]:
    """A call of a command with what it cannot do without."""
    return [*command.split(), *EXAMPLES.get(command, []), *more]
