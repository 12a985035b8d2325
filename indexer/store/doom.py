"""What a forgetting would take: sessions and records by what a person says, and how much that is. Reads only.

A dry run counts what is shown, not what lies on disk: rows that go, their texts in bytes, and what stays
because a session that is not forgotten shows it too.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from indexer.errors import NotFound, UsageError
from indexer.store.items import CODES
from indexer.store.membership import in_chunks

OF_PROJECT = "SELECT content_session_id FROM sdk_sessions WHERE project_key IN ({})"
OLDER = "SELECT content_session_id FROM sdk_sessions WHERE last_at_epoch < :before ORDER BY last_at_epoch"
SESSION_ROWS = "SELECT id FROM sdk_sessions WHERE content_session_id IN ({})"
MEMBERS = """
SELECT r.uuid, o.session_db_id FROM session_records r
LEFT JOIN session_records o ON o.uuid = r.uuid AND o.session_db_id <> r.session_db_id
WHERE r.session_db_id = :session
"""
NAMES = "SELECT content_session_id FROM sdk_sessions WHERE id IN ({})"
PROMPTS = """
SELECT native_prompt_id AS uuid, prompt_kind AS kind, length(CAST(prompt_text AS BLOB)) AS size
FROM user_prompts WHERE session_db_id = :session
"""
CALLS = """
SELECT record_uuid AS uuid, 'tool_use' AS kind,
       coalesce(length(CAST(tool_input AS BLOB)), 0) + coalesce(length(CAST(tool_response AS BLOB)), 0) AS size
FROM tool_uses WHERE session_db_id = :session
"""
MESSAGES = """
SELECT m.record_uuid AS uuid, 'assistant' AS kind,
       (SELECT coalesce(sum(length(CAST(t.text AS BLOB))), 0) FROM assistant_texts t WHERE t.message_row_id = m.id)
FROM assistant_messages m WHERE m.session_db_id = :session
"""
_RECORDS = {
    0: "SELECT native_prompt_id, session_db_id, prompt_kind FROM user_prompts WHERE id = :id",
    1: "SELECT record_uuid, session_db_id, 'assistant' FROM assistant_messages WHERE id = :id",
    2: "SELECT record_uuid, session_db_id, 'tool_use' FROM tool_uses WHERE id = :id",
}
_MORE = {
    1: "SELECT uuid FROM assistant_texts WHERE message_row_id = :id",
    2: "SELECT result_uuid FROM tool_uses WHERE id = :id AND result_uuid IS NOT NULL",
}


class Doom(NamedTuple):
    """What would go. sessions: content session ids. records: uuids that go by themselves.

    prompts: commands and shell input too. size: bytes of text. stays: records that go from these sessions
    but are kept for others, which `kept_for` names.
    """

    sessions: tuple[str, ...]
    records: tuple[str, ...]
    prompts: int = 0
    tool_uses: int = 0
    messages: int = 0
    size: int = 0
    stays: int = 0
    kept_for: tuple[str, ...] = ()


def of_project(conn: sqlite3.Connection, keys: Sequence[str]) -> list[str]:
    """Sessions of these project keys, as they are stored now."""
    return sorted(name for (name,) in in_chunks(conn, OF_PROJECT, keys))


def before(conn: sqlite3.Connection, time: int) -> list[str]:
    """Sessions whose last record is older than `time` (epoch ms), the oldest first; undated ones are not."""
    return [name for (name,) in conn.execute(OLDER, {"before": time})]


def of_item(conn: sqlite3.Connection, name: str) -> list[str]:
    """Uuids of the records behind a result, as `prompt:12`: of a call its answer's too, of an answer all its
    lines'. Raises UsageError, NotFound."""
    kind, _, number = name.partition(":")
    if kind not in CODES or not number.isascii() or not number.isdigit() or len(number) > 18:
        raise UsageError(f"{name!r} is no id of a result", "ids look like prompt:12; for a session: --session ID")
    code = CODES[kind]
    if code not in _RECORDS:
        raise UsageError(f"{kind}s are not forgotten one by one", "forget the session that they were made from")
    uuid, _, found = conn.execute(_RECORDS[code], {"id": int(number)}).fetchone() or (None, None, None)
    if found != kind:
        raise NotFound(f"there is no {name}", "`search` and `show` print ids")
    more = conn.execute(_MORE[code], {"id": int(number)}).fetchall() if code in _MORE else []
    return list(dict.fromkeys([uuid, *(other for (other,) in more)]))


def weigh(conn: sqlite3.Connection, sessions: Sequence[str], records: Sequence[str] = ()) -> Doom:
    """How much goes with these sessions and records."""
    rows = [row_id for (row_id,) in in_chunks(conn, SESSION_ROWS, sessions)]
    leaving, dying, shared, others = set(rows), set(records), set[str](), set[int]()
    for session in rows:
        for uuid, other in map(tuple, conn.execute(MEMBERS, {"session": session})):
            dying.add(uuid)
            if other is not None and other not in leaving:
                shared.add(uuid)
                others.add(other)
    dying -= shared
    owners = rows if rows else _owners(conn, records)
    counts = {"prompt": 0, "tool_use": 0, "assistant": 0}
    total = 0
    for session in owners:
        for statement in (PROMPTS, CALLS, MESSAGES):
            for uuid, kind, size in map(tuple, conn.execute(statement, {"session": session})):
                if uuid in dying:
                    counts[kind if kind in counts else "prompt"] += 1
                    total += size
    names = sorted(name for (name,) in in_chunks(conn, NAMES, sorted(others)))
    return Doom(
        tuple(sessions), tuple(records), counts["prompt"], counts["tool_use"], counts["assistant"], total, len(shared),
        tuple(names),
    )  # fmt: skip


def _owners(conn: sqlite3.Connection, records: Sequence[str]) -> list[int]:
    sql = "SELECT DISTINCT session_db_id FROM session_records WHERE flags & 4 AND uuid IN ({})"
    return [owner for (owner,) in in_chunks(conn, sql, records)]
