"""The same questions to both scans: places and vectors of a small memory."""

from __future__ import annotations

from collections.abc import Sequence

from indexer.embedders.base import packed
from indexer.store.filters import Filters
from indexer.store.vectors import Place
from indexer.vectors.base import Scan

M = "m@1"


def place(number: int, row: int, **changed: object) -> Place:
    """Document `number` of a row: a prompt of the project `shop`."""
    return Place(number, row, "prompt", "shop", None, None, 1000, 1)._replace(**changed)  # type: ignore[arg-type]


def vector(*numbers: float) -> bytes:
    return packed([*numbers, *[0.0] * (4 - len(numbers))])


def filled(scan: Scan) -> Scan:
    """Rows 8 (two documents), 16 (of another project, merged into shop), 19 (an observation), 24 (undated)."""
    places = [
        place(1, 8),
        place(2, 8),
        place(3, 16, project_key="other", merged="shop", kind="shell"),
        place(4, 19, kind="observation", type="BugFix", time=2000, project_key="far"),
        place(5, 24, time=None),
    ]
    vectors = {1: vector(1, 1), 2: vector(1), 3: vector(0, 1), 4: vector(1, 0.2)}
    scan.replace((), places, {M: vectors})
    return scan


def ranked(scan: Scan, filters: Filters, limit: int = 10, among: Sequence[int] | None = None) -> list[int]:
    """Rows nearest to the first axis, behind the filters."""
    return [row for row, _ in scan.rank(M, vector(1), scan.select(filters, among), limit)]
