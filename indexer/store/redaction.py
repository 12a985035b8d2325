"""Which redaction rule set stands behind the stored texts, and what it takes to put another there.

A new rule set is adopted in one transaction: it gets the next number, and every transcript is to be read
again. Then `reapply` takes every stored text through it, a few hundred rows a transaction, and notes in the
same transaction where to go on: killed at any point, it goes on from there, and doing a piece twice changes
nothing. That covers what no transcript can yield again; where one still stands, reading it again brings what
the new rules make of the original, old marks included (Writer: a stale file's rows are refreshed).

Hashes follow their texts. Of a text that was cut the rest is gone, so its hash becomes that of what is
stored, until the transcript is read again. Index texts are made anew from the rows. When the last row is
done and anything has changed, the full-text index is merged into one segment, since FTS5 keeps the words of
deleted rows in the old ones, and the log is emptied: with secure_delete, nothing of the old text is left.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import orjson

from indexer.failpoints import passing
from indexer.store.bodies import capped, digest, dump, input_text, result_tokens
from indexer.store.checkpoints import IMPORTED
from indexer.store.connection import transaction
from indexer.store.erasing import owed
from indexer.store.turns import make_again
from indexer.store.upkeep import fold_log
from indexer.text import prompt_hash, search_tokens, storable, unkeyed_data

STEP_ROWS = 200
"""Rows of a transaction: at most 26 MB of text, mostly under one."""
MERGE_PAGES = 500
_BEGIN = '["sdk_sessions",[],false]'


class Redactor(Protocol):
    """What is asked of indexer.redact.Redactor."""

    @property
    def rules(self) -> str:
        """Name of the rule set."""
        ...

    def text(self, text: str) -> str:
        """Redacted; the same object if nothing is to be done."""
        ...

    def value(self, value: object) -> Any:
        """A JSON value, likewise."""
        ...

    def call(self, given: Any, answer: str | None) -> tuple[Any, str | None]:
        """A tool's input and the text of its answer, likewise."""
        ...


class _Table(NamedTuple):
    """A table with texts in it. key: what its rows are ordered by; json: columns that hold JSON.

    also: further columns that `follow` needs. follow: sets what is made of the texts. redact: the columns
    that come out otherwise."""

    name: str
    key: tuple[str, ...]
    texts: tuple[str, ...]
    json: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    follow: Callable[[sqlite3.Connection, dict[str, Any]], None] = lambda conn, row: None
    redact: Callable[[Redactor, _Table, dict[str, Any]], dict[str, Any]] = lambda *given: _columns(*given)


class _Place(NamedTuple):
    """Where to go on: behind the row with this key; whether anything has changed so far."""

    table: str
    after: list[Any]
    changed: bool


def adopt(conn: sqlite3.Connection, rules: str, *, again: bool = False) -> int:
    """Have the texts stand under this rule set from now on; returns its number. `again`: go over them even
    if they do. Before anything is written under it; what is stored is then for `reapply`."""
    with transaction(conn):
        row = conn.execute("SELECT number, rules, pending FROM redaction").fetchone()
        held = conn.execute("SELECT 1 FROM ingest_files LIMIT 1").fetchone()
        if row is None:
            sql = "INSERT INTO redaction (id, number, rules, pending) VALUES (1, 1, ?, ?)"
            conn.execute(sql, (rules, _BEGIN if held else None))
            if held:
                _unread(conn)
            return 1
        number = int(row[0])
        if row[1] != rules:
            number += 1
            _unread(conn)
        elif not again:
            return number
        sql = "UPDATE redaction SET number = ?, rules = ?, pending = ?"
        conn.execute(sql, (number, rules, _BEGIN))
        return number


def _unread(conn: sqlite3.Connection) -> None:
    read = f"path NOT GLOB '{IMPORTED}*'"
    conn.execute(f"UPDATE ingest_files SET parser_version = -1, size = -1 WHERE {read}")
    conn.execute(f"INSERT OR IGNORE INTO stale_files SELECT id FROM ingest_files WHERE {read}")


