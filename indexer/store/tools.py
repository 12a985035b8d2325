"""Rows of tool_uses: calls and their results, in whatever order the two turn up."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from indexer.records import ToolResult, ToolUse
from indexer.store.bodies import capped, digest, dump, input_text, result_tokens
from indexer.store.membership import in_chunks
from indexer.store.placing import FILL, SKIP, WIN, Context, Placer
from indexer.store.rows import TOOL_CODE, Rows, ToolRow
from indexer.store.twins import FOREIGN
from indexer.store.weak_calls import WeakCalls, weak_id
from indexer.text import clean, search_tokens, storable, unkeyed_data

_RESULT = slice(18, 24)
"""Places of a result in a gathered row (rows.py)."""
_INPUT_HASH, _RESPONSE, _CONTENT_HASH = 17, 22, 23


class _Answer(NamedTuple):
    """A result as it is stored; `digest` is of the uncut text."""

    uuid: str
    time: int | None
    is_error: bool | None
    side_file: str | None
    response: str
    digest: str


class Tools:
    """Puts tool uses and results, for one transaction."""

    def __init__(self, conn: sqlite3.Connection, rows: Rows, placer: Placer, platform: str) -> None:
        self._conn, self._rows, self._placer, self._platform = conn, rows, placer, platform
        self._held: dict[str, ToolRow] = {}
        self._weak = WeakCalls(placer)
        self._stored: dict[int, dict[str, list[str]]] = {}
        self._unmatched = bool(conn.execute("SELECT 1 FROM unmatched_results LIMIT 1").fetchone())
        self.new = 0

    def load(self, identities: Iterable[str]) -> None:
        """Look up the calls that are stored already."""
        sql = (
            "SELECT identity, id, session_db_id, record_uuid, input_hash, result_uuid "
            "FROM tool_uses WHERE identity IN ({})"
        )
        for identity, *rest in in_chunks(self._conn, sql, list(identities)):
            self._held[identity] = ToolRow(*rest)
            self._weak.add(identity, self._held[identity])

    # -- calls -------------------------------------------------------------------------------------

    def put(self, context: Context, tool: ToolUse, _: int) -> None:
        """Store a call, or what a further copy of it adds."""
        if context.mode is SKIP:
            return
        if tool.identity in context.session.agent_calls:
            context.session.renumber_agents = True
        row = self._held.get(tool.identity)
        if row is None:
            self._insert(context, tool)
            return
        if self._placer.leads(context, row.record_uuid):
            refresh = self._rows.refresh or row.record_uuid.startswith(FOREIGN)
            self._take_over(context, row)
            if refresh and row.index < 0:
                self._renew(row, tool)
        else:
            sql = "UPDATE tool_uses SET cwd = ? WHERE id = ? AND cwd IS NULL"
            self._rows.update(sql, context.entry.cwd, row.id)
        self._weak.add(tool.identity, row)

    def _insert(self, context: Context, tool: ToolUse) -> None:
        session, row_id = context.session, self._rows.new_id("tool_uses")
        given, data = dump(tool.input)
        name, name_data = storable(tool.name)
        input_hash = digest(name_data, unkeyed_data(data))
        row = ToolRow(row_id, session.id, context.uuid, input_hash, None, len(self._rows.tools))
        self._held[tool.identity] = row
        self._weak.add(tool.identity, row)
        self._rows.tools.append(
            [
                row_id, tool.identity, tool.tool_use_id, session.content_session_id, session.memory_session_id,
                session.id, session.project, session.project_key, self._platform, context.uuid, name, tool.file_path,
                context.number, context.agent_id, context.entry.cwd, context.time, capped(given, data),
                input_hash, None, None, None, None, None, None,
            ]
        )  # fmt: skip
        self.new += 1
        if self._rows.index_text:
            self._rows.index(context, row_id * 8 + TOOL_CODE, "tool_use", name, name, input_text(tool.input))
        if self._unmatched:
            self._claim(tool.identity)

    def _take_over(self, context: Context, row: ToolRow) -> None:
        session = context.session
        row.session, row.record_uuid = session.id, context.uuid
        self._rows.update(
            "UPDATE tool_uses SET session_db_id = ?, content_session_id = ?, memory_session_id = ?, project = ?, "
            "project_key = ?, record_uuid = ?, agent_id = ?, agent_type = NULL, cwd = coalesce(?, cwd), "
            "created_at_epoch = ? WHERE id = ?",
            session.id, session.content_session_id, session.memory_session_id, session.project, session.project_key,
            context.uuid, context.agent_id, context.entry.cwd, context.time, row.id,
        )  # fmt: skip
        self._rows.move_index(context, row.id * 8 + TOOL_CODE)
        session.renumber = True

    def _renew(self, row: ToolRow, tool: ToolUse) -> None:
        """Store an input again that other rules have redacted. At once: its result may follow."""
        given, data = dump(tool.input)
        name, name_data = storable(tool.name)
        row.input_hash = digest(name_data, unkeyed_data(data))
        self._conn.execute(
            "UPDATE tool_uses SET tool_input = ?, input_hash = ?, file_path = ?, tool_name = ? WHERE id = ?",
            (capped(given, data), row.input_hash, tool.file_path, name, row.id),
        )
        if row.result_uuid is None:
            sql = "UPDATE tool_uses SET content_hash = ? WHERE id = ?"
            self._conn.execute(sql, (digest(row.input_hash.encode()), row.id))
        sql = "SELECT tool_response FROM tool_uses WHERE id = ?"
        ends = result_tokens(self._conn.execute(sql, (row.id,)).fetchone()[0] or "")
        body = search_tokens(input_text(tool.input)) + ends
        sql = "UPDATE search_texts SET title = ?, body = ? WHERE id = ?"
        self._conn.execute(sql, (search_tokens(name), body, row.id * 8 + TOOL_CODE))

    # -- results -----------------------------------------------------------------------------------

    def put_result(self, context: Context, result: ToolResult, _: int) -> None:
        """Give a call its result, or keep the result until its call turns up."""
        if context.mode is SKIP:
            return
        response, data = storable(result.text)
        answer = _Answer(
            context.uuid, context.time, result.is_error, clean(result.side_file) if result.side_file else None,
            capped(response, data), digest(unkeyed_data(data)),
        )  # fmt: skip
        row = self._held.get(result.identity) if result.identity else None
        if row is None and context.mode is not FILL:
            row = self._nearest(context, result)
        if row is not None:
            if row.result_uuid is None or self._placer.leads(context, row.result_uuid):
                self._answer(row, answer)
                self._placer.filled.add(row.session)
            return
        if context.mode is FILL:
            return  # it waits already, or its best copy has found a call
        self._unmatched = True
        self._conn.execute(
            "INSERT INTO unmatched_results (uuid, identity, session_db_id, created_at_epoch, is_error, side_file, "
            "tool_response, response_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "session_db_id = excluded.session_db_id, created_at_epoch = excluded.created_at_epoch, "
            "is_error = excluded.is_error, side_file = excluded.side_file, "
            "tool_response = excluded.tool_response, response_hash = excluded.response_hash WHERE ?",
            (
                answer.uuid,
                result.identity or f"{context.uuid}:{result.tool_use_id}",
                context.session.id,
                *answer[1:],
                context.mode is WIN,
            ),
        )

    def _nearest(self, context: Context, result: ToolResult) -> ToolRow | None:
        """The call of a weak id whose record is none of a call: the last one before the result in its file.
        While the session does not hold that record, it may yet turn up."""
        caller, _, weak = (result.identity or f":{result.tool_use_id}").partition(":")
        if weak != result.tool_use_id or (caller and not self._placer.holds(context.session, caller)):
            return None
        self.load(self._stored_calls(context.session.id).pop(weak, ()))
        return self._weak.nearest(weak, context)

    def _stored_calls(self, session: int) -> dict[str, list[str]]:
        """Identities by weak id of the stored calls among the records of a session that are not in hand."""
        if session not in self._stored:
            sql = (
                "SELECT identity FROM tool_uses WHERE identity <> tool_use_id AND session_db_id IN (SELECT "
                "o.session_db_id FROM session_records r JOIN session_records o ON o.uuid = r.uuid "
                "WHERE r.session_db_id = ?)"
            )
            found = self._stored[session] = {}
            for (identity,) in self._conn.execute(sql, (session,)):
                if identity not in self._held:
                    found.setdefault(weak_id(identity), []).append(identity)
        return self._stored[session]

    def _claim(self, identity: str) -> None:
        """Results that came before their call."""
        sql = (
            "DELETE FROM unmatched_results WHERE identity = ? "
            "RETURNING uuid, created_at_epoch, is_error, side_file, tool_response, response_hash"
        )
        row = self._held[identity]
        for values in self._conn.execute(sql, (identity,)).fetchall():
            if row.result_uuid is None or self._placer.precedes(values[0], row.result_uuid):
                self._answer(row, _Answer(*values))

    def _answer(self, row: ToolRow, answer: _Answer) -> None:
        """Of several results (a session resumed twice) the best member's stands, as of all copies."""
        replaces, row.result_uuid = row.result_uuid is not None, answer.uuid
        values = (*answer[:5], digest(row.input_hash.encode(), answer.digest.encode()))
        if row.index >= 0:
            self._rows.tools[row.index][_RESULT] = values
            return
        if self._rows.index_text:
            self._reindex(row.id, answer.response, replaces)
        self._rows.update(
            "UPDATE tool_uses SET result_uuid = ?, result_at_epoch = ?, is_error = ?, side_file = ?, "
            "tool_response = ?, content_hash = ? WHERE id = ?",
            *values, row.id,
        )  # fmt: skip

    # -- index texts -------------------------------------------------------------------------------

    def _reindex(self, row_id: int, response: str, replaces: bool) -> None:
        """The index text of a call is that of its input, then that of its result's ends."""
        sql = "SELECT s.body, t.tool_response FROM search_texts s JOIN tool_uses t ON t.id = ? WHERE s.id = ?"
        found = self._conn.execute(sql, (row_id, row_id * 8 + TOOL_CODE)).fetchone()
        if found is None:
            return
        body = found[0].removesuffix(result_tokens(found[1] or "")) if replaces else found[0]
        sql = "UPDATE search_texts SET body = ? WHERE id = ?"
        self._rows.update(sql, body + result_tokens(response), row_id * 8 + TOOL_CODE)

    def finish(self) -> None:
        """Calls without a result have the hash of their input alone."""
        for row in self._rows.tools:
            if row[_CONTENT_HASH] is None:
                row[_CONTENT_HASH] = digest(row[_INPUT_HASH].encode())

    def index_new(self) -> None:
        """Results that met their call within this transaction join its index text."""
        ends = {row[0] * 8 + TOOL_CODE: row[_RESPONSE] for row in self._rows.tools if row[_RESPONSE]}
        for place, row in enumerate(self._rows.search):
            if row[0] in ends:
                self._rows.search[place] = (*row[:8], row[8] + result_tokens(ends[row[0]]))


def unanswered(conn: sqlite3.Connection, file_id: int) -> list[tuple[str, str]]:
    """Id and input of the calls without an answer yet, of the sessions that stand in a file."""
    sql = (
        "SELECT tool_use_id, tool_input FROM tool_uses WHERE result_uuid IS NULL AND tool_input IS NOT NULL "
        "AND session_db_id IN (SELECT session_db_id FROM session_files WHERE file_id = ?)"
    )
    return [(tool_use_id, given) for tool_use_id, given in conn.execute(sql, (file_id,))]
