"""What stood before and after a row, in time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from searchable import HOME, NOON, Searchable

from indexer.query import Filters
from indexer.store.around import Anchor, anchor, around


@pytest.fixture
def memory() -> Iterator[Searchable]:
    filled = Searchable()
    yield filled
    filled.conn.close()


def near(memory: Searchable, row: int, before: int = 2, after: int = 2, **filters: object) -> list[int]:
    middle = anchor(memory.conn, row)
    assert middle
    return around(memory.conn, middle, Filters(**filters), before, after)  # type: ignore[arg-type]


@pytest.fixture
def rows(memory: Searchable) -> list[int]:
    """One row of each table, a second apart, twice."""
    found = []
    for _ in range(2):
        found += [memory.prompt("p"), memory.assistant("a"), memory.tool("Bash")]
        found += [memory.observation("o"), memory.summary("s")]
    return found


def test_an_anchor_knows_its_project_and_time(memory: Searchable) -> None:
    row = memory.prompt("p")
    assert anchor(memory.conn, row) == Anchor(row, HOME, NOON + 1000)
    assert anchor(memory.conn, 8_000) is None


@pytest.mark.parametrize("place", range(10))
def test_neighbours_of_all_kinds_stand_in_order_of_time(memory: Searchable, rows: list[int], place: int) -> None:
    assert near(memory, rows[place]) == rows[max(0, place - 2) : place + 3]


def test_none_before_or_none_after(memory: Searchable, rows: list[int]) -> None:
    assert near(memory, rows[4], 0, 3) == rows[4:8]
    assert near(memory, rows[4], 3, 0) == rows[1:5]
    assert near(memory, rows[4], 0, 0) == [rows[4]]


def test_rows_of_one_moment_are_shown_once_each(memory: Searchable) -> None:
    rows = sorted(memory.prompt("p", time=NOON) for _ in range(5))
    assert [near(memory, row, 9, 9) for row in rows] == [rows] * 5


def test_other_projects_are_left_out_unless_asked_for(memory: Searchable) -> None:
    row = memory.prompt("p")
    away = memory.prompt("p", session=memory.session("away", "/home/dev/away"))
    assert near(memory, row) == [row]
    assert near(memory, row, project=(HOME, "/home/dev/away")) == [row, away]


def test_what_was_merged_into_the_project_belongs_to_it(memory: Searchable) -> None:
    row, away = memory.prompt("p"), memory.session("away", "/home/dev/away")
    merged = memory.observation("o", session=away, merged_into_project=HOME)
    assert near(memory, row) == [row, merged]


def test_filters_hold_for_neighbours(memory: Searchable, rows: list[int]) -> None:
    assert near(memory, rows[5], kinds=("assistant",)) == [rows[1], rows[5], rows[6]]
    assert near(memory, rows[2], since=NOON + 2000, until=NOON + 4000) == rows[1:4]


def test_a_session_has_a_timeline_of_its_own(memory: Searchable) -> None:
    first = memory.prompt("p")
    fork = memory.session("fork")
    memory.shows(fork, first)
    second, own = memory.prompt("p"), memory.prompt("p", session=fork)
    assert near(memory, first, session="first") == [first, second]
    assert near(memory, first, session="fork") == [first, own]


def test_an_undated_row_stands_alone(memory: Searchable, rows: list[int]) -> None:
    undated = memory.prompt("p", time=None)
    assert near(memory, undated) == [undated]
    assert undated not in near(memory, rows[5], 9, 9)


def test_neighbours_are_found_by_an_index(memory: Searchable, rows: list[int]) -> None:
    plans: list[str] = []
    conn = memory.conn
    traced: list[str] = []
    conn.set_trace_callback(traced.append)
    near(memory, rows[5])
    conn.set_trace_callback(None)
    for sql in traced:
        plans += [row["detail"] for row in conn.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert plans
    assert [step for step in plans if step.startswith("SCAN")] == []
