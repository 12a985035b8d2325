"""The exact scan without numpy: for a broken install, and as the oracle that the other one is tested by.

Half a ms for a thousand numbers: beyond `MOST` documents it does not answer, and keywords do.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from operator import mul

from indexer.embedders.base import packed, unpacked
from indexer.store.columns import Wanted, wanted
from indexer.store.filters import Filters
from indexer.store.vectors import Place

MOST = 5_000


class Plain:
    """See the module's docstring."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}
        self._of_row: dict[int, list[int]] = {}
        self._vectors: dict[str, dict[int, tuple[float, ...]]] = {}

    @property
    def size(self) -> int:
        """Documents held."""
        return len(self._places)

    def reserve(self, documents: int) -> None:
        """Room needs no making."""

    def replace(self, rows: Iterable[int], places: Iterable[Place], vectors: Mapping[str, Mapping[int, bytes]]) -> None:
        """See Scan."""
        for row in rows:
            for document in self._of_row.pop(row, ()):
                del self._places[document]
                for held in self._vectors.values():
                    held.pop(document, None)
        for place in places:
            self._places[place.id] = place
            self._of_row.setdefault(place.row, []).append(place.id)
        for model, given in vectors.items():
            of_model = self._vectors.setdefault(model, {})
            of_model.update((document, unpacked(given[document])) for document in given if document in self._places)

    def select(self, filters: Filters, among: Iterable[int] | None = None) -> Sequence[int]:
        """See Scan."""
        want, rows = wanted(filters), None if among is None else set(among)
        places = list(self._places.values())
        return [place.id for place in places if (rows is None or place.row in rows) and _passes(place, want)]

    def rows(self, chosen: Sequence[int]) -> list[int]:
        """See Scan."""
        return sorted({self._places[document].row for document in chosen if document in self._places})

    def rank(self, model: str, vector: bytes, chosen: Sequence[int], limit: int) -> list[tuple[int, float]]:
        """See Scan."""
        held = self._vectors.get(model, {})
        asked = unpacked(vector)
        best: dict[int, float] = {}
        if len(chosen) > MOST:
            return []
        for document in chosen:
            if document in held and document in self._places:
                row = self._places[document].row
                best[row] = max(sum(map(mul, held[document], asked)), best.get(row, -2.0))
        return heapq.nsmallest(limit, best.items(), key=lambda item: (-item[1], item[0]))

    def vectors_of(self, row: int, model: str) -> list[bytes]:
        """See Scan."""
        held = self._vectors.get(model, {})
        return [packed(held[document]) for document in self._of_row.get(row, ()) if document in held]


def _passes(place: Place, want: Wanted) -> bool:
    if place.kind not in want.kinds or (want.type is not None and (place.type or "").lower() != want.type):
        return False
    if want.projects is not None and not want.projects & {place.project_key, place.merged}:
        return False
    if want.since is None and want.until is None:
        return True
    if place.time is None:
        return False
    return (want.since is None or place.time >= want.since) and (want.until is None or place.time <= want.until)
