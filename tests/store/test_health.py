from __future__ import annotations

import sqlite3

from indexer.store import health


def test_files_but_those_replaced(memory: sqlite3.Connection) -> None:
    found = health.files(memory)
    assert sorted(file.status for file in found) == ["active", "active", "active", "gone", "unreadable"]
    assert next(file.error for file in found if file.status == "unreadable") == "Permission denied"


def test_a_file_never_read_to_its_end_has_size_0(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE ingest_files SET size = NULL")
    assert {file.size for file in health.files(memory)} == {0}


def test_ignored_records_are_summed_and_bad_counts_do_no_harm(memory: sqlite3.Connection) -> None:
    assert health.ignored(health.files(memory)) == {"progress": 8, "mode": 2}
    memory.execute("""UPDATE ingest_files SET ignored = '["x"]' WHERE id = 3""")
    memory.execute("""UPDATE ingest_files SET ignored = '{"progress": "many"}' WHERE id = 2""")
    assert health.ignored(health.files(memory)) == {"progress": 7, "mode": 2}


def test_dead_letters_of_the_files_met_last_come_first(memory: sqlite3.Connection) -> None:
    found = health.dead_letters(memory, 2)
    assert [(letter.offset, letter.length, letter.line) for letter in found] == [(50, 9, 1), (400, 12, 6)]
    assert found[1].reason == "NUL bytes"
    assert health.dead_letters(memory, 0) == []


def test_the_last_commit(memory: sqlite3.Connection) -> None:
    assert health.last_commit(memory) == "2026-11-21T10:01:00.000Z"
    memory.execute("UPDATE ingest_files SET committed_at = NULL")
    assert health.last_commit(memory) is None


def test_results_that_nobody_asked_for(memory: sqlite3.Connection) -> None:
    assert health.unmatched_results(memory) == 1


def test_bytes_that_can_be_given_back(memory: sqlite3.Connection) -> None:
    assert health.free_bytes(memory) == 0
    memory.execute("CREATE TABLE filler AS SELECT zeroblob(200000) AS x")
    memory.execute("DROP TABLE filler")
    assert health.free_bytes(memory) >= 200_000
