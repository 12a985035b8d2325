"""Builds a database anew without losing what no source can yield again, nor any row's id.

The old database is attached for reading. Before transcripts are read, all that does not come from them is
copied (resolutions, observations, the archive's rows …), and the records whose file will not be read: gone
and not archived, or no longer in their file. Those keep their ids and their owners, and what is then read
merges with them as it always does. When all is read, rows take the ids that the old database gave to the
same things, and whatever is still missing follows: a rebuild never holds less than what it replaces.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from indexer.errors import Busy, IndexerError
from indexer.store.checkpoints import IMPORTED, FileRow, by_id
from indexer.store.connection import transaction

_NATIVE = {
    "sdk_sessions": ("platform_source", "content_session_id"),
    "user_prompts": ("native_prompt_id",),
    "assistant_messages": ("message_id",),
    "tool_uses": ("identity",),
    "projects": ("project_key",),
}
"""Tables with row ids that come from transcripts, and what identifies a row. Files keep theirs from the
start."""

_CHILDREN = {
    "sdk_sessions": [
        (table, "session_db_id")
        for table in (
            "session_files", "session_records", "user_prompts", "assistant_messages", "tool_uses", "unmatched_results",
            "turn_events", "session_agents", "queue_operations", "search_texts",
        )
    ],
    "assistant_messages": [("assistant_texts", "message_row_id")],
}  # fmt: skip
_CODES = {"user_prompts": 0, "assistant_messages": 1, "tool_uses": 2}

_FROM_TRANSCRIPTS = {
    *_NATIVE, *(table for table, _ in _CHILDREN["sdk_sessions"]),
    "ingest_files", "assistant_texts", "dead_letters", "schema_versions", "compress_marks",
}  # fmt: skip
"""All other tables are copied whole, before anything is read: those of later versions too."""


def attach(conn: sqlite3.Connection, path: Path) -> None:
    """Attach the old database as `old`, to be read; others may go on reading it."""
    # The side file's own mode is EXCLUSIVE; attached in that mode, the old one would be locked at once.
    conn.execute("PRAGMA locking_mode = NORMAL")
    conn.execute("ATTACH ? AS old", (str(path),))
    conn.execute("PRAGMA main.locking_mode = EXCLUSIVE")


def fold_log(conn: sqlite3.Connection) -> None:
    """Have everything that was committed stand in the database itself: its log goes when it is replaced.

    Raises Busy when a reader's long look at the past keeps part of it in the log."""
    _, frames, folded = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if frames != folded:
        raise Busy("another process has been reading the memory for a while", "try again when it has finished")


@contextmanager
def unjournaled(conn: sqlite3.Connection) -> Iterator[None]:
    """A transaction over all rows: to undo it, SQLite would hold a copy of each page in memory (at 500 MB of
    transcripts a third of the peak). Not undone when it fails: the caller throws the side file away."""
    conn.execute("PRAGMA main.journal_mode = OFF")
    with transaction(conn):
        yield
    conn.execute("PRAGMA main.journal_mode = MEMORY")


# -- before reading ------------------------------------------------------------------------------------


def begin(conn: sqlite3.Connection, unread: Iterable[int], changed: Iterable[int]) -> None:
    """Copy what transcripts do not say, and the records of files that will not be read.

    unread: ids of those files. changed: ids of files that no longer hold what was read of them. All
    others will be read, from 0, and keep their rows' ids. In the caller's transaction."""
    conn.execute("CREATE TEMP TABLE fed (id INTEGER PRIMARY KEY)")
    conn.execute("CREATE TEMP TABLE unread (id INTEGER PRIMARY KEY)")
    conn.executemany("INSERT INTO temp.unread VALUES (?)", [(file_id,) for file_id in unread])
    for table in _copied(conn):
        _copy(conn, table)
    _copy(conn, "ingest_files", "WHERE id IN temp.unread")
    conn.execute(
        "INSERT INTO main.ingest_files (id, path, folder, session_id, agent_id, dev, ino, size, generation, status) "
        "SELECT id, path, folder, session_id, agent_id, dev, ino, -1, generation, status FROM old.ingest_files "
        "WHERE id NOT IN (SELECT id FROM main.ingest_files)"
    )
    conn.executemany("UPDATE ingest_files SET generation = generation + 1 WHERE id = ?", [(each,) for each in changed])
    # What a lost file says counts less than what one at hand says; it was at hand when its rows were made.
    conn.execute(
        f"UPDATE ingest_files SET status = 'active' WHERE status <> 'replaced' AND path NOT GLOB '{IMPORTED}*'"
    )
    conn.execute("CREATE TEMP TABLE carried (uuid TEXT PRIMARY KEY) WITHOUT ROWID")
    conn.execute(
        "INSERT INTO temp.carried SELECT uuid FROM old.session_records "
        "WHERE flags & 4 AND (position < 0 OR file_id IN (SELECT id FROM temp.unread))"
    )
    _copy_records(conn)
    _copy(conn, "session_records", "WHERE uuid IN temp.carried AND (position < 0 OR file_id IN temp.unread)")
    # Their counters count what is yet to be read.
    conn.execute("CREATE TEMP TABLE counted AS SELECT id FROM main.sdk_sessions")


