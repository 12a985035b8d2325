"""Tombstones: known again by whoever has the key, and by nobody else."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores import store

from indexer.errors import IndexerError
from indexer.store.tombstones import Tombstones, carry_over, queued, queued_marks


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    held = store(tmp_path)
    yield held
    held.close()


def test_nothing_is_forgotten_at_first_and_no_key_is_made(conn: sqlite3.Connection, tmp_path: Path) -> None:
    stones = Tombstones(conn)
    assert not stones.any
    assert stones.buried("session", ["a"]) == set()
    assert not (tmp_path / "key").exists()


def test_what_was_forgotten_is_known_again(conn: sqlite3.Connection) -> None:
    Tombstones(conn).bury("session", ["a", "b"])
    stones = Tombstones(conn)
    assert stones.any
    assert stones.buried("session", ["a", "c", "b"]) == {"a", "b"}


def test_kinds_are_told_apart(conn: sqlite3.Connection) -> None:
    Tombstones(conn).bury("session", ["a"])
    assert Tombstones(conn).buried("record", ["a"]) == set()


def test_many_are_asked_at_once(conn: sqlite3.Connection) -> None:
    names = [str(number) for number in range(2_000)]
    Tombstones(conn).bury("record", names)
    assert Tombstones(conn).buried("record", [*names, "more"]) == set(names)


def test_twice_is_once(conn: sqlite3.Connection) -> None:
    for _ in range(2):
        Tombstones(conn).bury("session", ["a"])
    assert conn.execute("SELECT count(*) FROM tombstones").fetchone() == (2,)  # with the key's own


def test_no_id_stands_in_the_database(conn: sqlite3.Connection, tmp_path: Path) -> None:
    Tombstones(conn).bury("session", ["zq-session-id"])
    assert not any(b"zq-session-id" in path.read_bytes() for path in tmp_path.iterdir())


def test_two_memories_have_different_stones_for_one_session(tmp_path: Path) -> None:
    rows = []
    for name in ("a", "b"):
        conn = store(tmp_path / name)
        Tombstones(conn).bury("session", ["s"])
        rows.append(set(conn.execute("SELECT hash FROM tombstones")))
        conn.close()
    assert not rows[0] & rows[1]


@pytest.mark.parametrize("data", [b"x" * 32, None], ids=["another", "none"])
def test_another_key_is_an_error_not_a_memory_that_forgets_nothing(
    conn: sqlite3.Connection, tmp_path: Path, data: bytes | None
) -> None:
    Tombstones(conn).bury("session", ["a"])
    (tmp_path / "key").unlink()
    if data is not None:
        (tmp_path / "key").write_bytes(data)
    with pytest.raises(IndexerError, match="not the key"):
        Tombstones(conn).buried("session", ["a"])


def test_ids_that_are_no_unicode_are_hashed_too(conn: sqlite3.Connection) -> None:
    Tombstones(conn).bury("session", ["\ud800"])
    assert Tombstones(conn).buried("session", ["\ud800"]) == {"\ud800"}


def test_a_database_that_takes_anothers_place_forgets_the_same(conn: sqlite3.Connection, tmp_path: Path) -> None:
    Tombstones(conn).bury("session", ["a"])
    new = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    new.execute("CREATE TABLE tombstones (hash BLOB PRIMARY KEY)")
    carry_over(conn, new)
    assert Tombstones(new).buried("session", ["a"]) == {"a"}
    new.close()


def test_a_queue_line_is_its_time_and_text() -> None:
    assert queued(1, "go on") != queued(2, "go on") != queued(2, "go")


def test_a_veil_hides_a_path_and_is_always_the_same(conn: sqlite3.Connection) -> None:
    veil = Tombstones(conn).veil("/home/dev/zq.jsonl")
    assert "zq" not in veil
    assert veil == Tombstones(conn).veil("/home/dev/zq.jsonl") != Tombstones(conn).veil("/home/dev/zp.jsonl")


def silenced(before: tuple[int | None, str], after: tuple[int | None, str]) -> bool:
    return not set(queued_marks(*before, buried=True)).isdisjoint(queued_marks(*after, buried=False))


@pytest.mark.parametrize(
    ("before", "after", "known"),
    [
        ((5, "plain"), (5, "plain"), True),
        ((5, "plain"), (5, "other"), False),
        ((5, "plain"), (6, "plain"), False),
        ((5, "a badge"), (5, "a [REDACTED:badge:01234567]"), True),
        ((5, "a [REDACTED:badge:01234567]"), (5, "a badge"), True),
        ((5, "a [REDACTED:badge:01234567]"), (5, "a [REDACTED:other:89abcdef]"), True),
        ((5, "a [REDACTED:badge:01234567]"), (6, "a badge"), False),
        ((None, "plain"), (None, "plain"), True),
        ((None, "a badge"), (None, "a [REDACTED:badge:01234567]"), False),
    ],
)
def test_a_line_of_the_queue_is_known_whatever_rules_redacted_it(
    before: tuple[int | None, str], after: tuple[int | None, str], known: bool
) -> None:
    assert silenced(before, after) == known
