"""Numbers: how much was said and done, when, with which tools, models and projects. Days are of the local zone.

A year of counts is read once and kept (kept.py) until the memory changes or the quarter of an hour is over.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from indexer import scope
from indexer.config import Config
from indexer.store import browse, statistics
from indexer.store.connection import Connection
from indexer.store.reads import aliases
from indexer.store.statistics import QUARTER, Slot, Window
from indexer.web import charts
from indexer.web.kept import Kept, stamp
from indexer.web.layout import Page, empty, zone
from indexer.web.markup import Html, join, tag

DAYS, ROWS = 90, 12
"""Days of the tokens' chart; rows of tools, models and projects."""
_YEAR = 371
_KINDS = ("input", "output", "written to the cache", "read from the cache")


class Counts(NamedTuple):
    """Counts by quarters of an hour."""

    prompts: list[Slot]
    tools: list[Slot]
    models: list[Slot]


KEPT = Kept[Counts](8)


def view(conn: Connection, settings: Config, given: Mapping[str, str]) -> Page:
    """The page, of one project or of all. Raises NotFound, AmbiguousProject."""
    name = given.get("project", "").strip()
    keys = scope.project_keys(conn, settings, name or None)
    counts = _counts(conn, settings, keys)
    body = _charts(conn, settings, counts) if any(counts) else empty("Nothing has been counted in the last year.")
    told = tag(
        "p",
        f"Of the last year{' in ' + name if name else ''}. Days and hours are of the time zone {zone()}.",
        class_="note",
    )
    return Page("Numbers", join(_form(name), told, body), "/numbers")


def _form(name: str) -> Html:
    box = tag("input", name="project", id="project", value=name, placeholder="all projects", maxlength="1024")
    return tag(
        "form",
        tag("label", "Project ", for_="project"),
        box,
        " ",
        tag("button", "Show"),
        action="/numbers",
        method="get",
    )


def _counts(conn: Connection, settings: Config, keys: Sequence[str] | None) -> Counts:
    now = int(time.time() * 1000) // QUARTER * QUARTER
    since = now - _YEAR * 86_400_000
    window = Window(tuple(keys) if keys is not None else None, since)
    return KEPT.get(
        window,
        stamp(settings),
        lambda: Counts(*(count(conn, window) for count in (statistics.prompts, statistics.tools, statistics.models))),
    )


def _charts(conn: Connection, settings: Config, counts: Counts) -> Html:
    here = _Clock()
    names = {
        key: one.display or key for one in browse.projects(conn, aliases(conn, settings.aliases)) for key in one.keys
    }
    return join(
        _year(counts, here), _tokens(counts, here), _tools(counts), _hours(counts, here),
        _by_name("Projects", counts, lambda slot: names.get(slot.project_key, slot.project_key) or "(none)"),
        _models(counts),
    )  # fmt: skip


class _Clock:
    """Days and hours of the local zone; each day's offset is asked once an hour of it, not once a slot."""

    def __init__(self) -> None:
        self._known: dict[int, datetime] = {}
        self.today = datetime.now(scope.LocalZone()).date()

    def at(self, slot: Slot) -> datetime:
        """The local time of a slot, to the hour."""
        hour = slot.start // 3_600_000
        found = self._known.get(hour)
        if found is None:
            found = self._known[hour] = datetime.fromtimestamp(slot.start / 1000, scope.LocalZone())
        return found


def _year(counts: Counts, here: _Clock) -> Html:
    days = Counter[date]()
    for slot in (*counts.prompts, *counts.tools):
        days[here.at(slot).date()] += slot.number
    rows = [(str(day), days[day]) for day in sorted(days, reverse=True)]
    table = charts.table(("Day", "Prompts and calls"), rows)
    return charts.figure("Prompts and tool calls a day", charts.heatmap(days, here.today, "prompts and calls"), table)


def _tokens(counts: Counts, here: _Clock) -> Html:
    days: dict[date, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for slot in counts.models:
        sums = days[here.at(slot).date()]
        for kind, number in enumerate(slot.tokens):
            sums[kind] += number
    last = max(days, default=here.today)
    shown = [last - timedelta(days=DAYS - 1 - place) for place in range(DAYS)]
    fresh = [(str(day), days[day][:3] if day in days else [0, 0, 0]) for day in shown]
    rows: list[tuple[str | int, ...]] = [(str(day), *days[day]) for day in reversed(shown) if day in days]
    return charts.figure(
        f"Tokens a day, of the last {DAYS} days that have any",
        charts.stacked(_KINDS[:3], fresh, "tokens a day"),
        charts.table(("Day", *(kind.capitalize() for kind in _KINDS)), rows),
        "What is read from the cache is some hundred times the rest, and stands in the table alone.",
    )


def _tools(counts: Counts) -> Html:
    calls, errors = Counter[str](), Counter[str]()
    for slot in counts.tools:
        calls[slot.name] += slot.number
        errors[slot.name] += slot.errors
    most = _most(calls)
    table = charts.table(("Tool", "Calls", "Failed"), [(name, number, errors[name]) for name, number in most[:60]])
    return charts.figure("Tools", charts.bars(most[:ROWS], "calls"), table)


def _hours(counts: Counts, here: _Clock) -> Html:
    hours = Counter[int]()
    for slot in counts.prompts:
        hours[here.at(slot).hour] += slot.number
    rows = [(f"{hour:02}", hours[hour]) for hour in range(24)]
    return charts.figure(
        "Prompts by hour of the day", charts.columns(rows, "prompts"), charts.table(("Hour", "Prompts"), rows)
    )


def _by_name(title: str, counts: Counts, naming: Callable[[Slot], str]) -> Html:
    asked, called, said = (
        _sum(slots, naming, weigh)
        for slots, weigh in (
            (counts.prompts, lambda slot: slot.number),
            (counts.tools, lambda slot: slot.number),
            (counts.models, lambda slot: slot.tokens[1]),
        )
    )
    names = sorted({*asked, *called, *said}, key=lambda name: (-called[name] - asked[name], name))
    rows = [(name, asked[name], called[name], said[name]) for name in names[:60]]
    drawn = [(name, asked[name] + called[name]) for name in names[:ROWS]]
    table = charts.table((title[:-1], "Prompts", "Tool calls", "Output tokens"), rows)
    return charts.figure(title, charts.bars(drawn, "prompts and calls"), table)


def _models(counts: Counts) -> Html:
    answers = _sum(counts.models, lambda slot: slot.name or "(unknown)", lambda slot: slot.number)
    tokens: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for slot in counts.models:
        sums = tokens[slot.name or "(unknown)"]
        for kind, number in enumerate(slot.tokens):
            sums[kind] += number
    rows: list[tuple[str | int, ...]] = [(name, number, *tokens[name]) for name, number in _most(answers)[:60]]
    drawn = [(name, tokens[name][1]) for name, _ in _most(answers)[:ROWS]]
    table = charts.table(("Model", "Answers", *(kind.capitalize() for kind in _KINDS)), rows)
    return charts.figure("Models, by output tokens", charts.bars(drawn, "output tokens"), table)


def _sum(slots: Iterable[Slot], naming: Callable[[Slot], str], weigh: Callable[[Slot], int]) -> Counter[str]:
    found = Counter[str]()
    for slot in slots:
        found[naming(slot)] += weigh(slot)
    return found


def _most(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda one: (-one[1], one[0]))
