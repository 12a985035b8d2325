"""Takes away what was made of sessions: observations, summaries, work items, models' answers, index texts.

Of a session that loses records, all of it goes at once, since every sentence may repeat what is to be
forgotten; what is left of the session is compressed again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from indexer.store import duplicates, imports
from indexer.store.memories import remove
from indexer.store.tombstones import Tombstones

_MADE = (
    ("observations", "observation_origins", "observation_id"),
    ("session_summaries", "summary_origins", "summary_id"),
)


def unmake(conn: sqlite3.Connection, sessions: Iterable[int]) -> None:
    """Forget what was made of these sessions (row ids), and have them compressed again. What was imported goes
    too where it tells of a turn, and does not come back; what no turn is known of stays. In the caller's
    transaction."""
    keys: set[str] = set()
    for session in sessions:
        of_session = "(SELECT observation_id FROM observation_origins WHERE session_db_id = ?)"
        sql = f"SELECT title_norm_key FROM observations WHERE id IN {of_session} AND title_norm_key IS NOT NULL"
        keys |= {key for (key,) in conn.execute(sql, (session,))}
        for table, origins, column in _MADE:
            for (row_id,) in conn.execute(
                f"SELECT {column} FROM {origins} WHERE session_db_id = ?", (session,)
            ).fetchall():
                remove(conn, table, row_id)
        entries = conn.execute("SELECT entry_id FROM work_state_origins WHERE session_db_id = ?", (session,)).fetchall()
        # A cascade does not run the triggers of every SQLite.
        conn.execute("DELETE FROM work_state_origins WHERE session_db_id = ?", (session,))
        conn.executemany("DELETE FROM work_state_entries WHERE id = ?", entries)
        conn.execute("DELETE FROM model_turns WHERE session_db_id = ?", (session,))
        conn.execute("DELETE FROM model_sessions WHERE session_db_id = ?", (session,))
        told = imports.drop_told(conn, session, whole=False)
        Tombstones(conn).bury("memory", told)
        conn.execute("UPDATE compress_marks SET done = -1, seen = NULL WHERE session_db_id = ?", (session,))
    duplicates.settle(conn, keys)
