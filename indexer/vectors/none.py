"""No index: the exact scan answers everything. What `vectors.store = "exact"` and a broken install use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indexer.store.vectors import Entry


class NoIndex:
    """Holds nothing and finds nothing."""

    def count(self, _: str) -> int:
        """0."""
        return 0

    def names(self, _: str) -> Iterator[str]:
        """None."""
        return iter(())

    def put(self, _: str, __: Sequence[Entry]) -> None:
        """Kept in SQLite alone."""

    def remove(self, _: str, __: Sequence[str]) -> None:
        """Nothing is there."""

    def nearest(self, _: str, __: bytes, ___: int, project: str | None = None) -> list[tuple[str, float]]:
        """None."""
        return []

    def drop(self, _: str) -> None:
        """Nothing is there."""

    def close(self) -> None:
        """Nothing is open."""
