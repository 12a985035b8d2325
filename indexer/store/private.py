"""The turns of wholly private prompts: of what follows one, up to the next prompt, nothing is kept.

The prompt itself is a row without text. What simply follows it in its file is never put (Session.private,
asked by the writer). The rest turns up in another order (a sub-agent's file that is read before its parent's,
a file that is read again), and is taken out here, once numbers are settled, in the same transaction: calls,
answers and events of the main thread that stand in the turn, and those of sub-agents whose work belongs to
it: agents are known by the calls that spawned them, of which the ids are kept, else by time. The files then
owe the last works of a forgetting (erasing.py), since FTS5 keeps the words of deleted rows in its segments.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from indexer.store.bodies import digest, result_tokens
from indexer.store.erasing import owed
from indexer.store.numbering import uuids_of_turns
from indexer.store.sessions import Session

SHOWN = """
SELECT p.native_prompt_id FROM user_prompts p CROSS JOIN session_records r ON r.uuid = p.native_prompt_id
WHERE p.is_private AND r.session_db_id = :session AND NOT r.flags & 1
"""
_SPAWNED = """
SELECT a.agent_id FROM session_agents a JOIN private_calls c ON c.identity = a.tool_use_id WHERE a.session_db_id = ?
"""
_RECORD = "record:"
_TYPED = (
    "SELECT r.position, r.uuid, p.prompt_kind, p.is_private FROM session_records r JOIN user_prompts p "
    "ON p.native_prompt_id = r.uuid WHERE r.session_db_id = ? AND r.file_id = ? AND r.position > 0 AND NOT r.flags & 1 "
    "ORDER BY r.position"
)
_RECORDS = (
    "SELECT r.uuid FROM session_files x JOIN session_records r ON r.session_db_id = x.session_db_id "
    f"AND r.file_id = x.file_id JOIN private_calls c ON c.identity = '{_RECORD}' || r.uuid WHERE x.file_id = ?"
)
_DOOMED = "(SELECT uuid FROM temp.private)"


def suppress(conn: sqlite3.Connection, sessions: Sequence[Session]) -> int:
    """Take out what stands in private turns of these sessions; returns the number of rows that went."""
    if not conn.execute("SELECT 1 FROM user_prompts WHERE is_private LIMIT 1").fetchone():
        return 0
    gone = sum(_suppress(conn, session) for session in sessions)
    if gone:
        sql = "INSERT OR IGNORE INTO erasures (kind, value) VALUES (?, ?)"
        conn.executemany(sql, owed(sessions=False))
    return gone


def note_calls(conn: sqlite3.Connection, identities: Iterable[str]) -> None:
    """Remember calls that were not stored, by their ids alone: what they spawned is known by these."""
    sql = "INSERT OR IGNORE INTO private_calls (identity) VALUES (?)"
    conn.executemany(sql, [(identity,) for identity in identities])


class Hidden(NamedTuple):
    """What of one file is in private turns. whole: all of it, a sub-agent's that such a turn spawned. ranges:
    lines between (behind the first, before the second) on which only what was typed is kept. typed: uuids of
    that. uuids: of records that go wherever they stand."""

    whole: bool
    ranges: Sequence[tuple[int, float]]
    typed: frozenset[str]
    uuids: frozenset[str]


def any_private(conn: sqlite3.Connection) -> bool:
    """Whether any prompt was wholly private."""
    return conn.execute("SELECT 1 FROM user_prompts WHERE is_private LIMIT 1").fetchone() is not None


def hidden(conn: sqlite3.Connection, file_id: int) -> Hidden | None:
    """What of a file the store has not kept, so that nobody else does; None if that is nothing."""
    if not any_private(conn):
        return None
    spawned = (
        "SELECT 1 FROM ingest_files f JOIN session_files x ON x.file_id = f.id JOIN session_agents a "
        "ON a.session_db_id = x.session_db_id AND a.agent_id = f.agent_id JOIN private_calls c "
        "ON c.identity = a.tool_use_id WHERE f.id = ?"
    )
    if conn.execute(spawned, (file_id,)).fetchone():
        return Hidden(True, (), frozenset(), frozenset())
    sessions = [one for (one,) in conn.execute("SELECT session_db_id FROM session_files WHERE file_id = ?", (file_id,))]
    ranges: list[tuple[int, float]] = []
    typed, uuids = set(), set()
    for session in sessions:
        told, begun = conn.execute(_TYPED, (session, file_id)).fetchall(), None
        typed |= {uuid for _, uuid, _, _ in told}
        for position, _, kind, is_private in told:
            if kind == "prompt" and begun is not None:
                ranges, begun = [*ranges, (begun, position)], None
            if kind == "prompt" and is_private:
                begun = position
        ranges += [] if begun is None else [(begun, float("inf"))]
        prompts = [uuid for (uuid,) in conn.execute(SHOWN, {"session": session})]
        uuids |= (
            {uuid for turn in uuids_of_turns(conn, session, prompts).values() for uuid in turn} if prompts else set()
        )
    uuids |= {uuid for (uuid,) in conn.execute(_RECORDS, (file_id,))}
    found = Hidden(False, ranges, frozenset(typed), frozenset(uuids - typed))
    return found if ranges or found.uuids else None


def files_of(conn: sqlite3.Connection, sessions: Iterable[int]) -> list[int]:
    """The files that these sessions stand in."""
    sql = "SELECT file_id FROM session_files WHERE session_db_id = ?"
    return sorted({file_id for session in sessions for (file_id,) in conn.execute(sql, (session,))})


def _note_records(conn: sqlite3.Connection, where: str, given: tuple[object, ...]) -> None:
    """Remember the records of rows that go, sub-agents' that are known by their time alone among them."""
    for table in ("tool_uses", "assistant_messages"):
        sql = f"SELECT '{_RECORD}' || record_uuid FROM {table} WHERE {where} AND agent_id IS NOT NULL"
        note_calls(conn, [identity for (identity,) in conn.execute(sql, given).fetchall()])


