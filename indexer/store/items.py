"""One remembered thing in whole, with what is around it; and the records a session shows, in order.

Both go through `session_records`: a fork shows rows that its origin owns, and a row stands on the line
of the file that its owner was read from.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexer.store.browse import Session, session
from indexer.store.connection import Connection
from indexer.store.membership import OWNER, SIDECHAIN

CODES = {"prompt": 0, "command": 0, "shell": 0, "assistant": 1, "tool_use": 2, "observation": 3, "summary": 4}
"""Kind -> code of its table: search_texts.id = row id * 8 + code (schema.sql)."""

PROMPT = """
SELECT p.prompt_kind AS kind, p.session_db_id, p.native_prompt_id AS uuid, p.created_at_epoch AS time,
       p.prompt_number, p.prompt_text AS text, p.is_private AS private, p.is_queued AS queued
FROM user_prompts p WHERE p.id = :id
"""
ASSISTANT = """
SELECT 'assistant' AS kind, m.session_db_id, m.record_uuid AS uuid, m.created_at_epoch AS time,
       m.prompt_number, coalesce((SELECT group_concat(text, char(10, 10)) FROM
         (SELECT text FROM assistant_texts WHERE message_row_id = m.id ORDER BY position, uuid)), '') AS text,
       m.model, m.agent_id, m.input_tokens, m.output_tokens, m.cache_creation_tokens, m.cache_read_tokens
FROM assistant_messages m WHERE m.id = :id
"""
TOOL_USE = """
SELECT 'tool_use' AS kind, t.session_db_id, t.record_uuid AS uuid, t.created_at_epoch AS time,
       t.prompt_number, t.tool_name AS name, t.tool_use_id, t.file_path, t.tool_input AS input,
       t.tool_response AS response,
       t.result_uuid IS NOT NULL AS answered, t.is_error, t.result_at_epoch AS result_time,
       t.agent_id, t.agent_type, t.side_file
FROM tool_uses t WHERE t.id = :id
"""
OBSERVATION = """
SELECT 'observation' AS kind, s.id AS session_db_id, NULL AS uuid, o.created_at_epoch AS time,
       o.prompt_number, o.type, o.title, o.subtitle, o.narrative, o.text, o.facts, o.concepts, o.files_read,
       o.files_modified,
       o.generated_by_model AS model, o.occurrence_count AS occurrences, o.reinforcement_dates, o.merged_into_project,
       (SELECT json_group_array('tool_use:' || l.tool_use_row) FROM observation_tool_uses l
        WHERE l.observation_id = o.id) AS tool_uses
FROM observations o JOIN sdk_sessions s ON s.memory_session_id = o.memory_session_id WHERE o.id = :id
"""
SUMMARY = """
SELECT 'summary' AS kind, s.id AS session_db_id, NULL AS uuid, y.created_at_epoch AS time, y.prompt_number,
       y.request, y.investigated, y.learned, y.completed, y.next_steps, y.notes, y.files_read, y.files_edited
FROM session_summaries y JOIN sdk_sessions s ON s.memory_session_id = y.memory_session_id WHERE y.id = :id
"""
_ITEMS = (PROMPT, ASSISTANT, TOOL_USE, OBSERVATION, SUMMARY)

SOURCE = """
SELECT f.path, r.position FROM session_records r JOIN ingest_files f ON f.id = r.file_id
WHERE r.uuid = :uuid AND r.session_db_id = :session
"""
TURN_PROMPT = """
SELECT id, prompt_text AS text FROM user_prompts
WHERE session_db_id = :session AND prompt_number = :number AND prompt_kind = 'prompt'
"""
SHOWING = """
SELECT x.id, x.session_db_id AS owner, r.session_db_id AS member
FROM json_each(:ids) i CROSS JOIN search_texts x ON x.id = i.value
LEFT JOIN session_records r ON r.uuid = x.uuid
ORDER BY x.id, r.session_db_id
"""

_PLACE = f"f.first_epoch, f.path, m.position, m.flags & {SIDECHAIN} AS sidechain"
_OWNERS = f"""
(SELECT DISTINCT o.session_db_id AS owner
   FROM session_records r JOIN session_records o ON o.uuid = r.uuid AND o.flags & {OWNER}
  WHERE r.session_db_id = :session)"""
SESSION_PROMPTS = f"""
SELECT {_PLACE}, p.prompt_kind AS kind, p.id, p.created_at_epoch AS time, p.prompt_text AS text
FROM session_records m JOIN user_prompts p ON p.native_prompt_id = m.uuid
JOIN ingest_files f ON f.id = m.file_id
WHERE m.session_db_id = :session
"""
SESSION_TEXTS = f"""
SELECT {_PLACE}, 'assistant' AS kind, x.message_row_id AS id, x.created_at_epoch AS time, x.text
FROM session_records m JOIN assistant_texts x ON x.uuid = m.uuid JOIN ingest_files f ON f.id = m.file_id
WHERE m.session_db_id = :session
"""
SESSION_TOOL_USES = f"""
SELECT {_PLACE}, 'tool_use' AS kind, t.id, t.created_at_epoch AS time,
       t.tool_name || ' ' || coalesce(t.file_path, substr(t.tool_input, 1, 400), '') AS text
