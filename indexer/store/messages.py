"""Rows of assistant_messages and assistant_texts: one API message over many lines, counted once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from indexer.records import AssistantText
from indexer.store.membership import in_chunks
from indexer.store.placing import NEW, SKIP, WIN, Context, Placer
from indexer.store.rows import ASSISTANT_CODE, MessageRow, Rows
from indexer.store.sessions import note_model
from indexer.text import clean, search_tokens

_MODEL, _TOKENS = 8, slice(9, 13)
"""Places in a gathered row (rows.py): the model, and the token counts."""


class Messages:
    """Puts assistant messages, for one transaction."""

    def __init__(self, conn: sqlite3.Connection, rows: Rows, placer: Placer) -> None:
        self._conn, self._rows, self._placer = conn, rows, placer
        self._held: dict[str, MessageRow] = {}
        self._grown: set[str] = set()
        self.new = 0

    def load(self, keys: Iterable[str]) -> None:
        """Look up the messages that are stored already."""
        sql = "SELECT message_id, id, session_db_id, record_uuid FROM assistant_messages WHERE message_id IN ({})"
        for key, *rest in in_chunks(self._conn, sql, list(keys)):
            self._held[key] = MessageRow(*rest)

    def put(self, context: Context, text: AssistantText, _: int) -> None:
        """Store one line of a message."""
        told = not context.imported or context.session.borrowed
        if told and context.agent_id is None and context.time_source == "record":
            note_model(context.session, text.model, context.time)
        if context.mode is SKIP:
            return
        row = self._held.get(text.message_key)
        if row is None:
            row = self._insert(context, text)
        else:
            follows = context.in_order and context.mode is NEW and row.terms == _terms(context)
            if not follows and self._placer.leads(context, row.record_uuid):
                self._take_over(context, row)
            if not context.imported or row.index >= 0:
                self._merge_usage(row, text)
            self._placer.filled.add(row.session)
        if text.text:
            self._put_text(context, row, text)

    def _insert(self, context: Context, text: AssistantText) -> MessageRow:
        session, row_id = context.session, self._rows.new_id("assistant_messages")
        row = self._held[text.message_key] = MessageRow(
            row_id, session.id, context.uuid, len(self._rows.messages), _terms(context)
        )
        self._rows.messages.append(
            [
                row_id, text.message_key, session.id, session.content_session_id, session.project_key, context.uuid,
                context.number, context.agent_id, text.model, text.input_tokens, text.output_tokens,
                text.cache_creation_tokens, text.cache_read_tokens, context.time,
            ]
        )  # fmt: skip
        self.new += 1
        return row

    def _merge_usage(self, row: MessageRow, text: AssistantText) -> None:
        """Token counts stand on every line of a message, the last ones largest: keep the largest."""
        if row.index < 0:
            self._rows.update(
                "UPDATE assistant_messages SET model = coalesce(model, ?1), input_tokens = max(input_tokens, ?2), "
                "output_tokens = max(output_tokens, ?3), cache_creation_tokens = max(cache_creation_tokens, ?4), "
                "cache_read_tokens = max(cache_read_tokens, ?5) WHERE id = ?6",
                *text[2:], row.id,
            )  # fmt: skip
            return
        gathered = self._rows.messages[row.index]
        gathered[_MODEL] = gathered[_MODEL] or text.model
        gathered[_TOKENS] = list(map(max, gathered[_TOKENS], text[3:]))

    def _take_over(self, context: Context, row: MessageRow) -> None:
        session = context.session
        row.session, row.record_uuid, row.terms, session.renumber = session.id, context.uuid, (), True
        self._rows.update(
            "UPDATE assistant_messages SET session_db_id = ?, content_session_id = ?, project_key = ?, "
            "record_uuid = ?, agent_id = ?, created_at_epoch = ? WHERE id = ?",
            session.id, session.content_session_id, session.project_key, context.uuid, context.agent_id, context.time,
            row.id,
        )  # fmt: skip
        self._rows.move_index(context, row.id * 8 + ASSISTANT_CODE)

    def _put_text(self, context: Context, row: MessageRow, text: AssistantText) -> None:
        cleaned = clean(text.text)
        if context.mode is NEW:
            self._rows.texts.append((context.uuid, row.id, context.time, context.position, cleaned))
            self._grown.add(text.message_key)
        elif context.mode is WIN:
            self._rows.update(
                "UPDATE assistant_texts SET position = ?, text = ?, created_at_epoch = ? WHERE uuid = ?",
                context.position, cleaned, context.time, context.uuid,
            )  # fmt: skip
            self._grown.add(text.message_key)
        else:
            return
        if row.index >= 0:
            row.texts[context.uuid] = context.position, cleaned

    def index_new(self) -> None:
        """Gather the index text of messages that are new: their lines are all in hand."""
        for key in self._grown:
            row = self._held[key]
            if row.index >= 0:
                values = self._rows.messages[row.index]
                body = search_tokens("\n".join(text for _, text in _ordered(row.texts)))
                self._rows.search.append(
                    (
                        row.id * 8 + ASSISTANT_CODE,
                        "assistant",
                        values[5],
                        values[2],
                        values[4],
                        values[13],
                        None,
                        "",
                        body,
                    )
                )

    def index_grown(self) -> None:
        """Renew the index text of stored messages that got another line, from their stored lines."""
        for key in sorted(self._grown):
            row = self._held[key]
            if row.index < 0:
                sql = "SELECT text FROM assistant_texts WHERE message_row_id = ? ORDER BY position, uuid"
                body = search_tokens("\n".join(text for (text,) in self._conn.execute(sql, (row.id,))))
                self._conn.execute(
                    "INSERT INTO search_texts (id, kind, uuid, session_db_id, project_key, created_at_epoch, body) "
                    "SELECT id * 8 + 1, 'assistant', record_uuid, session_db_id, project_key, created_at_epoch, ?2 "
                    "FROM assistant_messages WHERE id = ?1 "
                    "ON CONFLICT DO UPDATE SET body = excluded.body WHERE body <> excluded.body",
                    (row.id, body),
                )


def _ordered(texts: dict[str, tuple[int, str]]) -> list[tuple[int, str]]:
    """A message's lines as the store orders them: by position, then by record."""
    return [texts[uuid] for uuid in sorted(texts, key=lambda uuid: (texts[uuid][0], uuid))]


def _terms(context: Context) -> tuple[object, ...]:
    return context.session.id, context.agent_id, context.entry.forked_from
