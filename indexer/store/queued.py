"""Prompts that exist only as a line of the prompt queue.

Clients before 2.1.101 wrote a prompt that was handed to a running turn nowhere else (about 445 human
prompts in the measured corpus). The rule, per file: an `enqueue` that a first-in-first-out match pairs
with `remove` and whose text no record repeats is a prompt; `dequeue` is followed by a record of its
own, `popAll` takes the text back. Such a prompt's identity is made of session, time and text; when a
record with the same text turns up later, it is withdrawn.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from indexer.records import QueueOperation
from indexer.store.membership import OWNER
from indexer.store.sessions import Session, version_key
from indexer.text import clean, content_hash, prompt_hash, search_tokens

FIRST_WITH_RECORDS = (2, 1, 101)
PREFIX = "queued:"


class _Found(NamedTuple):
    file: int
    position: int
    time: int | None
    text: str
    digest: str


class Queue:
    """Queue lines of one transaction."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._lines: list[tuple[Session, tuple[object, ...]]] = []
        self._touched: set[int] = set()
        self._derived = bool(conn.execute("SELECT 1 FROM queue_operations LIMIT 1").fetchone())

    def add(self, session: Session, file_id: int, position: int, time: int | None, record: QueueOperation) -> None:
        """Take in one line."""
        text = clean(record.text).strip() if record.text is not None else None
        self._lines.append((session, (session.id, file_id, position, record.operation, time, text)))
        if record.operation == "remove":
            self._touched.add(session.id)

    def saw(self, session: Session) -> None:
        """A prompt of the session has a record of its own: it may be the twin of a queued one."""
        if self._derived:
            self._touched.add(session.id)

    def settle(self, sessions: Iterable[Session], index_text: bool) -> int:
        """Store the lines of old clients and bring their prompts up to date; returns how many are new."""
        old = {session.id for session in sessions if self._is_old(session)}
        self._conn.executemany(
            "INSERT OR IGNORE INTO queue_operations VALUES (?, ?, ?, ?, ?, ?)",
            [values for session, values in self._lines if session.id in old],
        )
        new = 0
        for session in sessions:
            if session.id in self._touched:
                new += self._derive(session, index_text) if session.id in old else -self._withdraw(session, set())
        return new

    @staticmethod
    def _is_old(session: Session) -> bool:
        return session.client_version is None or version_key(session.client_version) < FIRST_WITH_RECORDS

    def _derive(self, session: Session, index_text: bool) -> int:
        twins = (
            "SELECT p.native_prompt_hash FROM session_records r JOIN user_prompts p ON p.native_prompt_id = r.uuid "
            "WHERE r.session_db_id = ? AND r.uuid NOT LIKE 'queued:%'"
        )
        recorded = {digest for (digest,) in self._conn.execute(twins, (session.id,))}
        wanted = {
            f"{PREFIX}{content_hash(session.content_session_id, str(found.time), found.text)}": found
            for found in self._handed_over(session)
            if found.digest not in recorded
        }
        self._withdraw(session, set(wanted))
        return sum(self._put(session, uuid, found, index_text) for uuid, found in wanted.items())

    def _handed_over(self, session: Session) -> Sequence[_Found]:
        sql = (
            "SELECT file_id, position, operation, created_at_epoch, text FROM queue_operations "
            "WHERE session_db_id = ? ORDER BY file_id, position"
        )
        waiting: deque[_Found] = deque()
        out, current = [], None
        for file_id, position, operation, time, text in self._conn.execute(sql, (session.id,)):
            if file_id != current:
                waiting.clear()
                current = file_id
            if operation == "enqueue":
                waiting.append(_Found(file_id, position, time, text or "", prompt_hash(text or "")))
            elif operation == "popAll":
                waiting.clear()
            elif waiting:
                found = waiting.popleft()
                if operation == "remove" and found.text and found.text[0] not in "</":
                    out.append(found)
        return out

    def _withdraw(self, session: Session, keep: set[str]) -> int:
        sql = "SELECT native_prompt_id FROM user_prompts WHERE session_db_id = ? AND native_prompt_id LIKE 'queued:%'"
        gone = [(uuid,) for (uuid,) in self._conn.execute(sql, (session.id,)).fetchall() if uuid not in keep]
        self._conn.executemany("DELETE FROM user_prompts WHERE native_prompt_id = ?", gone)
        self._conn.executemany("DELETE FROM session_records WHERE uuid = ?", gone)
        session.renumber = session.renumber or bool(gone)
        return len(gone)

    def _put(self, session: Session, uuid: str, found: _Found, index_text: bool) -> bool:
        row = self._conn.execute(
            "INSERT INTO user_prompts (session_db_id, content_session_id, project_key, prompt_text, native_prompt_id, "
            "native_prompt_hash, is_queued, cwd, created_at_epoch) VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?) "
            "ON CONFLICT DO NOTHING RETURNING id",
            (
                session.id, session.content_session_id, session.project_key, found.text, uuid, found.digest,
                session.cwd, found.time,
            ),
        ).fetchone()  # fmt: skip
        if row is None:
            return False
        self._conn.execute(
            "INSERT OR IGNORE INTO session_records VALUES (?, ?, ?, ?, ?)",
            (uuid, session.id, found.file, found.position, OWNER),
        )
        if index_text:
            self._conn.execute(
                "INSERT INTO search_texts (id, kind, uuid, session_db_id, project_key, created_at_epoch, body) "
                "VALUES (? * 8, 'prompt', ?, ?, ?, ?, ?)",
                (row[0], uuid, session.id, session.project_key, found.time, search_tokens(found.text)),
            )
        session.renumber = True
        return True
