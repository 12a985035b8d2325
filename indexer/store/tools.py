"""Rows of tool_uses: calls and their results, in whatever order the two turn up."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from indexer.records import ToolResult, ToolUse
from indexer.store.bodies import capped, digest, dump, input_text, result_tokens
from indexer.store.membership import in_chunks
from indexer.store.placing import Context, Mode, Placer
from indexer.store.rows import TOOL_CODE, Rows, ToolRow
from indexer.text import clean, storable

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

    def before(self, row: ToolRow) -> bool:
        """Whether this result is to stand rather than the row's. Of several (a session resumed twice)
        the earliest does, so that the order of reading does not matter."""
        if row.result_uuid is None:
            return True
        mine = (self.time is None, self.time or 0, self.uuid)
        return mine < (row.result_at is None, row.result_at or 0, row.result_uuid)


class Tools:
    """Puts tool uses and results, for one transaction."""

    def __init__(self, conn: sqlite3.Connection, rows: Rows, placer: Placer, platform: str) -> None:
        self._conn, self._rows, self._placer, self._platform = conn, rows, placer, platform
        self._held: dict[str, ToolRow] = {}
        self._unmatched = bool(conn.execute("SELECT 1 FROM unmatched_results LIMIT 1").fetchone())
        self.new = 0

    def load(self, identities: Iterable[str]) -> None:
        """Look up the calls that are stored already."""
        sql = (
            "SELECT identity, id, session_db_id, record_uuid, input_hash, result_uuid, result_at_epoch "
            "FROM tool_uses WHERE identity IN ({})"
        )
        for identity, *rest in in_chunks(self._conn, sql, list(identities)):
            self._held[identity] = ToolRow(*rest)

    # -- calls -------------------------------------------------------------------------------------

    def put(self, context: Context, tool: ToolUse, _: int) -> None:
        """Store a call, or what a further copy of it adds."""
        if context.mode is Mode.SKIP:
            return
        row = self._held.get(tool.identity)
        if row is None:
            self._insert(context, tool)
        elif context.mode is Mode.WIN or (
            row.record_uuid != context.uuid and self._placer.outranks(context.uuid, row.record_uuid)
        ):
            self._take_over(context, row)
        else:
            self._rows.update(
                "UPDATE tool_uses SET cwd = coalesce(cwd, ?), created_at_epoch = coalesce(created_at_epoch, ?) "
                "WHERE id = ? AND (cwd IS NULL OR created_at_epoch IS NULL)",
                context.entry.cwd, context.time, row.id,
            )  # fmt: skip

    def _insert(self, context: Context, tool: ToolUse) -> None:
        session, row_id = context.session, self._rows.new_id("tool_uses")
        given, data = dump(tool.input)
        name, name_data = storable(tool.name)
        input_hash = digest(name_data, data)
        self._held[tool.identity] = ToolRow(
            row_id, session.id, context.uuid, input_hash, None, None, len(self._rows.tools)
        )
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
            "created_at_epoch = coalesce(?, created_at_epoch) WHERE id = ?",
            session.id, session.content_session_id, session.memory_session_id, session.project, session.project_key,
            context.uuid, context.agent_id, context.entry.cwd, context.time, row.id,
        )  # fmt: skip
        self._rows.move_index(context, row.id * 8 + TOOL_CODE)
        session.renumber = True

    # -- results -----------------------------------------------------------------------------------

    def put_result(self, context: Context, result: ToolResult, _: int) -> None:
        """Give a call its result, or keep the result until its call turns up."""
        if context.mode is Mode.SKIP:
            return
        response, data = storable(result.text)
        answer = _Answer(
            context.uuid, context.time, result.is_error, clean(result.side_file) if result.side_file else None,
            capped(response, data), digest(data),
        )  # fmt: skip
        row = self._held.get(result.identity) if result.identity else None
        row = row or self._nearest(context, result.tool_use_id)
        if row is not None:
            self._answer(row, answer)
            return
        self._unmatched = True
        self._conn.execute(
            "INSERT OR IGNORE INTO unmatched_results (uuid, identity, session_db_id, created_at_epoch, is_error, "
            "side_file, tool_response, response_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                answer.uuid,
                result.identity or f"{context.uuid}:{result.tool_use_id}",
                context.session.id,
                *answer[1:],
            ),
        )

    def _nearest(self, context: Context, tool_use_id: str) -> ToolRow | None:
        """A weak id's call is the last one before its result, in this session, that has no answer."""
        waiting = [
            row
            for identity, row in self._held.items()
            if row.session == context.session.id
            and row.result_uuid is None
            and identity.partition(":")[2].partition("#")[0] == tool_use_id
        ]
        if waiting:
            return max(waiting, key=lambda row: row.id)
        sql = (
            "SELECT identity FROM tool_uses WHERE session_db_id = ? AND tool_use_id = ? AND identity <> tool_use_id "
            "AND result_uuid IS NULL AND created_at_epoch <= coalesce(?, created_at_epoch) "
            "ORDER BY created_at_epoch DESC, id DESC LIMIT 1"
        )
        found = self._conn.execute(sql, (context.session.id, tool_use_id, context.time)).fetchone()
        if found is None:
            return None
        self.load(found)
        return self._held[found[0]]

    def _claim(self, identity: str) -> None:
        """Results that came before their call."""
        sql = (
            "DELETE FROM unmatched_results WHERE identity = ? "
            "RETURNING uuid, created_at_epoch, is_error, side_file, tool_response, response_hash"
        )
        for values in self._conn.execute(sql, (identity,)).fetchall():
            self._answer(self._held[identity], _Answer(*values))

    def _answer(self, row: ToolRow, answer: _Answer) -> None:
        if not answer.before(row):
            return
        replaces, row.result_uuid, row.result_at = row.result_uuid is not None, answer.uuid, answer.time
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
