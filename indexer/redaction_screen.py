"""Says of undecoded bytes, in one pass, which rules may find something in them: for nearly all lines, none.

Hyperscan takes all hints at once. Measured on transcripts (generated, 3.5 KB a line, 65 literals, µs a line;
orjson.loads takes 5.6): Hyperscan 1.5, re2 6.1, Aho-Corasick in Rust 6.5, `in` for each literal 113, an
alternation in re 137. With the hints of today Hyperscan takes 2.5 to 3.2, half of the least that a reader can
cost. It is 6 MB, has wheels for Linux and macOS on both architectures, and imports in 3 ms. Where it cannot
be had, literals stand in, then `re`: 570 µs a line, and the same texts come out, since rules decide, not hints.

The database of hints takes 0.2 s to make: at the first line, never by a command that reads none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from threading import Lock
from typing import Any, NamedTuple, Protocol

hyperscan: Any
try:
    hyperscan = import_module("hyperscan")
except ImportError:  # a platform without a wheel
    hyperscan = None


class Hint(NamedTuple):
    """What may stand in the bytes. regex: None for what nothing is known of; words: as in Rule."""

    regex: str | None
    words: tuple[str, ...]


class Screen(Protocol):
    """Numbers of the hints that fit, in order."""

    def found(self, data: bytes) -> Sequence[int]:
        """Of these bytes."""
        ...


def screen(hints: Sequence[Hint]) -> Screen:
    """The fastest screen that this machine has; the same one for the same hints."""
    return Words(hints) if hyperscan is None else _scanner(tuple(hints))


@lru_cache(maxsize=4)
def _scanner(hints: tuple[Hint, ...]) -> Screen:
    return Scanner(hints)


class Words:
    """A screen of literals in plain Python; where one stands, the hint is tried."""

    def __init__(self, hints: Sequence[Hint]) -> None:
        self._always = [number for number, hint in enumerate(hints) if hint.regex is None]
        self._words = [
            (number, [word.lower().encode() for word in hint.words], re.compile(hint.regex.encode()).search)
            for number, hint in enumerate(hints)
            if hint.regex is not None
        ]

    def found(self, data: bytes) -> Sequence[int]:
        """See Screen."""
        low = data.lower()
        hit = [number for number, words, search in self._words if any(word in low for word in words) and search(data)]
        return sorted(self._always + hit) if self._always else hit


class Scanner:
    """A screen of all hints in one Hyperscan database, whose scratch space is one thread's at a time."""

    def __init__(self, hints: Sequence[Hint]) -> None:
        self._hints = [(number, hint.regex) for number, hint in enumerate(hints) if hint.regex is not None]
        self._always = [number for number, hint in enumerate(hints) if hint.regex is None]
        self._hits: list[int] = []
        self._lock = Lock()
        self._database: Any = None

    def found(self, data: bytes) -> Sequence[int]:
        """See Screen."""
        with self._lock:
            database = self._database or self._compiled()
            hits = self._hits
            hits.clear()
            database.scan(data, self._hit)
            return sorted({*hits, *self._always}) if hits or self._always else ()

    def _hit(self, number: int, start: int, end: int, flags: int, context: object) -> None:
        self._hits.append(number)

    def _compiled(self) -> Any:
        database = hyperscan.Database()
        database.compile(
            expressions=[regex.encode() for _, regex in self._hints],
            ids=[number for number, _ in self._hints],
            elements=len(self._hints),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(self._hints),
        )
        self._database = database
        return database
