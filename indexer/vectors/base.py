"""The seams of vector search: an index of nearest neighbours, and an exact scan over all vectors.

Both answer with cosines. The index is fast over everything and slow behind a filter; the scan is the other
way round, and cannot be silently incomplete. Which one is asked is settled in worker/answer.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from indexer.errors import IndexerError
from indexer.store.filters import Filters
from indexer.store.vectors import Entry, Place

Fetch: TypeAlias = Callable[[str, Sequence[int]], Mapping[int, bytes]]
"""Model and document ids -> vectors by document id: for what is not held in memory."""


class Index(Protocol):
    """A persistent index, one collection a model. Every method may raise IndexDamaged or IndexBlocked."""

    def count(self, model: str) -> int:
        """Documents that it says it holds."""
        ...

    def names(self, model: str) -> Iterator[str]:
        """Names of all documents it holds."""
        ...

    def put(self, model: str, entries: Sequence[Entry]) -> None:
        """Add documents, or update in place those that it knows by name."""
        ...

    def remove(self, model: str, names: Sequence[str]) -> None:
        """Take documents away; unknown names do not matter."""
        ...

    def nearest(self, model: str, vector: bytes, limit: int, project: str | None = None) -> list[tuple[str, float]]:
        """Name and cosine of the nearest documents, the best first; of one project alone, if given."""
        ...

    def drop(self, model: str) -> None:
        """Take a model's whole collection away."""
        ...

    def close(self) -> None:
        """Let go of its files."""
        ...


class Scan(Protocol):
    """Every vector in memory, and the columns that filters use."""

    @property
    def size(self) -> int:
        """Documents held."""
        ...

    def reserve(self, documents: int) -> None:
        """Make room for so many documents in all, which are about to come."""
        ...

    def replace(self, rows: Iterable[int], places: Iterable[Place], vectors: Mapping[str, Mapping[int, bytes]]) -> None:
        """Hold these documents (vectors: model -> document id -> vector) for these rows, and no others."""
        ...

    def select(self, filters: Filters, among: Iterable[int] | None = None) -> Sequence[int]:
        """Handles of the documents whose columns pass the filters on kind, project, type and time; of
        these rows alone, if given."""
        ...

    def rows(self, chosen: Sequence[int]) -> list[int]:
        """The rows of chosen documents, each once."""
        ...

    def rank(self, model: str, vector: bytes, chosen: Sequence[int], limit: int) -> list[tuple[int, float]]:
        """Row and cosine of its best document, of the best `limit` rows; [] when none has a vector."""
        ...

    def vectors_of(self, row: int, model: str) -> list[bytes]:
        """The vectors of a row's documents."""
        ...


class IndexDamaged(IndexerError):
    """The index cannot be opened, fails, or does not hold what it was given."""

    kind = "index-damaged"


class IndexMissing(IndexerError):
    """The package behind the index is not installed."""

    kind = "index-missing"


class IndexBlocked(IndexerError):
    """The index cannot be read or written where it is: no right to, no room. Nothing is wrong with it."""

    kind = "index-blocked"


class IndexBusy(IndexerError):
    """The index cannot be asked just now."""

    kind = "index-busy"
    retryable = True