def _copied(conn: sqlite3.Connection) -> list[str]:
    """Tables of both databases that no transcript fills."""
    sql = (
        "SELECT name FROM {}.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '%_fts%'"
    )
    here, there = ({name for (name,) in conn.execute(sql.format(schema))} for schema in ("main", "old"))
    return sorted((here & there) - _FROM_TRANSCRIPTS)


def _copy(conn: sqlite3.Connection, table: str, where: str = "") -> int:
    """Copy rows that are not there yet, ids and all; returns how many. Computed columns compute themselves."""
    names = ", ".join(f'"{row[1]}"' for row in conn.execute(f"PRAGMA main.table_info({table})"))
    sql = f"INSERT OR IGNORE INTO main.{table} ({names}) SELECT {names} FROM old.{table} {where}"
    return conn.execute(sql).rowcount


def _copy_records(conn: sqlite3.Connection) -> None:
    """Copy the rows of the carried records, their sessions, and what is known of these."""
    owner = (
        "SELECT session_db_id FROM old.session_records WHERE uuid IN temp.carried "
        "UNION SELECT session_db_id FROM old.session_files WHERE file_id IN temp.unread"
    )
    _copy(conn, "sdk_sessions", f"WHERE id IN ({owner})")
    _copy(conn, "session_files", f"WHERE session_db_id IN ({owner})")
    _copy(conn, "session_agents", f"WHERE session_db_id IN ({owner})")
    _copy(conn, "queue_operations", f"WHERE file_id IN temp.unread AND session_db_id IN ({owner})")
    _copy(conn, "dead_letters", "WHERE file_id IN temp.unread")
    _copy(conn, "turn_events", "WHERE uuid IN temp.carried")
    _copy(
        conn,
        "unmatched_results",
        "WHERE uuid IN temp.carried AND identity NOT IN (SELECT identity FROM main.tool_uses)",
    )
    _copy(conn, "assistant_texts", "WHERE uuid IN temp.carried")
    texts = "SELECT message_row_id FROM old.assistant_texts WHERE uuid IN temp.carried"
    for table, which in (
        ("user_prompts", "native_prompt_id IN temp.carried"),
        ("tool_uses", "record_uuid IN temp.carried"),
        ("assistant_messages", f"record_uuid IN temp.carried OR id IN ({texts})"),
    ):
        _copy(conn, table, f"WHERE {which}")
        ids = f"SELECT id * 8 + {_CODES[table]} FROM old.{table} WHERE {which}"
        _copy(conn, "search_texts", f"WHERE id IN ({ids})")


def old_files(conn: sqlite3.Connection) -> list[FileRow]:
    """Every file that a database knows, in the order in which they were first read."""
    return [by_id(conn, file_id) for (file_id,) in conn.execute("SELECT id FROM ingest_files ORDER BY id").fetchall()]


# -- after reading -------------------------------------------------------------------------------------


def take_old_ids(conn: sqlite3.Connection) -> None:
    """Give every row the id that the old database has for the same thing; what is new comes behind."""
    for table, names in _NATIVE.items():
        _map_ids(conn, table, names)
        if conn.execute("SELECT 1 FROM temp.moves LIMIT 1").fetchone():
            _move(conn, table, "id")
            for child, column in _CHILDREN.get(table, ()):
                _move(conn, child, column)
            if table in _CODES:
                _move_texts(conn, _CODES[table])
        conn.execute("DROP TABLE temp.moves")
        _advance(conn, table)
    conn.execute("DELETE FROM main.compress_marks")  # by ids that were given for the time being


def _map_ids(conn: sqlite3.Connection, table: str, names: Sequence[str]) -> None:
    same = " AND ".join(f"o.{name} = n.{name}" for name in names)
    last = f"SELECT max(coalesce((SELECT max(id) FROM old.{table}), 0), coalesce((SELECT seq FROM old.sqlite_sequence "
    last += f"WHERE name = '{table}'), 0))"
    conn.execute("CREATE TEMP TABLE moves (here INTEGER PRIMARY KEY, there INTEGER NOT NULL)")
    conn.execute(
        f"INSERT INTO temp.moves SELECT n.id, o.id FROM main.{table} n JOIN old.{table} o ON {same} WHERE n.id <> o.id"
    )
    conn.execute(
        f"INSERT INTO temp.moves SELECT n.id, ({last}) + row_number() OVER (ORDER BY n.id) FROM main.{table} n "
        f"WHERE NOT EXISTS (SELECT 1 FROM old.{table} o WHERE {same})"
    )


