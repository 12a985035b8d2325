"""Rows of user_prompts: what people typed, once, whatever number of files repeat it."""

from __future__ import annotations

import sqlite3

from indexer.records import Prompt
from indexer.store.placing import NEW, SKIP, WIN, Context
from indexer.store.queued import Queue
from indexer.store.rows import PROMPT_CODE, Rows
from indexer.store.sessions import Session, note_prompt
from indexer.text import clean, prompt_hash, search_tokens

_FIND = "SELECT id FROM user_prompts WHERE native_prompt_id = ?"


class Prompts:
    """Puts prompts, for one transaction. `conflicts` counts known ids that came with another text."""

    def __init__(self, conn: sqlite3.Connection, rows: Rows, queue: Queue) -> None:
        self._conn, self._rows, self._queue = conn, rows, queue
        self.new = self.conflicts = 0

    def put(self, context: Context, prompt: Prompt, _: int) -> None:
        """Store a prompt, or what a further copy of it adds."""
        if context.mode is SKIP:
            return
        text = clean(prompt.text)
        if context.in_order:
            note_prompt(context.session, prompt.kind, text, private=prompt.private)
        self._queue.saw(context.session)
        context.session.renumber_agents = context.session.renumber_agents or self._has_agents(context.session)
        digest = prompt_hash(text)
        if context.mode is NEW:
            self._insert(context, prompt, text, digest)
            return
        other = "SELECT count(*) FROM user_prompts WHERE native_prompt_id = ? AND native_prompt_hash <> ?"
        if not self._rows.refresh:
            self.conflicts += self._conn.execute(other, (context.uuid, digest)).fetchone()[0]
        if context.mode is WIN:
            self._take_over(context, prompt, text, digest)
        else:
            self._rows.update(
                "UPDATE user_prompts SET cwd = ? WHERE native_prompt_id = ? AND cwd IS NULL",
                context.entry.cwd, context.uuid,
            )  # fmt: skip

    def _insert(self, context: Context, prompt: Prompt, text: str, digest: str) -> None:
        session, row_id = context.session, self._rows.new_id("user_prompts")
        self._rows.prompts.append(
            (
                row_id, session.id, session.content_session_id, session.project_key, session.prompt_counter,
                prompt.kind, text, context.uuid, digest, prompt.private, prompt.queued, context.time_source,
                context.entry.cwd, context.time,
            )
        )  # fmt: skip
        self.new += prompt.kind == "prompt"
        self._rows.index(context, row_id * 8 + PROMPT_CODE, prompt.kind, None, "", text)

    def _has_agents(self, session: Session) -> bool:
        """A new prompt may be the one that a sub-agent's undirected work belongs to."""
        sql = "SELECT 1 FROM session_files WHERE session_db_id = ? AND is_agent LIMIT 1"
        return bool(self._conn.execute(sql, (session.id,)).fetchone())

    def _take_over(self, context: Context, prompt: Prompt, text: str, digest: str) -> None:
        session = context.session
        self._rows.update(
            "UPDATE user_prompts SET session_db_id = ?, content_session_id = ?, project_key = ?, prompt_kind = ?, "
            "prompt_text = ?, native_prompt_hash = ?, is_private = ?, is_queued = ?, time_source = ?, "
            "cwd = coalesce(?, cwd), created_at_epoch = ? WHERE native_prompt_id = ?",
            session.id, session.content_session_id, session.project_key, prompt.kind, text, digest, prompt.private,
            prompt.queued, context.time_source, context.entry.cwd, context.time, context.uuid,
        )  # fmt: skip
        place = f"({_FIND}) * 8 + {PROMPT_CODE}"
        self._rows.update(
            f"UPDATE search_texts SET session_db_id = ?, project_key = ?, created_at_epoch = ? WHERE id = {place}",
            session.id, session.project_key, context.time, context.uuid,
        )  # fmt: skip
        tokens = search_tokens(text) if self._rows.index_text else ""
        self._rows.update(
            f"UPDATE search_texts SET body = ? WHERE id = {place} AND body <> ?", tokens, context.uuid, tokens
        )
