"""A side file takes the database's place whole, or not at all."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from stores import check, store

from indexer.errors import CorruptDatabase
from indexer.store import bulk
from indexer.store.bulk import SIDE, is_empty, open_side, publish
from indexer.store.connection import database_path, open_reader, open_writer
from indexer.store.migrations import SCHEMA_VERSION, check_version, migrate


def objects(conn: sqlite3.Connection) -> list[tuple[object, ...]]:
    sql = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    return [tuple(row) for row in conn.execute(sql)]


def fill(conn: sqlite3.Connection) -> None:
    conn.execute("INSERT INTO sdk_sessions (id, content_session_id, memory_session_id) VALUES (1, 'a', 'claude:a')")
    conn.execute(
        "INSERT INTO user_prompts (id, session_db_id, content_session_id, prompt_text, native_prompt_id, "
        "native_prompt_hash) VALUES (1, 1, 'a', 'hello there', 'u1', 'h')"
    )
    conn.execute(
        "INSERT INTO search_texts (id, kind, uuid, session_db_id, body) VALUES (8, 'prompt', 'u1', 1, 'hello')"
    )


def test_a_published_side_file_is_a_database_like_any_other(tmp_path: Path) -> None:
    side = open_side(tmp_path / "side")
    fill(side)
    publish(side, tmp_path / "side")
    conn, plain = open_writer(tmp_path / "side"), store(tmp_path / "plain")
    assert objects(conn) == objects(plain)
    assert check_version(conn) == SCHEMA_VERSION
    check(conn)
    for each in (conn, plain):
        each.close()


def test_its_texts_are_found_and_its_triggers_work(tmp_path: Path) -> None:
    side = open_side(tmp_path)
    fill(side)
    publish(side, tmp_path)
    conn = open_writer(tmp_path)
    find = "SELECT count(*) FROM search_fts WHERE search_fts MATCH 'hello'"
    assert conn.execute(find).fetchone()[0] == 1
    conn.execute("DELETE FROM user_prompts")
    assert conn.execute(find).fetchone()[0] == 0
    check(conn)
    conn.close()


def test_the_side_file_is_private_and_gone_when_published(tmp_path: Path) -> None:
    side = open_side(tmp_path)
    assert (tmp_path / SIDE).stat().st_mode & 0o777 == 0o600
    publish(side, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.db"]
    assert database_path(tmp_path).stat().st_mode & 0o777 == 0o600


def test_until_it_is_published_readers_see_the_old_database(tmp_path: Path) -> None:
    store(tmp_path).close()
    side = open_side(tmp_path)
    fill(side)
    reader = open_reader(tmp_path)
    assert reader.execute("SELECT count(*) FROM sdk_sessions").fetchone()[0] == 0
    reader.close()
    side.close()


def test_a_side_file_left_behind_is_thrown_away(tmp_path: Path) -> None:
    side = open_side(tmp_path)
    fill(side)
    side.close()
    again = open_side(tmp_path)
    assert again.execute("SELECT count(*) FROM sdk_sessions").fetchone()[0] == 0
    again.close()


def test_a_batch_can_be_rolled_back(tmp_path: Path) -> None:
    side = open_side(tmp_path)
    side.execute("BEGIN IMMEDIATE")
    fill(side)
    side.execute("ROLLBACK")
    assert side.execute("SELECT count(*) FROM user_prompts").fetchone()[0] == 0
    side.close()


def test_a_row_without_its_parent_is_not_published(tmp_path: Path) -> None:
    store(tmp_path).close()
    before = database_path(tmp_path).stat().st_ino
    side = open_side(tmp_path)
    fill(side)
    side.execute("DELETE FROM sdk_sessions")
    with pytest.raises(CorruptDatabase, match="no parent"):
        publish(side, tmp_path)
    assert database_path(tmp_path).stat().st_ino == before
    side.close()


def test_the_old_databases_journal_does_not_outlive_it(tmp_path: Path) -> None:
    old = store(tmp_path)
    old.execute("INSERT INTO session_titles VALUES ('old', 'old')")
    assert database_path(tmp_path).with_name("index.db-wal").exists()
    side = open_side(tmp_path)
    publish(side, tmp_path)
    conn = open_writer(tmp_path)
    assert conn.execute("SELECT count(*) FROM session_titles").fetchone()[0] == 0
    for each in (conn, old):
        each.close()


def test_side_and_database_are_synced_before_and_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bool]] = []
    monkeypatch.setattr(bulk, "_sync", lambda path: synced.append((path.name, database_path(tmp_path).exists())))
    publish(open_side(tmp_path), tmp_path)
    assert synced == [(SIDE, False), (tmp_path.name, True)]


# --- what counts as empty


def test_a_database_without_tables_is_empty(tmp_path: Path) -> None:
    conn = open_writer(tmp_path)
    assert is_empty(conn)
    migrate(conn)
    assert is_empty(conn)
    conn.close()


@pytest.mark.parametrize(
    "kept",
    [
        "INSERT INTO sdk_sessions (content_session_id) VALUES ('a')",
        "INSERT INTO ingest_files (path) VALUES ('/a.jsonl')",
        "INSERT INTO project_resolutions VALUES ('/a', '/a', 'a', 'path', NULL, 0)",
    ],
)
def test_what_a_new_database_would_lack_is_not_empty(tmp_path: Path, kept: str) -> None:
    conn = store(tmp_path)
    conn.execute(kept)
    assert not is_empty(conn)
    conn.close()
