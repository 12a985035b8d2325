"""What was remembered, for people: observations, summaries of a session, open work items, counts.

Statements are constants, answered in the order of an index; several project keys are merged branches.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any, NamedTuple

from indexer.store.connection import Connection
from indexer.store.reads import merge_newest, unique

_COLUMNS = """
o.id, o.type, o.title, o.subtitle, o.narrative, o.facts, o.concepts, o.files_read, o.files_modified, o.prompt_number,
o.discovery_tokens, o.occurrence_count, o.agent_id, o.agent_type, o.metadata, o.reinforcement_dates,
o.project, o.project_key,
o.generated_by_model, o.created_at_epoch AS time, g.turn_id, g.canonical_id,
(SELECT s.content_session_id FROM sdk_sessions s WHERE s.memory_session_id = o.memory_session_id) AS session"""
_SHOWN = """
(:type IS NULL OR o.type = :type)
AND NOT EXISTS (SELECT 1 FROM observations c WHERE c.id = g.canonical_id AND c.narrative IS o.narrative)"""
NEWEST_OF_PROJECT = f"""
SELECT {_COLUMNS} FROM observations o LEFT JOIN observation_origins g ON g.observation_id = o.id
WHERE o.project_key = :key AND {_SHOWN} ORDER BY o.created_at_epoch DESC, o.id LIMIT :limit
"""
NEWEST_MERGED = f"""
SELECT {_COLUMNS} FROM observations o LEFT JOIN observation_origins g ON g.observation_id = o.id
WHERE o.merged_into_project = :key AND {_SHOWN} ORDER BY o.created_at_epoch DESC, o.id LIMIT :limit
"""
PROJECT_KEYS = "SELECT project_key FROM projects"
OF_SESSION = """
SELECT y.id, coalesce(g.part, 0) AS part, y.request, y.investigated, y.learned, y.completed, y.next_steps, y.notes,
       y.files_read, y.files_edited, y.prompt_number, y.discovery_tokens, y.created_at_epoch AS time
FROM sdk_sessions s JOIN session_summaries y ON y.memory_session_id = s.memory_session_id
LEFT JOIN summary_origins g ON g.summary_id = y.id WHERE s.id = :session
"""
LAST_SUMMARY = """
SELECT y.id, 0 AS part, y.request, y.investigated, y.learned, y.completed, y.next_steps, y.notes, y.files_read,
       y.files_edited, y.prompt_number, y.discovery_tokens, y.created_at_epoch AS time
FROM session_summaries y WHERE y.project_key = :key ORDER BY y.created_at_epoch DESC, y.id LIMIT 1
"""
WORK_OF_PROJECT = """
SELECT e.id, e.list_name, e.fields, e.created_at_epoch AS time, e.project, e.project_key
FROM work_state_entries e WHERE e.project_key = :key
"""
MADE = """
SELECT (SELECT count(*) FROM observations) AS observations,
       (SELECT count(*) FROM session_summaries) AS summaries,
       (SELECT count(*) FROM compress_marks WHERE revision <> done) AS pending_sessions,
       (SELECT count(*) FROM compress_marks WHERE error IS NOT NULL) AS failed_sessions,
       (SELECT coalesce(sum(max(1, (
          SELECT count(*) FROM user_prompts p WHERE p.session_db_id = c.session_db_id AND p.prompt_kind = 'prompt'
            AND p.prompt_number > coalesce((
              SELECT q.prompt_number FROM user_prompts q WHERE q.native_prompt_id = c.last_turn), 0)))), 0)
        FROM compress_marks c WHERE c.revision <> c.done) AS pending_turns
