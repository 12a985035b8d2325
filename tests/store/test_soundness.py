from __future__ import annotations

import sqlite3

from indexer.store import soundness


def test_a_sound_database_is_sound(memory: sqlite3.Connection) -> None:
    assert soundness.damage(memory) == []
    assert soundness.unindexed(memory) == (0, 0)


def test_a_text_that_the_index_lacks_is_counted(memory: sqlite3.Connection) -> None:
    memory.execute("DROP TRIGGER search_texts_ai")
    memory.execute(
        "INSERT INTO search_texts (id, kind, session_db_id) SELECT 80000, kind, session_db_id FROM search_texts LIMIT 1"
    )
    assert soundness.unindexed(memory) == (1, 0)


def test_an_entry_without_a_text_is_counted(memory: sqlite3.Connection) -> None:
    memory.execute("DROP TRIGGER search_texts_ad")
    memory.execute("DELETE FROM search_texts WHERE id = (SELECT min(id) FROM search_texts)")
    assert soundness.unindexed(memory) == (0, 1)


def test_without_an_index_there_is_nothing_to_compare(memory: sqlite3.Connection) -> None:
    memory.execute("DROP TABLE search_fts")
    assert soundness.unindexed(memory) is None


def test_neither_look_writes(memory: sqlite3.Connection) -> None:
    memory.execute("PRAGMA query_only = ON")
    assert (soundness.damage(memory), soundness.unindexed(memory)) == ([], (0, 0))
