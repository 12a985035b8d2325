"""`stats`: how much was said and done, by day, project, tool and model, with small bars.

A day is one of this machine's time zone, which is named: a count by day that does not say whose days is wrong
twice a year and for every traveller.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, TypeAlias

from indexer import config
from indexer.cli import scope
from indexer.cli.output import Output
from indexer.cli.render import columns, fit, one_line, pad, when
from indexer.store import browse, statistics
from indexer.store.connection import Connection
from indexer.store.reads import aliases, reading
from indexer.store.statistics import Slot, Window

_Naming: TypeAlias = Callable[[Slot], str]

BAR, ROWS = 24, 12
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_TOKENS = ("input_tokens", "output_tokens", "cache_creation_tokens", "cache_read_tokens")


class Line(NamedTuple):
    """One name with its counts; the first one is drawn."""

    name: str
    counts: tuple[int, ...]


class Table(NamedTuple):
    """Lines of one kind. names: what the counts are."""

    title: str
    names: tuple[str, ...]
    lines: list[Line]


def stats(args: Namespace, out: Output) -> int:
    """Print the counts. Raises UsageError, NotFound, NoDatabase."""
    settings = config.load(args.home, args.roots)
    since, until = scope.window(args)
    with reading(settings.home) as conn:
        window = Window(scope.project_keys(conn, settings, args.project), since, until)
        tables = _tables(conn, window, aliases(conn, settings.aliases))
    if out.as_json:
        out.data(_json(tables))
        return 0
    shown = [table for table in tables if args.by in (None, table.title) and table.lines]
    for table in shown:
        out.lines(_lines(table, out, everything=args.by is not None))
    out.note(f"days are of the time zone {_zone()}" if shown else "nothing has been counted in that time")
    return 0


def _tables(conn: Connection, window: Window, merged: Mapping[str, str]) -> list[Table]:
    prompts, tools, models = (
        count(conn, window) for count in (statistics.prompts, statistics.tools, statistics.models)
    )
    names = {key: one.display for one in browse.projects(conn, merged) for key in one.keys}
    return [
        Table("day", ("prompts", "tools", "output tokens"), _three(prompts, tools, models, _day, by_name=True)),
        Table("project", ("prompts", "tools", "output tokens"), _three(prompts, tools, models, _project(names))),
        Table("tool", ("calls", "errors"), _tools(tools)),
        Table("model", ("answers", *(name.replace("_", " ") for name in _TOKENS)), _models(models)),
    ]


def _day(slot: Slot) -> str:
    return datetime.fromtimestamp(slot.start / 1000, scope.LocalZone()).date().isoformat()


def _project(names: Mapping[str, str]) -> _Naming:
    return lambda slot: names.get(slot.project_key, slot.project_key) or "(none)"


def _three(
    prompts: list[Slot], tools: list[Slot], models: list[Slot], naming: _Naming, *, by_name: bool = False
) -> list[Line]:
    """Prompts, tool calls and output tokens under the same names."""
    asked, called, said = Counter[str](), Counter[str](), Counter[str]()
    for slots, counter in ((prompts, asked), (tools, called)):
        for slot in slots:
            counter[naming(slot)] += slot.number
    for slot in models:
        said[naming(slot)] += slot.tokens[1]
    lines = [Line(name, (asked[name], called[name], said[name])) for name in {*asked, *called, *said}]
    return sorted(lines, key=lambda line: line.name if by_name else (-line.counts[0], -line.counts[1], line.name))


def _tools(slots: list[Slot]) -> list[Line]:
    calls, errors = Counter[str](), Counter[str]()
    for slot in slots:
        calls[slot.name] += slot.number
        errors[slot.name] += slot.errors
    return [Line(name, (number, errors[name])) for name, number in _most(calls)]


def _models(slots: list[Slot]) -> list[Line]:
    answers, tokens = Counter[str](), dict[str, list[int]]()
    for slot in slots:
        answers[slot.name] += slot.number
        tokens[slot.name] = [a + b for a, b in zip(tokens.get(slot.name, [0] * 4), slot.tokens, strict=True)]
    return [Line(name or "(unknown)", (number, *tokens[name])) for name, number in _most(answers)]


def _most(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))


# --- what is shown ----------------------------------------------------------------------------------


def _json(tables: Iterable[Table]) -> dict[str, object]:
    answer: dict[str, object] = {"time_zone": _zone()}
    for table in tables:
        names = [name.replace(" ", "_") for name in table.names]
        answer[f"by_{table.title}"] = [
            {table.title: line.name} | dict(zip(names, line.counts, strict=True)) for line in table.lines
        ]
    return answer


def _lines(table: Table, out: Output, *, everything: bool) -> Iterator[str]:
    """A heading, a line a name, and how many were left out."""
    days = table.title == "day"
    shown = table.lines if everything else table.lines[-31:] if days else table.lines[:ROWS]
    width = min(max(columns(one_line(line.name)) for line in shown), 40)
    sizes = [max(len(f"{line.counts[i]:,}") for line in shown) for i in range(len(table.names))]
    most = max(line.counts[0] for line in shown)
    yield out.style.bold(f"by {table.title}: {', '.join(table.names)}")
    for line in shown:
        numbers = "  ".join(f"{number:>{size},}" for number, size in zip(line.counts, sizes, strict=True))
        name = pad(fit(one_line(line.name), width), width)
        yield f"  {name}  {out.style.name(pad(bar(line.counts[0], most), BAR))}  {numbers}".rstrip()
    if hidden := len(table.lines) - len(shown):
        yield out.style.dim(f"  and {hidden:,} more: --by {table.title}")
    yield ""


def bar(number: int, most: int) -> str:
    """A bar of at most BAR columns, exact to an eighth of one; anything above 0 is seen."""
    if not number or not most:
        return ""
    eighths = max(1, round(number * BAR * 8 / most))
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


def _zone() -> str:
    """As `when` names it."""
    return when(int(time.time() * 1000)).rpartition(" ")[2]
