"""What a rebuild does in SQL: copies, old ids, what is still missing. (Whole rebuilds: tests/test_rebuild.py)"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from memories import Memory
from stores import store
from transcripts import Transcript

from indexer.errors import IndexerError
from indexer.store import bulk, rebuild
from indexer.store.connection import database_path, open_reader


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """The folder of a memory of two sessions, whose rows have ids far from 1."""
    memory = Memory(tmp_path)
    for name in "ab":
        talk = Transcript(name)
        talk.user(f"prompt {name}")
        talk.tool("Bash", {"command": "ls"}, name)
        talk.write(memory.root)
    memory.conn.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('user_prompts', 70), ('tool_uses', 80)")
    memory.read()
    memory.close()
    return tmp_path / "home"


@pytest.fixture
def side(old: Path, tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A side file with the old memory attached."""
    made = bulk.open_side(tmp_path / "new")
    rebuild.attach(made, database_path(old))
    yield made
    made.close()


def ids(conn: sqlite3.Connection, table: str, schema: str = "main") -> list[int]:
    return [row_id for (row_id,) in conn.execute(f"SELECT id FROM {schema}.{table} ORDER BY id")]


def copy_as_if_read(side: sqlite3.Connection) -> None:
    """The rows of the old memory under ids of their own, from 1, in the reverse order."""
    rebuild.begin(side, [], [])
    for table in ("sdk_sessions", "user_prompts", "assistant_messages", "tool_uses"):
        rebuild._copy(side, table)
        side.execute(f"UPDATE {table} SET id = -id")
        side.execute(f"UPDATE {table} SET id = 1 + id - (SELECT min(id) FROM {table})")
        rebuild._copy(side, "search_texts")


def test_the_old_memory_can_be_read_by_others_meanwhile(side: sqlite3.Connection, old: Path) -> None:
    assert len(ids(side, "user_prompts", "old")) == 2
    reader = open_reader(old)
    assert reader.execute("SELECT count(*) FROM user_prompts").fetchone()[0] == 2
    reader.close()
    writer = store(old)
    writer.execute("INSERT INTO session_titles VALUES ('x', 'y')")
    writer.close()


def test_files_that_will_be_read_keep_their_ids_and_nothing_else(side: sqlite3.Connection) -> None:
    rebuild.begin(side, [], [])
    assert ids(side, "ingest_files") == ids(side, "ingest_files", "old")
    assert set(side.execute("SELECT offset, size, line_no, head_len FROM main.ingest_files")) == {(0, -1, 0, 0)}
    assert ids(side, "user_prompts") == []


def test_files_that_will_not_be_read_bring_all_their_rows(side: sqlite3.Connection) -> None:
    first = ids(side, "ingest_files", "old")[0]
    rebuild.begin(side, [first], [])
    assert len(ids(side, "user_prompts")) == len(ids(side, "tool_uses")) == 1
    assert ids(side, "user_prompts") <= ids(side, "user_prompts", "old")
    texts = set(ids(side, "search_texts"))
    assert texts == {row_id * 8 for row_id in ids(side, "user_prompts")} | {
        row_id * 8 + 2 for row_id in ids(side, "tool_uses")
    } | {row_id * 8 + 1 for row_id in ids(side, "assistant_messages") if row_id * 8 + 1 in texts}


def test_a_file_that_changed_is_another_reading(side: sqlite3.Connection) -> None:
    first, second = ids(side, "ingest_files", "old")
    rebuild.begin(side, [], [second])
    assert side.execute("SELECT id, generation FROM main.ingest_files ORDER BY id").fetchall() == [
        (first, 0),
        (second, 1),
    ]


def test_rows_take_the_ids_of_the_same_things(side: sqlite3.Connection) -> None:
    copy_as_if_read(side)
    rebuild.take_old_ids(side)
    for table, name in (("user_prompts", "native_prompt_id"), ("tool_uses", "identity")):
        both = [
            side.execute(f"SELECT id, {name} FROM {schema}.{table} ORDER BY 1").fetchall() for schema in ("main", "old")
        ]
        assert both[0] == both[1]


