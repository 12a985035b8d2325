"""Both exact scans answer the same: every test is asked of the plain one, and of numpy's where that is."""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib import import_module

import pytest
from scans import M, filled, place, ranked, vector

from indexer.store.filters import Filters
from indexer.vectors.base import Scan
from indexer.vectors.plain import MOST, Plain


def exact() -> Scan:
    pytest.importorskip("numpy")
    made: Scan = import_module("indexer.vectors.exact").Exact([M], lambda *_: {})
    return made


@pytest.fixture(params=[Plain, exact], ids=["plain", "numpy"])
def make(request: pytest.FixtureRequest) -> Callable[[], Scan]:
    made: Callable[[], Scan] = request.param
    return made


@pytest.fixture
def scan(make: Callable[[], Scan]) -> Scan:
    return filled(make())


def test_rows_come_by_their_best_document_and_once(scan: Scan) -> None:
    found = scan.rank(M, vector(1), scan.select(Filters()), 10)
    assert [row for row, _ in found] == [8, 19, 16]
    assert [score for _, score in found] == pytest.approx([1.0, 0.981, 0.0], abs=0.002)


def test_no_more_rows_than_asked_for(scan: Scan) -> None:
    assert ranked(scan, Filters(), 2) == [8, 19]


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        (Filters(project=("shop",)), [8, 16]),
        (Filters(project=("far", "other")), [19, 16]),
        (Filters(project=("nowhere",)), []),
        (Filters(kinds=("shell",)), [16]),
        (Filters(kinds=("prompt", "observation")), [8, 19]),
        (Filters(type="bugfix"), [19]),
        (Filters(type="nothing"), []),
        (Filters(since=1500), [19]),
        (Filters(until=1500), [8, 16]),
        (Filters(since=1000, until=1000), [8, 16]),
        (Filters(tool="Bash"), []),
    ],
)
def test_filters_are_applied_before_the_cut(scan: Scan, filters: Filters, rows: list[int]) -> None:
    assert ranked(scan, filters) == rows


def test_among_some_rows_alone(scan: Scan) -> None:
    assert ranked(scan, Filters(), among=[16, 19]) == [19, 16]
    assert ranked(scan, Filters(), among=[]) == []


def test_a_row_without_a_vector_is_chosen_and_not_ranked(scan: Scan) -> None:
    assert 24 in scan.rows(scan.select(Filters()))
    assert 24 not in ranked(scan, Filters())


def test_a_replaced_row_is_what_it_is_now(scan: Scan) -> None:
    scan.replace([8], [place(9, 8)], {M: {9: vector(0, 0, 1)}})
    assert ranked(scan, Filters(), 1) == [19]
    assert scan.size == 4


def test_a_row_that_is_gone_is_not_found(scan: Scan) -> None:
    scan.replace([8, 19], (), {})
    assert ranked(scan, Filters()) == [16]
    assert scan.size == 2


def test_a_model_that_is_not_there_finds_nothing(scan: Scan) -> None:
    assert scan.rank("n@1", vector(1), scan.select(Filters()), 5) == []


def test_the_vectors_of_a_row(scan: Scan) -> None:
    assert sorted(scan.vectors_of(8, M)) == sorted([vector(1, 1), vector(1)])
    assert scan.vectors_of(999, M) == []


def test_nothing_is_found_in_nothing(make: Callable[[], Scan]) -> None:
    scan = make()
    assert ranked(scan, Filters()) == []


def test_a_needle_here_is_not_lost_to_neighbours_elsewhere(make: Callable[[], Scan]) -> None:
    scan = make()
    near = [place(number, 8 * number, project_key="elsewhere") for number in range(1, 501)]
    scan.replace((), [*near, place(501, 8 * 501)], {M: {n: vector(1, 0.01 * (n == 501)) for n in range(1, 502)}})
    assert ranked(scan, Filters(project=("shop",)), 5) == [8 * 501]


def test_rows_of_many_documents_do_not_crowd_out_others(make: Callable[[], Scan]) -> None:
    scan = make()
    places = [place(number, 8) for number in range(1, 400)] + [place(400 + n, 16 + 8 * n) for n in range(3)]
    scan.replace((), places, {M: {p.id: vector(1, 0 if p.row == 8 else 1) for p in places}})
    assert ranked(scan, Filters(), 4) == [8, 16, 24, 32]


def test_both_scans_agree_on_anything() -> None:
    pair, rng = (Plain(), exact()), random.Random(5)
    places = [place(n, 8 * (n // 3), project_key=rng.choice("abc")) for n in range(1, 300)]
    vectors = {M: {p.id: vector(*(rng.gauss(0, 1) for _ in range(4))) for p in places}}
    for scan in pair:
        scan.replace((), places, vectors)
    one, other = (scan.rank(M, vector(1, 2, 3), scan.select(Filters(project=("a",))), 20) for scan in pair)
    assert [row for row, _ in one] == [row for row, _ in other]


def test_without_numpy_too_many_documents_are_not_compared() -> None:
    scan = Plain()
    scan.replace((), [place(n, 8 * n) for n in range(MOST + 1)], {M: {n: vector(1) for n in range(MOST + 1)}})
    assert ranked(scan, Filters()) == []
