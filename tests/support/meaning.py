"""Vectors without models, numpy or Chroma: the hashing embedder, the plain scan, and an index in a dict.

meaning = Meaning(tmp_path)             # a memory on disk and a Sync over it
row = meaning.memory.prompt("the login fails")
meaning.settle()
assert meaning.found("login") == [row]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import mul
from pathlib import Path
from typing import Any

from searchable import Searchable

from indexer.embedders.base import Embedder, NoEmbedder, Spec, unpacked
from indexer.embedders.hashing import SPEC, Hashing
from indexer.store.connection import open_writer
from indexer.store.filters import Filters
from indexer.store.vectors import Entry, Vectors, open_store
from indexer.sync import Arm, Sync
from indexer.vectors.base import IndexDamaged
from indexer.vectors.plain import Plain

EVERYTHING = Filters()
MODEL = SPEC.model


class Counting(Hashing):
    """Hashes, and remembers what it was asked to embed. failing: it does not answer."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.failing = False

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        if self.failing:
            raise NoEmbedder("it is out", "wait")
        self.texts += texts
        return super().embed_documents(texts)


def spec(arm: str = "hashing", model: str = MODEL, embedder: Embedder | None = None, **changed: Any) -> Spec:
    """A model that is there at once."""
    return Spec(arm, model, 256, latin_only=False, batch=8, load=lambda: embedder or Hashing())._replace(**changed)


class Shelf:
    """An index in a dict that can be damaged."""

    def __init__(self, held: dict[str, dict[str, Entry]] | None = None) -> None:
        self.held = {} if held is None else held
        self.broken = ""
        self.closed = False

    def _of(self, model: str) -> dict[str, Entry]:
        if self.broken:
            raise IndexDamaged(self.broken)
        return self.held.setdefault(model, {})

    def count(self, model: str) -> int:
        return len(self._of(model))

    def names(self, model: str) -> Iterator[str]:
        return iter(list(self._of(model)))

    def put(self, model: str, entries: Sequence[Entry]) -> None:
        self._of(model).update({entry.name: entry for entry in entries})

    def remove(self, model: str, names: Sequence[str]) -> None:
        for name in names:
            self._of(model).pop(name, None)

    def nearest(self, model: str, vector: bytes, limit: int, project: str | None = None) -> list[tuple[str, float]]:
        asked = unpacked(vector)
        scores = [(name, sum(map(mul, unpacked(entry.vector), asked))) for name, entry in self._of(model).items()]
        return sorted(scores, key=lambda item: (-item[1], item[0]))[:limit]

    def drop(self, model: str) -> None:
        self.held.pop(model, None)

    def close(self) -> None:
        self.closed = True


class Meaning:
    """A memory in `folder`/home and what keeps its vectors. now: the clock, in seconds."""

    def __init__(self, folder: Path, *specs: Spec, index: bool = False, old: Sequence[Spec] = ()) -> None:
        self.home = folder / "home"
        self.memory = Searchable(open_writer(self.home))
        self.now = 0.0
        self.shelf = Shelf()
        self.aside: list[int] = []
        self.index = index
        self.sync = self.begin(*specs, old=old)

    def begin(self, *specs: Spec, old: Sequence[Spec] = ()) -> Sync:
        """A new process over the same files."""
        self.sync = Sync(
            self.home,
            open_store(self.home),
            [Arm(one) for one in specs or (spec(),)],
            Plain(),
            old=[Arm(one) for one in old],
            open_index=(lambda _: self.shelf) if self.index else None,
            set_aside=self._put_aside,
            clock=lambda: self.now,
        )
        self.sync.load()
        return self.sync

    def _put_aside(self, generation: int) -> None:
        self.aside.append(generation)
        self.shelf = Shelf()

    @property
    def vectors(self) -> Vectors:
        return self.sync.vectors

    def settle(self, after: float = 3.0) -> int:
        """Work until there is nothing to do, a moment later; returns the number of pieces."""
        self.now += after
        steps = 0
        while self.sync.step():
            steps += 1
            assert steps < 1000, "a sync that never comes to rest"
        return steps

    def sweep(self) -> int:
        """The same after the time for a sweep."""
        return self.settle(10_000.0)

    def found(self, text: str, limit: int = 5, model: str = MODEL) -> list[int]:
        """Rows by meaning, the best first, of those that share anything with the text."""
        scan = self.sync.scan
        vector = Hashing().embed_query(text)
        ranked = scan.rank(model, vector, scan.select(EVERYTHING), limit)
        return [row for row, score in ranked if score > 0.25]

    def in_step(self) -> None:
        """SQLite holds a vector of every document, and the index knows all of them and nothing else."""
        for arm in self.sync.arms:
            counted = self.vectors.coverage(arm.spec.model, arm.spec.latin_only)
            assert (counted.vectors, counted.waiting) == (counted.documents, 0)
            if self.index:
                assert counted.unindexed == 0
                given = {name for name, _ in self.vectors.indexed(arm.spec.model)}
                assert set(self.shelf.held.get(arm.spec.model, {})) == given
                assert len(given) == counted.documents
