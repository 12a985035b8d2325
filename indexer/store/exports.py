"""What a memory gives away, row by row, so that another can take it in: the lines of an export.

A line is a JSON object. First comes `header`, then each session: `session` says what is known of it and in which
files its records stand, a `record` line holds all rows of one transcript record as the session shows it, in
their order, and `observation`, `summary` and `work` lines what was made of it. A line of a session needs no
other but that session's own, so that a session, a project or all can be exported alike; a fork repeats what it
shares. Texts are as stored, redacted; bodies that were cut come with the hashes of the whole.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from indexer.errors import IndexerError
from indexer.store.connection import Connection
from indexer.store.imports import device
from indexer.store.membership import FORKED, IMPORTED, SIDECHAIN, in_chunks
from indexer.store.migrations import SCHEMA_VERSION, check_version
from indexer.text import cut

Line: TypeAlias = dict[str, Any]

FORMAT, VERSION = "transcript-indexer export", 1
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What a terminal obeys, or takes for the end of a line, and JSON leaves as it is."""
LONGEST = 4 << 20
"""Bytes of a text that an export holds; of a longer prompt or answer it has the beginning, marked as cut."""
CHUNK = 200
"""Records whose rows are fetched together."""

SESSIONS = "SELECT id FROM sdk_sessions ORDER BY id"
OF_PROJECT = "SELECT id FROM sdk_sessions WHERE project_key IN ({})"
SESSION = """
SELECT id, content_session_id AS session, platform_source AS platform, project, project_key, project_key_source AS
       project_source, cwd, git_branch AS branch, client_version AS version, forked_from, custom_title, ai_title,
       started_at_epoch AS started, last_at_epoch AS last
FROM sdk_sessions WHERE id = :session
"""
FILES = """
SELECT f.id AS n, f.path, f.folder, f.session_id AS session, f.agent_id AS agent, x.first_epoch AS first
FROM ingest_files f LEFT JOIN session_files x ON x.file_id = f.id AND x.session_db_id = :session
WHERE f.id IN (SELECT file_id FROM session_files WHERE session_db_id = :session
               UNION SELECT file_id FROM session_records WHERE session_db_id = :session)
ORDER BY coalesce(x.is_agent, f.agent_id IS NOT NULL), f.id
"""
AGENTS = """
SELECT agent_id AS agent, tool_use_id AS call, agent_type AS type, description FROM session_agents
WHERE session_db_id = :session ORDER BY agent_id
"""
TITLES = """
SELECT t.leaf_uuid AS leaf, t.title FROM session_records r CROSS JOIN session_titles t ON t.leaf_uuid = r.uuid
WHERE r.session_db_id = :session ORDER BY r.uuid
"""
RECORDS = """
SELECT r.uuid, r.file_id, r.position, r.flags FROM session_records r WHERE r.session_db_id = :session
ORDER BY r.file_id, r.position, r.uuid
"""
CALLS_OF = """
SELECT t.id, t.record_uuid, t.result_uuid FROM tool_uses t WHERE t.session_db_id IN
(SELECT DISTINCT o.session_db_id FROM session_records r JOIN session_records o ON o.uuid = r.uuid AND o.flags & 4
 WHERE r.session_db_id = :session)
"""
MESSAGES_OF = CALLS_OF.replace(
    "t.id, t.record_uuid, t.result_uuid FROM tool_uses t", "t.id, t.record_uuid FROM assistant_messages t"
)
PROMPTS = """
SELECT native_prompt_id AS uuid, id, prompt_text AS text, prompt_kind AS kind, is_private AS private,
       is_queued AS queued, cwd, created_at_epoch AS time FROM user_prompts WHERE native_prompt_id IN ({})
"""
_MESSAGE = """m.id, m.message_id AS message, m.model, m.agent_id AS agent, m.input_tokens, m.output_tokens,
       m.cache_creation_tokens, m.cache_read_tokens"""
