"""How far one has seen, and what came since."""

from __future__ import annotations

import sqlite3

import pytest

from indexer.store import feed
from indexer.store.feed import Cursor

END = Cursor(7, 2, 4, 2, 1)


def test_the_end_is_the_last_row_of_each_kind(memory: sqlite3.Connection) -> None:
    assert feed.end(memory) == END


def test_a_cursor_is_written_and_read(memory: sqlite3.Connection) -> None:
    assert (str(END), feed.read(str(END))) == ("p7a2t4o2s1", END)


@pytest.mark.parametrize(
    "text", ["", "x", "p1", "p1a2t3o4", "p1a2t3o4s5x", "p-1a2t3o4s5", "p1a2t3o4s²", "p" + "9" * 19 + "a1t1o1s1"]
)
def test_nothing_else_is_a_cursor(text: str) -> None:
    assert feed.read(text) is None


def test_at_the_end_nothing_is_new(memory: sqlite3.Connection) -> None:
    assert feed.since(memory, END, 10) == ([], END)


def test_what_came_since_is_found_in_every_kind(memory: sqlite3.Connection) -> None:
    ids, now = feed.since(memory, Cursor(6, 1, 3, 1, 0), 10)
    assert (sorted(ids), now) == ([12, 17, 19, 34, 56], END)


def test_of_much_the_last_are_given_and_all_counts_as_seen(memory: sqlite3.Connection) -> None:
    ids, now = feed.since(memory, Cursor(0, 2, 4, 2, 1), 3)
    assert (ids, now) == ([56, 48, 40], END)


@pytest.mark.parametrize("seen", [Cursor(8, 0, 0, 0, 0), Cursor(0, 0, 0, 0, 2)])
def test_another_memory_begins_at_its_end(memory: sqlite3.Connection, seen: Cursor) -> None:
    assert feed.since(memory, seen, 10) == ([], END)


def test_an_empty_memory_has_an_end(memory: sqlite3.Connection) -> None:
    memory.executescript("DELETE FROM observations; DELETE FROM session_summaries;")
    assert feed.end(memory) == END._replace(observations=0, summaries=0)
