"""Puts what was made of a session: observations and their links, summaries, work items.

What a session's memory should be is given whole, and the rows are made so: what is as it should be is not
written, what a turn no longer says is taken away, and a row keeps its id as long as its turn and slot do.
Nothing is ever added twice, and rows without an origin (imported ones) are never touched.

Within a session, what says the very same (title and narrative) stands once, at its earliest, and the days
on which it was said again are its reinforcement: UTC days of the events, never of the clock, at most 10.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from indexer.compressors.base import Observation, Summary, Turn, WorkItem
from indexer.store.turns import Header
from indexer.text import content_hash, iso, search_tokens, title_key

OBSERVATION_CODE, SUMMARY_CODE = 3, 4
_WORDS = re.compile("[a-z0-9]+")
DAYS_MOST = 10
CHUNK = 200
"""Rows that one statement looks for."""
_told = json.JSONEncoder(ensure_ascii=False).encode  # json.dumps makes one anew for each call

_COLUMNS = (
    "memory_session_id", "project", "project_key", "type", "title", "subtitle", "narrative", "facts", "concepts",
    "files_read", "files_modified", "prompt_number", "discovery_tokens", "content_hash", "generated_by_model",
    "agent_type", "agent_id", "metadata", "title_norm_key", "created_at_epoch",
)  # fmt: skip
_ORIGIN = ("observation_id", "session_db_id", "turn_id", "slot", "days")
_INDEXED = ("subtitle", "narrative", "facts", "concepts", "files_read", "files_modified")
_SUMMARY_COLUMNS = (
    "memory_session_id", "project", "project_key", "request", "investigated", "learned", "completed", "next_steps",
    "notes", "files_read", "files_edited", "prompt_number", "discovery_tokens", "created_at_epoch",
)  # fmt: skip
_HELD = f"""
SELECT g.turn_id, g.slot, g.observation_id, {", ".join(f"o.{name}" for name in _COLUMNS)}, g.days
FROM observation_origins g JOIN observations o ON o.id = g.observation_id WHERE {{}}
"""
_HELD_SUMMARIES = f"""
SELECT g.part, g.summary_id, {", ".join(f"y.{name}" for name in _SUMMARY_COLUMNS)}
FROM summary_origins g JOIN session_summaries y ON y.id = g.summary_id WHERE g.session_db_id = ?
"""
_WORK_COLUMNS = ("project", "project_key", "list_name", "fields", "created_at_epoch")
_HELD_WORK = f"""
SELECT g.identity, g.entry_id, {", ".join(f"e.{name}" for name in _WORK_COLUMNS)}
FROM work_state_origins g JOIN work_state_entries e ON e.id = g.entry_id WHERE {{}}
"""
_LINKED = """
SELECT l.observation_id, l.tool_use_row FROM observation_origins g
JOIN observation_tool_uses l ON l.observation_id = g.observation_id WHERE g.session_db_id = ?
"""
INDEX = """
INSERT INTO search_texts (id, kind, uuid, session_db_id, project_key, created_at_epoch, detail, title, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET uuid = excluded.uuid,
  session_db_id = excluded.session_db_id, project_key = excluded.project_key,
  created_at_epoch = excluded.created_at_epoch, detail = excluded.detail, title = excluded.title, body = excluded.body
"""


class Made(NamedTuple):
    """All that a session's finished turns come to."""

    observations: Sequence[tuple[Turn, Observation]]
    summaries: Sequence[Summary]
    items: Sequence[WorkItem]


class Change(NamedTuple):
    """What had to be written: observations put or changed, and taken away."""

    put: tuple[int, ...]
    removed: int
    keys: frozenset[str]
    """Title keys whose observations have changed."""


class Unmade(Exception):
    """A session's rows do not fit with those of others: one session must not stop the memory of all."""


class _Wanted(NamedTuple):
    """An observation as it should stand. native: event time and identity: what is canonical."""

    native: tuple[int, str, str]
    values: tuple[Any, ...]
    days: str | None
    uuid: str | None
    calls: tuple[int, ...]


def put(conn: sqlite3.Connection, session: Header, made: Made, still: frozenset[str], compressor: str) -> Change:
    """Make the session's rows what they should be. still: turns going on, whose rows stay as they are.

    In the caller's transaction, of which nothing is undone but this when the rows cannot be: Unmade.
    """
    conn.execute("SAVEPOINT made")
    try:
        change = _put(conn, session, made, still, compressor)
    except sqlite3.IntegrityError as error:
        conn.execute("ROLLBACK TO made")
        raise Unmade(str(error)) from error
    finally:
        conn.execute("RELEASE made")
    return change


def _put(conn: sqlite3.Connection, session: Header, made: Made, still: frozenset[str], compressor: str) -> Change:
    rows = conn.execute(_HELD.format("g.session_db_id = ?"), (session.id,))
    held = {(row[0], row[1]): row[2:] for row in rows}
    wanted = _wanted(session, made.observations, compressor)
    held |= _taken_over(conn, session, [key for key in wanted if key not in held])
    _leave_out(conn, session, wanted, held, still)
    gone = [key for key in held if key not in wanted and key[0] not in still]
    keys = {held[key][19] for key in gone}
    for key in gone:
        remove(conn, "observations", held.pop(key)[0])
    written = _observations(conn, session, wanted, held)
    _links(conn, session, wanted)
    _summaries(conn, session, made.summaries)
    _work(conn, session, made.items)
    keys |= {one.values[18] for one in written.values()} | {held[key][19] for key in written if key in held}
    put_ids = _ids(conn, session, written)
    return Change(put_ids, len(gone), frozenset(key for key in keys if key))


def _taken_over(
    conn: sqlite3.Connection, session: Header, keys: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Observations of turns that another session owned until now: their rows come along."""
    found = {}
    for start in range(0, len(keys), CHUNK):
        some = keys[start : start + CHUNK]
        given = ", ".join(["(?, ?)"] * len(some))
        sql = _HELD.format(f"(g.turn_id, g.slot) IN (VALUES {given})")
        for row in conn.execute(sql, [part for key in some for part in key]).fetchall():
            found[row[0], row[1]] = row[2:]
            sql = "UPDATE observation_origins SET session_db_id = ? WHERE observation_id = ?"
            conn.execute(sql, (session.id, row[2]))
    return found


def mark(
    conn: sqlite3.Connection,
    session: Header,
    seen: str | None,
    compressor: str,
    last_turn: str | None,
    error: str | None = None,
) -> None:
    """Note how far a session is compressed, in the transaction that wrote what came of it."""
    conn.execute(
        "UPDATE compress_marks SET done = ?, seen = ?, compressor = ?, last_turn = ?, error = ? WHERE "
        "session_db_id = ?",
        (session.revision, seen, compressor, last_turn, error, session.id),
    )


def day(time: int | None) -> str | None:
    """The UTC day of a time in epoch milliseconds."""
    text = iso(time)
    return text[:10] if text else None


def merged_days(days: Iterable[str | None]) -> list[str]:
    """Days in order, each once, the last ten."""
    return sorted({one for one in days if one})[-DAYS_MOST:]


def dedup_key(project_key: str, platform: str, title: str, *, agent: bool) -> str | None:
    """Under which observations of one project are the same thing seen again; None for a title without
    letters, which never is."""
    # Of ASCII titles the same as title_key, at a tenth of its cost.
    normal = " ".join(_WORDS.findall(title.lower())) if title.isascii() else title_key(title)
    if not normal:
        return None
    parts = "\0".join((project_key, platform, normal, "agent" if agent else "main"))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


# --- observations ---------------------------------------------------------------------------------------


def _wanted(
    session: Header, observations: Sequence[tuple[Turn, Observation]], compressor: str
) -> dict[tuple[str, str], _Wanted]:
    """By turn and slot. Of those that say the same the earliest, with the days of all."""
    same: dict[str, list[tuple[tuple[int, str, str], Turn, Observation]]] = {}
    for turn, one in observations:
        time = one.time if one.time is not None else turn.time
        digest = content_hash(session.memory_session_id, one.title, one.narrative)
        same.setdefault(digest, []).append(((time or 0, turn.id, one.slot), turn, one))
    found = {}
    for digest, group in same.items():
        native, turn, one = min(group, key=lambda member: member[0])
        days = merged_days(day(member[0][0] or None) for member in group)
        values = _values(session, turn, one, digest, compressor)
        calls = tuple(dict.fromkeys(call for _, _, each in group for call in each.calls))
        found[native[1], native[2]] = _Wanted(native, values, json.dumps(days) if days else None, turn.uuid, calls)
    return found


def _values(session: Header, turn: Turn, one: Observation, digest: str, compressor: str) -> tuple[Any, ...]:
    """In the order of _COLUMNS."""
    agent = one.agent_id is not None and one.agent_type is not None
    return (
        session.memory_session_id, session.project, session.project_key, one.type, one.title, one.subtitle or None,
        one.narrative or None, _list(one.facts), _list(one.concepts), _list(one.files_read), _list(one.files_modified),
        turn.number, one.tokens, digest, one.model or compressor, one.agent_type, one.agent_id,
        '{"origin":"outside"}' if one.outside else None,
        dedup_key(session.project_key, session.platform, one.title, agent=agent),
        one.time if one.time is not None else turn.time,
    )  # fmt: skip


def _list(values: Sequence[str]) -> str:
    return _told(values) if values else "[]"


def _leave_out(
    conn: sqlite3.Connection,
    session: Header,
    wanted: dict[tuple[str, str], _Wanted],
    held: Mapping[tuple[str, str], Any],
    still: frozenset[str],
) -> None:
    """What a row says that is not to be touched need not be said twice."""
    mine = {row[0] for key, row in held.items() if key[0] not in still}
    sql = "SELECT content_hash, id FROM observations WHERE memory_session_id = ?"
    others = {digest for digest, row_id in conn.execute(sql, (session.memory_session_id,)) if row_id not in mine}
    told = imported(conn, session.id, "observation")
    for key in [key for key, one in wanted.items() if one.values[13] in others or key[0] in told]:
        del wanted[key]


def imported(conn: sqlite3.Connection, session: int, kind: str) -> set[str]:
    """The turns, parts or records of a session of which imported memories tell."""
    sql = "SELECT turn_id FROM imported_memories WHERE session_db_id = ? AND kind = ? AND turn_id IS NOT NULL"
    return {turn for (turn,) in conn.execute(sql, (session, kind))}


def _observations(
    conn: sqlite3.Connection,
    session: Header,
    wanted: Mapping[tuple[str, str], _Wanted],
    held: Mapping[tuple[str, str], Any],
) -> dict[tuple[str, str], _Wanted]:
    """Insert what is new and update what differs; returns both."""
    written = {}
    changed = {key for key, one in wanted.items() if key in held and held[key][1:21] != one.values}
    for key in changed:  # two rows may be about to swap what they say
        conn.execute("UPDATE observations SET content_hash = '~' || id WHERE id = ?", (held[key][0],))
    for key, one in sorted(wanted.items(), key=lambda item: item[1].native):
        last = json.loads(one.days)[-1] if one.days else None
        names = (*_COLUMNS, "reinforcement_dates", "last_reinforced")
        if key not in held:
            row_id = _insert(conn, "observations", names, (*one.values, one.days, last))
            _insert(conn, "observation_origins", _ORIGIN, (row_id, session.id, *key, one.days))
        elif key in changed or held[key][21] != one.days:
            row_id = held[key][0]
            _update(conn, "observations", names, (*one.values, one.days, last), row_id)
            conn.execute("UPDATE observation_origins SET days = ? WHERE observation_id = ?", (one.days, row_id))
        else:
            continue
        written[key] = one
        _index(conn, session.id, row_id, one.uuid, one.values)
    return written


def index_row(conn: sqlite3.Connection, row_id: int) -> None:
    """Renew the index text of an observation from its row."""
    sql = f"""SELECT g.session_db_id,
      (SELECT p.native_prompt_id FROM user_prompts p WHERE p.native_prompt_id = g.turn_id),
      {", ".join(f"o.{name}" for name in _COLUMNS)}
      FROM observations o JOIN observation_origins g ON g.observation_id = o.id WHERE o.id = ?"""
    session, uuid, *values = conn.execute(sql, (row_id,)).fetchone()
    _index(conn, session, row_id, uuid, values)


def _index(conn: sqlite3.Connection, session: int, row_id: int, uuid: str | None, found: Sequence[Any]) -> None:
    values = dict(zip(_COLUMNS, found, strict=True))
    body = "\n".join(str(values[name]) for name in _INDEXED if values[name] not in (None, "[]"))
    conn.execute(
        INDEX,
        (
            row_id * 8 + OBSERVATION_CODE, "observation", uuid, session, values["project_key"],
            values["created_at_epoch"], values["type"], search_tokens(values["title"]), search_tokens(body),
        ),
    )  # fmt: skip


def _ids(conn: sqlite3.Connection, session: Header, keys: Iterable[tuple[str, str]]) -> tuple[int, ...]:
    wanted = set(keys)
    if not wanted:
        return ()
    sql = "SELECT turn_id, slot, observation_id FROM observation_origins WHERE session_db_id = ?"
    return tuple(row[2] for row in conn.execute(sql, (session.id,)) if (row[0], row[1]) in wanted)


def _links(conn: sqlite3.Connection, session: Header, wanted: Mapping[tuple[str, str], _Wanted]) -> None:
    """Links are those of the observations as they stand now; a call's own is its first observation."""
    sql = "SELECT turn_id, slot, observation_id FROM observation_origins WHERE session_db_id = ?"
    rows = {(row[0], row[1]): row[2] for row in conn.execute(sql, (session.id,))}
    made = {rows[key] for key in wanted}
    linked = {tuple(row) for row in conn.execute(_LINKED, (session.id,)) if row[0] in made}
    ordered = sorted(wanted.items(), key=lambda item: item[1].native)
    due = {(rows[key], call): None for key, one in ordered for call in one.calls}
    stray = linked - due.keys()
    # A call may have another owner by now, whose own observations say what it belongs to.
    conn.executemany("UPDATE tool_uses SET observation_id = NULL WHERE observation_id = ? AND id = ?", stray)
    conn.executemany("DELETE FROM observation_tool_uses WHERE observation_id = ? AND tool_use_row = ?", stray)
    conn.executemany("INSERT INTO observation_tool_uses VALUES (?, ?)", [pair for pair in due if pair not in linked])
    first: dict[int, int] = {}
    for row_id, call in due:
        first.setdefault(call, row_id)
    conn.executemany(
        "UPDATE tool_uses SET observation_id = ?1 WHERE id = ?2 AND observation_id IS NOT ?1",
        [(row_id, call) for call, row_id in first.items()],
    )


# --- summaries and work items ---------------------------------------------------------------------------


def _summaries(conn: sqlite3.Connection, session: Header, summaries: Sequence[Summary]) -> None:
    held = {row[0]: row[1:] for row in conn.execute(_HELD_SUMMARIES, (session.id,))}
    told = imported(conn, session.id, "summary")
    wanted = {one.part: _summary_values(session, one) for one in summaries if str(one.part) not in told}
    for part in held.keys() - wanted.keys():
        remove(conn, "session_summaries", held[part][0])
    for part, values in sorted(wanted.items()):
        if part not in held:
            row_id = _insert(conn, "session_summaries", _SUMMARY_COLUMNS, values)
            conn.execute("INSERT INTO summary_origins VALUES (?, ?, ?)", (row_id, session.id, part))
        elif held[part][1:] != values:
            row_id = held[part][0]
            _update(conn, "session_summaries", _SUMMARY_COLUMNS, values, row_id)
        else:
            continue
        title, body = (
            search_tokens(values[3]),
            search_tokens("\n".join(text for text in (*values[4:9], values[10]) if text)),
        )
        about = (row_id * 8 + SUMMARY_CODE, "summary", None, session.id, session.project_key, values[13], None)
        conn.execute(INDEX, (*about, title, body))


def _summary_values(session: Header, one: Summary) -> tuple[Any, ...]:
    """In the order of _SUMMARY_COLUMNS."""
    return (
        session.memory_session_id, session.project, session.project_key, one.request, one.investigated, one.learned,
        one.completed, one.next_steps, one.notes, _list(one.files_read), _list(one.files_edited), one.number,
        one.tokens, one.time,
    )  # fmt: skip


def _work(conn: sqlite3.Connection, session: Header, items: Sequence[WorkItem]) -> None:
    """Entries are only ever added, but for those whose record turned out to be another's."""
    held = {row[0]: row[1:] for row in conn.execute(_HELD_WORK.format("g.session_db_id = ?"), (session.id,))}
    told = imported(conn, session.id, "work")
    wanted = {item.identity: _work_values(session, item) for item in items if item.identity not in told}
    for identity in held.keys() - wanted.keys():
        conn.execute("DELETE FROM work_state_origins WHERE entry_id = ?", (held[identity][0],))
    held |= _work_taken_over(conn, session, [identity for identity in wanted if identity not in held])
    for identity, values in wanted.items():
        found = held.get(identity)
        if found is None:
            entry = _insert(conn, "work_state_entries", _WORK_COLUMNS, values)
            conn.execute("INSERT INTO work_state_origins VALUES (?, ?, ?)", (entry, session.id, identity))
        elif found[1:] != values:
            _update(conn, "work_state_entries", _WORK_COLUMNS, values, found[0])


def _work_taken_over(
    conn: sqlite3.Connection, session: Header, identities: Sequence[str]
) -> dict[str, tuple[Any, ...]]:
    """Entries that another session owned until now."""
    found = {}
    for start in range(0, len(identities), CHUNK):
        some = identities[start : start + CHUNK]
        sql = _HELD_WORK.format(f"g.identity IN ({', '.join('?' * len(some))})")
        for row in conn.execute(sql, some).fetchall():
            found[row[0]] = row[1:]
            sql = "UPDATE work_state_origins SET session_db_id = ? WHERE identity = ?"
            conn.execute(sql, (session.id, row[0]))
    return found


def _work_values(session: Header, item: WorkItem) -> tuple[Any, ...]:
    fields = {"key": item.key, "subject": item.subject, "status": item.status}
    return session.project, session.project_key, session.content_session_id, _told(fields), item.time


# --- rows -----------------------------------------------------------------------------------------------


def _insert(conn: sqlite3.Connection, table: str, names: tuple[str, ...], values: Sequence[Any]) -> int:
    return conn.execute(_inserting(table, names), values).lastrowid or 0


@cache
def _inserting(table: str, names: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"


def _update(conn: sqlite3.Connection, table: str, names: Sequence[str], values: Sequence[Any], row_id: int) -> None:
    given = ", ".join(f"{name} = ?" for name in names)
    conn.execute(f"UPDATE {table} SET {given} WHERE id = ?", (*values, row_id))


def remove(conn: sqlite3.Connection, table: str, row_id: int) -> None:
    """With all that hangs on it, whether or not this connection minds foreign keys."""
    code, origins, column = {
        "observations": (OBSERVATION_CODE, "observation_origins", "observation_id"),
        "session_summaries": (SUMMARY_CODE, "summary_origins", "summary_id"),
    }[table]
    conn.execute("DELETE FROM search_texts WHERE id = ?", (row_id * 8 + code,))
    if table == "observations":
        conn.execute("UPDATE tool_uses SET observation_id = NULL WHERE observation_id = ?", (row_id,))
        conn.execute("DELETE FROM observation_tool_uses WHERE observation_id = ?", (row_id,))
    conn.execute(f"DELETE FROM {origins} WHERE {column} = ?", (row_id,))
    kind = column.removesuffix("_id")
    conn.execute("DELETE FROM imported_memories WHERE kind = ? AND row_id = ?", (kind, row_id))
    conn.execute(f"DELETE FROM {table} WHERE id = ?", (row_id,))