TEXTS = f"""
SELECT x.uuid, x.text, x.created_at_epoch AS time, {_MESSAGE} FROM assistant_texts x
JOIN assistant_messages m ON m.id = x.message_row_id WHERE x.uuid IN ({{}})
"""
SILENT = f"""
SELECT m.record_uuid AS uuid, '' AS text, m.created_at_epoch AS time, {_MESSAGE} FROM assistant_messages m
WHERE m.id IN ({{}}) AND NOT EXISTS (SELECT 1 FROM assistant_texts x WHERE x.uuid = m.record_uuid)
"""
CALLS = """
SELECT record_uuid AS uuid, result_uuid, id, identity, tool_use_id, tool_name AS name, file_path AS file, agent_id AS
       agent, cwd, tool_input AS input, tool_response AS response, input_hash, content_hash, is_error, side_file,
       created_at_epoch AS time, result_at_epoch AS result_time FROM tool_uses WHERE id IN ({})
"""
UNMATCHED = """
SELECT uuid, identity, tool_response AS response, is_error, side_file, created_at_epoch AS time
FROM unmatched_results WHERE session_db_id = :session
"""
EVENTS = """
SELECT uuid, ordinal, kind, data, created_at_epoch AS time FROM turn_events WHERE uuid IN ({}) ORDER BY uuid, ordinal
"""
ORIGINS = """
SELECT uuid, origin_device_id AS device, origin_local_id AS local FROM imported_records WHERE uuid IN ({})
"""
_VALUES = """o.type, o.title, o.subtitle, o.narrative, o.text, o.facts, o.concepts, o.files_read, o.files_modified,
       o.prompt_number, o.discovery_tokens, o.generated_by_model, o.agent_type, o.agent_id, o.metadata,
       o.reinforcement_dates, o.last_reinforced, o.created_at_epoch"""
OBSERVATIONS = f"""
SELECT o.id, g.turn_id AS turn, g.slot, i.identity, i.turn_id AS told, i.origin_device_id AS device,
       i.origin_local_id AS local, {_VALUES}
FROM sdk_sessions s JOIN observations o ON o.memory_session_id = s.memory_session_id
LEFT JOIN observation_origins g ON g.observation_id = o.id
LEFT JOIN imported_memories i ON i.kind = 'observation' AND i.row_id = o.id WHERE s.id = :session ORDER BY o.id
"""
OBSERVED_CALLS = """
SELECT t.identity FROM observation_tool_uses l JOIN tool_uses t ON t.id = l.tool_use_row WHERE l.observation_id = :id
ORDER BY t.identity
"""
SUMMARIES = """
SELECT y.id, g.part AS turn, i.identity, i.turn_id AS told, i.origin_device_id AS device, i.origin_local_id AS local,
       y.request, y.investigated, y.learned, y.completed, y.next_steps, y.notes, y.files_read, y.files_edited,
       y.prompt_number, y.discovery_tokens, y.created_at_epoch
FROM sdk_sessions s JOIN session_summaries y ON y.memory_session_id = s.memory_session_id
LEFT JOIN summary_origins g ON g.summary_id = y.id
LEFT JOIN imported_memories i ON i.kind = 'summary' AND i.row_id = y.id WHERE s.id = :session ORDER BY y.id
"""
WORK = """
SELECT e.id, g.identity AS turn, NULL AS identity, NULL AS told, NULL AS device, NULL AS local, e.list_name, e.fields,
       e.created_at_epoch
FROM work_state_origins g JOIN work_state_entries e ON e.id = g.entry_id WHERE g.session_db_id = :session
UNION ALL
SELECT e.id, NULL, i.identity, i.turn_id, i.origin_device_id, i.origin_local_id, e.list_name, e.fields,
       e.created_at_epoch
FROM imported_memories i JOIN work_state_entries e ON e.id = i.row_id WHERE i.session_db_id = :session
AND i.kind = 'work' ORDER BY 1
"""
_ABOUT = ("id", "turn", "slot", "identity", "told", "device", "local")


