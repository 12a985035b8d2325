"""Nearness that a test decides: what the vector worker would answer, without vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from indexer.query import Filters
from indexer.store.lexical import Match


class Nearness(NamedTuple):
    """As indexer.ranking.Nearness."""

    arms: Mapping[str, Sequence[Match]]
    via: tuple[str, ...]
    notes: tuple[str, ...]


class Near:
    """Answers the same rows by each arm to every question, those given first being the nearest; keeps what
    it was asked. With `among`, of those rows only."""

    def __init__(self, *rows: int, arms: Sequence[str] = ("use",), notes: tuple[str, ...] = ()) -> None:
        self.rows, self.names, self.notes = rows, arms, notes
        self.texts: list[str] = []
        self.filters: list[Filters] = []
        self.among: list[Sequence[int] | None] = []
        self.like: list[int | None] = []

    def __call__(
        self,
        text: str,
        filters: Filters,
        *,
        limit: int = 200,
        among: Sequence[int] | None = None,
        like: int | None = None,
    ) -> Nearness:
        self.texts.append(text)
        self.filters.append(filters)
        self.among.append(among)
        self.like.append(like)
        kept = [row for row in self.rows if among is None or row in among][:limit]
        found = [Match(row, 0.9 - place / 1000) for place, row in enumerate(kept)]
        return Nearness(dict.fromkeys(self.names, found), ("exact",) if self.names else (), self.notes)


class Silent(Near):
    """Has nothing to say, and tells why."""

    def __init__(self, note: str = "no vectors") -> None:
        super().__init__(arms=(), notes=(note,))