FROM {_OWNERS} w JOIN tool_uses t ON t.session_db_id = w.owner
JOIN session_records m ON m.uuid = t.record_uuid AND m.session_db_id = :session
JOIN ingest_files f ON f.id = m.file_id
"""
SESSION_EVENTS = f"""
SELECT {_PLACE}, 'event' AS kind, e.ordinal AS id, e.created_at_epoch AS time, e.kind || ' ' || e.data AS text
FROM session_records m JOIN turn_events e ON e.uuid = m.uuid JOIN ingest_files f ON f.id = m.file_id
WHERE m.session_db_id = :session
"""
SESSION_OBSERVATIONS = """
SELECT 'observation' AS kind, o.id, o.created_at_epoch AS time, coalesce(o.title, o.text, '') AS text
FROM sdk_sessions s JOIN observations o ON o.memory_session_id = s.memory_session_id WHERE s.id = :session
"""
SESSION_SUMMARIES = """
SELECT 'summary' AS kind, y.id, y.created_at_epoch AS time, coalesce(y.request, y.completed, '') AS text
FROM sdk_sessions s JOIN session_summaries y ON y.memory_session_id = s.memory_session_id
WHERE s.id = :session
"""
TURN_START = """
SELECT r.file_id AS file, r.position AS start FROM user_prompts p
JOIN session_records r ON r.uuid = p.native_prompt_id AND r.session_db_id = p.session_db_id
WHERE p.id = :id
"""
TURN_END = f"""
SELECT m.position FROM session_records m CROSS JOIN user_prompts p ON p.native_prompt_id = m.uuid
WHERE m.session_db_id = :session AND m.file_id = :file AND m.position > :start AND NOT m.flags & {SIDECHAIN}
ORDER BY m.position LIMIT 1
"""
_WITHIN = f"""
m.session_db_id = :session AND m.file_id = :file AND m.position > :start AND m.position < :end
AND NOT m.flags & {SIDECHAIN}"""
TURN_TEXTS = f"""
SELECT m.position, 'assistant' AS kind, x.message_row_id AS id, x.created_at_epoch AS time, x.text,
       NULL AS tool, NULL AS file, 0 AS is_error, 1 AS answered
FROM session_records m CROSS JOIN assistant_texts x ON x.uuid = m.uuid WHERE {_WITHIN} AND x.text <> ''
"""
TURN_TOOL_USES = f"""
SELECT m.position, 'tool_use' AS kind, t.id, t.created_at_epoch AS time, substr(t.tool_input, 1, 400) AS text,
       t.tool_name AS tool, t.file_path AS file, t.is_error, t.result_uuid IS NOT NULL AS answered
FROM {_OWNERS} w JOIN tool_uses t ON t.session_db_id = w.owner
JOIN session_records m ON m.uuid = t.record_uuid AND {_WITHIN}
"""
TURN_AGENTS = """
SELECT (SELECT count(*) FROM assistant_messages WHERE session_db_id = :session AND prompt_number = :number
           AND agent_id IS NOT NULL) AS answers,
       (SELECT count(*) FROM tool_uses WHERE session_db_id = :session AND prompt_number = :number
           AND agent_id IS NOT NULL) AS tool_uses
"""
_LAST_LINE = 1 << 62
_RECORDS = (SESSION_PROMPTS, SESSION_TEXTS, SESSION_TOOL_USES, SESSION_EVENTS)
_MEMORIES = (SESSION_OBSERVATIONS, SESSION_SUMMARIES)


class Place(NamedTuple):
    """Where a record was read. line: 1-based; None when the file no longer holds it."""

    file: str
    line: int | None


class Turn(NamedTuple):
    """The prompt that opened the turn. id: as `prompt:12`. number: its place among the session's prompts."""

    id: str
    number: int
    text: str


class Item(NamedTuple):
    """One row in whole. time: epoch milliseconds, None if undated. content: the kind's own columns."""

    kind: str
    id: str
    session: Session
    time: int | None
    place: Place | None
    turn: Turn | None
    content: dict[str, object]


class Step(NamedTuple):
    """One record in a session's course. id: "" for an event, which has none. text: whole for prompts and
    answers, the gist for tool uses and events. sidechain: written by a sub-agent."""

    kind: str
    id: str
    time: int | None
    text: str
    place: Place | None
    sidechain: bool


class Act(NamedTuple):
    """An answer, or a tool call, of a turn. text: the answer whole; of a call the start of its input.

    tool: name of the tool, None for an answer. file: the one the call is about, if it names one.
    """

    kind: str
    id: str
    time: int | None
    text: str
    tool: str | None
    file: str | None
    is_error: bool
    answered: bool


class Reaction(NamedTuple):
    """What a prompt set going on the main thread, in record order; and how much its sub-agents did."""

    acts: tuple[Act, ...]
    agent_answers: int
    agent_tool_uses: int