def lines(conn: Connection, sessions: Sequence[int] | None = None) -> Iterator[Line]:
    """All lines of these sessions (row ids), or of all. conn: with rows as sqlite3.Row.

    Raises IndexerError for a memory of an older schema (exchange/sources.py brings up a copy of one): it has no
    name to export under, and no tables of what it imported."""
    if check_version(conn) < SCHEMA_VERSION:
        raise IndexerError(
            "the memory was written by an older version", "`transcript-indexer rescan` brings it up to date first"
        )
    name = device(conn)
    yield {"kind": "header", "format": FORMAT, "version": VERSION, "device": name}
    chosen = sessions if sessions is not None else [row[0] for row in conn.execute(SESSIONS).fetchall()]
    for session in chosen:
        yield from _Session(conn, session, name).lines()


def of_projects(conn: Connection, keys: Sequence[str]) -> list[int]:
    """Row ids of the sessions of these project keys."""
    return sorted(row[0] for row in in_chunks(conn, OF_PROJECT, keys))


class _Session:
    """The lines of one session."""

    def __init__(self, conn: Connection, session: int, device: str) -> None:
        self._conn, self._session, self._device = conn, session, device
        row = _dict(conn.execute(SESSION, {"session": session}).fetchone())
        self._name, self._platform, self._forked = row["session"], row["platform"], row["forked_from"]
        self._row = row

    def _ask(self, sql: str) -> list[Line]:
        return [_dict(row) for row in self._conn.execute(sql, {"session": self._session})]

    def lines(self) -> Iterator[Line]:
        """The session itself, its records, and what was made of them."""
        del self._row["id"]
        about: Line = {"kind": "session", **_filled(self._row), "files": [_filled(file) for file in self._ask(FILES)]}
        about |= {"agents": [_filled(agent) for agent in self._ask(AGENTS)], "titles": self._ask(TITLES)}
        yield {name: value for name, value in about.items() if value != []}
        yield from self._records()
        for kind, sql in (("observation", OBSERVATIONS), ("summary", SUMMARIES), ("work", WORK)):
            for row in self._ask(sql):
                yield self._memory(kind, row)

    # -- records -----------------------------------------------------------------------------------

    def _records(self) -> Iterator[Line]:
        self._calls, self._results = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
        for row_id, call, result in self._conn.execute(CALLS_OF, {"session": self._session}):
            self._calls[call].append(row_id)
            if result is not None:
                self._results[result].append(row_id)
        self._messages = {row[1]: row[0] for row in self._conn.execute(MESSAGES_OF, {"session": self._session})}
        self._unmatched = {row["uuid"]: row for row in self._ask(UNMATCHED)}
        members = self._conn.execute(RECORDS, {"session": self._session}).fetchall()
        for start in range(0, len(members), CHUNK):
            yield from self._chunk([tuple(member) for member in members[start : start + CHUNK]])

    def _chunk(self, members: Sequence[tuple[str, int, int, int]]) -> Iterator[Line]:
        """The lines of some records."""
        uuids = [uuid for uuid, *_ in members]
        found: dict[str, Line] = {uuid: {} for uuid in uuids}
        silent = [self._messages[uuid] for uuid in uuids if uuid in self._messages]
        for row in self._fetch(PROMPTS, uuids):
            _prompt(found[row["uuid"]], row)
        for row in (*self._fetch(TEXTS, uuids), *self._fetch(SILENT, silent)):
            _text(found[row["uuid"]], row)
        rows = {n for uuid in uuids for n in (*self._calls.get(uuid, ()), *self._results.get(uuid, ()))}
        for row in self._fetch(CALLS, sorted(rows)):
            _call(found, row)
        for row in self._fetch(EVENTS, uuids):
            _event(found[row["uuid"]], row)
        for uuid in uuids:
            if uuid in self._unmatched:
                _result(found[uuid], self._unmatched[uuid])
        origins = {row["uuid"]: row for row in self._fetch(ORIGINS, uuids)}
        for uuid, file, position, flags in members:
            if record := found[uuid]:
                yield self._record(uuid, file, position, flags, record, origins.get(uuid))

    def _fetch(self, sql: str, keys: Sequence[object]) -> list[Line]:
        return [_dict(row) for row in in_chunks(self._conn, sql, keys)]

    def _record(self, uuid: str, file: int, position: int, flags: int, found: Line, origin: Line | None) -> Line:
        line: Line = {"kind": "record", "session": self._name, "uuid": uuid, "file": file, "line": position}
        if flags & SIDECHAIN:
            line["sidechain"] = True
        if flags & FORKED:
            line["forked_from"] = self._forked or "unknown"
        local = found.pop("local", None)
        known = origin if origin and flags & IMPORTED else {"device": self._device, "local": local}
        return line | _filled(found) | _filled({name: known[name] for name in ("device", "local")})

    # -- memories ----------------------------------------------------------------------------------

    def _memory(self, kind: str, row: Line) -> Line:
        turn = row["told"] if row["identity"] else row["turn"]
        turn = None if turn is None else str(turn)
        identity = row["identity"] or identity_of(kind, self._name, turn, row.get("slot"), row["id"])
        slot = row.get("slot") or (identity.rpartition("#")[2] if turn and kind == "observation" else None)
        line: Line = {"kind": kind, "session": self._name, "identity": identity, "turn": turn, "slot": slot}
        line["device"], line["local"] = row["device"] or self._device, row["local"] or f"{kind}:{row['id']}"
        line["values"] = _filled({name: value for name, value in row.items() if name not in _ABOUT})
        if kind == "observation":
            calls = [call for (call,) in self._conn.execute(OBSERVED_CALLS, {"id": row["id"]})]
            line["calls"] = calls or None
        return _filled(line)