def _move(conn: sqlite3.Connection, table: str, column: str) -> None:
    """Through negative ids, since ids may be swapped."""
    there = f"(SELECT there FROM temp.moves WHERE here = {column})"
    conn.execute(f"UPDATE main.{table} SET {column} = -{there} WHERE {column} IN (SELECT here FROM temp.moves)")
    conn.execute(f"UPDATE main.{table} SET {column} = -{column} WHERE {column} < 0")


def _move_texts(conn: sqlite3.Connection, code: int) -> None:
    there = f"(SELECT there * 8 + {code} FROM temp.moves WHERE here = id / 8)"
    which = f"id % 8 = {code} AND id / 8 IN (SELECT here FROM temp.moves)"
    conn.execute(f"UPDATE main.search_texts SET id = -{there} WHERE {which}")
    conn.execute("UPDATE main.search_texts SET id = -id WHERE id < 0")


def _advance(conn: sqlite3.Connection, table: str) -> None:
    """Ids that were ever given out are not given out again."""
    if conn.execute("SELECT 1 FROM main.sqlite_sequence WHERE name = ?", (table,)).fetchone():
        last = f"max(seq, coalesce((SELECT seq FROM old.sqlite_sequence WHERE name = '{table}'), 0), "
        last += f"coalesce((SELECT max(id) FROM main.{table}), 0))"
        conn.execute(f"UPDATE main.sqlite_sequence SET seq = {last} WHERE name = ?", (table,))


def carry_rest(conn: sqlite3.Connection) -> list[str]:
    """Copy whatever the new database still lacks; returns the content ids of the sessions that grew by it,
    whose numbers have to be redone. In the caller's transaction, once ids are those of the old one."""
    conn.execute("DELETE FROM temp.carried")
    conn.execute(
        "INSERT INTO temp.carried SELECT DISTINCT uuid FROM old.session_records "
        "WHERE uuid NOT IN (SELECT uuid FROM main.session_records)"
    )
    there = "SELECT 1 FROM main.session_records n WHERE n.uuid = o.uuid AND n.session_db_id = o.session_db_id"
    sql = f"SELECT DISTINCT session_db_id FROM old.session_records o WHERE NOT EXISTS ({there})"
    counted = f"{sql} UNION SELECT id FROM temp.counted"
    grown = sorted({session for (session,) in conn.execute(counted)} | _restore_agents(conn))
    _copy_records(conn)
    _copy(conn, "session_records", "WHERE uuid IN temp.carried")
    names = "uuid, session_db_id, file_id, position"
    conn.execute(
        f"INSERT OR IGNORE INTO main.session_records ({names}, flags) "
        f"SELECT {names}, flags & ~4 FROM old.session_records"
    )
    for table in ("sdk_sessions", "session_files"):
        _copy(conn, table)
    _copy(conn, "queue_operations", "WHERE file_id IN temp.unread")
    _copy(conn, "search_texts", "WHERE id % 8 > 2")
    _copy(conn, "projects", "WHERE project_key IN (SELECT project_key FROM main.sdk_sessions)")
    _restore_files(conn)
    _restore_answers(conn)
    _restore_sessions(conn, grown)
    conn.execute("INSERT INTO main.compress_marks (session_db_id) SELECT id FROM main.sdk_sessions")
    sql = "SELECT content_session_id FROM main.sdk_sessions WHERE id = ?"
    return [conn.execute(sql, (session,)).fetchone()[0] for session in grown]


def _restore_agents(conn: sqlite3.Connection) -> set[int]:
    """Sub-agents whose note is gone from beside their file; returns the sessions whose agents' work has to
    be numbered anew."""
    same = "n.session_db_id = o.session_db_id AND n.agent_id = o.agent_id"
    names = ("tool_use_id", "agent_type", "description")
    known = " AND ".join(f"(o.{name} IS NULL OR n.{name} IS NOT NULL)" for name in names)
    sql = (
        "SELECT DISTINCT session_db_id FROM old.session_agents o WHERE NOT EXISTS "
        f"(SELECT 1 FROM main.session_agents n WHERE {same} AND {known})"
    )
    poorer = {session for (session,) in conn.execute(sql)}
    _copy(conn, "session_agents")
    known_now = ", ".join(f"{name} = coalesce(n.{name}, o.{name})" for name in names)
    conn.execute(f"UPDATE main.session_agents AS n SET {known_now} FROM old.session_agents o WHERE {same}")
    return poorer


