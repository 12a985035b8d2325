"""What follows from several records of a session: prompt numbers, turns of sub-agents, titles, dates.

Numbers follow the order of records in the session's files. A record that is simply appended gets its
number when it is put; here numbers are redone for the sessions where that was not so: a file that was
read late, a place that changed, a queued prompt that turned up. Commands, shell input, calls and
messages carry the number of the prompt before them, which is the turn they belong to; what a sub-agent
did belongs to the turn that spawned it, and by time where no call is known.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate

from indexer.store.checkpoints import FileRow
from indexer.store.membership import in_chunks
from indexer.store.rows import ASSISTANT_CODE, PROMPT_CODE, TOOL_CODE
from indexer.store.sessions import TITLE_LENGTH, Session

INLINE_AGENT = "inline"
"""agent_id of side chains that old clients (before 2.0.28) wrote into the main file without naming them."""

_MAIN = """
FROM session_records r
JOIN session_files x ON x.session_db_id = r.session_db_id AND x.file_id = r.file_id
JOIN ingest_files f ON f.id = r.file_id
LEFT JOIN user_prompts p ON p.native_prompt_id = r.uuid
WHERE r.session_db_id = ? AND NOT x.is_agent
"""
_ORDER = "x.first_epoch, r.position, f.path"
"""Files that begin alike are copies of one history, which goes on in one of them: places count first."""
_NUMBERED = f"""
SELECT r.uuid AS uuid, sum(p.prompt_kind IS 'prompt') OVER (ORDER BY {_ORDER} ROWS UNBOUNDED PRECEDING) AS n {_MAIN}
"""
_FIRST_PROMPT = f"SELECT p.prompt_text {_MAIN} AND p.prompt_kind = 'prompt' ORDER BY {_ORDER} LIMIT 1"
_PROMPT_TIMES = f"SELECT p.created_at_epoch {_MAIN} AND p.prompt_kind = 'prompt' ORDER BY {_ORDER}"


def settle(conn: sqlite3.Connection, sessions: Sequence[Session]) -> None:
    """Redo the numbers that need it."""
    for session in sessions:
        if session.renumber:
            _number_main(conn, session)
        if session.renumber or session.renumber_agents or session.agents_from:
            whole = session.renumber or session.renumber_agents
            _number_agents(conn, session, (0, 0) if whole else session.agents_from or (0, 0))
        session.renumber = session.renumber_agents = False


def _number_main(conn: sqlite3.Connection, session: Session) -> None:
    conn.execute("DROP TABLE IF EXISTS temp.numbers")
    conn.execute(f"CREATE TEMP TABLE numbers AS {_NUMBERED}", (session.id,))
    conn.execute("CREATE INDEX temp.numbers_uuid ON numbers(uuid)")
    for table, uuid in (
        ("user_prompts", "native_prompt_id"), ("tool_uses", "record_uuid"), ("assistant_messages", "record_uuid")
    ):  # fmt: skip
        conn.execute(
            f"UPDATE {table} SET prompt_number = numbers.n FROM temp.numbers "
            f"WHERE {table}.session_db_id = ? AND numbers.uuid = {table}.{uuid} AND prompt_number <> numbers.n",
            (session.id,),
        )
    session.prompt_counter = conn.execute("SELECT coalesce(max(n), 0) FROM temp.numbers").fetchone()[0]
    conn.execute("DROP TABLE temp.numbers")
    first = conn.execute(_FIRST_PROMPT, (session.id,)).fetchone()
    session.user_prompt = first[0][:TITLE_LENGTH] if first else None
    conn.execute(
        "UPDATE sdk_sessions SET prompt_counter = ?, user_prompt = ? WHERE id = ?",
        (session.prompt_counter, session.user_prompt, session.id),
    )


def _number_agents(conn: sqlite3.Connection, session: Session, after: tuple[int, int]) -> None:
    """Give sub-agents' rows the turn of the call that spawned them, and the agent's type.

    after: only rows beyond these ids of tool_uses and assistant_messages.
    """
    turns, types = _agent_turns(conn, session)
    by_time: _ByTime | None = None
    for table, floor in zip(("tool_uses", "assistant_messages"), after, strict=True):
        found = f"SELECT DISTINCT agent_id FROM {table} WHERE session_db_id = ? AND agent_id IS NOT NULL AND id > ?"
        for (agent,) in conn.execute(found, (session.id, floor)).fetchall():
            where = "WHERE session_db_id = ? AND agent_id = ? AND id > ?"
            key = (session.id, agent, floor)
            if agent in turns:
                sql = f"UPDATE {table} SET prompt_number = ? {where} AND prompt_number <> ?"
                conn.execute(sql, (turns[agent], *key, turns[agent]))
            elif agent != INLINE_AGENT:
                by_time = by_time or _ByTime(conn, session)
                by_time.number(table, where, key)
            if table == "tool_uses" and types.get(agent):
                sql = f"UPDATE tool_uses SET agent_type = ? {where} AND agent_type IS NOT ?"
                conn.execute(sql, (types[agent], *key, types[agent]))


class _ByTime:
    """The turns of a session by time, copied history included, for work whose call is not known."""

    def __init__(self, conn: sqlite3.Connection, session: Session) -> None:
        self._conn = conn
        times = [time for (time,) in conn.execute(_PROMPT_TIMES, (session.id,))]
        begun = sorted((time, number) for number, time in enumerate(times, 1) if time is not None)
        self._times = [time for time, _ in begun]
        self._numbers = [0, *accumulate((number for _, number in begun), max)]

    def number(self, table: str, where: str, key: tuple[object, ...]) -> None:
        """Give each row the last prompt that was there before it."""
        rows = self._conn.execute(f"SELECT id, created_at_epoch FROM {table} {where}", key).fetchall()
        numbers = [
            (self._numbers[bisect_right(self._times, -1 if time is None else time)], row_id) for row_id, time in rows
        ]
        self._conn.executemany(f"UPDATE {table} SET prompt_number = ? WHERE id = ?", numbers)


def _agent_turns(conn: sqlite3.Connection, session: Session) -> tuple[dict[str, int], dict[str, str]]:
    """agent id -> turn of the call that spawned it (through agents that spawn agents), and -> type."""
    sql = (
        "SELECT a.agent_id, a.agent_type, t.agent_id, t.prompt_number, t.session_db_id, t.record_uuid "
        "FROM session_agents a LEFT JOIN tool_uses t ON t.identity = a.tool_use_id WHERE a.session_db_id = ?"
    )
    types, parents, turns = {}, {}, {}
    for agent, agent_type, parent, number, owner, record in conn.execute(sql, (session.id,)).fetchall():
        types[agent] = agent_type
        if parent is not None and parent not in (agent, INLINE_AGENT):
            parents[agent] = parent
        elif owner == session.id:
            turns[agent] = number
        elif owner is not None:
            turns.update((agent, n) for n in _number_of(conn, session, record))
    for agent in parents:
        seen, ancestor = {agent}, parents[agent]
        while ancestor in parents and ancestor not in seen:
            seen.add(ancestor)
            ancestor = parents[ancestor]
        if ancestor in turns:
            turns[agent] = turns[ancestor]
    return turns, types


def _number_of(conn: sqlite3.Connection, session: Session, uuid: str) -> list[int]:
    """Where a record that another session owns stands in this one; empty if it does not."""
    sql = f"SELECT n FROM ({_NUMBERED}) WHERE uuid = ?"
    return [n for (n,) in conn.execute(sql, (session.id, uuid))]


def uuids_of_turns(conn: sqlite3.Connection, session_db_id: int, prompts: Sequence[str]) -> dict[int, list[str]]:
    """The turns that these prompts open in a session, each with its records on the main thread, without what
    was typed: number -> uuids."""
    sql = (
        f"SELECT t.n, t.uuid, p.prompt_kind FROM ({_NUMBERED}) t "
        "LEFT JOIN user_prompts p ON p.native_prompt_id = t.uuid"
    )
    rows = conn.execute(sql, (session_db_id,)).fetchall()
    opened = {number for number, uuid, _ in rows if uuid in set(prompts)}
    turns: dict[int, list[str]] = {number: [] for number in opened}
    for number, uuid, kind in rows:
        if number in opened and kind is None:
            turns[number].append(uuid)
    return turns


def choose_titles(conn: sqlite3.Connection, sessions: Iterable[Session]) -> None:
    """A session that stands in several files has the titles of the one that began last."""
    keep = (
        "UPDATE session_files SET custom_title = coalesce(?, custom_title), ai_title = coalesce(?, ai_title) "
        "WHERE session_db_id = ? AND file_id = ?"
    )
    last = (
        "(SELECT x.{} FROM session_files x JOIN ingest_files f ON f.id = x.file_id WHERE x.session_db_id = ?1 "
        "AND x.{} IS NOT NULL ORDER BY x.is_agent, x.first_epoch DESC, f.path DESC LIMIT 1)"
    )
    choose = ", ".join(f"{name} = {last.format(name, name)}" for name in ("custom_title", "ai_title"))
    for session in sessions:
        for file_id, titles in session.titles.items():
            conn.execute(keep, (titles.get("custom"), titles.get("ai"), session.id, file_id))
        if len(session.tail) > 1:
            conn.execute(f"UPDATE sdk_sessions SET {choose} WHERE id = ?1", (session.id,))


def settle_titles(
    conn: sqlite3.Connection, summaries: Sequence[tuple[str, str]], uuids: Iterable[str], moved: Iterable[int]
) -> None:
    """Give summary titles to the sessions that hold their leaf record: the last in the session; of one
    record the last in spelling, so that the order of reading does not matter. moved: sessions whose
    records have changed places."""
    conn.executemany(
        "INSERT INTO session_titles (leaf_uuid, title) VALUES (?, ?) "
        "ON CONFLICT DO UPDATE SET title = excluded.title WHERE excluded.title > title",
        summaries,
    )
    known = {leaf for (leaf,) in conn.execute("SELECT leaf_uuid FROM session_titles")}
    if not known:
        return
    leaves = sorted(known.intersection(uuids).union(leaf for leaf, _ in summaries))
    holders = "SELECT DISTINCT session_db_id FROM session_records WHERE uuid IN ({})"
    sessions = {session for (session,) in in_chunks(conn, holders, leaves)}.union(moved)
    last = (
        "SELECT t.title FROM session_records r CROSS JOIN session_titles t ON t.leaf_uuid = r.uuid "
        "JOIN session_files x ON x.session_db_id = r.session_db_id AND x.file_id = r.file_id "
        "JOIN ingest_files f ON f.id = r.file_id WHERE r.session_db_id = ?1 "
        "ORDER BY x.is_agent, x.first_epoch DESC, f.path DESC, r.position DESC LIMIT 1"
    )
    update = f"UPDATE sdk_sessions SET summary_title = ({last}) WHERE id = ?1"
    conn.executemany(update, [(session,) for session in sorted(sessions)])


def sharing(conn: sqlite3.Connection, file: FileRow) -> list[int]:
    """The sessions that hold a record which stands in this file."""
    sql = (
        "SELECT DISTINCT o.session_db_id FROM session_files f JOIN session_records r "
        "ON r.session_db_id = f.session_db_id AND r.file_id = f.file_id JOIN session_records o ON o.uuid = r.uuid "
        "WHERE f.file_id = ?"
    )
    return [session for (session,) in conn.execute(sql, (file.id,))]


def date_undated(conn: sqlite3.Connection, file: FileRow, position: int) -> None:
    """The first dated record of a file dates those before it that had been stored without a time.

    position: its line. The rows are looked up by their session: nothing else leads to all of them, and
    a table would be gone through for every file that is read again (45 of 63 s at 500 MB)."""
    sessions = "session_db_id IN (SELECT session_db_id FROM session_files WHERE file_id = :file)"
    owned = (
        f"SELECT uuid FROM session_records WHERE {sessions} AND file_id = :file AND position BETWEEN 0 AND :position "
        "AND flags & 4"
    )
    values = {"time": file.first_epoch, "file": file.id, "position": position}
    if not conn.execute(f"SELECT 1 FROM ({owned}) LIMIT 1", values).fetchone():
        return
    for table, uuid, code in (
        ("user_prompts", "native_prompt_id", PROMPT_CODE), ("assistant_messages", "record_uuid", ASSISTANT_CODE),
        ("tool_uses", "record_uuid", TOOL_CODE),
    ):  # fmt: skip
        undated = f"FROM {table} WHERE {sessions} AND created_at_epoch IS NULL AND {uuid} IN ({owned})"
        conn.execute(
            f"UPDATE search_texts SET created_at_epoch = :time WHERE id IN (SELECT id * 8 + {code} {undated})", values
        )
    for table, uuid, time in (
        ("user_prompts", "native_prompt_id", "created_at_epoch"), ("tool_uses", "record_uuid", "created_at_epoch"),
        ("tool_uses", "result_uuid", "result_at_epoch"), ("unmatched_results", "uuid", "created_at_epoch"),
        ("assistant_messages", "record_uuid", "created_at_epoch"), ("turn_events", "uuid", "created_at_epoch"),
    ):  # fmt: skip
        source = ", time_source = 'neighbour'" if table == "user_prompts" else ""
        conn.execute(
            f"UPDATE {table} SET {time} = :time{source} WHERE {sessions} AND {time} IS NULL AND {uuid} IN ({owned})",
            values,
        )
    conn.execute(
        f"UPDATE assistant_texts SET created_at_epoch = :time WHERE created_at_epoch IS NULL AND uuid IN ({owned})",
        values,
    )