def item(conn: Connection, kind: str, row_id: int) -> Item | None:
    """The row `kind:row_id`; None when there is none, or when it is of another kind."""
    row = conn.execute(_ITEMS[CODES[kind]], {"id": row_id}).fetchone()
    owner = session(conn, row["session_db_id"]) if row and row["kind"] == kind else None
    if owner is None:
        return None
    content = dict(row)
    del content["kind"], content["session_db_id"]
    time, uuid, number = content.pop("time"), content.pop("uuid"), content.pop("prompt_number")
    place = _place_of(conn, uuid, owner.row_id)
    turn = _turn(conn, owner.row_id, number) if number else None
    return Item(kind, f"{kind}:{row_id}", owner, time, place, turn, content)


def reaction(conn: Connection, found: Item) -> Reaction | None:
    """What follows a prompt, command or shell input in its file, up to what was typed next; None for
    other kinds. Commands and shell input carry the number of the prompt before them, whose sub-agents
    are not theirs."""
    if CODES[found.kind] != CODES["prompt"]:
        return None
    start = conn.execute(TURN_START, {"id": int(found.id.rpartition(":")[2])}).fetchone()
    acts = _acts(conn, {**dict(start), "session": found.session.row_id}) if start else ()
    if found.kind != "prompt" or found.turn is None:
        return Reaction(acts, 0, 0)
    values = {"session": found.session.row_id, "number": found.turn.number}
    return Reaction(acts, *conn.execute(TURN_AGENTS, values).fetchone())


def _acts(conn: Connection, values: dict[str, int]) -> tuple[Act, ...]:
    end = conn.execute(TURN_END, values).fetchone()
    values = values | {"end": end["position"] if end else _LAST_LINE}
    rows = [row for statement in (TURN_TEXTS, TURN_TOOL_USES) for row in conn.execute(statement, values)]
    rows.sort(key=lambda row: (row["position"], row["kind"], row["id"]))
    return tuple(map(_act, rows))


def _act(row: sqlite3.Row) -> Act:
    _, kind, row_id, time, text, tool, file, is_error, answered = row
    return Act(kind, f"{kind}:{row_id}", time, text or "", tool, file, bool(is_error), bool(answered))


def showing(conn: Connection, ids: Sequence[int]) -> dict[int, list[int]]:
    """By id of search_texts: row ids of the sessions that show the row, its owner first, then those that
    hold a copy."""
    found: dict[int, dict[int, None]] = {}
    for row in conn.execute(SHOWING, {"ids": json.dumps(list(ids))}):
        sessions = found.setdefault(row["id"], {row["owner"]: None})
        if row["member"] is not None:
            sessions[row["member"]] = None
    return {row_id: list(sessions) for row_id, sessions in found.items()}


def course(conn: Connection, session_row_id: int) -> list[Step]:
    """All that a session shows, in record order: by file (the oldest first), then by line. What was
    made from it (observations, summaries) stands at the end, by time."""
    values = {"session": session_row_id}
    records = [row for statement in _RECORDS for row in conn.execute(statement, values)]
    records.sort(key=lambda row: (*_undated_last(row["first_epoch"]), row["position"], row["path"]))
    made = [row for statement in _MEMORIES for row in conn.execute(statement, values)]
    made.sort(key=lambda row: (*_undated_last(row["time"]), row["kind"], row["id"]))
    return [*_steps(records), *(_step(row, None, False) for row in made)]


def _steps(rows: list[sqlite3.Row]) -> Iterator[Step]:
    for row in rows:
        yield _step(row, _place(row["path"], row["position"]), bool(row["sidechain"]))


def _step(row: sqlite3.Row, place: Place | None, sidechain: bool) -> Step:
    name = "" if row["kind"] == "event" else f"{row['kind']}:{row['id']}"
    return Step(row["kind"], name, row["time"], row["text"], place, sidechain)


def _undated_last(time: int | None) -> tuple[bool, int]:
    return time is None, time or 0


def _place_of(conn: Connection, uuid: str | None, session_row_id: int) -> Place | None:
    row = conn.execute(SOURCE, {"uuid": uuid, "session": session_row_id}).fetchone() if uuid else None
    return _place(row["path"], row["position"]) if row else None


def _place(path: str, position: int) -> Place:
    """A position below 0 is that of a record which is gone from a file that started over."""
    return Place(path, position if position > 0 else None)


def _turn(conn: Connection, session_row_id: int, number: int) -> Turn | None:
    """The prompt of this number. In a fork it may be a row of the origin's: then it is the n-th that the
    session shows."""
    row = conn.execute(TURN_PROMPT, {"session": session_row_id, "number": number}).fetchone()
    if row is None:
        shown = conn.execute(SESSION_PROMPTS, {"session": session_row_id}).fetchall()
        shown.sort(key=lambda row: (*_undated_last(row["first_epoch"]), row["position"], row["path"]))
        prompts = [row for row in shown if row["kind"] == "prompt" and not row["sidechain"]]
        row = prompts[number - 1] if number <= len(prompts) else None
    return Turn(f"prompt:{row['id']}", number, row["text"]) if row else None
