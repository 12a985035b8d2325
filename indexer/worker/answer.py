"""Answers one question inside the worker: which rows are nearest, by each model, behind the filters.

The scan answers whatever the filters leave up to `EXACTLY` documents, and everything while the index cannot;
beyond that the index answers what has no filter, or that on one project (retrieval.md section 2 and 3:
behind a filter Chroma takes 97 to 253 ms at 100,000 documents, the scan of a project of 2,000 3 ms).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

from indexer import events
from indexer.documents import is_wide
from indexer.embedders.base import NoEmbedder, packed, unpacked
from indexer.errors import IndexerError
from indexer.store import embeddable
from indexer.store.columns import none, others
from indexer.store.connection import Connection, identity, open_reader
from indexer.store.filters import Filters, codes
from indexer.store.vectors import Vectors
from indexer.sync import Arm
from indexer.vectors.base import Index, IndexBusy, Scan

EXACTLY = 20_000
EXACTLY_BESIDE = 500
"""Documents that the index was not told of yet, up to which it answers all the same, and the scan for those."""
_SPARE = 3
"""Documents asked of the index for each row wanted: a row has several."""


class Question(NamedTuple):
    """What `client.ask` sends."""

    text: str
    filters: Filters
    limit: int
    among: Sequence[int] | None = None
    like: int | None = None


class Found(NamedTuple):
    """Rows and cosines by arm; what answered; the first thing that went wrong."""

    arms: dict[str, list[tuple[int, float]]]
    via: list[str]
    trouble: IndexerError | None


class Answers:
    """Asks the scan and the index. One thread; arms and index belong to another, and are only read.

    vectors: a connection of this thread's own."""

    def __init__(
        self, home: Path, scan: Scan, vectors: Callable[[], Vectors | None], index: Callable[[], Index | None]
    ) -> None:
        self._home, self._scan, self._vectors, self._index = home, scan, vectors, index
        self._memory: Connection | None = None
        self._file: tuple[int, int] | None = None

    def find(self, question: Question, arms: Sequence[Arm]) -> Found:
        """The nearest rows by each of these models that can answer."""
        found = Found({}, [], None)
        if not codes(question.filters):
            return found
        chosen = self._chosen(question)
        if not len(chosen):
            return found
        for arm in arms:
            try:
                vector = self._vector(arm, question)
                if vector is None:
                    continue
                rows, via = self._nearest(arm.spec.model, vector, question, chosen)
            except NoEmbedder as error:
                found = found._replace(trouble=error)
                continue
            if rows:
                found.arms[arm.spec.arm] = rows
                if via not in found.via:
                    found.via.append(via)
        return found

    def _chosen(self, question: Question) -> Sequence[int]:
        chosen = self._scan.select(question.filters, question.among)
        if others(question.filters) and len(chosen):
            memory = self._reader()
            if memory is None:
                return []
            rows = embeddable.passing(memory, question.filters, self._scan.rows(chosen))
            chosen = self._scan.select(question.filters, rows)
        return chosen

    def _vector(self, arm: Arm, question: Question) -> bytes | None:
        """What to look for; None when the model has nothing to say."""
        if question.like is not None:
            return _mean(self._scan.vectors_of(question.like, arm.spec.model))
        if arm.embedder is None or (arm.spec.latin_only and is_wide(question.text)):
            return None
        return arm.embedder.embed_query(question.text)

    def _nearest(
        self, model: str, vector: bytes, question: Question, chosen: Sequence[int]
    ) -> tuple[list[tuple[int, float]], str]:
        more = question.limit + (question.like is not None)
        rows = self._indexed(model, vector, question, more) if len(chosen) > EXACTLY else None
        via = "exact" if rows is None else "chroma"
        if rows is None:
            rows = self._scan.rank(model, vector, chosen, more)
        return [found for found in rows if found[0] != question.like][: question.limit], via

    def _indexed(self, model: str, vector: bytes, question: Question, limit: int) -> list[tuple[int, float]] | None:
        """What the index says; None when it is not to be asked, or does not answer."""
        if question.among is not None or not none(question.filters):
            return None
        index, vectors = self._index(), self._vectors()
        if index is None or vectors is None:
            return None
        untold = vectors.unindexed_rows(model, EXACTLY_BESIDE)
        if untold is None:
            return None
        try:
            named = index.nearest(model, vector, limit * _SPARE)
        except IndexBusy:
            return None
        except IndexerError as error:
            events.failed("vectors", error)
            return None
        rows = vectors.rows_named([name for name, _ in named])
        found = [(rows[name], score) for name, score in named if name in rows]
        # What the index was not told of yet is compared one by one: an answer must not lack what is new.
        found += self._scan.rank(model, vector, self._scan.select(question.filters, untold), limit) if untold else []
        best: dict[int, float] = {}
        for row, score in sorted(found, key=lambda one: -one[1]):
            best.setdefault(row, score)
        return list(best.items())[:limit] or None

    def _reader(self) -> Connection | None:
        """The memory; opened anew when another file has taken its place."""
        there = identity(self._home)
        if self._memory is not None and there != self._file:
            self._memory.close()
            self._memory = None
        if self._memory is None and there is not None:
            try:
                self._memory, self._file = open_reader(self._home), there
            except IndexerError as error:
                events.failed("vectors", error)
        return self._memory

    def close(self) -> None:
        """Close the memory."""
        if self._memory is not None:
            self._memory.close()


def _mean(vectors: Sequence[bytes]) -> bytes | None:
    """The middle of a row's documents."""
    if not vectors:
        return None
    total = list(unpacked(vectors[0]))
    for vector in vectors[1:]:
        total = list(map(add, total, unpacked(vector)))
    return packed(total)


def as_json(found: Found, notes: Sequence[str]) -> dict[str, Any]:
    """The answer as it is sent."""
    return {"arms": found.arms, "via": found.via, "notes": list(notes)}
