"""Which rows can have vectors, and what is read of them."""

from __future__ import annotations

import pytest
from searchable import HOME, NOON, Searchable

from indexer.store import embeddable
from indexer.store.filters import Filters


@pytest.fixture
def memory() -> Searchable:
    return Searchable()


def test_a_prompt_with_its_native_name(memory: Searchable) -> None:
    row = memory.prompt("fix it")
    (found,) = embeddable.rows(memory.conn, [row])
    assert found == embeddable.Row(row, "prompt", "prompt:u1", HOME, None, None, NOON + 1000, 1, (("text", "fix it"),))


def test_an_answer_is_the_join_of_its_blocks(memory: Searchable) -> None:
    (found,) = embeddable.rows(memory.conn, [memory.assistant("one", "two")])
    assert (found.native, found.fields) == ("assistant:u1", (("text", "one\ntwo"),))


def test_an_observation_with_its_fields_in_order(memory: Searchable) -> None:
    row = memory.observation("Login", "it expires", facts='["a"]', merged_into_project="other")
    (found,) = embeddable.rows(memory.conn, [row])
    assert [name for name, _ in found.fields] == ["title", "narrative", "facts"]
    assert (found.native, found.merged, found.type) == ("observation:claude:first:u1", "other", "discovery")


def test_a_summary_leaves_empty_fields_out(memory: Searchable) -> None:
    row = memory.summary("make it fast")
    (found,) = embeddable.rows(memory.conn, [row])
    assert found.fields == (("request", "make it fast"),)
    assert found.native == f"summary:claude:first:{row // 8}"


def test_tool_calls_have_no_vectors(memory: Searchable) -> None:
    row = memory.tool("Bash", {"command": "ls"})
    assert list(embeddable.rows(memory.conn, [row])) == []
    assert embeddable.ids(memory.conn, 0, 1000) == set()
    assert embeddable.count(memory.conn) == 0


def test_rows_that_are_not_there_are_left_out(memory: Searchable) -> None:
    row = memory.prompt("fix it")
    assert [found.id for found in embeddable.rows(memory.conn, [row, 8000])] == [row]


def test_ids_of_a_range(memory: Searchable) -> None:
    first, second = memory.prompt("one"), memory.prompt("two")
    assert embeddable.ids(memory.conn, 0, second) == {first}
    assert embeddable.ids(memory.conn, 0, second + 1) == {first, second}


def test_the_last_id_of_each_table(memory: Searchable) -> None:
    rows = (memory.prompt("p"), memory.assistant("a"), memory.observation("o"), memory.summary("s"))
    assert embeddable.last_ids(memory.conn) == rows
    assert embeddable.last_id(memory.conn) == max(rows)


def test_an_empty_memory_has_no_last_id(memory: Searchable) -> None:
    assert embeddable.last_id(memory.conn) == 0
    assert embeddable.last_ids(memory.conn) == (0, 1, 3, 4)


@pytest.mark.parametrize(
    ("filters", "left"), [(Filters(session="second"), 1), (Filters(platform="claude"), 2), (Filters(concept="x"), 0)]
)
def test_rows_that_pass_what_only_the_memory_knows(memory: Searchable, filters: Filters, left: int) -> None:
    rows = [memory.prompt("one"), memory.prompt("two", session=memory.session("second"))]
    assert len(embeddable.passing(memory.conn, filters, rows)) == left


def test_none_but_the_asked_for_pass(memory: Searchable) -> None:
    first, _ = memory.prompt("one"), memory.prompt("two")
    assert embeddable.passing(memory.conn, Filters(session="first"), [first]) == {first}


def test_a_version_is_a_number(memory: Searchable) -> None:
    assert embeddable.version(memory.conn) == embeddable.version(memory.conn) > 0
