"""Which sessions have turns to compress, and the turns of one, from stored rows alone.

What is pending is asked of the data (`compress_marks`, moved on by every transaction that touched a
session), not of a queue that could fall out of step. A turn is finished when the next prompt stands, when
the client said that it ended (`turn_duration`), or when its session has been idle.

Turns hold the rows that the session owns. A fork that went on within a copied turn has a turn of its own
there, named after both. Rows come in the order of their records' times and places, never of row ids,
which depend on the order in which files were read.

Bodies are read as far as compressing needs them: results of shells and errors, 3 KiB of each end;
of edits whose patch is known not even the input (half of all stored bytes).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from indexer.compressors.base import Call, Event, Text, Turn
from indexer.store.membership import SIDECHAIN

ENDS = 3072
"""Characters that are kept of each end of a long result."""
INPUT_MOST = 16384

_SHELLS = "('Bash', 'PowerShell', 'shell', 'run_terminal_cmd')"
_EDITS = "('Edit', 'Write', 'MultiEdit', 'NotebookEdit')"
_INPUT = f"""
CASE WHEN t.tool_name IN ('Read', 'TodoWrite', 'Task', 'Agent', 'ExitPlanMode', 'AskUserQuestion') THEN NULL
     WHEN t.tool_name IN {_EDITS} AND t.agent_id IS NULL THEN NULL
     WHEN length(t.tool_input) > {INPUT_MOST} THEN NULL ELSE t.tool_input END"""
_RESPONSE = f"""
CASE WHEN t.tool_name IN {_SHELLS} OR t.is_error = 1 THEN
  CASE WHEN length(t.tool_response) > {4 * ENDS}
  THEN substr(t.tool_response, 1, {ENDS}) || substr(t.tool_response, -{ENDS})
  ELSE t.tool_response END END"""
_CALLS = """
SELECT t.id, t.tool_use_id, t.tool_name, t.file_path, t.is_error, t.agent_id, t.agent_type, t.created_at_epoch,
       t.prompt_number, r.position, t.identity, t.content_hash, t.result_uuid, {given}, {response}
FROM tool_uses t LEFT JOIN session_records r ON r.uuid = t.record_uuid AND r.session_db_id = t.session_db_id
WHERE t.session_db_id = ?
"""
_BODY = f"""
SELECT CASE WHEN length(tool_input) > {8 * ENDS} THEN substr(tool_input, 1, {ENDS}) || substr(tool_input, -{ENDS})
       ELSE tool_input END,
       CASE WHEN length(tool_response) > {2 * ENDS}
       THEN substr(tool_response, 1, {ENDS}) || substr(tool_response, -{ENDS}) ELSE tool_response END
FROM tool_uses WHERE id = ?
"""
_TEXTS = """
SELECT x.uuid, x.text, m.agent_id, x.created_at_epoch, x.position, m.prompt_number
FROM assistant_messages m JOIN assistant_texts x ON x.message_row_id = m.id WHERE m.session_db_id = ?
"""
_TOKENS = """
SELECT prompt_number, sum(input_tokens + output_tokens + cache_creation_tokens) FROM assistant_messages
WHERE session_db_id = ? GROUP BY prompt_number
"""
_EVENTS = """
SELECT e.uuid, e.ordinal, e.kind, e.data, e.created_at_epoch, r.file_id, r.position, r.flags
FROM turn_events e JOIN session_records r ON r.uuid = e.uuid AND r.session_db_id = e.session_db_id
WHERE e.session_db_id = ?
"""
_PROMPTS = """
SELECT p.native_prompt_id, p.prompt_number, p.prompt_text, p.is_private, p.created_at_epoch, r.file_id, r.position
FROM user_prompts p JOIN session_records r ON r.uuid = p.native_prompt_id AND r.session_db_id = p.session_db_id
WHERE p.session_db_id = ? AND p.prompt_kind = 'prompt'
"""
_SHOWN = f"""
SELECT p.native_prompt_id, NULL, p.prompt_text, p.is_private, p.created_at_epoch, r.file_id, r.position
FROM session_records r CROSS JOIN user_prompts p ON p.native_prompt_id = r.uuid
WHERE r.session_db_id = ? AND p.session_db_id <> r.session_db_id
  AND p.prompt_kind = 'prompt' AND NOT r.flags & {SIDECHAIN}