def _restore_files(conn: sqlite3.Connection) -> None:
    """Files that could not be read after all keep their place; of those that are read no further than
    before, everything is as it was."""
    names = (
        "offset, line_no, generation, size, mtime_ns, ctime_ns, dev, ino, head_len, head_hash, tail_len, tail_hash, "
        "parser_version, first_epoch, last_epoch, last_version, ignored, committed_at"
    )
    conn.execute(
        f"UPDATE main.ingest_files AS n SET ({names}) = (SELECT {names} FROM old.ingest_files o WHERE o.id = n.id) "
        "WHERE n.id IN temp.fed OR EXISTS (SELECT 1 FROM old.ingest_files o WHERE o.id = n.id "
        "AND o.generation = n.generation AND o.offset > n.offset)"
    )
    conn.execute(
        "UPDATE main.ingest_files AS n SET status = o.status, last_error = o.last_error FROM old.ingest_files o "
        "WHERE o.id = n.id AND n.id IN temp.unread"
    )
    _copy(conn, "dead_letters", "WHERE file_id IN temp.fed")


def _restore_answers(conn: sqlite3.Connection) -> None:
    """Answers whose record no source yields, and what was made of calls."""
    columns = "result_uuid, is_error, content_hash, result_at_epoch, side_file, tool_response"
    conn.execute(
        "CREATE TEMP TABLE answered AS SELECT n.id FROM main.tool_uses n JOIN old.tool_uses o ON o.id = n.id "
        "WHERE n.result_uuid IS NULL AND o.result_uuid IS NOT NULL"
    )
    for table, names, key in (("tool_uses", columns, "id"), ("search_texts", "title, body", "id * 8 + 2")):
        conn.execute(
            f"UPDATE main.{table} AS n SET ({names}) = (SELECT {names} FROM old.{table} o WHERE o.id = n.id) "
            f"WHERE n.id IN (SELECT {key} FROM temp.answered)"
        )
    conn.execute("DROP TABLE temp.answered")
    conn.execute(
        "UPDATE main.tool_uses AS n SET observation_id = o.observation_id FROM old.tool_uses o "
        "WHERE o.id = n.id AND o.observation_id IS NOT NULL"
    )


def _restore_sessions(conn: sqlite3.Connection, grown: Sequence[int]) -> None:
    """A session that only the old database knows in whole is as old, as long and as named as there."""
    names = "origin_epoch, origin_rank, custom_title, ai_title, summary_title, forked_from"
    conn.executemany(
        "UPDATE main.sdk_sessions AS n SET "
        + ", ".join(f"{name} = coalesce(o.{name}, n.{name})" for name in names.split(", "))
        + ", started_at_epoch = min(coalesce(n.started_at_epoch, o.started_at_epoch), coalesce(o.started_at_epoch, "
        "n.started_at_epoch)), last_at_epoch = max(coalesce(n.last_at_epoch, o.last_at_epoch), "
        "coalesce(o.last_at_epoch, n.last_at_epoch)) FROM old.sdk_sessions o WHERE o.id = n.id AND n.id = ?",
        [(session,) for session in grown],
    )


def check_nothing_lost(conn: sqlite3.Connection) -> None:
    """Raises IndexerError if the new database lacks anything that the old one holds."""
    native = {**_NATIVE, "session_records": ("uuid", "session_db_id"), "assistant_texts": ("uuid",)}
    del native["projects"]
    for table, names in native.items():
        same = " AND ".join(f"n.{name} = o.{name}" for name in names)
        sql = f"SELECT count(*) FROM old.{table} o WHERE NOT EXISTS (SELECT 1 FROM main.{table} n WHERE {same})"
        if lost := conn.execute(sql).fetchone()[0]:
            raise IndexerError(
                f"the rebuilt memory would lack {lost} rows of {table}", "the old one was kept; please report this"
            )


def finish(conn: sqlite3.Connection) -> None:
    """Let go of the old database. Not within a transaction."""
    for table in ("carried", "counted", "fed", "unread"):
        conn.execute(f"DROP TABLE temp.{table}")
    conn.execute("DETACH old")


def note_fed(conn: sqlite3.Connection, file_id: int) -> None:
    """Note that a file was read from the archive: of itself, it is as it was."""
    conn.execute("INSERT OR IGNORE INTO temp.fed VALUES (?)", (file_id,))
