"""Lines for people: clean, aligned by what a terminal really shows, with every time in a named zone.

Chinese, Japanese and Korean characters take two columns and combining marks none, so nothing here
counts characters. Order matters: text is sanitised first, then cut to its columns, then styled.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from indexer.text import iso, sanitize
from indexer.text import many as many

GLYPHS = {
    "prompt": "›",
    "command": "/",
    "shell": "!",
    "assistant": "•",
    "tool_use": "→",
    "observation": "◆",
    "summary": "≡",
    "event": "·",
}
_NO_COLUMN = ("Mn", "Me", "Cf")


class Style(NamedTuple):
    """SGR styles, or nothing where colour is not wanted."""

    on: bool

    def bold(self, text: str) -> str:
        """Titles."""
        return self._sgr("1", text)

    def dim(self, text: str) -> str:
        """What is around the matter: times, projects, ids."""
        return self._sgr("2", text)

    def match(self, text: str) -> str:
        """What was searched for."""
        return self._sgr("1;33", text)

    def name(self, text: str) -> str:
        """What can be given to `show`."""
        return self._sgr("36", text)

    def bad(self, text: str) -> str:
        """Trouble."""
        return self._sgr("1;31", text)

    def _sgr(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


def one_line(text: object) -> str:
    """Clean text on one line; "" for None."""
    return "" if text is None else " ".join(sanitize(str(text)).split())


def columns(text: str) -> int:
    """How many columns a terminal gives the text."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(char: str) -> int:
    if unicodedata.category(char) in _NO_COLUMN:
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def fit(text: str, width: int) -> str:
    """The text, cut to `width` columns with `…` at the end if it is longer."""
    if _end(text, 0, width) == len(text):
        return text
    return text[: _end(text, 0, width - 1)] + "…"


def pad(text: str, width: int) -> str:
    """The text, filled up with spaces to `width` columns."""
    return text + " " * (width - columns(text))


def wrap(text: str, width: int) -> list[str]:
    """Clean text in lines of at most `width` columns; its own line breaks are kept."""
    return [line for part in sanitize(text).expandtabs(4).splitlines() for line in _wrapped(part, width)]


def _wrapped(text: str, width: int) -> Iterator[str]:
    """One line in several, at spaces. Works by position: a prompt may be one line of megabytes."""
    start = 0
    while (end := _end(text, start, width)) < len(text):
        cut = end if text[end] == " " else text.rfind(" ", start, end)
        # Scripts without spaces break anywhere, and so does a word too long for the line.
        if cut < 0 or not text[start:cut].strip(" "):
            cut = max(end, start + 1)
        yield text[start:cut]
        start = cut
        while start < len(text) and text[start] == " ":
            start += 1
        if start == len(text):
            return
    yield text[start:]


def _end(text: str, start: int, width: int) -> int:
    """Where the longest piece from `start` ends that takes at most `width` columns."""
    if len(text) - start <= width // 2:  # no character takes more than two; a pipe's width has no end
        return len(text)
    piece = text[start : start + width]
    if piece.isascii():
        return start + len(piece)
    used = 0
    for index in range(start, len(text)):
        used += _columns_of(text[index])
        if used > width:
            return index
    return len(text)


def highlight(text: str, words: Sequence[str], style: Style) -> str:
    """Mark each place where one of the words stands, whatever its case. Single ASCII characters are left
    out: they stand everywhere."""
    useful = (word for word in words if word.strip() and (len(word) > 1 or not word.isascii()))
    wanted = sorted(map(re.escape, useful), key=len, reverse=True)
    if not style.on or not wanted:
        return text
    return re.sub("|".join(wanted), lambda found: style.match(found[0]), text, flags=re.IGNORECASE)


def when(ms: int | None) -> str:
    """A time in the local zone, which is named: `2026-11-20 20:08 PST`; by its offset if it has no name."""
    if ms is None or iso(ms) is None:
        return "undated"
    local = time.localtime(ms / 1000)
    return f"{time.strftime('%Y-%m-%d %H:%M', local)} {_zone(local)}"


def _zone(local: time.struct_time) -> str:
    if local.tm_zone.isalpha():
        return local.tm_zone
    minutes = abs(local.tm_gmtoff) // 60
    return f"{'-' if local.tm_gmtoff < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


def duration(ms: int | None) -> str:
    """`42 s`, `7 min`, `3 h 05 min`, `2 d 4 h`; "" if unknown."""
    if ms is None:
        return ""
    seconds = ms // 1000
    if seconds < 60:
        return f"{seconds} s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if minutes < 60:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60:02} min" if days == 0 else f"{days} d {hours % 24} h"


def size(number: float) -> str:
    """Bytes as people read them: `512 B`, `4.2 MB` (of 1,000,000)."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.5 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def facts(pairs: Iterable[tuple[str, str]], style: Style, indent: str = "  ") -> list[str]:
    """Aligned lines of names and values; those without a value are left out."""
    kept = [(name, value) for name, value in pairs if value]
    width = max((columns(name) for name, _ in kept), default=0)
    return [f"{indent}{style.dim(pad(name, width))}  {value}" for name, value in kept]


def aside(*parts: str) -> str:
    """What is around the matter, on one line."""
    return " · ".join(part for part in parts if part)
