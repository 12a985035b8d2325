"""The newest first, exactly, without a walk through a big table."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from searchable import HOME, NOON, Searchable

from indexer.store import listing


@pytest.fixture
def memory() -> Iterator[Searchable]:
    filled = Searchable()
    yield filled
    filled.conn.close()


def test_all_kinds_are_listed_newest_first(memory: Searchable) -> None:
    rows = [
        memory.prompt("a"),
        memory.assistant("b"),
        memory.tool("Bash"),
        memory.observation("c"),
        memory.summary("d"),
    ]
    assert memory.found("") == rows[::-1]
    assert memory.found("", project=(HOME,)) == rows[::-1]
    assert memory.found("", session="first") == rows[::-1]


def test_undated_rows_come_last_and_equals_by_id(memory: Searchable) -> None:
    undated = memory.prompt("a", time=None)
    second, first = memory.tool("Bash", time=NOON), memory.prompt("b", time=NOON)
    assert memory.found("") == [*sorted([first, second]), undated]
    assert memory.found("", session="first") == memory.found("")
    assert memory.found("", limit=2) == sorted([first, second])


def test_pages_follow_each_other(memory: Searchable) -> None:
    for i in range(7):
        memory.prompt(str(i), session=memory.session(f"s{i}", f"/home/dev/p{i % 3}"))
    pages = [row for page in range(4) for row in memory.found("", limit=2, offset=page * 2)]
    assert pages == memory.found("", limit=50)
    assert len(pages) == 7


def test_a_row_of_two_projects_is_listed_once(memory: Searchable) -> None:
    row = memory.observation("a", merged_into_project="/home/dev/b")
    assert memory.found("", project=(HOME, "/home/dev/b")) == [row]


def test_only_as_many_projects_are_visited_as_can_hold_the_newest(memory: Searchable) -> None:
    asked: list[str] = []
    for i in range(30):
        memory.prompt("a", session=memory.session(f"s{i}", f"/home/dev/p{i}"))
    memory.conn.set_trace_callback(asked.append)
    newest = memory.found("", limit=3)
    memory.conn.set_trace_callback(None)
    assert len(newest) == 3
    # One beyond the limit, to know whether there is more.
    assert len([sql for sql in asked if "ORDER BY b.created_at_epoch" in sql]) == 4


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.none() | st.integers(0, 5)), max_size=12),
    st.integers(1, 6),
)
def test_the_list_is_the_one_that_sorting_everything_gives(rows: list[tuple[int, int, int | None]], limit: int) -> None:
    memory = Searchable()
    sessions = [memory.session(f"s{i}", f"/home/dev/p{i}") for i in range(4)]
    made = []
    for project, kind, time in rows:
        add = (memory.prompt, memory.assistant, memory.observation)[kind]
        row = add("x", session=sessions[project], time=time)
        made.append((time is None, -(time or 0), row))
    assert memory.found("", limit=limit) == [row for *_, row in sorted(made)][:limit]
    memory.conn.close()


@pytest.mark.parametrize("code", range(5))
@pytest.mark.parametrize("column", ["project_key", "merged_into_project"])
@pytest.mark.parametrize("window", ["1", "b.created_at_epoch >= :since AND b.created_at_epoch <= :until"])
def test_the_newest_of_a_project_are_read_along_an_index(
    memory: Searchable, code: int, column: str, window: str
) -> None:
    if column != "project_key" and code not in listing.MERGEABLE:
        return
    table = listing.TABLES[code]
    sql = listing._NEWEST.format(table=table, code=code, column=column, window=window, where="s.kind <> 'x'")
    values = dict.fromkeys(re.findall(r":([a-z]+)", sql), 1)
    steps = [row["detail"] for row in memory.conn.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    assert steps[0].startswith("SEARCH b USING INDEX") or steps[0].startswith("SEARCH b USING COVERING INDEX")
    assert steps[1:] == ["SEARCH s USING INTEGER PRIMARY KEY (rowid=?)"]


@pytest.mark.parametrize("table", listing.TABLES)
def test_projects_are_found_by_jumps_in_an_index(memory: Searchable, table: str) -> None:
    steps = [row["detail"] for row in memory.conn.execute(f"EXPLAIN QUERY PLAN {listing.PROJECTS.format(table=table)}")]
    assert [step for step in steps if step.startswith("SCAN ") and table in step] == []


def test_a_project_without_rows_lists_nothing(memory: Searchable) -> None:
    assert memory.found("") == []
    assert memory.found("", project=("/nowhere",)) == []


def test_which_tables_hold_rows(memory: Searchable) -> None:
    assert listing.kept_codes(memory.conn) == set()
    memory.prompt("a")
    memory.summary("b")
    assert listing.kept_codes(memory.conn) == {0, 4}
