"""What a session's page needs beside its course: sub-agents and who called them, forks, tokens, calls in whole.

Each statement answers for one session, along an index of it; the calls of a page come in one statement, since
looking each up with all that surrounds it (`items.item`) costs five.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from indexer.store.connection import Connection
from indexer.store.membership import OWNER, SIDECHAIN

AGENTS = """
SELECT a.agent_id, coalesce(a.agent_type, '') AS type, coalesce(a.description, '') AS description, t.id AS call
FROM session_agents a LEFT JOIN tool_uses t ON t.identity = a.tool_use_id WHERE a.session_db_id = :session
"""
AGENT_FILES = """
SELECT f.path, f.agent_id FROM session_files s JOIN ingest_files f ON f.id = s.file_id
WHERE s.session_db_id = :session AND f.agent_id IS NOT NULL
"""
FORKS = """
SELECT s.content_session_id, coalesce(nullif(s.custom_title, ''), nullif(s.ai_title, ''), s.user_prompt, '') AS title
FROM sdk_sessions s WHERE s.forked_from = :name ORDER BY s.started_at_epoch, s.id LIMIT 20
"""
TOKENS = """
SELECT coalesce(m.model, '') AS model, count(*) AS answers, sum(m.input_tokens), sum(m.output_tokens),
       sum(m.cache_creation_tokens), sum(m.cache_read_tokens)
FROM assistant_messages m WHERE m.session_db_id = :session GROUP BY 1 ORDER BY 2 DESC, 1
"""
CALLS = """
SELECT t.id, t.tool_name AS name, coalesce(t.file_path, '') AS file, coalesce(t.tool_input, '') AS given,
       substr(coalesce(t.tool_response, ''), 1, :most) AS answer, length(coalesce(t.tool_response, '')) AS length,
       coalesce(t.is_error, 0) AS failed, t.result_uuid IS NOT NULL AS answered,
       t.result_at_epoch - t.created_at_epoch AS took
FROM json_each(:ids) i CROSS JOIN tool_uses t ON t.id = i.value
"""
COPIED = f"""
SELECT f.path, max(r.position) FROM session_records r JOIN ingest_files f ON f.id = r.file_id
WHERE r.session_db_id = :session AND NOT r.flags & {OWNER | SIDECHAIN} GROUP BY f.path
"""


class Agent(NamedTuple):
    """A sub-agent. call: row of the tool use that called it, None if that is not known."""

    id: str
    type: str
    description: str
    call: int | None


class Tokens(NamedTuple):
    """What the answers of one model took. written, cached: to the cache, and from it."""

    model: str
    answers: int
    input: int
    output: int
    written: int
    cached: int


class Call(NamedTuple):
    """A tool call. given: its input as stored. answer: the start of its output; length: characters of all of it.
    took: milliseconds, None if undated."""

    id: int
    name: str
    file: str
    given: str
    answer: str
    length: int
    failed: bool
    answered: bool
    took: int | None


def agents(conn: Connection, session: int) -> list[Agent]:
    """The sub-agents that a session called, each once."""
    return [Agent(*row) for row in conn.execute(AGENTS, {"session": session})]


def agent_files(conn: Connection, session: int) -> dict[str, str]:
    """Files of a session that are a sub-agent's: path -> its id."""
    return dict(conn.execute(AGENT_FILES, {"session": session}).fetchall())


def forks(conn: Connection, name: str) -> list[tuple[str, str]]:
    """Sessions that were copied from this one (its client's id), with their titles, the oldest first."""
    return [tuple(row) for row in conn.execute(FORKS, {"name": name})]


def tokens(conn: Connection, session: int) -> list[Tokens]:
    """By model, of the answers that the session owns: what a fork copied was paid for once."""
    return [Tokens(*row) for row in conn.execute(TOKENS, {"session": session})]


def calls(conn: Connection, ids: Sequence[int], most: int) -> dict[int, Call]:
    """Tool calls by row id, with the first `most` characters of what they gave."""
    rows = conn.execute(CALLS, {"ids": json.dumps(list(ids)), "most": most})
    return {row["id"]: Call(*row)._replace(failed=bool(row["failed"]), answered=bool(row["answered"])) for row in rows}


def copied(conn: Connection, session: int) -> dict[str, int]:
    """Where what a fork copied ends: path -> the last line of it that another session owns."""
    return dict(conn.execute(COPIED, {"session": session}).fetchall())
