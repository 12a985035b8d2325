"""Puts what an import brings and no transcript could say: memories made elsewhere, and where rows come from.

An imported memory is known by an identity that is the same in whatever export it comes: of one that a compressor
made, the turn and slot (or part, or record) that it tells of; of claude-mem's, its session, time and id there.
What is known is left as it is, so that importing again changes nothing. Where our own compressor has told of the
same turn already, its row becomes the imported one and keeps its id; from then on the turn is not compressed
here (memories.imported). Nothing here commits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from indexer.store.membership import IMPORTED, in_chunks
from indexer.store.memories import INDEX, OBSERVATION_CODE, SUMMARY_CODE, remove
from indexer.store.sessions import BORROWED
from indexer.store.twins import FOREIGN
from indexer.text import content_hash, search_tokens

DEVICE = "SELECT id FROM device LIMIT 1"
HAS_TABLES = "SELECT 1 FROM sqlite_master WHERE name = 'imported_memories'"
COUNTS = """
SELECT origin_device_id AS device, sum(records) AS records, sum(memories) AS memories FROM (
  SELECT origin_device_id, count(*) AS records, 0 AS memories FROM imported_records GROUP BY 1
  UNION ALL SELECT origin_device_id, 0, count(*) FROM imported_memories GROUP BY 1) GROUP BY 1 ORDER BY 1
