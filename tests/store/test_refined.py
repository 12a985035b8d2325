"""What models made, what it cost, who is left alone: as SQLite keeps it."""

from __future__ import annotations

import sqlite3

import pytest
from desk import Desk, entry, said

from indexer.compressors.base import Finding
from indexer.records import Prompt
from indexer.store import refined
from indexer.store.refined import Pause, Row, Spent

ROW = Row("h", "made", "m/1", 2, None, None, (Finding("bugfix", "修复", "s", "n", ("f",), (), ()),), 1)
MS = 1_795_176_000_000


@pytest.fixture
def conn() -> sqlite3.Connection:
    desk = Desk()
    for session in "ab":
        desk.write(desk.file(session), entry(f"u-{session}", Prompt("hello"), said("m" + session), session=session))
    desk.conn.execute("UPDATE compress_marks SET done = revision, seen = 's'")
    return desk.conn


def test_a_turn_is_kept_and_had_back(conn: sqlite3.Connection) -> None:
    refined.put(conn, "t", ROW)
    assert refined.of_turns(conn, ["t", "other"]) == {"t": ROW}
    refined.put(conn, "t", ROW._replace(state="failed", findings=()), error="why")
    assert [tuple(one)[1:] for one in refined.failed(conn, 9)] == [("t", "why")]
    assert refined.count_failed(conn) == 1


def test_a_turn_moves_with_its_rows(conn: sqlite3.Connection) -> None:
    refined.put(conn, "t", ROW)
    refined.move(conn, ["t"], 2)
    assert refined.of_turns(conn, ["t"])["t"].session == 2


def test_sessions_are_settled_until_they_or_the_model_change(conn: sqlite3.Connection) -> None:
    assert refined.unsettled(conn, "m/1", None) == [1, 2]
    refined.settle(conn, 1, "m/1")
    assert (refined.unsettled(conn, "m/1", None), refined.unsettled(conn, "m/2", None)) == ([2], [1, 2])
    conn.execute("UPDATE compress_marks SET seen = 'other' WHERE session_db_id = 1")
    assert refined.unsettled(conn, "m/1", None) == [1, 2]


def test_what_rules_have_not_compressed_is_no_models_yet(conn: sqlite3.Connection) -> None:
    conn.execute("UPDATE compress_marks SET revision = revision + 1 WHERE session_db_id = 1")
    conn.execute("UPDATE compress_marks SET error = 'E' WHERE session_db_id = 2")
    assert refined.unsettled(conn, "m/1", None) == []


def test_since_and_waiting(conn: sqlite3.Connection) -> None:
    assert (refined.waiting(conn, "m/1"), refined.waiting(conn, "m/1", MS + 1)) == (2, 0)
    assert refined.unsettled(conn, "m/1", MS + 1) == []
    refined.put(conn, "u-a", ROW)
    assert refined.waiting(conn, "m/1") == 1
    conn.execute("UPDATE compress_marks SET done = -1, seen = NULL")
    assert refined.waiting(conn, "m/1") == 1  # also while rules make its session's memory again
    conn.execute("UPDATE compress_marks SET done = revision, seen = NULL")
    assert refined.waiting(conn, "m/1") == 0  # what was imported is nobody's to word anew


def test_what_is_spent_is_counted_by_day_and_put_right(conn: sqlite3.Connection) -> None:
    refined.spend(conn, "2026-11-20", 1, 5000)
    refined.spend(conn, "2026-11-20", 0, -4000)
    refined.spend(conn, "2026-11-21", 1, 7)
    assert [refined.spent(conn, f"2026-11-{day}") for day in (20, 21, 22)] == [Spent(1, 1000), Spent(1, 7), Spent(0, 0)]


def test_nothing_less_than_nothing_is_spent(conn: sqlite3.Connection) -> None:
    refined.spend(conn, "d", 0, -5)
    refined.spend(conn, "d", 0, 3)
    assert refined.spent(conn, "d") == Spent(0, 3)


@pytest.mark.parametrize(
    ("ms", "day"), [(MS, "2026-11-20"), (MS + 43_199_999, "2026-11-20"), (MS + 43_200_000, "2026-11-21")]
)
def test_a_day_is_a_utc_day(ms: int, day: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert refined.day_of(ms) == day


def test_pauses(conn: sqlite3.Connection) -> None:
    why = Pause("auth", "no key", 2, 1, 9)
    refined.leave_alone(conn, "anthropic", why)
    assert (refined.pause(conn, "anthropic"), refined.pause(conn, "openai")) == (why, None)
    assert refined.pauses(conn) == {"anthropic": why}
    refined.resume(conn, "anthropic")
    assert refined.pauses(conn) == {}


def test_a_database_of_an_older_version_has_spent_nothing() -> None:
    conn = sqlite3.connect(":memory:")
    assert (refined.spent(conn, "d"), refined.failed(conn, 9), refined.pauses(conn)) == (Spent(0, 0), [], {})
    assert refined.count_failed(conn) == 0
