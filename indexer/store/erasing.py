"""Forgetting: tombstones first, then the rows, then every byte that rows leave behind.

What is to go is written down in `erasures`, in the transaction that writes the tombstones. All that
follows may be cut off anywhere and begun again: it looks at what is left. In this order:

    records     those that no other session shows: prompts, answers, calls, events, index texts
    shared      those that another session shows too: ownership moves to the best of these
    sessions    what hangs on the session itself: titles, queue, sub-agents, its files' names
    names       projects and folders that no session names any more
    index       FTS5 keeps deleted words in older segments until all are merged into one
    pages       SQLite leaves copies of rows in the free parts of pages when it balances its trees, also
                with secure_delete: VACUUM writes the file anew (1.3 s for 100 MB)
    log         the WAL holds old pages until it is cut; while a reader is at work it cannot be

A transaction takes up to `CHUNK` records, so that nobody waits long. What a record of a surviving
session cannot show any more because a forgotten record said it (the answer to a call, a line of a
message) is read again from that session's own file at the next sweep, if it still stands on disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from indexer.failpoints import passing
from indexer.store import imports
from indexer.store.bodies import digest, result_tokens
from indexer.store.checkpoints import cover_stored, read_again
from indexer.store.connection import BUSY_TIMEOUT_MS, transaction
from indexer.store.heirs import hand_over, reread_files, settle, take_rows
from indexer.store.membership import in_chunks
from indexer.store.tombstones import Tombstones, foreign_prompt, queued
from indexer.store.unmaking import unmake
from indexer.text import search_tokens

CHUNK = 500
MERGE_PAGES = 500
"""Pages of the index that one transaction merges."""
LAST_WORKS = ("index", "pages", "log")
PENDING = "SELECT value FROM erasures WHERE kind = 'session'"
_DYING = f"""
INSERT OR IGNORE INTO temp.dying
SELECT value FROM erasures WHERE kind = 'record'
UNION
SELECT r.uuid FROM session_records r WHERE r.session_db_id IN ({PENDING})
AND NOT EXISTS (SELECT 1 FROM session_records o WHERE o.uuid = r.uuid AND o.session_db_id NOT IN ({PENDING}))
"""
_ORPHANS = "SELECT leaf_uuid FROM session_titles WHERE leaf_uuid NOT IN (SELECT uuid FROM session_records)"
"""Titles of records that hold nothing (or were never read): nobody can say that they are not of a session
that goes."""
_OWNERS = "SELECT DISTINCT session_db_id FROM session_records WHERE uuid IN (SELECT uuid FROM temp.chunk) AND flags & 4"
_IN_CHUNK = "(SELECT uuid FROM temp.chunk)"


class Doomed(NamedTuple):
    """What a forgetting is about: sessions by their id and platform's row, and records that go alone."""

    sessions: tuple[str, ...]
    uuids: tuple[str, ...]


def owed(sessions: bool = True) -> list[tuple[str, str]]:
    """Rows of `erasures` for what follows once the rows are gone. sessions: whole sessions went."""
    return [(work, "") for work in (("names", *LAST_WORKS) if sessions else LAST_WORKS)]


def begin(conn: sqlite3.Connection, sessions: Sequence[str], records: Sequence[str]) -> None:
    """Write the tombstones and what is to be done. From here on nothing of it is stored again.

    sessions: content session ids; records: uuids. Unknown ones do no harm."""
    with transaction(conn):
        found = in_chunks(conn, "SELECT id FROM sdk_sessions WHERE content_session_id IN ({})", sessions)
        rows = [("session", row_id) for (row_id,) in found]
        rows += [("record", uuid) for uuid in records]
        if not rows:
            return
        sql = "INSERT OR IGNORE INTO erasures (kind, value) VALUES (?, ?)"
        conn.executemany(sql, [*rows, *owed(bool(sessions))])
        _list_dying(conn)
        stones = Tombstones(conn)
        stones.bury("session", sessions)
        stones.bury("record", [uuid for (uuid,) in conn.execute("SELECT uuid FROM temp.dying")])
        _bury_names(conn, stones)
        if sessions:
            stones.bury("record", [leaf for (leaf,) in conn.execute(_ORPHANS)])
        stones.bury("queued", [queued(time, text) for time, text in conn.execute(_queue_lines())])
        passing("forget.tombstones")
    passing("forget.begun")


