"""Hits get back their texts, names and places."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from searchable import HOME, NOON, Searchable

from indexer.store import hydrate
from indexer.store.items import Place


@pytest.fixture
def memory() -> Iterator[Searchable]:
    filled = Searchable()
    yield filled
    filled.conn.close()


def test_a_prompt_with_all_that_surrounds_it(memory: Searchable) -> None:
    session = memory.session("second", "/home/dev/b", custom_title="Named", cwd="/home/dev/b/src")
    row = memory.prompt("hello", session=session)
    shown = hydrate.hydrate(memory.conn, [row])[row]
    assert shown == hydrate.Shown(
        kind="prompt",
        id=f"prompt:{row // 8}",
        project="b",
        project_key="/home/dev/b",
        platform="claude",
        session="second",
        cwd="/home/dev/b/src",
        name="Named",
        time=NOON + 1000,
        title=None,
        texts=("hello",),
        place=Place("/home/dev/.claude/projects/second.jsonl", 1),
    )


def test_an_answer_is_its_texts_in_order(memory: Searchable) -> None:
    row = memory.assistant("first", "second")
    memory.conn.execute("UPDATE assistant_texts SET position = 9 WHERE text = 'first'")
    assert hydrate.hydrate(memory.conn, [row])[row].texts == ("second\nfirst",)


def test_a_tool_use_is_titled_by_its_name_and_file(memory: Searchable) -> None:
    row, bare = memory.tool("Read", {"a": "b"}, "out", file=f"{HOME}/a.ts"), memory.tool("Bash")
    shown = hydrate.hydrate(memory.conn, [row, bare])
    assert (shown[row].title, shown[row].texts) == (f"Read {HOME}/a.ts", ('{"a": "b"}', "out"))
    assert shown[bare].title == "Bash"


def test_what_was_made_has_a_title_and_no_place(memory: Searchable) -> None:
    seen, told = memory.observation("Seen", "so it was", facts='["one"]'), memory.summary("Asked", "learned")
    shown = hydrate.hydrate(memory.conn, [seen, told])
    assert (shown[seen].title, shown[seen].texts, shown[seen].place) == ("Seen", ("so it was", '["one"]'), None)
    assert (shown[told].title, shown[told].texts, shown[told].place) == ("Asked", ("Asked", "learned"), None)


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"custom_title": "Mine", "ai_title": "Its", "user_prompt": "Said"}, "Mine"),
        ({"custom_title": "", "ai_title": "Its", "user_prompt": "Said"}, "Its"),
        ({"summary_title": "Old", "user_prompt": "Said"}, "Old"),
        ({"user_prompt": "Said"}, "Said"),
        ({}, ""),
    ],
)
def test_a_session_is_named_by_its_user_then_by_the_model_then_by_its_prompt(
    memory: Searchable, columns: dict[str, str], name: str
) -> None:
    row = memory.prompt("x", session=memory.session("named", **columns))
    assert hydrate.hydrate(memory.conn, [row])[row].name == name


def test_a_line_that_is_gone_from_its_file_has_no_number(memory: Searchable) -> None:
    row = memory.prompt("x")
    memory.conn.execute("UPDATE session_records SET position = -5")
    assert hydrate.hydrate(memory.conn, [row])[row].place == Place("/home/dev/.claude/projects/first.jsonl", None)


def test_a_copied_row_stands_in_the_file_of_its_owner(memory: Searchable) -> None:
    row = memory.prompt("x")
    memory.shows(memory.session("fork"), row)
    shown = hydrate.hydrate(memory.conn, [row])[row]
    assert (shown.session, shown.place) == ("first", Place("/home/dev/.claude/projects/first.jsonl", 1))


def test_rows_that_are_gone_are_left_out(memory: Searchable) -> None:
    row = memory.prompt("x")
    assert list(hydrate.hydrate(memory.conn, [row, row + 8, 10**12])) == [row]
    assert hydrate.hydrate(memory.conn, []) == {}


def test_one_statement_a_kind_however_many_hits(memory: Searchable) -> None:
    asked: list[str] = []
    rows = [memory.prompt("x") for _ in range(9)] + [memory.tool("Bash") for _ in range(9)]
    memory.conn.set_trace_callback(asked.append)
    hydrate.hydrate(memory.conn, rows)
    memory.conn.set_trace_callback(None)
    assert len(asked) == 3


@pytest.mark.parametrize("statement", [hydrate.SURROUNDINGS, *hydrate._STATEMENTS])
def test_no_statement_walks_a_table(memory: Searchable, statement: str) -> None:
    steps = memory.conn.execute(f"EXPLAIN QUERY PLAN {statement}", {"ids": "[]"}).fetchall()
    walks = [step["detail"] for step in steps if step["detail"].startswith("SCAN ")]
    assert [walk for walk in walks if not walk.startswith(("SCAN i VIRTUAL", "SCAN (subquery"))] == []
