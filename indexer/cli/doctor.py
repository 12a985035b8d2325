"""`doctor`: what would keep the memory from being whole, each with what to do about it."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator

from indexer import app, config
from indexer.cli.output import Output
from indexer.cli.render import many, one_line, pad, wrap
from indexer.finding import NOTE, OK, PROBLEM, Finding


def doctor(args: Namespace, out: Output) -> int:
    """Print every finding with its remedy; 1 if one of them is a problem. Nothing is written."""
    found = app.doctor(config.load(args.home, args.roots), os.environ)
    if out.as_json:
        out.data({"findings": [finding._asdict() for finding in found]})
    else:
        out.lines(line for finding in found for line in _lines(finding, out))
        out.note(_summary(found))
    return int(any(finding.level == PROBLEM for finding in found))


def _lines(finding: Finding, out: Output) -> Iterator[str]:
    level = pad(finding.level, len(PROBLEM))
    styled = {OK: out.style.dim, NOTE: out.style.name, PROBLEM: out.style.bad}[finding.level](level)
    first, *rest = wrap(one_line(finding.message), max(20, out.page - 30)) or [""]
    yield f"{styled}  {pad(finding.kind, 18)}  {first}"
    yield from (" " * 29 + line for line in rest)
    if finding.remedy:
        yield f"{' ' * 29}-> {one_line(finding.remedy)}"


def _summary(found: list[Finding]) -> str:
    problems = sum(finding.level == PROBLEM for finding in found)
    return f"{many(problems, 'problem')} found" if problems else "no problem found"