"""
FAILED = """
SELECT s.content_session_id AS session, m.error FROM compress_marks m JOIN sdk_sessions s ON s.id = m.session_db_id
WHERE m.error IS NOT NULL ORDER BY s.content_session_id LIMIT :limit
"""
OPEN = ("", "pending", "in_progress")
"""Of these, an item is still to be done; one that says nothing is."""
PROJECT_NAME = "SELECT display FROM projects WHERE project_key = :key"
LINKED = """
SELECT tool_use_row FROM observation_tool_uses WHERE observation_id = :id
UNION SELECT id FROM tool_uses WHERE observation_id = :id ORDER BY 1 LIMIT :limit
"""


class Observation(NamedTuple):
    """One observation. time: epoch milliseconds, None if undated. days: UTC days on which it was said again.

    outside: its content came from the web or an MCP server alone. canonical: the earlier observation that
    it repeats, None if there is none.
    """

    id: int
    type: str
    title: str
    subtitle: str
    narrative: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files_read: tuple[str, ...]
    files_modified: tuple[str, ...]
    prompt_number: int | None
    tokens: int
    occurrences: int
    agent_id: str | None
    agent_type: str | None
    outside: bool
    days: tuple[str, ...]
    project: str
    project_key: str
    model: str | None
    time: int | None
    turn: str | None
    canonical: int | None
    session: str


class Summary(NamedTuple):
    """One part of a session, from one compaction to the next."""

    id: int
    part: int
    request: str
    investigated: str
    learned: str
    completed: str
    next_steps: str
    notes: str
    files_read: tuple[str, ...]
    files_edited: tuple[str, ...]
    prompt_number: int | None
    tokens: int
    time: int | None


class Item(NamedTuple):
    """An item of a session's to-do list, as it stands. fields: all that its last entry says. status: "" where that
    says none. time: epoch milliseconds or None."""

    project: str
    project_key: str
    session: str
    key: str
    subject: str
    status: str
    time: int | None
    fields: dict[str, object]


class Counts(NamedTuple):
    """How much was remembered, and what is still to be. Rules compress a session as a whole: pending_turns are
    those of such sessions behind the last that was compressed."""

    observations: int
    summaries: int
    pending_sessions: int
    failed_sessions: int
    pending_turns: int


def counts(conn: Connection) -> Counts:
    """From indexes alone."""
    return Counts(*conn.execute(MADE).fetchone())


def project_keys(conn: Connection) -> list[str]:
    """The keys of all projects."""
    return [row[0] for row in conn.execute(PROJECT_KEYS)]


def failed(conn: Connection, limit: int) -> list[tuple[str, str]]:
    """Sessions that could not be compressed, and the kind of error."""
    return [tuple(row) for row in conn.execute(FAILED, {"limit": limit})]


def observations(
    conn: Connection, keys: Sequence[str] | None, limit: int, kind: str | None = None
) -> list[Observation]:
    """The newest of these projects (None: of all), of one type if one is given, each once. What repeats an
    earlier one word for word is left out."""
    chosen = project_keys(conn) if keys is None else list(dict.fromkeys(keys))
    branches = [
        conn.execute(statement, {"key": key, "limit": limit, "type": kind})
        for key in chosen
        for statement in (NEWEST_OF_PROJECT, NEWEST_MERGED)
    ]
    return [_observation(row) for row in islice(unique(merge_newest(branches, "time")), limit)]


def _observation(row: Any) -> Observation:
    facts, concepts, read, modified = map(
        _list, (row[n] for n in ("facts", "concepts", "files_read", "files_modified"))
    )
    return Observation(
        row["id"], row["type"], row["title"] or "", row["subtitle"] or "", row["narrative"] or "",
        facts, concepts, read, modified,
        row["prompt_number"], row["discovery_tokens"], row["occurrence_count"], row["agent_id"], row["agent_type"],
        "outside" in (row["metadata"] or ""), _list(row["reinforcement_dates"]), row["project"], row["project_key"],
        row["generated_by_model"], row["time"], row["turn_id"], row["canonical_id"], row["session"] or "",
    )  # fmt: skip


def _list(text: str | None) -> tuple[str, ...]:
    """A JSON list of texts; empty for what is none, which then did not come from us."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        return ()
    return tuple(str(value) for value in found) if isinstance(found, list) else ()


def summaries(conn: Connection, session_row: int) -> list[Summary]:
    """The parts of a session in order."""
    rows = conn.execute(OF_SESSION, {"session": session_row}).fetchall()
    return sorted((_summary(row) for row in rows), key=lambda one: (one.part, one.time or 0, one.id))


def last_summary(conn: Connection, keys: Sequence[str]) -> Summary | None:
    """The newest summary of these projects."""
    found = [_summary(row) for key in dict.fromkeys(keys) for row in conn.execute(LAST_SUMMARY, {"key": key})]
    return max(found, key=lambda one: (one.time or 0, -one.id), default=None)


def _summary(row: Any) -> Summary:
    return Summary(
        row["id"], row["part"], row["request"] or "", row["investigated"] or "", row["learned"] or "",
        row["completed"] or "", row["next_steps"] or "", row["notes"] or "",
        _list(row["files_read"]), _list(row["files_edited"]), row["prompt_number"], row["discovery_tokens"],
        row["time"],
    )  # fmt: skip


def work(conn: Connection, keys: Sequence[str] | None, *, closed: bool = False) -> list[Item]:
    """Items as their last entry has them, what changed last first; closed: done and dropped ones too.

    Entries whose JSON is broken are left out: they are an agent's own words, not evidence."""
    chosen = project_keys(conn) if keys is None else list(dict.fromkeys(keys))
    rows = [row for key in chosen for row in conn.execute(WORK_OF_PROJECT, {"key": key})]
    rows.sort(key=lambda row: (-(row["time"] or 0), -row["id"]))
    last: dict[tuple[str, str, str], Item] = {}
    for row in rows:
        if (item := _item(row)) is not None:
            last.setdefault((item.project_key, item.session, item.key), item)
    return [item for item in last.values() if closed or item.status in OPEN]


def _item(row: Any) -> Item | None:
    try:
        fields = json.loads(row["fields"])
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    key, subject, status = (str(fields.get(name) or "") for name in ("key", "subject", "status"))
    return Item(
        row["project"], row["project_key"], row["list_name"], key or str(row["id"]), subject or key, status,
        row["time"], fields,
    )  # fmt: skip


def calls_of(conn: Connection, observation: int, limit: int) -> list[int]:
    """Row ids of the tool uses that an observation came from, in order: by links, or (imported) by the calls' own."""
    return [row[0] for row in conn.execute(LINKED, {"id": observation, "limit": limit})]


def linked(conn: Connection, observation: int) -> list[str]:
    """Ids of the tool uses an observation came from."""
    return [f"tool_use:{row}" for row in calls_of(conn, observation, -1)]


def project_name(conn: Connection, key: str) -> str:
    """What people call a project; its key if nobody has."""
    row = conn.execute(PROJECT_NAME, {"key": key}).fetchone()
    return row[0] if row else key