def identity_of(kind: str, session: str, turn: str | None, slot: str | None, row_id: int) -> str:
    """The name under which what our compressor made is known everywhere."""
    if kind == "observation":
        return f"{turn}#{slot}"
    return f"{session}#part:{turn}" if kind == "summary" else f"work:{turn if turn is not None else row_id}"


def text_of(line: Line) -> str:
    """A line as it is written, without its newline."""
    text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _prompt(found: Line, row: Line) -> None:
    found["prompt"] = {"text": cut(row["text"], LONGEST), "kind": row["kind"]}
    found["prompt"] |= {name: True for name in ("private", "queued") if row[name]}
    found |= {"time": row["time"], "cwd": row["cwd"], "local": f"{row['kind']}:{row['id']}"}


def _text(found: Line, row: Line) -> None:
    tokens = [row[f"{name}_tokens"] for name in ("input", "output", "cache_creation", "cache_read")]
    found.setdefault("texts", []).append(
        _filled({"message": row["message"], "text": cut(row["text"], LONGEST), "model": row["model"], "tokens": tokens})
    )
    found |= {"time": row["time"], "agent": row["agent"]}
    found.setdefault("local", f"assistant:{row['id']}")


def _call(records: dict[str, Line], row: Line) -> None:
    """A call belongs to the record that made it, its answer to the one that brought it."""
    if (found := records.get(row["uuid"])) is not None:
        names = ("identity", "name", "file", "input", "input_hash", "content_hash")
        call = {"id": row["tool_use_id"], **{name: row[name] for name in names}}
        found.setdefault("calls", []).append(_filled(call))
        found |= {"time": row["time"], "cwd": row["cwd"], "agent": row["agent"]}
        found.setdefault("local", f"tool_use:{row['id']}")
    if (found := records.get(row["result_uuid"] or "")) is not None:
        _result(found, row | {"time": row["result_time"]})


def _result(found: Line, row: Line) -> None:
    names = ("identity", "file", "side_file", "content_hash", "input_hash")
    answer = {name: row.get(name) for name in names} | {"text": row["response"] or ""}
    answer |= {"id": row.get("tool_use_id"), "error": None if row["is_error"] is None else bool(row["is_error"])}
    found.setdefault("results", []).append(_filled(answer))
    found.setdefault("time", row["time"])


def _event(found: Line, row: Line) -> None:
    found.setdefault("events", []).append({"ordinal": row["ordinal"], "kind": row["kind"], "data": row["data"]})
    found.setdefault("time", row["time"])


def _filled(line: Line) -> Line:
    return {name: value for name, value in line.items() if value is not None}


def _dict(row: Any) -> Line:
    return dict(zip(row.keys(), row, strict=True))
