"""Rows of observations, summaries and work items are made what they should be, and no more is written."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from remembered import end, made
from stores import check, read, store
from transcripts import Transcript

from indexer.compressors.base import Observation, Summary, Turn, WorkItem
from indexer.store import memories, turns
from indexer.store.memories import Change, Made
from indexer.text import content_hash

DAY = 86_400_000
TURN = Turn("t1", None, 1, 0, "go", "/home/dev/shop", 5 * DAY, (), (), (), 0)


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = store(tmp_path / "home")
    session = Transcript("s")
    session.user("go")
    session.tool("Bash", {"command": "ls"}, "x")
    session.write(tmp_path / "p")
    read(opened, tmp_path / "p")
    end(opened)
    yield opened
    check(opened)
    opened.close()


def seen(title: str, slot: str = "edits", **changed: Any) -> Observation:
    plain = Observation(slot, "change", title, "", "why", (), (), (), (), 3, None, None, 7 * DAY, (1,))
    return plain._replace(**changed)


def put(conn: sqlite3.Connection, *seen: Observation, still: frozenset[str] = frozenset(), **more: Any) -> Change:
    session = turns.header(conn, 1)
    assert session is not None
    return memories.put(
        conn, session, Made([(TURN, one) for one in seen], **{"summaries": (), "items": (), **more}), still, "rules/1"
    )


def rows(conn: sqlite3.Connection, columns: str) -> list[tuple[Any, ...]]:
    return conn.execute(f"SELECT {columns} FROM observations ORDER BY title").fetchall()


def test_an_observation_is_stored_with_all_it_says(conn: sqlite3.Connection) -> None:
    put(
        conn,
        seen("a", facts=("中文",), files_modified=("/x",), concepts=("gotcha",), agent_id="a1", agent_type="scout"),
    )
    assert rows(
        conn, "type, narrative, facts, files_modified, concepts, discovery_tokens, agent_id, generated_by_model"
    ) == [("change", "why", '["中文"]', '["/x"]', '["gotcha"]', 3, "a1", "rules/1")]


def test_its_first_day_is_that_of_the_event(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"))
    assert rows(conn, "reinforcement_dates, last_reinforced, created_at_epoch") == [
        ('["1970-01-08"]', "1970-01-08", 7 * DAY)
    ]


def test_undated_it_has_the_time_of_its_turn(conn: sqlite3.Connection) -> None:
    put(conn, seen("a", time=None))
    assert rows(conn, "created_at_epoch") == [(5 * DAY,)]


def test_ten_days_are_kept_the_last_ones(conn: sqlite3.Connection) -> None:
    put(conn, *(seen("a", slot=f"commit:{n}", time=n * DAY) for n in range(1, 14)))
    (found,) = rows(conn, "reinforcement_dates, occurrence_count")
    assert (json.loads(found[0]), found[1]) == ([f"1970-01-{day:02}" for day in range(5, 15)], 1)


def test_one_day_counts_once(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"), seen("a", slot="discovery", time=7 * DAY + 9))
    assert rows(conn, "reinforcement_dates") == [('["1970-01-08"]',)]


def test_of_what_is_said_twice_the_earliest_stands(conn: sqlite3.Connection) -> None:
    put(conn, seen("a", slot="x", time=9 * DAY), seen("a", slot="y", time=8 * DAY))
    assert conn.execute("SELECT slot FROM observation_origins").fetchall() == [("y",)]


def test_content_hash_is_that_of_claude_mem(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"))
    memory, hashed = conn.execute("SELECT memory_session_id, content_hash FROM observations").fetchone()
    assert hashed == content_hash(memory, "a", "why")


def test_a_row_keeps_its_id_as_long_as_its_turn_and_slot_do(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"), seen("b", slot="discovery"))
    before = dict(rows(conn, "title, id"))
    put(conn, seen("c"), seen("b", slot="discovery"))
    assert dict(rows(conn, "title, id")) == {"c": before["a"], "b": before["b"]}


def test_two_rows_may_swap_what_they_say(conn: sqlite3.Connection) -> None:
    put(conn, seen("a", slot="x"), seen("b", slot="y"))
    put(conn, seen("b", slot="x"), seen("a", slot="y"))
    assert len(rows(conn, "id")) == 2


def test_what_a_turn_says_no_longer_goes(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"), seen("b", slot="discovery"))
    assert put(conn, seen("a")).removed == 1
    assert conn.execute("SELECT count(*) FROM search_texts WHERE id % 8 = 3").fetchone() == (1,)


def test_rows_of_a_turn_going_on_stay(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"))
    assert put(conn, still=frozenset({"t1"})).removed == 0
    assert len(rows(conn, "id")) == 1


def test_what_is_as_it_should_be_is_not_written(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"))
    before = conn.total_changes
    assert put(conn, seen("a")).put == ()
    assert conn.total_changes == before


def test_calls_lead_to_their_first_observation(conn: sqlite3.Connection) -> None:
    put(conn, seen("a", slot="x", time=2), seen("b", slot="y", time=1))
    first = conn.execute(
        "SELECT g.slot FROM tool_uses t JOIN observation_origins g ON g.observation_id = t.observation_id"
    )
    assert first.fetchall() == [("y",)]
    assert conn.execute("SELECT count(*) FROM observation_tool_uses").fetchone() == (2,)


def test_when_the_first_goes_the_next_takes_its_place(conn: sqlite3.Connection) -> None:
    put(conn, seen("a", slot="x", time=2), seen("b", slot="y", time=1))
    put(conn, seen("a", slot="x", time=2))
    first = conn.execute(
        "SELECT g.slot FROM tool_uses t JOIN observation_origins g ON g.observation_id = t.observation_id"
    )
    assert first.fetchall() == [("x",)]


def test_summaries_are_renewed_in_place_a_row_a_part(conn: sqlite3.Connection) -> None:
    one = Summary(0, "ask", "", "", "done", "", "", (), (), 1, 5, DAY)
    put(conn, summaries=(one, one._replace(part=1)))
    put(conn, summaries=(one._replace(completed="more"), one._replace(part=1)))
    found = conn.execute("SELECT id, completed FROM session_summaries ORDER BY id").fetchall()
    assert found == [(1, "more"), (2, "done")]


def test_work_items_are_added_and_only_strays_go(conn: sqlite3.Connection) -> None:
    first, second = WorkItem("r1#0", "k", "Test", "pending", 1), WorkItem("r2#0", "k", "Test", "completed", 2)
    put(conn, items=(first,))
    put(conn, items=(first, second))
    assert [row[3] for row in made(conn)["work"]] == [
        '{"key": "k", "subject": "Test", "status": "pending"}',
        '{"key": "k", "subject": "Test", "status": "completed"}',
    ]
    put(conn, items=(second,))
    assert conn.execute("SELECT count(*) FROM work_state_entries").fetchone() == (1,)


def test_with_their_session_all_of_them_go(conn: sqlite3.Connection) -> None:
    summary = Summary(0, "ask", "", "", "done", "", "", (), (), 1, 5, DAY)
    put(conn, seen("a"), summaries=(summary,), items=(WorkItem("r", "k", "T", "pending", 1),))
    conn.execute("DELETE FROM search_texts WHERE id % 8 < 3")
    conn.execute("DELETE FROM sdk_sessions")
    assert [name for name, found in made(conn).items() if found] == []
    assert conn.execute("SELECT count(*) FROM work_state_entries").fetchone() == (0,)


def test_a_call_that_an_observation_no_longer_came_from_does_not_lead_to_it(conn: sqlite3.Connection) -> None:
    put(conn, seen("a"))
    put(conn, seen("a", calls=()))
    assert conn.execute("SELECT observation_id FROM tool_uses").fetchall() == [(None,)]
