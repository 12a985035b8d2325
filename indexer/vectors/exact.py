"""The exact scan: every vector in memory as numpy has it, compared one by one behind the filters.

float16 halves the memory (1.8 kB a document with both default models, 180 MB for 100,000) and costs
2 ns a number when it is widened in blocks: 2.4 ms of CPU for the 2,000 documents of a project, 100 ms for
100,000, where Chroma takes 97 to 253 ms for the former and 14 for the latter. Beyond `MOST` documents their
vectors stay in SQLite and are read as they are asked for; the columns never take more than 60 bytes each.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from typing import Any, cast

import numpy as np

from indexer.store.columns import KINDS, UNDATED, wanted
from indexer.store.filters import Filters
from indexer.store.vectors import Place
from indexer.vectors.base import Fetch

MOST = 300_000
"""Documents whose vectors are held in memory: half a GB."""
_BLOCK = 2048
_FIRST = 1024
_COLUMNS = {"document": "i8", "row": "i8", "project": "i4", "merged": "i4", "kind": "i1", "type": "i4", "time": "i8"}


class Exact:
    """See the module's docstring. fetch: reads what is not held. Safe to ask from several threads."""

    def __init__(self, models: Iterable[str], fetch: Fetch, most: int = MOST) -> None:
        self._fetch, self._most = fetch, most
        self._lock = threading.RLock()
        self._columns: dict[str, Any] = {name: np.zeros(_FIRST, dtype=kind) for name, kind in _COLUMNS.items()}
        self._alive: Any = np.zeros(_FIRST, dtype=bool)
        # How long its vectors are is known with the first.
        self._vectors: dict[str, Any] = {model: np.zeros((_FIRST, 0), dtype="<f2") for model in models}
        self._has: dict[str, Any] = {model: np.zeros(_FIRST, dtype=bool) for model in self._vectors}
        self._places: dict[int, list[int]] = {}
        self._free: list[int] = []
        self._next = 0
        self._codes: dict[str | None, int] = {None: -1}
        self._numbers = count()

    @property
    def size(self) -> int:
        """Documents held."""
        return self._next - len(self._free)

    def replace(self, rows: Iterable[int], places: Iterable[Place], vectors: Mapping[str, Mapping[int, bytes]]) -> None:
        """See Scan."""
        with self._lock:
            for row in rows:
                for place in self._places.pop(row, ()):
                    self._alive[place] = False
                    self._free.append(place)
            for one in places:
                self._put(one, vectors)

    def _put(self, one: Place, vectors: Mapping[str, Mapping[int, bytes]]) -> None:
        place = self._free.pop() if self._free else self._grown()
        self._places.setdefault(one.row, []).append(place)
        values = (
            one.id, one.row, self._code(one.project_key), self._code(one.merged), KINDS.index(one.kind),
            self._code(one.type and one.type.lower()), UNDATED if one.time is None else one.time,
        )  # fmt: skip
        for column, value in zip(self._columns.values(), values, strict=True):
            column[place] = value
        self._alive[place] = True
        for model, has in self._has.items():
            vector = vectors.get(model, {}).get(one.id)
            has[place] = vector is not None
            if vector is not None:
                self._keep(model, place, np.frombuffer(vector, "<f2"))

    def _keep(self, model: str, place: int, vector: Any) -> None:
        held = self._vectors[model]
        if not held.shape[1]:
            held = self._vectors[model] = np.zeros((min(len(self._alive), self._most), len(vector)), dtype="<f2")
        if place < len(held):
            held[place] = vector

    def _grown(self) -> int:
        """One more place; room grows by half."""
        place, room = self._next, len(self._alive)
        self._next += 1
        if place == room:
            self._grow(room + room // 2)
        return place

    def reserve(self, documents: int) -> None:
        """See Scan. To grow by halves to 100,000 would take half of the time of loading them."""
        with self._lock:
            if documents > len(self._alive):
                self._grow(documents)

    def _grow(self, larger: int) -> None:
        self._columns = {name: _longer(column, larger) for name, column in self._columns.items()}
        self._alive = _longer(self._alive, larger)
        self._has = {model: _longer(has, larger) for model, has in self._has.items()}
        held = min(larger, self._most)
        self._vectors = {model: _longer(vectors, held) for model, vectors in self._vectors.items()}

    def _code(self, word: str | None) -> int:
        if word not in self._codes:
            self._codes[word] = next(self._numbers)
        return self._codes[word]

    def select(self, filters: Filters, among: Iterable[int] | None = None) -> Sequence[int]:
        """See Scan."""
        want = wanted(filters)
        with self._lock:
            end, column = self._next, self._columns
            mask = self._alive[:end].copy()
            if len(want.kinds) < len(KINDS):
                mask &= np.isin(column["kind"][:end], [KINDS.index(kind) for kind in want.kinds])
            if want.projects is not None:
                keys = [self._codes[key] for key in want.projects if key in self._codes]
                mask &= np.isin(column["project"][:end], keys) | np.isin(column["merged"][:end], keys)
            if want.type is not None:
                mask &= column["type"][:end] == self._codes.get(want.type, -2)
            if want.since is not None or want.until is not None:
                time = column["time"][:end]
                mask &= (time >= (UNDATED + 1 if want.since is None else want.since)) & (time != UNDATED)
                mask &= time <= (-UNDATED - 1 if want.until is None else want.until)
            if among is not None:
                mask &= np.isin(column["row"][:end], np.fromiter(among, dtype="i8"))
            return cast("Sequence[int]", np.flatnonzero(mask))

    def rows(self, chosen: Sequence[int]) -> list[int]:
        """See Scan."""
        found: list[int] = np.unique(self._columns["row"][chosen]).tolist()
        return found

    def rank(self, model: str, vector: bytes, chosen: Sequence[int], limit: int) -> list[tuple[int, float]]:
        """See Scan."""
        with self._lock:
            if model not in self._has:
                return []
            places = np.asarray(chosen, dtype="i8")
            places = places[self._has[model][places]]
            asked = np.frombuffer(vector, "<f2").astype("f4")
            if self._next <= len(self._vectors[model]) and len(places) > self._next // 2:
                blocks = self._all(model, asked)[places][None]
            else:
                starts = range(0, len(places), _BLOCK)
                blocks = [self._block(model, places[start : start + _BLOCK]) @ asked for start in starts]
            rows = self._columns["row"][places]
        return _best(rows, np.concatenate(blocks), limit) if len(rows) else []

    def _all(self, model: str, asked: Any) -> Any:
        """The scores of all places: row after row is read twice as fast as rows picked out."""
        held = self._vectors[model][: self._next]
        return np.concatenate(
            [held[start : start + _BLOCK].astype("f4") @ asked for start in range(0, len(held), _BLOCK)]
        )

    def _block(self, model: str, places: Any) -> Any:
        """The vectors at these places, as float32."""
        held = self._vectors[model]
        if self._next <= len(held):
            return held[places].astype("f4")
        documents = self._columns["document"][places].tolist()
        found = self._fetch(model, documents)
        zero = bytes(2 * held.shape[1])
        data = b"".join(found.get(document, zero) for document in documents)
        return np.frombuffer(data, "<f2").reshape(len(documents), -1).astype("f4")

    def vectors_of(self, row: int, model: str) -> list[bytes]:
        """See Scan."""
        with self._lock:
            places = np.array(self._places.get(row, []), dtype="i8")
            if model not in self._has or not len(places):
                return []
            block = self._block(model, places[self._has[model][places]])
            return [one.astype("<f2").tobytes() for one in block]


def _longer(array: Any, size: int) -> Any:
    longer = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    longer[: len(array)] = array
    return longer


def _best(rows: Any, scores: Any, limit: int) -> list[tuple[int, float]]:
    """The best rows, each with its best score; equal ones by row."""
    most = 2 * limit + 100
    while True:
        top = np.argpartition(-scores, most)[:most] if most < len(scores) else np.arange(len(scores))
        order = top[np.lexsort((rows[top], -scores[top]))]
        best: dict[int, float] = {}
        for row, score in zip(rows[order].tolist(), scores[order].tolist(), strict=True):
            best.setdefault(row, score)
        if len(best) >= limit or most >= len(scores):
            return list(best.items())[:limit]
        most *= 4