"""
_FILES = """
SELECT x.file_id, x.first_epoch, f.path, x.is_agent FROM session_files x JOIN ingest_files f ON f.id = x.file_id
WHERE x.session_db_id = ?
"""
_SESSION = """
SELECT s.id, s.content_session_id, s.memory_session_id, s.project, s.project_key, s.platform_source,
       CASE WHEN s.last_at_epoch IS NULL THEN 'completed' ELSE s.status END, -- no clock can tell when it went quiet
       coalesce(s.cwd, ''), coalesce(s.user_prompt, ''), m.revision, m.done, m.seen, m.compressor, m.last_turn,
       (SELECT count(*) || ':' || coalesce(sum(i.row_id), 0) || ':' || coalesce((SELECT min(f.path GLOB 'import:*')
          FROM session_files x JOIN ingest_files f ON f.id = x.file_id WHERE x.session_db_id = s.id), 0)
        FROM imported_memories i WHERE i.session_db_id = s.id)
FROM sdk_sessions s JOIN compress_marks m ON m.session_db_id = s.id WHERE s.id = ?
"""
_OBSERVERS = (
    "<transcript-indexer-compressor",
    "<observed_from_primary_session>",
    "you are a claude-mem",
    "hello memory agent",
    "you are an observer of a claude code session",
)
"""How first prompts of sessions begin that compress other sessions (ours, claude-mem's): never learned from."""
_OBSERVER_FOLDERS = (
    "/observer-sessions",
    "/.claude-mem/",
    "/transcript-indexer/compressor",
    "/transcript-indexer-compressor",
)


class Header(NamedTuple):
    """A session whose turns are to be looked at."""

    id: int
    content_session_id: str
    memory_session_id: str
    project: str
    project_key: str
    platform: str
    status: str
    cwd: str
    first_prompt: str
    revision: int
    done: int
    seen: str | None
    compressor: str | None
    last_turn: str | None
    imported: str = "0:0:0"
    """Its imported memories: how many, the sum of their row ids, and 1 if there is no transcript of it."""

    @property
    def borrowed(self) -> bool:
        """Whether nothing of it is ours: somebody else has made its memory, from more than was imported."""
        return self.imported.endswith(":1") and not self.imported.startswith("0:")

    @property
    def observes(self) -> bool:
        """Whether it is itself the session of an observer."""
        start = self.first_prompt[:200].lower()
        folder = f"{self.cwd}/".replace("\\", "/")
        return any(mark in start for mark in _OBSERVERS) or any(part in folder for part in _OBSERVER_FOLDERS)


class Turns(NamedTuple):
    """The finished turns of a session. open: ids of those still going on, whose rows stay as they are.
    seen: hash of all that the finished ones hold. last: id of the last finished one."""

    finished: tuple[Turn, ...]
    open: frozenset[str]
    seen: str
    last: str | None = None


def touch(conn: sqlite3.Connection, sessions: Iterable[int]) -> None:
    """Note that rows of these sessions have changed. In the transaction that changed them."""
    conn.executemany(
        "INSERT INTO compress_marks (session_db_id) VALUES (?) ON CONFLICT DO UPDATE SET revision = revision + 1",
        [(session,) for session in sessions],
    )


def pending(conn: sqlite3.Connection, limit: int) -> list[int]:
    """Sessions with something that was not looked at yet, the newest first."""
    sql = "SELECT session_db_id FROM compress_marks WHERE revision <> done ORDER BY session_db_id DESC LIMIT ?"
    return [session for (session,) in conn.execute(sql, (limit,))]


def begin_again(conn: sqlite3.Connection, compressor: str) -> None:
    """Make pending what another compressor, or another version of it, has made."""
    conn.execute("UPDATE compress_marks SET done = -1, seen = NULL WHERE compressor <> ?", (compressor,))


def make_again(conn: sqlite3.Connection, sessions: Iterable[int]) -> None:
    """Make these sessions pending although no row was read: their texts were changed in place."""
    sql = "UPDATE compress_marks SET done = -1, seen = NULL WHERE session_db_id = ?"
    conn.executemany(sql, [(session,) for session in sessions])


def header(conn: sqlite3.Connection, session: int) -> Header | None:
    """A session and how far it is compressed; None if it is gone."""
    row = conn.execute(_SESSION, (session,)).fetchone()
    return Header(*row) if row else None


def turns(conn: sqlite3.Connection, session: Header, *, whole: bool = True) -> Turns:
    """The turns of a session. whole=False: without bodies, for a look at `seen`."""
    return _Reader(conn, session, whole).turns()


def bodies(conn: sqlite3.Connection, calls: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Input and result of these calls (rows of tool_uses), for a model: of long ones both ends."""
    found = {}
    for row in calls:
        given, response = conn.execute(_BODY, (row,)).fetchone() or ("", "")
        found[row] = given or "", response or ""
    return found


class _Reader:
    """Reads one session's rows and puts them into turns."""

    def __init__(self, conn: sqlite3.Connection, session: Header, whole: bool) -> None:
        self._conn, self._session, self._whole = conn, session, whole
        self._files = {row[0]: tuple(row[1:]) for row in self._ask(_FILES)}
        self._prompts: dict[int, tuple[Any, ...]] = {}
        self._starts: list[tuple[tuple[Any, ...], int]] = []
        self._events: dict[int, list[tuple[Event, Any]]] = defaultdict(list)
        self._of_call: dict[str, list[tuple[Event, Any]]] = defaultdict(list)
        self._compactions: list[tuple[Any, ...]] = []

    def _ask(self, sql: str) -> list[Any]:
        return self._conn.execute(sql, (self._session.id,)).fetchall()

    def turns(self) -> Turns:
        calls = sorted(self._calls(), key=lambda row: (row[7] or 0, row[9] or 0, row[10]))
        texts = sorted(self._ask(_TEXTS), key=lambda row: (row[3] or 0, row[4], row[0]))
        self._read_prompts({row[8] for row in calls} | {row[5] for row in texts})
        self._read_events(calls)
        numbers = sorted({0, *self._prompts} | {row[8] for row in calls} | {row[5] for row in texts})
        by_call, by_text = _grouped(calls, 8), _grouped(texts, 5)
        done, still = [], set()
        for number in numbers:
            if self._finished(number, numbers[-1]):
                done.append(number)
            else:
                still.add(self._id(number))
        seen = self._hash(done, by_call, by_text)
        if not self._whole:
            return Turns((), frozenset(still), seen)
        tokens = dict(self._conn.execute(_TOKENS, (self._session.id,)).fetchall())
        made = (self._turn(n, by_call[n], by_text[n], tokens.get(n, 0)) for n in done)
        return Turns(
            tuple(turn for turn in made if turn is not None),
            frozenset(still),
            seen,
            self._id(done[-1]) if done else None,
        )

    def _calls(self) -> list[Any]:
        given, response = (_INPUT, _RESPONSE) if self._whole else ("NULL", "NULL")
        return self._ask(_CALLS.format(given=given, response=response))

    # -- which turn ------------------------------------------------------------------------------------

    def _read_prompts(self, used: set[int]) -> None:
        """The prompts by number; those of other sessions are looked for only where rows need them."""
        own = self._ask(_PROMPTS)
        self._prompts = {row[1]: row for row in own}
        places = [(self._place(row[5], row[6]), row[0]) for row in own]
        if used - self._prompts.keys() - {0}:
            copied = self._ask(_SHOWN)
            places += [(self._place(row[5], row[6]), row[0]) for row in copied]
            by_uuid = {row[0]: row for row in (*own, *copied)}
            for number, (_, uuid) in enumerate(sorted(places), 1):
                self._prompts.setdefault(number, by_uuid[uuid])
        numbered = {row[0]: number for number, row in self._prompts.items()}
        self._starts = sorted((place, numbered[uuid]) for place, uuid in places if uuid in numbered)

    def _place(self, file: int, position: int) -> tuple[Any, ...]:
        """Where a record stands in the session, as numbering orders them."""
        first, path, _ = self._files.get(file, (None, "", 0))
        return first is not None, first or 0, position, path

    def _read_events(self, calls: Sequence[Any]) -> None:
        """Events by the call whose answer told of them, else by the prompt they stand after."""
        answered = {(row[12], row[1]): row[10] for row in calls if row[12]}
        by_id = {row[1]: row[10] for row in calls}
        for uuid, ordinal, kind, data, time, file, position, flags in sorted(
            self._ask(_EVENTS), key=lambda row: (row[4] or 0, row[6], row[0], row[1])
        ):
            found = _json(data)
            event, mark = Event(kind, found, time, f"{uuid}:{ordinal}"), (uuid, ordinal, len(data))
            told = str(found.get("tool_use_id") or "")
            call = answered.get((uuid, told)) or by_id.get(told)
            if call is not None:
                self._of_call[call].append((event, mark))
            elif not flags & SIDECHAIN:
                place = self._place(file, position)
                self._events[self._at(place)].append((event, mark))
                if kind == "compaction" and "summary" in found:
                    self._compactions.append(place)

    def _at(self, place: tuple[Any, ...]) -> int:
        number = 0
        for start, n in self._starts:
            if start > place:
                break
            number = n
        return number

    def _finished(self, number: int, last: int) -> bool:
        if number < last or self._session.status == "completed":
            return True
        return any(event.kind == "duration" for event, _ in self._events[number])

    def _id(self, number: int) -> str:
        prompt = self._prompts.get(number)
        if prompt is not None and prompt[1] is not None:
            return str(prompt[0])
        name = f"session:{self._session.content_session_id}"
        return f"{name}:{prompt[0]}" if prompt is not None else f"{name}:{number}" if number else name

    # -- one turn --------------------------------------------------------------------------------------

    def _turn(self, number: int, calls: Sequence[Any], texts: Sequence[Any], tokens: int) -> Turn | None:
        """None for a turn that is private, or that holds nothing."""
        prompt = self._prompts.get(number)
        events = self._events[number]
        if (prompt is not None and prompt[3]) or not (calls or texts or prompt):
            return None
        own = prompt is not None and prompt[1] is not None
        part = 0
        if prompt is not None:
            start = self._place(prompt[5], prompt[6])
            part = sum(place < start for place in self._compactions)
        return Turn(
            self._id(number), prompt[0] if own and prompt else None, number, part, prompt[2] if own and prompt else "",
            self._session.cwd, prompt[4] if prompt else None, tuple(self._made(calls)),
            tuple(Text(row[1], row[2], row[3]) for row in texts if row[1].strip()),
            tuple(event for event, _ in events), tokens,
        )  # fmt: skip

    def _made(self, calls: Sequence[Any]) -> Iterator[Call]:
        for row in calls:
            events = tuple(event for event, _ in self._of_call.get(row[10], ()))
            if any("denied" in event.data for event in events):
                continue
            given = _json(row[13]) if row[13] else {}
            yield Call(
                row[0], row[1], row[2], row[3], given, row[14] or "", row[4] == 1, row[5], row[6], row[7], events
            )

    # -- what it was made of ---------------------------------------------------------------------------

    def _hash(self, done: Sequence[int], calls: dict[int, list[Any]], texts: dict[int, list[Any]]) -> str:
        session = self._session
        parts: list[object] = [
            session.project_key,
            session.project,
            session.cwd,
            session.memory_session_id,
            session.observes,
        ]
        if session.imported != "0:0:0":
            parts.append(session.imported)
        for number in done:
            prompt = self._prompts.get(number)
            parts.append((number, prompt and tuple(prompt[:5])))
            parts += [(*row[1:13], [mark for _, mark in self._of_call.get(row[10], ())]) for row in calls[number]]
            parts += [(row[0], len(row[1]), *row[2:]) for row in texts[number]]
            parts.append([mark for _, mark in self._events[number]])
        try:
            told = orjson.dumps(parts)
        except TypeError:  # a lone surrogate, or a number beyond 64 bits
            told = repr(parts).encode("utf-8", "surrogatepass")
        return hashlib.sha256(told).hexdigest()[:16]


def _grouped(rows: Sequence[Any], column: int) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        groups[row[column]].append(row)
    return groups


def _json(data: str) -> dict[str, Any]:
    """An object; {} for what was cut, or is something else."""
    try:
        found = orjson.loads(data)
    except ValueError:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return {}
    return found if isinstance(found, dict) else {}
