"""What the scan with numpy has of its own: growth, and vectors that stay in SQLite. See test_plain.py too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from scans import M, filled, place, ranked, vector

from indexer.store.filters import Filters

pytest.importorskip("numpy")

from indexer.vectors.exact import Exact


def nothing(_: str, __: Sequence[int]) -> Mapping[int, bytes]:
    return {}


def many(scan: Exact, number: int) -> dict[int, bytes]:
    """Rows 8, 16, ... each a little further from the first axis."""
    vectors = {n: vector(1, n / number) for n in range(1, number + 1)}
    scan.replace((), [place(n, 8 * n) for n in vectors], {M: vectors})
    return vectors


def test_it_grows_and_loses_nothing() -> None:
    scan = Exact([M], nothing)
    many(scan, 5000)
    assert scan.size == 5000
    assert ranked(scan, Filters(), 3) == [8, 16, 24]
    assert ranked(scan, Filters(), among=[8 * 5000]) == [8 * 5000]


def test_room_of_what_is_gone_is_used_again() -> None:
    scan = Exact([M], nothing)
    for _ in range(20):
        many(scan, 1000)
        scan.replace([8 * n for n in range(1, 1001)], (), {})
    assert (scan.size, len(scan._alive)) == (0, 1024)


def test_beyond_its_room_vectors_are_fetched() -> None:
    asked: list[int] = []

    def fetch(model: str, documents: Sequence[int]) -> Mapping[int, bytes]:
        assert model == M
        asked.extend(documents)
        return {n: vectors[n] for n in documents}

    scan = Exact([M], fetch, most=100)
    vectors = many(scan, 2000)
    assert ranked(scan, Filters(), 2, among=[8 * n for n in range(500, 600)]) == [8 * 500, 8 * 501]
    assert asked == list(range(500, 600))
    assert scan.vectors_of(8 * 700, M) == [vectors[700]]


def test_a_vector_that_is_nowhere_is_far_from_everything() -> None:
    scan = Exact([M], nothing, most=1)
    many(scan, 1500)
    assert scan.rank(M, vector(1), scan.select(Filters(), [8, 16]), 5) == [(8, 0.0), (16, 0.0)]


def test_a_question_while_rows_are_replaced_is_answered() -> None:
    scan = Exact([M], nothing)
    filled(scan)
    chosen = scan.select(Filters())
    scan.replace([8], (), {})
    assert 19 in [row for row, _ in scan.rank(M, vector(1), chosen, 5)]


def test_room_can_be_made_beforehand() -> None:
    scan = Exact([M], nothing)
    many(scan, 3)
    scan.reserve(5000)
    assert (len(scan._alive), scan.size) == (5000, 3)
    scan.reserve(10)
    many(scan, 4997)
    assert (len(scan._alive), scan.size) == (5000, 5000)
    assert ranked(scan, Filters(), 1) == [8]