"""
_OF_RECORD = """
SELECT i.origin_device_id AS device, i.origin_local_id AS local FROM {} b JOIN imported_records i ON i.uuid = b.{}
WHERE b.id = :id
"""
OF_PROMPT = _OF_RECORD.format("user_prompts", "native_prompt_id")
OF_ANSWER = _OF_RECORD.format("assistant_messages", "record_uuid")
OF_CALL = _OF_RECORD.format("tool_uses", "record_uuid")
_OF = {
    "prompt": OF_PROMPT, "command": OF_PROMPT, "shell": OF_PROMPT, "assistant": OF_ANSWER, "tool_use": OF_CALL,
}  # fmt: skip
OF_MEMORY = """
SELECT origin_device_id AS device, origin_local_id AS local FROM imported_memories WHERE kind = :kind AND row_id = :id
"""
_HELD = """
SELECT r.uuid, s.content_session_id FROM session_records r JOIN sdk_sessions s ON s.id = r.session_db_id
WHERE r.uuid IN ({})
"""
_OBSERVATION = (
    "type", "title", "subtitle", "narrative", "text", "facts", "concepts", "files_read", "files_modified",
    "prompt_number", "discovery_tokens", "generated_by_model", "agent_type", "agent_id", "metadata",
    "occurrence_count", "reinforcement_dates", "last_reinforced", "created_at_epoch",
)  # fmt: skip
_SUMMARY = (
    "request", "investigated", "learned", "completed", "next_steps", "notes", "files_read", "files_edited",
    "prompt_number", "discovery_tokens", "created_at_epoch",
)  # fmt: skip
_WORK = ("list_name", "fields", "created_at_epoch")
_TABLES = {"observation": "observations", "summary": "session_summaries", "work": "work_state_entries"}
_OWN = {
    "observation": "SELECT observation_id FROM observation_origins WHERE turn_id = ? AND slot = ?",
    "summary": "SELECT summary_id FROM summary_origins WHERE session_db_id = ? AND part = ?",
    "work": "SELECT entry_id FROM work_state_origins WHERE identity = ?",
}
_ORIGINS = {
    "observation": ("observation_origins", "observation_id"),
    "summary": ("summary_origins", "summary_id"),
}


class Origin(NamedTuple):
    """Where something comes from. device: that of the memory, or `claude-mem`. local: the name of the row there."""

    device: str
    local: str


class Session(NamedTuple):
    """A session that memories are put into."""

    id: int
    memory_session_id: str
    project: str
    project_key: str


class Told(NamedTuple):
    """A memory to put. kind: observation, summary or work. values: its columns, those not named are NULL.

    turn: the turn, part or record it tells of; slot: of an observation. calls: identities of its tool uses.
    own: it was made by this very memory and has come back."""

    kind: str
    identity: str
    turn: str | None
    slot: str | None
    values: Mapping[str, Any]
    calls: Sequence[str]
    origin: Origin
    own: bool = False


def device(conn: sqlite3.Connection) -> str:
    """The name of this memory in what it exports; "" in a database of an older version."""
    if conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'device'").fetchone() is None:
        return ""
    row = conn.execute(DEVICE).fetchone()
    return str(row[0]) if row else ""


def session(conn: sqlite3.Connection, platform: str, content_session_id: str) -> Session | None:
    """A stored session; None if there is none, as when it is of an excluded project."""
    sql = (
        "SELECT id, memory_session_id, project, project_key FROM sdk_sessions "
        "WHERE platform_source = ? AND content_session_id = ?"
    )
    row = conn.execute(sql, (platform, content_session_id)).fetchone()
    return Session(*row) if row else None


def held(conn: sqlite3.Connection, uuids: Sequence[str]) -> set[tuple[str, str]]:
    """Which of these records are stored, each with the sessions (content ids) that show it."""
    return {(uuid, name) for uuid, name in in_chunks(conn, _HELD, uuids)}


def prompts(conn: sqlite3.Connection, uuids: Sequence[str]) -> set[str]:
    """Those of these records that are prompts."""
    sql = "SELECT native_prompt_id FROM user_prompts WHERE native_prompt_id IN ({})"
    return {uuid for (uuid,) in in_chunks(conn, sql, uuids)}


def messages(conn: sqlite3.Connection, ids: Sequence[str]) -> set[str]:
    """Those of these messages that are stored."""
    sql = "SELECT message_id FROM assistant_messages WHERE message_id IN ({})"
    return {message for (message,) in in_chunks(conn, sql, ids)}


def answers(conn: sqlite3.Connection, identities: Sequence[str]) -> dict[str, bool]:
    """The calls that are stored, and whether each is answered."""
    sql = "SELECT identity, result_uuid IS NOT NULL FROM tool_uses WHERE identity IN ({})"
    return {identity: bool(answered) for identity, answered in in_chunks(conn, sql, identities)}


def note_records(conn: sqlite3.Connection, origins: Mapping[str, Origin]) -> int:
    """Note where the records of an import come from, by uuid; those that a transcript of ours holds come from
    there. Returns how many are new."""
    sql = f"SELECT uuid, session_db_id FROM session_records WHERE flags & {IMPORTED} AND flags & 4 AND uuid IN ({{}})"
    rows = [(uuid, owner, *origins[uuid]) for uuid, owner in in_chunks(conn, sql, list(origins))]
    return conn.executemany("INSERT OR IGNORE INTO imported_records VALUES (?, ?, ?, ?)", rows).rowcount


class Body(NamedTuple):
    """Of a call whose input or answer had been cut, how it stood: the hashes are of the whole. None: as it is."""

    identity: str
    input: str | None
    response: str | None
    input_hash: str | None
    content_hash: str | None


def set_bodies(conn: sqlite3.Connection, bodies: Iterable[Body]) -> None:
    """Have calls stand as they stood where they come from. Only rows that an import owns."""
    conn.executemany(
        "UPDATE tool_uses SET tool_input = coalesce(?2, tool_input), tool_response = coalesce(?3, tool_response), "
        "input_hash = coalesce(?4, input_hash), content_hash = coalesce(?5, content_hash) "
        "WHERE identity = ?1 AND record_uuid IN (SELECT uuid FROM imported_records)",
        list(bodies),
    )


def is_borrowed(conn: sqlite3.Connection, platform: str, content_session_id: str) -> bool:
    """Whether a session is new, or known from imports alone."""
    found = session(conn, platform, content_session_id)
    return found is None or bool(conn.execute(BORROWED, (found.id,)).fetchone()[0])


def called_in(conn: sqlite3.Connection, platform: str, content_session_id: str) -> set[str]:
    """Tool ids of the calls that a session owns and that did not come from claude-mem."""
    sql = (
        "SELECT t.tool_use_id FROM sdk_sessions s JOIN tool_uses t ON t.session_db_id = s.id "
        f"WHERE s.platform_source = ? AND s.content_session_id = ? AND t.record_uuid NOT GLOB '{FOREIGN}*'"
    )
    return {call for (call,) in conn.execute(sql, (platform, content_session_id))}


def typed_in(conn: sqlite3.Connection, platform: str, content_session_id: str) -> list[str]:
    """What a session shows as typed that did not come from claude-mem."""
    sql = (
        "SELECT p.prompt_text FROM sdk_sessions s JOIN session_records r ON r.session_db_id = s.id "
        "JOIN user_prompts p ON p.native_prompt_id = r.uuid "
        f"WHERE s.platform_source = ? AND s.content_session_id = ? AND r.uuid NOT GLOB '{FOREIGN}*'"
    )
    return [text for (text,) in conn.execute(sql, (platform, content_session_id))]


# -- memories ------------------------------------------------------------------------------------------


def put(conn: sqlite3.Connection, home: Session, told: Told) -> bool:
    """Store a memory; says whether anything was written."""
    known = "SELECT 1 FROM imported_memories WHERE identity = ?"
    if conn.execute(known, (told.identity,)).fetchone():
        return False
    if told.own and _has_own(conn, home, told):
        return False
    row_id = _own(conn, home, told)
    if told.kind == "observation":
        row_id = _put_observation(conn, home, told, row_id)
    elif told.kind == "summary":
        row_id = _put_summary(conn, home, told, row_id)
    else:
        row_id = _write(conn, told, row_id, {"project": home.project, "project_key": home.project_key}, _WORK)
    if row_id is None:
        return False
    _adopt(conn, told.kind, row_id)
    values = (told.identity, told.kind, row_id, home.id, told.turn, *told.origin)
    conn.execute("INSERT OR REPLACE INTO imported_memories VALUES (?, ?, ?, ?, ?, ?, ?)", values)
    return True


def _has_own(conn: sqlite3.Connection, home: Session, told: Told) -> bool:
    """Whether this memory tells of the turn still, in whatever words: then what it once said is not news."""
    if told.kind == "observation":
        sql = "SELECT 1 FROM observation_origins WHERE turn_id = ?"
        return bool(conn.execute(sql, (told.turn,)).fetchone())
    return _own(conn, home, told) is not None


def _own(conn: sqlite3.Connection, home: Session, told: Told) -> int | None:
    """The row in which our own compressor tells of the same."""
    if told.turn is None:
        return None
    key: tuple[object, ...] = (told.turn, told.slot) if told.kind == "observation" else (told.turn,)
    if told.kind == "summary":
        key = (home.id, int(told.turn) if told.turn.isdecimal() else -1)
    row = conn.execute(_OWN[told.kind], key).fetchone()
    return int(row[0]) if row else None


def _adopt(conn: sqlite3.Connection, kind: str, row_id: int) -> None:
    """The row is an imported one from now on."""
    if kind == "work":
        # The trigger takes the entry along with its origin: put it back.
        entry = conn.execute(
            "SELECT id, project, project_key, list_name, fields, created_at_epoch FROM work_state_entries WHERE id = ?",
            (row_id,),
        ).fetchone()
        conn.execute("DELETE FROM work_state_origins WHERE entry_id = ?", (row_id,))
        conn.execute(
            "INSERT OR IGNORE INTO work_state_entries (id, project, project_key, list_name, fields, "
            "created_at_epoch) VALUES (?, ?, ?, ?, ?, ?)",
            tuple(entry),
        )
        return
    table, column = _ORIGINS[kind]
    conn.execute(f"DELETE FROM {table} WHERE {column} = ?", (row_id,))


def _put_observation(conn: sqlite3.Connection, home: Session, told: Told, row_id: int | None) -> int | None:
    """None when the session says the very same already, in a row that is imported too."""
    values = told.values
    title, said = values.get("title") or "", values.get("narrative") or values.get("text") or ""
    digest = content_hash(home.memory_session_id, title, said)
    sql = "SELECT id FROM observations WHERE memory_session_id = ? AND content_hash = ?"
    same = conn.execute(sql, (home.memory_session_id, digest)).fetchone()
    if same is not None and same[0] != row_id:
        mine = conn.execute("SELECT 1 FROM observation_origins WHERE observation_id = ?", same).fetchone()
        if row_id is not None or mine is None:
            return None
        row_id = int(same[0])
    about = {
        "memory_session_id": home.memory_session_id, "project": home.project, "project_key": home.project_key,
        "content_hash": digest, "title_norm_key": None,
    }  # fmt: skip
    row_id = _write(conn, told, row_id, about, _OBSERVATION)
    _link(conn, row_id, told.calls)
    body = [
        values.get(name)
        for name in ("subtitle", "narrative", "text", "facts", "concepts", "files_read", "files_modified")
    ]
    _index(conn, home, row_id * 8 + OBSERVATION_CODE, told, title, body)
    return row_id


def _put_summary(conn: sqlite3.Connection, home: Session, told: Told, row_id: int | None) -> int:
    about = {
        "memory_session_id": home.memory_session_id,
        "project": home.project,
        "project_key": home.project_key,
    }
    row_id = _write(conn, told, row_id, about, _SUMMARY)
    body = [told.values.get(name) for name in (*_SUMMARY[1:6], "files_edited")]
    _index(conn, home, row_id * 8 + SUMMARY_CODE, told, told.values.get("request") or "", body)
    return row_id


def _write(
    conn: sqlite3.Connection, told: Told, row_id: int | None, about: Mapping[str, Any], names: Sequence[str]
) -> int:
    """Insert the row, or have it say this instead."""
    found = dict(about) | {name: told.values[name] for name in names if told.values.get(name) is not None}
    table = _TABLES[told.kind]
    if row_id is None:
        marks = ", ".join("?" * len(found))
        sql = f"INSERT INTO {table} ({', '.join(found)}) VALUES ({marks})"
        return conn.execute(sql, tuple(found.values())).lastrowid or 0
    given = dict.fromkeys(name for name in names if name not in _COUNTED) | found
    sql = f"UPDATE {table} SET {', '.join(f'{name} = ?' for name in given)} WHERE id = ?"
    conn.execute(sql, (*given.values(), row_id))
    return row_id


_COUNTED = ("discovery_tokens", "occurrence_count", "type", "list_name", "fields")
"""Columns that are never NULL."""


def _index(
    conn: sqlite3.Connection, home: Session, text_id: int, told: Told, title: str, body: Iterable[object]
) -> None:
    kind = "observation" if told.kind == "observation" else "summary"
    text = "\n".join(str(part) for part in body if part not in (None, "", "[]"))
    uuid = conn.execute(
        "SELECT native_prompt_id FROM user_prompts WHERE native_prompt_id = ?", (told.turn or "",)
    ).fetchone()
    conn.execute(
        INDEX,
        (
            text_id, kind, uuid[0] if uuid and kind == "observation" else None, home.id, home.project_key,
            told.values.get("created_at_epoch"), told.values.get("type"), search_tokens(title), search_tokens(text),
        ),
    )  # fmt: skip


def _link(conn: sqlite3.Connection, row_id: int, calls: Sequence[str]) -> None:
    conn.execute("DELETE FROM observation_tool_uses WHERE observation_id = ?", (row_id,))
    for (call,) in in_chunks(conn, "SELECT id FROM tool_uses WHERE identity IN ({})", list(calls)):
        conn.execute("INSERT OR IGNORE INTO observation_tool_uses VALUES (?, ?)", (row_id, call))
        sql = "UPDATE tool_uses SET observation_id = ? WHERE id = ? AND observation_id IS NULL"
        conn.execute(sql, (row_id, call))


# -- going again ---------------------------------------------------------------------------------------


def drop_told(conn: sqlite3.Connection, session_id: int, *, whole: bool) -> list[str]:
    """Take away imported memories of a session that loses records: those that tell of its turns, of which every
    sentence may repeat what goes; whole: all of them. Returns their identities."""
    turned = "" if whole else " AND turn_id IS NOT NULL"
    sql = f"SELECT identity, kind, row_id FROM imported_memories WHERE session_db_id = ?{turned}"
    rows = conn.execute(sql, (session_id,)).fetchall()
    for _, kind, row_id in rows:
        if kind == "work":
            conn.execute("DELETE FROM work_state_entries WHERE id = ?", (row_id,))
        else:
            remove(conn, _TABLES[kind], row_id)
    conn.executemany("DELETE FROM imported_memories WHERE identity = ?", [(identity,) for identity, _, _ in rows])
    return [identity for identity, _, _ in rows]


def counts(conn: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """(device, records, memories) of every source that was imported from."""
    if conn.execute(HAS_TABLES).fetchone() is None:
        return []
    return [(row[0], row[1], row[2]) for row in conn.execute(COUNTS)]


def origin(conn: sqlite3.Connection, name: str) -> Origin | None:
    """Where a row (as `prompt:12`) comes from, if it was imported and no transcript of ours holds it."""
    kind, _, number = name.rpartition(":")
    if not number or conn.execute(HAS_TABLES).fetchone() is None:
        return None
    row = conn.execute(_OF.get(kind, OF_MEMORY), {"kind": kind, "id": int(number)}).fetchone()
    return Origin(row[0], row[1]) if row else None
