"""`help`: short texts about a topic, or what a command takes."""

from __future__ import annotations

import argparse
import difflib
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from indexer.cli.output import Output
from indexer.cli.parser import build_parser
from indexer.cli.render import pad
from indexer.cli.topics import TOPICS
from indexer.errors import UsageError


def show(args: Namespace, out: Output) -> int:
    """Print the text of a topic, the help of a command, or without either the list of topics.

    Raises UsageError for a word that is neither.
    """
    text = _list() if args.topic is None else _text(args.topic)
    if out.as_json:
        out.data({"topic": args.topic, "text": text, "topics": list(TOPICS)})
    else:
        out.lines(text.splitlines())
    return 0


def _list() -> str:
    width = max(map(len, TOPICS))
    lines = [f"  transcript-indexer help {pad(name, width)}  {about}" for name, (about, _) in TOPICS.items()]
    last = "`transcript-indexer --help` lists the commands, `transcript-indexer help COMMAND` explains one."
    return "\n".join(["topics:", *lines, "", last])


def _text(word: str) -> str:
    if word in TOPICS:
        return TOPICS[word][1]
    commands = dict(_commands(build_parser()))
    if word in commands:
        return str(commands[word].format_help())
    near = difflib.get_close_matches(word, [*TOPICS, *commands], 1)
    hint = f"did you mean {near[0]}?" if near else f"topics are {', '.join(TOPICS)}"
    raise UsageError(f"there is no topic {word!r}", hint)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, Any]]:
    for action in parser._actions:  # noqa: SLF001 - argparse tells nobody else
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - the same
            yield from action.choices.items()