def _bury_names(conn: sqlite3.Connection, stones: Tombstones) -> None:
    """Records that go by themselves would come back from a claude-mem database, which has no uuids: they are
    known there by their session and their text or tool id."""
    session = "JOIN session_records r ON r.uuid = e.value JOIN sdk_sessions s ON s.id = r.session_db_id"
    single = f"FROM erasures e {session} JOIN {{}} = e.value WHERE e.kind = 'record'"
    prompts = conn.execute(
        f"SELECT s.content_session_id, p.prompt_text {single.format('user_prompts p ON p.native_prompt_id')}"
    ).fetchall()
    stones.bury("prompt", [foreign_prompt(name, text) for name, text in prompts])
    calls = conn.execute(
        f"SELECT s.content_session_id, t.tool_use_id {single.format('tool_uses t ON t.record_uuid')}"
    ).fetchall()
    stones.bury("call", [f"{name} {call}" for name, call in calls])


def _queue_lines() -> str:
    """Lines of the prompt queue that go: of the sessions, unless another holds a copy; of single prompts."""
    of_prompt = (
        "SELECT q.created_at_epoch, q.text FROM erasures e JOIN user_prompts p ON p.native_prompt_id = e.value "
        "JOIN session_records r ON r.uuid = p.native_prompt_id "
        "JOIN queue_operations q ON q.session_db_id = r.session_db_id AND q.file_id = r.file_id "
        "AND q.position = r.position WHERE e.kind = 'record' AND p.is_queued AND q.text IS NOT NULL"
    )
    lines = "SELECT created_at_epoch, text FROM queue_operations WHERE text IS NOT NULL AND session_db_id"
    return f"{lines} IN ({PENDING}) EXCEPT {lines} NOT IN ({PENDING}) UNION {of_prompt}"


def _list_dying(conn: sqlite3.Connection) -> None:
    """temp.dying: records that no session shows once all is done. The same at every beginning, since
    memberships go with their rows."""
    conn.execute("CREATE TEMP TABLE IF NOT EXISTS dying (uuid TEXT PRIMARY KEY) WITHOUT ROWID")
    conn.execute("CREATE TEMP TABLE IF NOT EXISTS chunk (uuid TEXT PRIMARY KEY) WITHOUT ROWID")
    conn.execute("DELETE FROM temp.dying")
    conn.execute(_DYING)


def rows_pending(conn: sqlite3.Connection) -> bool:
    """Whether rows of something forgotten still stand."""
    return bool(conn.execute("SELECT 1 FROM erasures WHERE kind IN ('session', 'record') LIMIT 1").fetchone())


def pending(conn: sqlite3.Connection) -> bool:
    """Whether bytes of something forgotten may still be in the files."""
    return bool(conn.execute("SELECT 1 FROM erasures LIMIT 1").fetchone())


def doomed(conn: sqlite3.Connection) -> Doomed:
    """What has been begun and is not done, by its ids: for what keeps texts beside the database."""
    sessions = conn.execute(f"SELECT content_session_id FROM sdk_sessions WHERE id IN ({PENDING})").fetchall()
    _list_dying(conn)
    uuids = conn.execute("SELECT uuid FROM temp.dying").fetchall()
    return Doomed(tuple(name for (name,) in sessions), tuple(uuid for (uuid,) in uuids))


def erase_rows(conn: sqlite3.Connection) -> None:
    """Take away the rows of all that was begun, in transactions of `CHUNK` records."""
    _list_dying(conn)
    with transaction(conn):
        _unanswer(conn)
    passing("forget.unanswered")
    while chunk := conn.execute("SELECT uuid FROM temp.dying ORDER BY uuid LIMIT ?", (CHUNK,)).fetchall():
        with transaction(conn):
            _erase(conn, [uuid for (uuid,) in chunk])
            passing("forget.rows")
        conn.executemany("DELETE FROM temp.dying WHERE uuid = ?", chunk)
    for (session,) in conn.execute(PENDING).fetchall():
        _hand_over_all(conn, session)
        with transaction(conn):
            _close(conn, session)
            passing("forget.session")
    passing("forget.done")


