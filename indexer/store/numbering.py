"""What follows from several records of a session: prompt numbers, turns of sub-agents, titles, dates.

Numbers follow the order of records in the session's files. A record that is simply appended gets its
number when it is put; here numbers are redone for the sessions where that was not so: a file that was
read late, a place that changed, a queued prompt that turned up. Commands, shell input, calls and
messages carry the number of the prompt before them, which is the turn they belong to; what a sub-agent
did belongs to the turn that spawned it, and by time where no call is known.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from indexer.store.checkpoints import FileRow
from indexer.store.membership import in_chunks
from indexer.store.sessions import TITLE_LENGTH, Session

INLINE_AGENT = "inline"
"""agent_id of side chains that old clients (before 2.0.28) wrote into the main file without naming them."""

_ORDERED = """
CREATE TEMP TABLE numbers AS
SELECT r.uuid AS uuid,
       sum(p.prompt_kind IS 'prompt') OVER (ORDER BY f.first_epoch, f.path, r.position ROWS UNBOUNDED PRECEDING) AS n
FROM session_records r JOIN ingest_files f ON f.id = r.file_id
LEFT JOIN user_prompts p ON p.native_prompt_id = r.uuid
WHERE r.session_db_id = ? AND NOT r.flags & 1
"""
_FIRST_PROMPT = """
SELECT p.prompt_text FROM session_records r JOIN user_prompts p ON p.native_prompt_id = r.uuid
JOIN ingest_files f ON f.id = r.file_id
WHERE r.session_db_id = ? AND p.prompt_kind = 'prompt' AND NOT r.flags & 1
ORDER BY f.first_epoch, f.path, r.position LIMIT 1
"""


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
    conn.execute(_ORDERED, (session.id,))
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
    session.user_prompt = first[0][:TITLE_LENGTH] if first else session.user_prompt
    conn.execute(
        "UPDATE sdk_sessions SET prompt_counter = ?, user_prompt = ? WHERE id = ?",
        (session.prompt_counter, session.user_prompt, session.id),
    )


def _number_agents(conn: sqlite3.Connection, session: Session, after: tuple[int, int]) -> None:
    """Give sub-agents' rows the turn of the call that spawned them, and the agent's type.

    after: only rows beyond these ids of tool_uses and assistant_messages.
    """
    turns, types = _agent_turns(conn, session)
    for table, floor in zip(("tool_uses", "assistant_messages"), after, strict=True):
        found = f"SELECT DISTINCT agent_id FROM {table} WHERE session_db_id = ? AND agent_id IS NOT NULL AND id > ?"
        for (agent,) in conn.execute(found, (session.id, floor)).fetchall():
            where = f"WHERE session_db_id = ? AND agent_id = ? AND {table}.id > ?"
            key = (session.id, agent, floor)
            if agent in turns:
                sql = f"UPDATE {table} SET prompt_number = ? {where} AND prompt_number <> ?"
                conn.execute(sql, (turns[agent], *key, turns[agent]))
            else:
                conn.execute(
                    f"UPDATE {table} SET prompt_number = ({_BY_TIME.format(table)}) {where}",
                    (session.id, *key),
                )
            if table == "tool_uses" and types.get(agent):
                sql = f"UPDATE tool_uses SET agent_type = ? {where} AND agent_type IS NOT ?"
                conn.execute(sql, (types[agent], *key, types[agent]))


_BY_TIME = (
    "SELECT coalesce(max(p.prompt_number), 0) FROM user_prompts p WHERE p.session_db_id = ? "
    "AND p.prompt_kind = 'prompt' AND p.created_at_epoch <= {}.created_at_epoch"
)


def _agent_turns(conn: sqlite3.Connection, session: Session) -> tuple[dict[str, int], dict[str, str]]:
    """agent id -> turn of the call that spawned it (through agents that spawn agents), and -> type."""
    sql = (
        "SELECT a.agent_id, a.agent_type, t.agent_id, t.prompt_number FROM session_agents a "
        "LEFT JOIN tool_uses t ON t.identity = a.tool_use_id WHERE a.session_db_id = ?"
    )
    types, parents, turns = {}, {}, {}
    for agent, agent_type, parent, number in conn.execute(sql, (session.id,)):
        types[agent] = agent_type
        if parent is not None and parent != agent:
            parents[agent] = parent
        elif number is not None:
            turns[agent] = number
    for agent in parents:
        seen, ancestor = {agent}, parents[agent]
        while ancestor in parents and ancestor not in seen:
            seen.add(ancestor)
            ancestor = parents[ancestor]
        if ancestor in turns:
            turns[agent] = turns[ancestor]
    return turns, types


def settle_titles(conn: sqlite3.Connection, summaries: Sequence[tuple[str, str]], uuids: Iterable[str]) -> None:
    """Give summary titles to the sessions that hold their leaf record; of several, the last in
    spelling, so that the order of reading does not matter."""
    conn.executemany(
        "INSERT INTO session_titles (leaf_uuid, title) VALUES (?, ?) "
        "ON CONFLICT DO UPDATE SET title = excluded.title WHERE excluded.title > title",
        summaries,
    )
    known = {leaf for (leaf,) in conn.execute("SELECT leaf_uuid FROM session_titles")}
    leaves = sorted(known.intersection(uuids).union(leaf for leaf, _ in summaries))
    sql = (
        "SELECT t.title, r.session_db_id FROM session_titles t JOIN session_records r ON r.uuid = t.leaf_uuid "
        "WHERE r.flags & 4 AND t.leaf_uuid IN ({})"
    )
    for title, session in list(in_chunks(conn, sql, leaves)):
        conn.execute(
            "UPDATE sdk_sessions SET ai_title = CASE WHEN ai_title IS NULL OR ai_title IS summary_title THEN ?1 "
            "ELSE ai_title END, summary_title = ?1 WHERE id = ?2 AND (summary_title IS NULL OR summary_title < ?1)",
            (title, session),
        )


def date_undated(conn: sqlite3.Connection, file: FileRow) -> None:
    """The first dated record of a file dates those before it that had been stored without a time."""
    for table, uuid in (
        ("user_prompts", "native_prompt_id"), ("tool_uses", "record_uuid"), ("assistant_messages", "record_uuid"),
        ("assistant_texts", "uuid"), ("turn_events", "uuid"), ("search_texts", "uuid"),
    ):  # fmt: skip
        source = ", time_source = 'neighbour'" if table == "user_prompts" else ""
        conn.execute(
            f"UPDATE {table} SET created_at_epoch = ?{source} WHERE created_at_epoch IS NULL AND {uuid} IN "
            "(SELECT r.uuid FROM session_files f JOIN session_records r "
            "ON r.session_db_id = f.session_db_id AND r.file_id = f.file_id WHERE f.file_id = ?)",
            (file.first_epoch, file.id),
        )
