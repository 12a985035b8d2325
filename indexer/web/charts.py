"""Pictures of numbers as inline SVG, each with its table. Pure.

No colour says anything alone: every bar and day has its number as its title, the stack is in the order of its
legend, and the table below holds all of it. The four colours of a stack are Okabe and Ito's blue, vermilion,
green and purple, which differ under every common colour blindness; the heat map is one hue that grows darker
(lighter on dark ground). Colours are classes of page.css, since the page's policy allows no style here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from indexer.web.layout import scrolled
from indexer.web.markup import Html, join, tag

WEEKS = 53
_CELL, _LEFT, _TOP = 12, 28, 16
_WIDE, _HIGH = 720, 160
_LEVELS = 4
_DAYS = ("Mon", "", "Wed", "", "Fri", "", "")


def figure(title: str, drawing: Html, table: Html, note: str = "") -> Html:
    """A drawing under its name, and its table, folded."""
    more = tag("details", tag("summary", "As a table"), table)
    return tag(
        "figure",
        tag("figcaption", title),
        scrolled(drawing, title),
        tag("p", note, class_="note") if note else None,
        more,
    )


def table(heads: Sequence[str], rows: Sequence[Sequence[str | int]]) -> Html:
    """The first column names, the others are numbers. It may be scrolled sideways, by keys too."""
    head = [tag("th", name, scope="col", class_="n" if place else None) for place, name in enumerate(heads)]
    body = [
        tag("tr", tag("th", row[0], scope="row"), [tag("td", _number(value), class_="n") for value in row[1:]])
        for row in rows
    ]
    inside = tag("table", tag("thead", tag("tr", head)), tag("tbody", body))
    return scrolled(inside, f"Table by {heads[0].lower()}")


def _number(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value


def heatmap(days: Mapping[date, int], last: date, what: str) -> Html:
    """A year up to `last`, a column a week from Monday on. Levels are quarters of the busiest day's."""
    first = last - timedelta(days=last.weekday(), weeks=WEEKS - 1)
    most = max(days.values(), default=0)
    cells = [
        _cell(day, days.get(day, 0), most, place, what)
        for place in range(WEEKS * 7)
        if (day := first + timedelta(days=place)) <= last
    ]
    names = [_text(0, _TOP + place * _CELL + 9, name) for place, name in enumerate(_DAYS) if name]
    months = [_text(_LEFT + week * _CELL, 10, name) for week, name in _months(first)]
    said = f"{what} a day from {first} to {last}; at most {most:,}"
    return _svg(_LEFT + WEEKS * _CELL, _TOP + 7 * _CELL, said, months, names, cells)


def _months(first: date) -> list[tuple[int, str]]:
    """The weeks in which a month begins, with its name."""
    found, before = [], first.month
    for week in range(WEEKS):
        month = (first + timedelta(weeks=week)).month
        if month != before:
            found.append((week, (first + timedelta(weeks=week)).strftime("%b")))
        before = month
    return found


def _cell(day: date, number: int, most: int, place: int, what: str) -> Html:
    level = 0 if not number else min(_LEVELS, 1 + (number - 1) * _LEVELS // most)
    week, weekday = divmod(place, 7)
    return _rect(
        _LEFT + week * _CELL, _TOP + weekday * _CELL, _CELL - 2, _CELL - 2, f"h{level}", f"{day}: {number:,} {what}"
    )


def stacked(names: Sequence[str], rows: Sequence[tuple[str, Sequence[int]]], what: str) -> Html:
    """A column a row, its numbers on one another in the order of `names`, which are at most four."""
    most = max((sum(numbers) for _, numbers in rows), default=0)
    step = _WIDE / max(1, len(rows))
    parts: list[Html] = []
    for place, (name, numbers) in enumerate(rows):
        top = float(_HIGH)
        for kind, number in enumerate(numbers):
            height = number * (_HIGH - 12) / most if most else 0
            if height:
                top -= height
                title = f"{name}: {number:,} {names[kind]}"
                parts.append(_rect(place * step, top, max(1.0, step - 1), height, f"c{kind + 1}", title))
    ends = [_text(0, _HIGH + 14, rows[0][0]), _end(rows[-1][0])] if rows else []
    scale = _text(0, 10, f"{most:,}")
    drawing = _svg(_WIDE, _HIGH + 18, f"{what}; at most {most:,}", parts, _line(_HIGH), ends, scale)
    return join(_legend(names), drawing)


def _legend(names: Sequence[str]) -> Html:
    rows = [
        tag("li", _svg(10, 10, "", _rect(0, 0, 10, 10, f"c{place + 1}", "")), f" {name}")
        for place, name in enumerate(names)
    ]
    return tag("ul", rows, class_="legend")


def columns(rows: Sequence[tuple[str, int]], what: str) -> Html:
    """A column a row, with every name below."""
    most = max((number for _, number in rows), default=0)
    step = _WIDE / max(1, len(rows))
    parts = [
        _rect(place * step + 2, _HIGH - height, step - 4, height, "c1", f"{name}: {number:,} {what}")
        for place, (name, number) in enumerate(rows)
        if (height := number * (_HIGH - 12) / most if most else 0)
    ]
    names = [_text(place * step + 4, _HIGH + 14, name) for place, (name, _) in enumerate(rows)]
    return _svg(_WIDE, _HIGH + 18, f"{what}; at most {most:,}", parts, _line(_HIGH), names, _text(0, 10, f"{most:,}"))


def bars(rows: Sequence[tuple[str, int]], what: str) -> Html:
    """A bar a row, with its name before and its number behind."""
    most = max((number for _, number in rows), default=0)
    left, high = 180, 20
    parts = []
    for place, (name, number) in enumerate(rows):
        width = max(1.0, number * (_WIDE - left - 80) / most) if number and most else 0
        parts += [
            _text(0, place * high + 14, name if len(name) <= 28 else name[:27] + "…"),
            _rect(left, place * high + 3, width, high - 6, "c1", f"{name}: {number:,} {what}"),
            _text(left + width + 6, place * high + 14, f"{number:,}"),
        ]
    return _svg(_WIDE, high * max(1, len(rows)), f"{what} by name; at most {most:,}", parts)


# --- pieces


def _svg(width: int, height: int, said: str, *children: Html | Sequence[Html]) -> Html:
    told = {"role": "img", "aria_label": said} if said else {"aria_hidden": "true"}
    return tag("svg", *children, viewBox=f"0 0 {width} {height}", width=width, height=height, **told)


def _rect(x: float, y: float, width: float, height: float, kind: str, title: str) -> Html:
    inside = tag("title", title) if title else None
    places = {"x": _round(x), "y": _round(y), "width": _round(width), "height": _round(height)}
    return tag("rect", inside, **places, class_=kind)


def _text(x: float, y: float, said: str) -> Html:
    return tag("text", said, x=_round(x), y=_round(y))


def _end(said: str) -> Html:
    return tag("text", said, x=_WIDE, y=_HIGH + 14, text_anchor="end")


def _line(y: int) -> Html:
    return tag("line", x1=0, y1=y, x2=_WIDE, y2=y, class_="axis")


def _round(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