def _hand_over_all(conn: sqlite3.Connection, session: int) -> None:
    """The session's records that are left are shared with others: these keep them."""
    sql = "SELECT uuid FROM session_records WHERE session_db_id = ? LIMIT ?"
    while shared := [uuid for (uuid,) in conn.execute(sql, (session, CHUNK))]:
        with transaction(conn):
            hand_over(conn, shared, PENDING)
            passing("forget.shared")


# -- records -------------------------------------------------------------------------------------------


def _unanswer(conn: sqlite3.Connection) -> None:
    """Take the answers that go from the calls that stay; whoever shows such a call may hold another answer."""
    sql = (
        "SELECT t.id, t.record_uuid, t.tool_response, t.input_hash FROM tool_uses t "
        "JOIN temp.dying d ON d.uuid = t.result_uuid WHERE t.record_uuid NOT IN (SELECT uuid FROM temp.dying)"
    )
    shown_in = set()
    for row_id, uuid, response, input_hash in conn.execute(sql).fetchall():
        found = conn.execute("SELECT body FROM search_texts WHERE id = ? * 8 + 2", (row_id,)).fetchone()
        if found is not None:
            body = found[0].removesuffix(result_tokens(response or ""))
            conn.execute("UPDATE search_texts SET body = ? WHERE id = ? * 8 + 2", (body, row_id))
        conn.execute(
            "UPDATE tool_uses SET result_uuid = NULL, result_at_epoch = NULL, is_error = NULL, side_file = NULL, "
            "tool_response = NULL, content_hash = ? WHERE id = ?",
            (digest((input_hash or "").encode()), row_id),
        )
        sql = f"SELECT session_db_id FROM session_records WHERE uuid = ? AND session_db_id NOT IN ({PENDING})"
        shown_in |= {session for (session,) in conn.execute(sql, (uuid,))}
    reread_files(conn, sorted(shown_in))


def _erase(conn: sqlite3.Connection, uuids: Sequence[str]) -> None:
    """Take away records and all that was made of them."""
    conn.execute("DELETE FROM temp.chunk")
    conn.executemany("INSERT INTO temp.chunk VALUES (?)", [(uuid,) for uuid in uuids])
    sql = f"SELECT DISTINCT session_db_id FROM session_records WHERE uuid IN {_IN_CHUNK}"
    shown_in = [session for (session,) in conn.execute(f"{sql} AND session_db_id NOT IN ({PENDING})")]
    prompts = f"SELECT id FROM user_prompts WHERE native_prompt_id IN {_IN_CHUNK}"
    calls = f"SELECT id FROM tool_uses WHERE session_db_id IN ({_OWNERS}) AND record_uuid IN {_IN_CHUNK}"
    _drop(conn, "user_prompts", 0, [row_id for (row_id,) in conn.execute(prompts)])
    _drop(conn, "tool_uses", 2, [row_id for (row_id,) in conn.execute(calls)])
    _erase_texts(conn)
    _erase_queued(conn)
    for table, column in (
        ("turn_events", "uuid"), ("unmatched_results", "uuid"), ("session_titles", "leaf_uuid"),
        ("session_records", "uuid"), ("imported_records", "uuid"),
    ):  # fmt: skip
        conn.execute(f"DELETE FROM {table} WHERE {column} IN {_IN_CHUNK}")
    conn.execute(f"DELETE FROM erasures WHERE kind = 'record' AND value IN {_IN_CHUNK}")
    unmake(conn, shown_in)
    settle(conn, shown_in)


def _drop(conn: sqlite3.Connection, table: str, code: int, rows: Iterable[int]) -> None:
    """Delete rows and their index texts: a cascade does not run the delete triggers of every SQLite."""
    ids = list(rows)
    conn.executemany("DELETE FROM search_texts WHERE id = ? * 8 + ?", [(row_id, code) for row_id in ids])
    conn.executemany(f"DELETE FROM {table} WHERE id = ?", [(row_id,) for row_id in ids])


