"""`import FILE` and `import claude-mem [PATH]`: memory from another machine, or from another program."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from indexer import app, config
from indexer.cli.output import Output
from indexer.cli.render import aside, many, one_line
from indexer.errors import UsageError
from indexer.exchange.transfer import NAMED, Report

CLAUDE_MEM = "claude-mem"
_TOLD_EVERY = 100_000
"""Lines between two words on how far it is."""


def take_in(args: Namespace, out: Output) -> int:
    """Import, and say what came of it: 1 if a line could not be taken.

    Raises NotFound, UsageError, CorruptDatabase, NewerDatabase; Busy when nobody can write for long."""
    settings = config.load(args.home, args.roots)
    said: dict[str, Any] = {"tell": _Meter(out), "waiting": lambda why: out.note(f"waiting: {why}")}
    if args.what == CLAUDE_MEM:
        path = config.absolute(args.path) if args.path else None
        report = app.import_claude_mem(settings, path, **said)
    elif args.path is not None:
        raise UsageError("one file at a time", f"`import {CLAUDE_MEM} PATH` is for claude-mem's database")
    else:
        report = app.import_file(settings, config.absolute(args.what), **said)
    if out.as_json:
        out.data({"import": _json(report)})
    else:
        out.lines(_lines(report, str(args.path or args.what)))
    return 1 if report.faulty else 0


class _Meter:
    """Says now and then how far a long import is, to whoever watches."""

    def __init__(self, out: Output) -> None:
        self._out, self._next = out, _TOLD_EVERY

    def __call__(self, lines: int) -> None:
        if lines >= self._next and sys.stderr.isatty():
            self._out.note(f"{many(lines, 'line')} so far")
            self._next = lines + _TOLD_EVERY


def _json(report: Report) -> dict[str, object]:
    counts = {name: value for name, value in report._asdict().items() if name not in ("faults", "seconds")}
    faults = [{"line": number, "reason": reason} for number, reason in report.faults]
    return counts | {"faults": faults, "seconds": round(report.seconds, 3)}


def _lines(report: Report, name: str) -> Iterator[str]:
    memories = f"{report.memories:,} {'memory' if report.memories == 1 else 'memories'}"
    new = [
        many(report.prompts, "prompt"),
        many(report.tool_uses, "tool use"),
        many(report.messages, "answer"),
        memories,
    ]
    anything = report.prompts or report.tool_uses or report.messages or report.memories
    yield aside("imported " + ", ".join(new) if anything else "nothing new", f"{report.seconds:.1f} s")
    if report.known:
        yield f"{report.known:,} were known already"
    if report.forgotten:
        yield f"{report.forgotten:,} were forgotten here, and stay so"
    if report.excluded:
        yield f"{report.excluded:,} are of projects that your settings exclude"
    if report.faulty:
        yield f"{many(report.faulty, 'line')} could not be taken:"
    for number, reason in report.faults:
        yield f"  {one_line(name)}:{number}: {one_line(reason)}"
    if report.faulty > NAMED:
        yield f"  and {report.faulty - NAMED:,} more"