def test_what_is_new_comes_behind_every_id_that_was_given_out(side: sqlite3.Connection) -> None:
    rebuild.begin(side, [], [])
    side.execute("INSERT INTO main.sdk_sessions (id, content_session_id) VALUES (1, 'new')")
    rebuild.take_old_ids(side)
    assert ids(side, "sdk_sessions") == [max(ids(side, "sdk_sessions", "old")) + 1]


def test_children_follow_their_parents_ids(side: sqlite3.Connection) -> None:
    rebuild.begin(side, [], [])
    side.execute("INSERT INTO main.sdk_sessions (id, content_session_id) VALUES (1, 'new')")
    side.execute("INSERT INTO main.session_agents (session_db_id, agent_id) VALUES (1, 'a')")
    side.execute("INSERT INTO main.search_texts (id, kind, session_db_id) VALUES (8, 'prompt', 1)")
    rebuild.take_old_ids(side)
    (session,) = ids(side, "sdk_sessions")
    assert side.execute("SELECT session_db_id FROM main.session_agents").fetchall() == [(session,)]
    assert side.execute("SELECT session_db_id FROM main.search_texts").fetchall() == [(session,)]


def test_whatever_is_missing_is_carried_over(side: sqlite3.Connection) -> None:
    rebuild.begin(side, [], [])
    rebuild.take_old_ids(side)
    grown = rebuild.carry_rest(side)
    assert len(grown) == 2
    rebuild.check_nothing_lost(side)
    for table in ("user_prompts", "tool_uses", "search_texts"):
        assert ids(side, table) == ids(side, table, "old")
    owners = side.execute("SELECT uuid FROM main.session_records GROUP BY uuid HAVING sum(flags & 4 > 0) <> 1")
    assert owners.fetchall() == []


def test_files_that_could_not_be_read_keep_their_place(side: sqlite3.Connection) -> None:
    rebuild.begin(side, [], [])
    rebuild.take_old_ids(side)
    rebuild.carry_rest(side)
    places = "SELECT id, offset, line_no, head_hash, tail_hash FROM {}.ingest_files ORDER BY id"
    here, there = (side.execute(places.format(schema)).fetchall() for schema in ("main", "old"))
    assert here == there


def test_an_answer_that_is_gone_is_carried_over_with_its_search_text(side: sqlite3.Connection) -> None:
    copy_as_if_read(side)
    side.execute("UPDATE main.tool_uses SET result_uuid = NULL, tool_response = NULL")
    rebuild.take_old_ids(side)
    rebuild.carry_rest(side)
    answers = "SELECT id, result_uuid, tool_response FROM {}.tool_uses ORDER BY id"
    here, there = (side.execute(answers.format(schema)).fetchall() for schema in ("main", "old"))
    assert here == there


def test_a_loss_is_an_error(side: sqlite3.Connection) -> None:
    rebuild.begin(side, [], [])
    with pytest.raises(IndexerError, match="would lack 2 rows of sdk_sessions"):
        rebuild.check_nothing_lost(side)


def test_the_pages_of_a_whole_rebuild_are_not_kept_for_undoing_it(side: sqlite3.Connection) -> None:
    with rebuild.unjournaled(side):
        inside = side.execute("PRAGMA main.journal_mode").fetchone()
    assert (inside, side.execute("PRAGMA main.journal_mode").fetchone()) == (("off",), ("memory",))


def test_nothing_of_the_old_memory_is_left_attached(side: sqlite3.Connection) -> None:
    rebuild.begin(side, [], [])
    rebuild.finish(side)
    assert [row[1] for row in side.execute("PRAGMA database_list")] == ["main", "temp"]


def test_the_log_is_folded_back_or_it_is_said_why_not(old: Path) -> None:
    conn = store(old)
    conn.execute("INSERT INTO session_titles VALUES ('x', 'y')")
    rebuild.fold_log(conn)
    assert database_path(old).with_name("index.db-wal").stat().st_size == 0
    conn.close()