def reapply(conn: sqlite3.Connection, redactor: Redactor) -> Iterator[Counter[str]]:
    """Take the stored texts through the rules, a transaction a step, from where the last run stopped; each
    step yields how many rows of which table changed. Nothing to do: no step."""
    while (place := _place(conn)) is not None:
        if place.table == _END:
            if place.changed:
                _merge(conn)
                fold_log(conn)
            with transaction(conn):
                if place.changed:
                    # secure_delete leaves copies of rows in the free parts of pages: as after a forgetting, the
                    # database is to be written anew. What was made of the texts is made of other texts now.
                    conn.executemany("INSERT OR IGNORE INTO erasures (kind, value) VALUES (?, ?)", owed(sessions=False))
                    make_again(conn, [session for (session,) in conn.execute("SELECT id FROM sdk_sessions").fetchall()])
                conn.execute("UPDATE redaction SET pending = NULL")
            return
        with transaction(conn):
            changed, after = _step(conn, redactor, _BY_NAME[place.table], place.after)
            table = place.table if after else _NEXT[place.table]
            following = [table, after, place.changed or bool(changed)]
            conn.execute("UPDATE redaction SET pending = ?", (orjson.dumps(following).decode(),))
            passing("redaction.step")
        yield changed


def pending(conn: sqlite3.Connection) -> bool:
    """Whether something that was stored may not have gone through the present rules yet."""
    return _place(conn) is not None


def _place(conn: sqlite3.Connection) -> _Place | None:
    row = conn.execute("SELECT pending FROM redaction").fetchone()
    return _Place(*orjson.loads(row[0])) if row and row[0] else None


def _step(
    conn: sqlite3.Connection, redactor: Redactor, table: _Table, after: Sequence[object]
) -> tuple[Counter[str], list[object]]:
    """Redact the next rows of a table; returns what changed, and the last row's key if there may be more."""
    names = (*table.key, *table.texts, *table.json, *table.also)
    keys, marks = ", ".join(table.key), ", ".join("?" * len(table.key))
    where = f"WHERE ({keys}) > ({marks})" if after else ""
    sql = f"SELECT {', '.join(names)} FROM {table.name} {where} ORDER BY {keys} LIMIT {STEP_ROWS}"
    rows = conn.execute(sql, tuple(after)).fetchall()
    changed: Counter[str] = Counter()
    for values in rows:
        row = dict(zip(names, values, strict=True))
        new = table.redact(redactor, table, row)
        if new:
            sql = f"UPDATE {table.name} SET {', '.join(f'{name} = ?' for name in new)} WHERE ({keys}) = ({marks})"
            conn.execute(sql, (*new.values(), *values[: len(table.key)]))
            table.follow(conn, row | new)
            changed[table.name] += 1
    more = len(rows) == STEP_ROWS
    return changed, list(rows[-1][: len(table.key)]) if more else []