def _erase_texts(conn: sqlite3.Connection) -> None:
    """Lines of messages go; a message that has none left goes, another is led by the first one left."""
    touched = {
        row_id
        for sql in (
            f"SELECT message_row_id FROM assistant_texts WHERE uuid IN {_IN_CHUNK}",
            f"SELECT id FROM assistant_messages WHERE session_db_id IN ({_OWNERS}) AND record_uuid IN {_IN_CHUNK}",
        )
        for (row_id,) in conn.execute(sql)
    }
    for row_id in sorted(touched):
        of_message = "FROM assistant_texts WHERE message_row_id = ?"
        conn.execute(f"DELETE {of_message} AND uuid IN (SELECT uuid FROM temp.dying)", (row_id,))
        left = conn.execute(f"SELECT uuid, text {of_message} ORDER BY position, uuid", (row_id,)).fetchall()
        leads = "SELECT 1 FROM assistant_messages WHERE id = ? AND record_uuid IN (SELECT uuid FROM temp.dying)"
        if conn.execute(leads, (row_id,)).fetchone():
            if not left:
                _drop(conn, "assistant_messages", 1, [row_id])
                continue
            conn.execute("UPDATE assistant_messages SET record_uuid = ? WHERE id = ?", (left[0][0], row_id))
            take_rows(conn, "assistant_messages", 1, [row_id])
        body = search_tokens("\n".join(text for _, text in left))
        if left:
            conn.execute("UPDATE search_texts SET body = ? WHERE id = ? * 8 + 1 AND body <> ?", (body, row_id, body))
        else:
            conn.execute("DELETE FROM search_texts WHERE id = ? * 8 + 1", (row_id,))


def _erase_queued(conn: sqlite3.Connection) -> None:
    """The lines that a queued prompt was made of, or it would be made again."""
    sql = (
        "SELECT r.session_db_id, r.file_id, r.position FROM session_records r "
        f"WHERE r.uuid IN {_IN_CHUNK} AND r.uuid LIKE 'queued:%'"
    )
    for place in conn.execute(sql).fetchall():
        conn.execute(
            "DELETE FROM queue_operations WHERE session_db_id = ? AND file_id = ? AND position = ?", tuple(place)
        )


# -- sessions ------------------------------------------------------------------------------------------


def _close(conn: sqlite3.Connection, session: int) -> None:
    """Take away the session's own row and all that hangs on it."""
    name, memory_id = conn.execute(
        "SELECT content_session_id, memory_session_id FROM sdk_sessions WHERE id = ?", (session,)
    ).fetchone()
    files = conn.execute(
        "SELECT file_id FROM session_files WHERE session_db_id = ?1 "
        "UNION SELECT id FROM ingest_files WHERE session_id = ?2 AND path NOT GLOB 'forgotten:*'",
        (session, name),
    ).fetchall()
    imports.drop_told(conn, session, whole=True)
    unmake(conn, [session])
    conn.execute("DELETE FROM imported_records WHERE session_db_id = ?", (session,))
    for table, code in (("observations", 3), ("session_summaries", 4)):
        found = conn.execute(f"SELECT id FROM {table} WHERE memory_session_id = ?", (memory_id,))
        _drop(conn, table, code, [row_id for (row_id,) in found])
    for table in (
        "search_texts", "user_prompts", "assistant_messages", "tool_uses", "unmatched_results", "turn_events",
        "session_agents", "queue_operations", "session_files",
    ):  # fmt: skip
        conn.execute(f"DELETE FROM {table} WHERE session_db_id = ?", (session,))
    conn.execute("DELETE FROM sdk_sessions WHERE id = ?", (session,))
    conn.execute("UPDATE sdk_sessions SET forked_from = NULL WHERE forked_from = ?", (name,))
    for (file_id,) in files:
        _leave_file(conn, file_id)
    conn.execute("DELETE FROM erasures WHERE kind = 'session' AND value = ?", (session,))


def _leave_file(conn: sqlite3.Connection, file_id: int) -> None:
    """A file that nothing stored stands in loses its name; of others, the counts are made again."""
    cover_stored(conn, file_id)
    sql = "SELECT status, offset FROM ingest_files WHERE id = ? AND path NOT GLOB 'forgotten:*'"
    shared = conn.execute(sql, (file_id,)).fetchone()
    if shared is None:
        return
    if shared == ("active", 0):
        return
    if shared[0] == "active":
        read_again(conn, file_id)
    else:
        conn.execute("UPDATE ingest_files SET ignored = '{}' WHERE id = ?", (file_id,))