def _suppress(conn: sqlite3.Connection, session: Session) -> int:
    prompts = [uuid for (uuid,) in conn.execute(SHOWN, {"session": session.id})]
    if not prompts:
        return 0
    turns = uuids_of_turns(conn, session.id, prompts)
    gone = sum(_empty(conn, session.id, number, uuids) for number, uuids in turns.items())
    seen: set[str] = set()
    while agents := {agent for (agent,) in conn.execute(_SPAWNED, (session.id,))} - seen:
        seen |= agents
        gone += sum(_empty_agent(conn, session.id, agent) for agent in sorted(agents))
    return gone


def _empty(conn: sqlite3.Connection, session: int, number: int, uuids: Sequence[str]) -> int:
    """Empty one turn. uuids: its records on the main thread."""
    return _delete(conn, session, f"prompt_number = {int(number)}", (), uuids)


def _empty_agent(conn: sqlite3.Connection, session: int, agent: str) -> int:
    """Take out all that a sub-agent did."""
    conn.execute(
        "UPDATE session_agents SET description = NULL "
        "WHERE session_db_id = ? AND agent_id = ? AND description IS NOT NULL",
        (session, agent),
    )
    sql = (
        "SELECT r.uuid FROM ingest_files f JOIN session_records r ON r.file_id = f.id AND r.session_db_id = ? "
        "WHERE f.agent_id = ?"
    )
    return _delete(conn, session, "agent_id = ?", (agent,), [uuid for (uuid,) in conn.execute(sql, (session, agent))])


def _delete(
    conn: sqlite3.Connection, session: int, condition: str, values: tuple[object, ...], uuids: Sequence[str]
) -> int:
    """Delete a session's calls and answers that meet a condition or stand in these records, and the records'
    other rows. Returns how many calls, answers and events went."""
    conn.execute("CREATE TEMP TABLE IF NOT EXISTS private (uuid TEXT PRIMARY KEY) WITHOUT ROWID")
    conn.execute("DELETE FROM temp.private")
    conn.executemany("INSERT OR IGNORE INTO temp.private VALUES (?)", [(uuid,) for uuid in uuids])
    where = f"session_db_id = ? AND ({condition} OR record_uuid IN {_DOOMED})"
    given, gone = (session, *values), 0
    calls = conn.execute(f"SELECT identity FROM tool_uses WHERE {where}", given).fetchall()
    _note_records(conn, where, given)
    note_calls(conn, [identity for (identity,) in calls])
    # A side file has no foreign keys, nor triggers.
    texts = f"message_row_id IN (SELECT id FROM assistant_messages WHERE {where})"
    conn.execute(f"DELETE FROM assistant_texts WHERE {texts}", given)
    for table, code in (("tool_uses", 2), ("assistant_messages", 1)):
        conn.execute(f"DELETE FROM search_texts WHERE id IN (SELECT id * 8 + {code} FROM {table} WHERE {where})", given)
        gone += conn.execute(f"DELETE FROM {table} WHERE {where}", given).rowcount
    for table in ("turn_events", "unmatched_results"):
        sql = f"DELETE FROM {table} WHERE session_db_id = ? AND uuid IN {_DOOMED}"
        gone += conn.execute(sql, (session,)).rowcount
    return gone + _unanswer(conn, session)


def _unanswer(conn: sqlite3.Connection, session: int) -> int:
    """An answer that came in the turn, to a call of an earlier one."""
    sql = f"SELECT id, tool_response, input_hash FROM tool_uses WHERE session_db_id = ? AND result_uuid IN {_DOOMED}"
    found = conn.execute(sql, (session,)).fetchall()
    for row_id, response, input_hash in found:
        body = conn.execute("SELECT body FROM search_texts WHERE id = ? * 8 + 2", (row_id,)).fetchone()
        if body is not None:
            rest = body[0].removesuffix(result_tokens(response or ""))
            conn.execute("UPDATE search_texts SET body = ? WHERE id = ? * 8 + 2", (rest, row_id))
        conn.execute(
            "UPDATE tool_uses SET result_uuid = NULL, result_at_epoch = NULL, is_error = NULL, side_file = NULL, "
            "tool_response = NULL, content_hash = ? WHERE id = ?",
            (digest((input_hash or "").encode()), row_id),
        )
    return len(found)
