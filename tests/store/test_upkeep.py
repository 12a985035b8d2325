"""Upkeep: small steps that end, and leave the index with the same content."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import stores
from transcripts import Transcript

from indexer.store import upkeep


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    held = stores.store(tmp_path / "memory")
    yield held
    held.close()


def fill(conn: sqlite3.Connection, root: Path, sessions: int) -> None:
    for number in range(sessions):
        session = Transcript(f"s{number}")
        for word in range(3):
            session.user(f"prompt {number} about topic{word} " + "x" * 2_000)
        session.write(root)
    stores.read(conn, root, apart=True)


def segments(conn: sqlite3.Connection) -> int:
    return int(conn.execute("SELECT count(DISTINCT segid) FROM search_fts_idx").fetchone()[0])


def steps(conn: sqlite3.Connection) -> int:
    count = 1
    while upkeep.step(conn):
        count += 1
        assert count < 10_000
    return count


def test_an_empty_memory_needs_nothing(conn: sqlite3.Connection) -> None:
    assert steps(conn) == 1


def test_many_segments_become_few_and_find_the_same(conn: sqlite3.Connection, tmp_path: Path) -> None:
    fill(conn, tmp_path / "projects", 40)
    before, found = segments(conn), "SELECT rowid FROM search_fts WHERE search_fts MATCH 'topic1' ORDER BY rowid"
    hits = conn.execute(found).fetchall()
    steps(conn)
    assert segments(conn) < before
    assert conn.execute(found).fetchall() == hits
    stores.check(conn)


def test_a_merged_index_is_left_alone(conn: sqlite3.Connection, tmp_path: Path) -> None:
    fill(conn, tmp_path / "projects", 10)
    steps(conn)
    before = conn.total_changes
    assert not upkeep.step(conn)
    assert conn.total_changes - before < 2


def test_freed_pages_go_back_to_the_file_system(conn: sqlite3.Connection, tmp_path: Path) -> None:
    conn.execute("CREATE TABLE ballast (data BLOB)")
    conn.execute("INSERT INTO ballast VALUES (zeroblob(20000000))")
    conn.execute("DROP TABLE ballast")
    assert steps(conn) > 5
    assert conn.execute("PRAGMA freelist_count").fetchone()[0] <= upkeep.SPARE_PAGES


def test_without_a_full_text_index_there_is_nothing_to_merge(conn: sqlite3.Connection) -> None:
    conn.execute("DROP TABLE search_fts")
    assert not upkeep.step(conn)


def test_folding_the_log_empties_it(conn: sqlite3.Connection, tmp_path: Path) -> None:
    fill(conn, tmp_path / "projects", 3)
    wal = tmp_path / "memory" / "index.db-wal"
    assert wal.stat().st_size > 0
    upkeep.fold_log(conn)
    assert wal.stat().st_size == 0