def _sweep_names(conn: sqlite3.Connection) -> None:
    """Projects, folders and titles that no session names any more; projects are spelled as in the earliest
    session that is left."""
    conn.execute("DELETE FROM projects WHERE project_key NOT IN (SELECT project_key FROM sdk_sessions)")
    conn.execute(
        "DELETE FROM project_resolutions WHERE cwd NOT IN (SELECT cwd FROM sdk_sessions WHERE cwd IS NOT NULL)"
    )
    conn.execute("DELETE FROM work_state_entries WHERE project_key NOT IN (SELECT project_key FROM projects)")
    conn.execute(_ORPHANS.replace("SELECT leaf_uuid", "DELETE", 1))
    for column, source in (("display", "project"), ("source", "project_key_source")):
        earliest = (
            f"(SELECT s.{source} FROM sdk_sessions s WHERE s.project_key = projects.project_key "
            "ORDER BY s.started_at_epoch, s.content_session_id LIMIT 1)"
        )
        conn.execute(f"UPDATE projects SET {column} = {earliest} WHERE {column} <> {earliest}")


# -- bytes ---------------------------------------------------------------------------------------------


def scrub(conn: sqlite3.Connection, *, wait: bool = True) -> bool:
    """Take the last bytes out of index, pages and log; says whether that is done. While a reader is at work
    it is not, and is to be tried again. wait: for a reader to end, up to the busy timeout."""
    if rows_pending(conn):
        return False
    if _owed(conn, "names"):
        with transaction(conn):
            _sweep_names(conn)
            conn.execute("DELETE FROM erasures WHERE kind = 'names'")
        passing("forget.names")
    if _owed(conn, "index"):
        merge_all(conn)
        _forget_samples(conn)
        _done(conn, "index")
        passing("forget.index")
    conn.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS if wait else 0}")
    try:
        return _scrub_files(conn)
    finally:
        conn.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")


def _scrub_files(conn: sqlite3.Connection) -> bool:
    if _owed(conn, "pages"):
        conn.execute("PRAGMA temp_store = FILE")  # a copy of the whole database would not do in memory
        try:
            conn.execute("VACUUM")
        finally:
            conn.execute("PRAGMA temp_store = MEMORY")
        _done(conn, "pages")
        passing("forget.pages")
    if _owed(conn, "log"):
        if not cut_log(conn):
            return False
        _done(conn, "log")
        passing("forget.log")
        cut_log(conn)
    return not pending(conn)


def _forget_samples(conn: sqlite3.Connection) -> None:
    """The query planner's samples of keys, where SQLite was built to take some: ANALYZE makes them anew."""
    for (table,) in conn.execute(
        "SELECT name FROM sqlite_master WHERE name IN ('sqlite_stat3', 'sqlite_stat4')"
    ).fetchall():
        conn.execute(f"DELETE FROM {table}")


def cut_log(conn: sqlite3.Connection) -> bool:
    """Fold the WAL back and empty it; says whether no reader stood in the way."""
    busy, _, _ = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return not busy


def merge_all(conn: sqlite3.Connection) -> None:
    """Merge all segments of the full-text index into one, as `optimize` does, in bounded transactions."""
    if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_fts'").fetchone():
        return
    pages = -MERGE_PAGES  # the first: whatever the number of segments
    while True:
        before = conn.total_changes
        with transaction(conn):
            conn.execute("INSERT INTO search_fts(search_fts, rank) VALUES ('merge', ?)", (pages,))
        if conn.total_changes - before < 2:
            return
        pages = MERGE_PAGES


def _owed(conn: sqlite3.Connection, work: str) -> bool:
    return bool(conn.execute("SELECT 1 FROM erasures WHERE kind = ?", (work,)).fetchone())


def _done(conn: sqlite3.Connection, work: str) -> None:
    with transaction(conn):
        conn.execute("DELETE FROM erasures WHERE kind = ?", (work,))