def _columns(redactor: Redactor, table: _Table, row: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row that come out otherwise."""
    new = {name: redactor.text(row[name]) for name in table.texts if row[name]}
    new |= {name: _json(redactor, row[name]) for name in table.json if row[name]}
    return {name: text for name, text in new.items() if text != row[name]}


def _json(redactor: Redactor, text: str) -> str:
    """JSON with its strings redacted; of one that was cut, the text."""
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return redactor.text(text)
    cleaned = redactor.value(value)
    return text if cleaned is value else dump(cleaned)[0]


def _call(redactor: Redactor, table: _Table, row: dict[str, Any]) -> dict[str, Any]:
    """A tool call: what it says of a secret file shows in input and response together."""
    new = _columns(redactor, table, row)
    try:
        given = orjson.loads(row["tool_input"] or "null")
    except orjson.JSONDecodeError:
        given = {"file_path": row["file_path"]} if row["file_path"] else None
        emptied, response = redactor.call(given, row["tool_response"])
        if response != row["tool_response"]:  # a secret file, of which the cut input still holds the start
            new["tool_input"], new["tool_response"] = dump(given)[0], response
        return new
    emptied, response = redactor.call(given, row["tool_response"])
    if emptied is not given:
        new["tool_input"] = capped(*dump(redactor.value(emptied)))
    if response != row["tool_response"]:
        new["tool_response"] = response
    return new


# -- what follows from a text ---------------------------------------------------------------------------


def _prompt(conn: sqlite3.Connection, row: dict[str, Any]) -> None:
    text = row["prompt_text"]
    sql = "UPDATE user_prompts SET native_prompt_hash = ? WHERE id = ?"
    conn.execute(sql, (prompt_hash(text), row["id"]))
    conn.execute("UPDATE search_texts SET body = ? WHERE id = ?", (search_tokens(text), row["id"] * 8))


def _answer(conn: sqlite3.Connection, row: dict[str, Any]) -> None:
    sql = "SELECT text FROM assistant_texts WHERE message_row_id = ? ORDER BY position, uuid"
    body = search_tokens("\n".join(text for (text,) in conn.execute(sql, (row["message_row_id"],))))
    conn.execute("UPDATE search_texts SET body = ? WHERE id = ?", (body, row["message_row_id"] * 8 + 1))


def _tool(conn: sqlite3.Connection, row: dict[str, Any]) -> None:
    """Hashes as store/tools makes them, of what is stored."""
    name, given, response = row["tool_name"], row["tool_input"] or "null", row["tool_response"]
    input_hash = digest(storable(name)[1], unkeyed_data(given.encode()))
    parts = [input_hash.encode()]
    if row["result_uuid"] is not None:
        parts.append(digest(unkeyed_data((response or "").encode())).encode())
    sql = "UPDATE tool_uses SET input_hash = ?, content_hash = ? WHERE id = ?"
    conn.execute(sql, (input_hash, digest(*parts), row["id"]))
    try:
        said = input_text(orjson.loads(given))
    except orjson.JSONDecodeError:
        said = input_text(given)
    body = search_tokens(said) + result_tokens(response or "")
    sql = "UPDATE search_texts SET title = ?, body = ? WHERE id = ?"
    conn.execute(sql, (search_tokens(name), body, row["id"] * 8 + 2))


def _unmatched(conn: sqlite3.Connection, row: dict[str, Any]) -> None:
    sql = "UPDATE unmatched_results SET response_hash = ? WHERE identity = ? AND uuid = ?"
    conn.execute(sql, (digest(unkeyed_data(row["tool_response"].encode())), row["identity"], row["uuid"]))


def _made(columns: str, code: int) -> Callable[[sqlite3.Connection, dict[str, Any]], None]:
    """Index texts of what was made by a compressor: all its texts."""

    def follow(conn: sqlite3.Connection, row: dict[str, Any]) -> None:
        names = columns.split()
        title, body = row[names[0]] or "", "\n".join(str(row[name]) for name in names[1:] if row[name])
        sql = "UPDATE search_texts SET title = ?, body = ? WHERE id = ?"
        conn.execute(sql, (search_tokens(title), search_tokens(body), row["id"] * 8 + code))

    return follow


def _merge(conn: sqlite3.Connection) -> None:
    """Make one segment of the full-text index, a few megabytes a transaction: the words of rows that are
    gone stand in the old ones until then."""
    if not conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_fts'").fetchone():
        return
    sql = "INSERT INTO search_fts(search_fts, rank) VALUES ('merge', ?)"
    pages = -MERGE_PAGES  # negative: all segments, whatever their level; once, then it goes on as usual
    while True:
        before = conn.total_changes
        with transaction(conn):
            conn.execute(sql, (pages,))
        pages = MERGE_PAGES
        if conn.total_changes - before < 2:
            return


_OBSERVED = ("title", "subtitle", "narrative", "text")
_SUMMED = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_TABLES = (
    _Table(
        "sdk_sessions", ("id",), ("user_prompt", "custom_title", "ai_title", "summary_title", "git_branch", "cwd")
    ),
    _Table("user_prompts", ("id",), ("prompt_text", "cwd"), follow=_prompt),
    _Table("assistant_texts", ("uuid",), ("text",), also=("message_row_id",), follow=_answer),
    _Table(
        "tool_uses", ("id",), ("tool_response", "tool_name", "file_path", "side_file", "cwd"), ("tool_input",),
        also=("result_uuid",), follow=_tool, redact=_call,
    ),
    _Table("unmatched_results", ("identity", "uuid"), ("tool_response", "side_file"), follow=_unmatched),
    _Table("turn_events", ("uuid", "ordinal"), (), ("data",)),
    _Table("session_agents", ("session_db_id", "agent_id"), ("description", "agent_type")),
    _Table("session_titles", ("leaf_uuid",), ("title",)),
    _Table("session_files", ("session_db_id", "file_id"), ("custom_title", "ai_title")),
    _Table("queue_operations", ("session_db_id", "file_id", "position"), ("text",)),
    _Table(
        "observations", ("id",), _OBSERVED, ("facts", "concepts", "files_read", "files_modified", "metadata"),
        follow=_made("title subtitle narrative text facts", 3),
    ),
    _Table(
        "session_summaries", ("id",), _SUMMED, ("files_read", "files_edited"), follow=_made(" ".join(_SUMMED), 4)
    ),
    _Table("model_turns", ("turn_id",), ("amiss", "error"), ("made",)),
    _Table("work_state_entries", ("id",), ("list_name",), ("fields",)),
)  # fmt: skip
_BY_NAME = {table.name: table for table in _TABLES}
_END = "end"
_NEXT = {table.name: after for table, after in zip(_TABLES, [*[t.name for t in _TABLES[1:]], _END], strict=True)}
