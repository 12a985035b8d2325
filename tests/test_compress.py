"""Finished turns become memory once, whatever happens; what is pending is asked of the data."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from remembered import FOREVER, Verbatim, end, made, remember
from stores import Content, check, read, store
from transcripts import Transcript
from turn_cases import CASES, Case

from indexer import compress
from indexer.compressors.base import Observation, Turn
from indexer.compressors.rules import Rules

FIXTURES = Path(__file__).parent / "fixtures"
TREES = [
    *sorted(path.parent / "projects" for path in (FIXTURES / "recordings").glob("*/EXPECT.json")),
    *sorted(path for path in (FIXTURES / "cases").iterdir() if path.is_dir()),
]
NOTED = {case.name: case for case in CASES}


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = store(tmp_path / "home")
    yield opened
    opened.close()


def titles(conn: sqlite3.Connection) -> list[str]:
    return [title for (title,) in conn.execute("SELECT title FROM observations ORDER BY created_at_epoch, id")]


def session_of(*names: str) -> Transcript:
    session = Transcript("s")
    for name in names:
        NOTED[name].write(session)
    return session


def take(conn: sqlite3.Connection, root: Path, session: Transcript, compressor: Any = None) -> compress.Done:
    """Write the session as it stands, read it, and compress what is finished."""
    session.write(root / "projects")
    read(conn, root / "projects")
    return compress.all_of(conn, compressor or Rules())


# --- what is finished


def test_a_turn_that_goes_on_is_left_alone(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("off by one"))
    assert titles(conn) == []


def test_the_next_prompt_finishes_a_turn(conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = session_of("off by one")
    session.user("and now?")
    take(conn, tmp_path, session)
    assert titles(conn) == ["Fixed the off-by-one in page_count"]


def test_the_clients_end_of_turn_finishes_it(conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = session_of("off by one")
    session.add("system", subtype="turn_duration", durationMs=900)
    take(conn, tmp_path, session)
    assert len(titles(conn)) == 1


def test_idle_time_finishes_it(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("off by one"))
    end(conn)
    compress.all_of(conn, Rules())
    assert len(titles(conn)) == 1


# --- once, and again when it grows


def test_compressing_again_writes_nothing(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("off by one", "two commits"))
    remember(conn)
    held, before = made(conn), conn.total_changes
    compress.all_of(conn, Rules())
    assert (made(conn), conn.total_changes) == (held, before)


def test_nothing_is_pending_afterwards(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("off by one"))
    assert compress.run(conn, Rules()).sessions == 0


def test_a_finished_turn_that_grows_replaces_its_own_rows(conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = session_of("off by one")
    take(conn, tmp_path, session)
    remember(conn)
    (row,) = conn.execute("SELECT id, facts FROM observations").fetchall()
    session.tool("Edit", {"file_path": "/home/dev/shop/more.py"}, "ok")
    take(conn, tmp_path, session)
    remember(conn)
    (grown,) = conn.execute("SELECT id, facts FROM observations").fetchall()
    assert (grown[0], "more.py" in grown[1], "more.py" in row[1]) == (row[0], True, False)


def test_while_it_grows_its_rows_stay(conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = session_of("off by one")
    take(conn, tmp_path, session)
    remember(conn)
    held = made(conn)
    session.text("One more thing.")
    take(conn, tmp_path, session)
    assert made(conn) == held


def test_another_compressor_makes_everything_anew(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("off by one"))
    remember(conn)
    remember(conn, Verbatim())
    assert conn.execute("SELECT DISTINCT generated_by_model FROM observations").fetchall() == [("verbatim/1",)]


def test_rows_from_elsewhere_stay(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("off by one"))
    conn.execute(
        "INSERT INTO observations (memory_session_id, project, type, title, content_hash) "
        "SELECT memory_session_id, '', 'change', 'imported', 'x' FROM sdk_sessions"
    )
    remember(conn)
    remember(conn, Verbatim())
    assert "imported" in titles(conn)


class Failing(Rules):
    """Fails at one prompt."""

    name = "failing/1"

    def observe(self, turn: Turn) -> tuple[Observation, ...]:
        if "rename" in turn.prompt:
            raise RecursionError
        return super().observe(turn)


def test_a_turn_that_cannot_be_made_is_listed_and_stops_nothing(conn: sqlite3.Connection, tmp_path: Path) -> None:
    NOTED["two commits"].transcript().write(tmp_path / "projects")
    take(conn, tmp_path, session_of("off by one"))
    assert remember(conn, Failing()).failed == 1
    assert len(titles(conn)) == 1
    assert conn.execute("SELECT error FROM compress_marks WHERE error IS NOT NULL").fetchall() == [("RecursionError",)]
    assert compress.run(conn, Failing()).sessions == 0


# --- what it is made of


def test_observations_lead_to_their_calls(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("two commits"))
    remember(conn)
    sql = (
        "SELECT o.title, t.tool_name FROM observation_tool_uses l JOIN observations o ON o.id = l.observation_id "
        "JOIN tool_uses t ON t.id = l.tool_use_row WHERE t.observation_id = o.id"
    )
    assert sorted(set(conn.execute(sql).fetchall())) == [
        ("feat(api): add POST /refunds", "Bash"),
        ("feat(api): add POST /refunds", "Edit"),
        ("feat(api): add POST /refunds", "Write"),
        ("refactor: rename util to money", "Bash"),
        ("refactor: rename util to money", "Edit"),
    ]


def test_an_observation_is_found_by_its_words(conn: sqlite3.Connection, tmp_path: Path) -> None:
    take(conn, tmp_path, session_of("登录超时"))
    remember(conn)
    check(conn)
    sql = (
        "SELECT kind FROM search_texts WHERE id IN (SELECT rowid FROM search_fts WHERE search_fts MATCH "
        "'\"全表 表扫 扫描\"')"
    )
    assert ("observation",) in conn.execute(sql).fetchall()


def test_a_private_turn_leaves_nothing(conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = Transcript("p")
    Case("p", "<private>fix the thing</private>", NOTED["off by one"].steps).write(session)
    take(conn, tmp_path, session)
    remember(conn)
    assert titles(conn) == []


def test_what_is_said_twice_in_a_session_stands_once_with_its_days(conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = session_of("bare done")
    session.start = session.start.replace(day=3)
    NOTED["bare done"].write(session)
    take(conn, tmp_path, session)
    remember(conn)
    rows = conn.execute("SELECT reinforcement_dates, last_reinforced, occurrence_count FROM observations").fetchall()
    assert rows == [('["2026-11-01", "2026-11-03"]', "2026-11-03", 1)]


# --- sessions of observers, and what was recalled


@pytest.mark.parametrize(
    ("prompt", "cwd"),
    [
        ("<transcript-indexer-compressor> compress", "/home/dev/shop"),
        ("<observed_from_primary_session>", "/home/dev/shop"),
        ("You are a Claude-Mem, a specialized observer tool", "/home/dev/shop"),
        ("go on", "/home/dev/.claude-mem/observer-sessions"),
    ],
)
def test_sessions_of_observers_teach_nothing(prompt: str, cwd: str, conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = Transcript("o", cwd)
    session.user(prompt)
    NOTED["off by one"].write(session)
    take(conn, tmp_path, session)
    remember(conn)
    assert [rows for rows in made(conn).values() if rows] == []


# --- followed, rebuilt


def rebuilt(home: Path, root: Path) -> Content:
    conn = store(home)
    read(conn, root)
    remember(conn)
    return taken(conn)


def taken(conn: sqlite3.Connection) -> Content:
    check(conn)
    held = made(conn)
    conn.close()
    return held


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: f"{tree.parent.name}/{tree.name}")
def test_followed_live_it_is_what_a_rebuild_gives(tree: Path, tmp_path: Path) -> None:
    whole = tmp_path / "projects"
    shutil.copytree(tree, whole)
    plain = rebuilt(tmp_path / "plain", whole)
    lines = {path: path.read_bytes().splitlines(keepends=True) for path in whole.rglob("*.jsonl") if path.is_file()}
    conn = store(tmp_path / "live")
    for part in (1, 3, 5, 8, 13, 21, 10_000):
        for path, every in lines.items():
            path.write_bytes(b"".join(every[:part]))
        read(conn, whole, lambda found: found[::-1])
        compress.all_of(conn, Rules())
    remember(conn)
    assert taken(conn) == plain


def test_a_history_of_all_kinds_of_turns_too(tmp_path: Path) -> None:
    session = session_of(*NOTED)
    plain, live = tmp_path / "plain", store(tmp_path / "live")
    session.write(plain / "projects")
    records = session.records[:]
    for end_at in range(5, len(records), 23):
        session.records = records[:end_at]
        take(live, tmp_path, session)
    session.records = records
    take(live, tmp_path, session)
    remember(live)
    assert taken(live) == rebuilt(plain, plain / "projects")
    assert FOREVER > 0
