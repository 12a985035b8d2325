"""New rows of one transaction, gathered and written in bulk, with ids given out beforehand.

Ids are taken from sqlite_sequence at the start (there is one writer), so that a row, its search text
and its children can be gathered before any of them is written. Search texts go through a TEMP table
and one INSERT … SELECT: row by row, each trigger run makes FTS5 flush a segment of its own, which
costs three times as much (performance.md section 3).
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import Any, Final

from indexer.store.placing import Context
from indexer.text import search_tokens

PROMPT_CODE, ASSISTANT_CODE, TOOL_CODE = 0, 1, 2
"""Code of the table in search_texts.id = row id * 8 + code (schema.sql)."""

_STAGE = (
    "CREATE TEMP TABLE IF NOT EXISTS stage (id INTEGER PRIMARY KEY, kind TEXT, uuid TEXT, session_db_id INTEGER, "
    "project_key TEXT, created_at_epoch INTEGER, detail TEXT, title TEXT, body TEXT)"
)


def _insert(table: str, columns: str, on_conflict: str = "") -> str:
    marks = ", ".join("?" * len(columns.split(",")))
    return f"INSERT INTO {table} ({columns}) VALUES ({marks}) {on_conflict}"


_PROMPTS: Final = _insert(
    "user_prompts",
    "id, session_db_id, content_session_id, project_key, prompt_number, prompt_kind, prompt_text, native_prompt_id, "
    "native_prompt_hash, is_private, is_queued, time_source, cwd, created_at_epoch",
)
_MESSAGES: Final = _insert(
    "assistant_messages",
    "id, message_id, session_db_id, content_session_id, project_key, record_uuid, prompt_number, agent_id, model, "
    "input_tokens, output_tokens, cache_creation_tokens, cache_read_tokens, created_at_epoch",
)
_TEXTS: Final = _insert(
    "assistant_texts", "uuid, message_row_id, created_at_epoch, position, text", "ON CONFLICT DO NOTHING"
)
_TOOLS: Final = _insert(
    "tool_uses",
    "id, identity, tool_use_id, content_session_id, memory_session_id, session_db_id, project, project_key, "
    "platform_source, record_uuid, tool_name, file_path, prompt_number, agent_id, cwd, created_at_epoch, tool_input, "
    "input_hash, result_uuid, result_at_epoch, is_error, side_file, tool_response, content_hash",
)
_EVENTS: Final = _insert(
    "turn_events", "uuid, ordinal, session_db_id, created_at_epoch, kind, data", "ON CONFLICT DO NOTHING"
)
_SEARCH: Final = _insert(
    "temp.stage", "id, kind, uuid, session_db_id, project_key, created_at_epoch, detail, title, body"
)


@dataclass(slots=True)
class ToolRow:
    """A tool use in hand: gathered in this transaction, or read from the store.

    index: its place in Rows.tools, -1 when it is stored.
    """

    id: int
    session: int
    record_uuid: str
    input_hash: str
    result_uuid: str | None = None
    index: int = -1


@dataclass(slots=True)
class MessageRow:
    """An assistant message in hand; index: its place in Rows.messages, -1 when it is stored.

    terms: session, agent and origin of its record, of a new message."""

    id: int
    session: int
    record_uuid: str
    index: int = -1
    terms: tuple[object, ...] = ()
    texts: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Position and text by record, of a message that is not stored yet."""


@dataclass(slots=True)
class Rows:
    """Rows to insert, as tuples in the order of the statements above; updates run after them."""

    conn: sqlite3.Connection
    index_text: bool = True
    prompts: list[tuple[object, ...]] = field(default_factory=list)
    messages: list[list[Any]] = field(default_factory=list)
    texts: list[tuple[object, ...]] = field(default_factory=list)
    tools: list[list[Any]] = field(default_factory=list)
    events: list[tuple[object, ...]] = field(default_factory=list)
    search: list[tuple[Any, ...]] = field(default_factory=list)
    updates: list[tuple[str, tuple[object, ...]]] = field(default_factory=list)
    refresh: bool = False
    """The records in hand were stored under another redaction rule set (checkpoints.FileRow.stale)."""
    _next: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tables = ("user_prompts", "assistant_messages", "tool_uses")
        self._next = dict.fromkeys(tables, 0)
        self._next.update(self.conn.execute("SELECT name, seq FROM sqlite_sequence").fetchall())

    def new_id(self, table: str) -> int:
        """The next row id of a table with AUTOINCREMENT."""
        self._next[table] += 1
        return self._next[table]

    def update(self, sql: str, *values: object) -> None:
        """A statement to run once the new rows are in."""
        self.updates.append((sql, values))

    def last_ids(self) -> tuple[int, int]:
        """The newest ids of tool_uses and assistant_messages, given out or not yet."""
        return self._next["tool_uses"], self._next["assistant_messages"]

    def index(self, context: Context, row_id: int, kind: str, detail: str | None, title: str, body: str) -> None:
        """Gather the index text of a new row."""
        if self.index_text:
            self.search.append(
                (
                    row_id, kind, context.uuid, context.session.id, context.session.project_key, context.time, detail,
                    search_tokens(title) if title else "", search_tokens(body),
                )
            )  # fmt: skip

    def move_index(self, context: Context, row_id: int) -> None:
        """Give a row's index text to another session: filter columns only, the index is not touched."""
        self.update(
            "UPDATE search_texts SET session_db_id = ?, project_key = ?, uuid = ?, "
            "created_at_epoch = ? WHERE id = ?",
            context.session.id, context.session.project_key, context.uuid, context.time, row_id,
        )  # fmt: skip

    def flush(self) -> None:
        """Write everything that was gathered."""
        many = self.conn.executemany
        many(_PROMPTS, self.prompts)
        many(_MESSAGES, self.messages)
        many(_TEXTS, self.texts)
        many(_TOOLS, self.tools)
        many(_EVENTS, self.events)
        if self.search:
            self.conn.execute(_STAGE)
            many(_SEARCH, self.search)
            self.conn.execute("INSERT INTO search_texts SELECT * FROM temp.stage")
            self.conn.execute("DELETE FROM temp.stage")
        for sql, values in self.updates:
            self.conn.execute(sql, values)
        for gathered in (
            self.prompts,
            self.messages,
            self.texts,
            self.tools,
            self.events,
            self.search,
            self.updates,
        ):
            gathered.clear()
