"""The archive's rows: how far it has come, what nothing refers to, what is held and what is behind."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from stores import store

from indexer.store import archive as rows
from indexer.store.archive import Extent, Piece


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    made = store(tmp_path)
    made.execute("INSERT INTO ingest_files (id, path, offset, last_epoch) VALUES (1, '/a', 100, 5), (2, '/b', 50, 3)")
    yield made
    made.close()


def extent(start: int, stop: int, chunk: int | None, file: int = 1, generation: int = 0) -> Extent:
    return Extent(file, generation, start, stop, start // 10, (stop - start) // 10, chunk)


def piece(start: int, stop: int, is_open: int = 0, file: int = 1) -> Piece:
    return Piece(file, 0, start, stop, start // 10, (stop - start) // 10, is_open, b"data")


def filled(conn: sqlite3.Connection) -> tuple[int, int]:
    """File 1: a chunk and a tail; file 2: the same chunk."""
    first = rows.put_chunk(conn, "aa", 60, 7)
    second = rows.put_chunk(conn, "bb", 10, 3)
    rows.put_extents(conn, [extent(0, 60, first), extent(0, 50, first, file=2)])
    rows.put_pieces(conn, [piece(60, 80), piece(80, 90)])
    return first, second


def test_nothing_is_kept_of_a_new_file(conn: sqlite3.Connection) -> None:
    assert rows.reached(conn, 1, 0) == (0, 0)
    assert rows.layers(conn, 1) == []


def test_how_far_it_has_come_counts_chunks_and_tails(conn: sqlite3.Connection) -> None:
    filled(conn)
    assert rows.reached(conn, 1, 0) == (90, 9)
    assert rows.reached(conn, 2, 0) == (50, 5)


def test_an_open_line_does_not_count(conn: sqlite3.Connection) -> None:
    filled(conn)
    rows.put_pieces(conn, [piece(90, 100, is_open=1)])
    assert rows.reached(conn, 1, 0) == (90, 9)


def test_another_reading_begins_anew(conn: sqlite3.Connection) -> None:
    filled(conn)
    assert rows.reached(conn, 1, 1) == (0, 0)
    assert rows.older_layers(conn, 1, 1) == [0]


def test_what_a_chunk_holds_is_taken_from_the_tails(conn: sqlite3.Connection) -> None:
    filled(conn)
    rows.drop_pieces(conn, 1, 0, 80)
    assert [each.start for each in rows.pieces(conn, 1, 0)] == [80]


def test_a_stretch_of_the_same_start_gives_way(conn: sqlite3.Connection) -> None:
    first, second = filled(conn)
    rows.put_extents(conn, [extent(0, 80, second)])
    assert rows.extents(conn, 1, 0) == [extent(0, 80, second)]
    assert [each.file_id for each in rows.every_extent(conn, first)] == [2]


def test_a_chunk_lives_as_long_as_something_refers_to_it(conn: sqlite3.Connection) -> None:
    first, second = filled(conn)
    assert [each.id for each in rows.dead_chunks(conn)] == [second]
    rows.drop(conn, 1, 0, 0)
    assert [each.id for each in rows.dead_chunks(conn)] == [second]
    rows.drop(conn, 2, 0, 0)
    assert [each.id for each in rows.dead_chunks(conn)] == [first, second]


def test_the_buried_are_no_longer_known(conn: sqlite3.Connection) -> None:
    filled(conn)
    rows.bury(conn, rows.dead_chunks(conn))
    assert (rows.knows(conn, "aa"), rows.knows(conn, "bb")) == (True, False)


def test_a_file_that_is_taken_out_takes_its_stretches_along(conn: sqlite3.Connection) -> None:
    first, _ = filled(conn)
    conn.execute("DELETE FROM ingest_files")
    assert first in [each.id for each in rows.dead_chunks(conn)]
    assert rows.every_piece(conn) == []


def test_a_chunk_put_twice_is_one(conn: sqlite3.Connection) -> None:
    assert rows.put_chunk(conn, "aa", 60, 7) == rows.put_chunk(conn, "aa", 60, 9)
    assert rows.chunks(conn)[0][1:] == ("aa", 60, 9)


def test_an_earlier_reading_gives_way_where_the_chunks_are_the_same(conn: sqlite3.Connection) -> None:
    first, second = filled(conn)
    rows.put_extents(conn, [extent(60, 70, second), extent(0, 60, first, generation=1)])
    rows.supersede(conn, 1, 1)
    assert rows.extents(conn, 1, 0) == [extent(60, 70, second)]


def test_the_total_is_that_of_files_and_tails(conn: sqlite3.Connection) -> None:
    assert rows.total(conn) == 0
    filled(conn)
    assert rows.total(conn) == 7 + 3 + 8


def test_what_is_held_the_oldest_first(conn: sqlite3.Connection) -> None:
    filled(conn)
    assert [(each.path, each.stop, each.raw) for each in rows.held(conn)] == [("/b", 50, 50), ("/a", 90, 90)]


def test_what_has_been_read_further_is_behind(conn: sqlite3.Connection) -> None:
    filled(conn)
    assert rows.behind(conn) == [1]
    conn.execute("UPDATE ingest_files SET status = 'gone'")
    assert rows.behind(conn) == []


def test_what_is_pruned_is_remembered_as_such(conn: sqlite3.Connection) -> None:
    filled(conn)
    rows.prune(conn, 1)
    assert rows.reached(conn, 1, 0) == (90, 9)
    assert [(each.path, each.raw) for each in rows.held(conn)] == [("/b", 50), ("/a", 0)]


def test_quiet_tails(conn: sqlite3.Connection) -> None:
    filled(conn)
    conn.execute("UPDATE ingest_files SET mtime_ns = 100")
    assert rows.idle_tails(conn, 100) == []
    assert rows.idle_tails(conn, 101) == [(1, 0)]
    conn.execute("UPDATE ingest_files SET status = 'gone'")
    assert rows.idle_tails(conn, 0) == [(1, 0)]


def test_an_older_database_has_no_archive(conn: sqlite3.Connection) -> None:
    assert rows.present(conn)
    conn.execute("DROP TABLE archive_tails")
    conn.execute("DROP TABLE archive_extents")
    conn.execute("DROP TABLE archive_chunks")
    assert not rows.present(conn)


def test_sessions_projects_and_agents_of_a_file(conn: sqlite3.Connection) -> None:
    filled(conn)
    conn.execute("INSERT INTO sdk_sessions (id, content_session_id, project_key) VALUES (9, 's', 'k')")
    conn.execute("INSERT INTO session_files (session_db_id, file_id, is_agent) VALUES (9, 1, 0)")
    conn.execute("INSERT INTO session_agents VALUES (9, 'a1', 'toolu_1', 'scout', NULL)")
    conn.execute("UPDATE ingest_files SET session_id = 's' WHERE id = 1")
    assert (rows.sessions(conn), rows.projects_of(conn, 1)) == (1, [("s", "k")])
    assert (rows.session_of(conn, 1), rows.session_of(conn, 2)) == ("s", None)
    assert rows.agent_note(conn, "s", "a1") == ("toolu_1", "scout", None)
    assert rows.agent_note(conn, "s", "a2") is None
