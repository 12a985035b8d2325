"""Takes rows out again: only ever what was asked for, and all that hangs on it."""

from __future__ import annotations

import os
import sqlite3

from indexer import share

SAMPLE = "config/sample/projects"
_OF_SAMPLE = f"instr(path, '/{SAMPLE}/') > 0"
_BELOW = "substr(path, 1, length(?1) + 1) = ?1 || '/'"


def sample_folder() -> str:
    """The real path of the bundled transcripts."""
    return os.path.realpath(share.find(SAMPLE))


def holds_only_sample(conn: sqlite3.Connection) -> bool:
    """Whether no transcript but the bundled ones has ever been read."""
    return conn.execute(f"SELECT 1 FROM ingest_files WHERE NOT {_OF_SAMPLE} LIMIT 1").fetchone() is None


def forget_sample(conn: sqlite3.Connection) -> int:
    """Remove what the bundled sample brought in; returns how many sessions. In the caller's transaction.

    It is known by the end of its folder: the program may have been installed elsewhere when it was read.
    """
    sql = f"SELECT DISTINCT substr(path, 1, instr(path, '/{SAMPLE}/') + {len(SAMPLE)}) FROM ingest_files"
    folders = conn.execute(f"{sql} WHERE {_OF_SAMPLE}").fetchall()
    return sum(forget_files_below(conn, folder) for (folder,) in folders)


def forget_files_below(conn: sqlite3.Connection, folder: str) -> int:
    """Remove the files below a folder and the sessions that stand in them; returns how many sessions.

    In the caller's transaction. For the bundled sample, whose sessions no other file holds.
    """
    files = [row[0] for row in conn.execute(f"SELECT id FROM ingest_files WHERE {_BELOW}", (folder,))]
    if not files:
        return 0
    sessions: set[int] = set()
    for file_id in files:
        found = conn.execute("SELECT session_db_id FROM session_files WHERE file_id = ?", (file_id,))
        sessions.update(row[0] for row in found)
    # One by one and table by table: cascades do not run the delete triggers of every SQLite.
    for session in sessions:
        for table in ("search_texts", "user_prompts", "assistant_messages", "tool_uses", "session_records"):
            conn.execute(f"DELETE FROM {table} WHERE session_db_id = ?", (session,))
        conn.execute("DELETE FROM sdk_sessions WHERE id = ?", (session,))
    conn.executemany("DELETE FROM ingest_files WHERE id = ?", [(file_id,) for file_id in files])
    unused = "NOT EXISTS (SELECT 1 FROM sdk_sessions s WHERE s.project_key = projects.project_key)"
    conn.execute(f"DELETE FROM projects WHERE {unused}")
    return len(sessions)
