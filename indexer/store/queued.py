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
from collections.abc import Iterable
from typing import NamedTuple

from indexer.records import QueueOperation
from indexer.store.membership import IMPORTED, OWNER
from indexer.store.sessions import Session, version_key
from indexer.text import clean, content_hash, prompt_hash, search_tokens, unkeyed

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
        self._lines: list[tuple[object, ...]] = []
        self._versions: dict[int, str] = {}
        self._touched: set[int] = set()
        self._derived = bool(conn.execute("SELECT 1 FROM queue_operations LIMIT 1").fetchone())

    def add(
        self, session: Session, file_id: int, position: int, time: int | None, version: str | None, line: QueueOperation
    ) -> None:
        """Take in one line, written by a client of this version (None: no record has named one yet)."""
        if version is not None and not is_old(version):
            return
        text = clean(line.text).strip() if line.text is not None else None
        self._lines.append((session.id, file_id, position, line.operation, time, text, version))
        if line.operation == "remove":
            self._touched.add(session.id)

    def tell_version(self, file_id: int, version: str) -> None:
        """The first version that a file names: that of the lines before it."""
        self._versions[file_id] = version

    def saw(self, session: Session) -> None:
        """A prompt of the session has a record of its own: it may be the twin of a queued one."""
        if self._derived:
            self._touched.add(session.id)

    def store(self) -> set[int]:
        """Store the lines of old clients; returns the sessions whose queued prompts may be others now."""
        self._conn.executemany("INSERT OR IGNORE INTO queue_operations VALUES (?, ?, ?, ?, ?, ?, ?)", self._lines)
        for file_id, version in self._versions.items():
            self._date_lines(file_id, version)
        return self._touched

    def settle(self, sessions: Iterable[Session], index_text: bool) -> int:
        """Bring the prompts of these sessions up to date; returns how many are new."""
        return sum(self._derive(session, index_text) for session in sessions if session.id in self._touched)

    def _date_lines(self, file_id: int, version: str) -> None:
        unversioned = "WHERE file_id = ? AND version IS NULL"
        found = self._conn.execute(f"SELECT DISTINCT session_db_id FROM queue_operations {unversioned}", (file_id,))
        self._touched.update(session for (session,) in found)
        if is_old(version):
            self._conn.execute(f"UPDATE queue_operations SET version = ? {unversioned}", (version, file_id))
        else:
            self._conn.execute(f"DELETE FROM queue_operations {unversioned}", (file_id,))

    def _derive(self, session: Session, index_text: bool) -> int:
        twins = (
            "SELECT p.native_prompt_hash FROM session_records r JOIN user_prompts p ON p.native_prompt_id = r.uuid "
            "WHERE r.session_db_id = ? AND r.uuid NOT LIKE 'queued:%' AND r.uuid NOT LIKE 'claude-mem:%'"
        )
        recorded = {digest for (digest,) in self._conn.execute(twins, (session.id,))}
        wanted: dict[str, _Found] = {}
        for found in self._handed_over(session):
            if found.digest not in recorded:
                identity = content_hash(session.content_session_id, str(found.time), unkeyed(found.text))
                wanted.setdefault(PREFIX + identity, found)
        self._withdraw(session, set(wanted))
        return sum(self._put(session, uuid, found, index_text) for uuid, found in wanted.items())

    def _handed_over(self, session: Session) -> list[_Found]:
        """Prompts by the rule, file by file, that which is named for the session first."""
        sql = (
            "SELECT q.file_id, q.position, q.operation, q.created_at_epoch, q.text FROM queue_operations q "
            "JOIN ingest_files f ON f.id = q.file_id WHERE q.session_db_id = ? "
            "ORDER BY f.session_id IS NOT ?, f.path, q.position"
        )
        waiting: deque[_Found] = deque()
        out, current = [], None
        lines = self._conn.execute(sql, (session.id, session.content_session_id))
        for file_id, position, operation, time, text in lines:
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

    def _withdraw(self, session: Session, keep: set[str]) -> None:
        sql = (
            "SELECT p.id, p.native_prompt_id FROM user_prompts p JOIN session_records r ON r.uuid = p.native_prompt_id "
            "AND r.session_db_id = p.session_db_id WHERE p.session_db_id = ? AND p.native_prompt_id LIKE 'queued:%' "
            f"AND NOT r.flags & {IMPORTED}"  # those came without the lines they were made of
        )
        stored = self._conn.execute(sql, (session.id,)).fetchall()
        gone = [(row_id, uuid) for row_id, uuid in stored if uuid not in keep]
        for row_id, uuid in gone:
            # A side file has no triggers yet.
            self._conn.execute("DELETE FROM search_texts WHERE id = ?", (row_id * 8,))
            self._conn.execute("DELETE FROM user_prompts WHERE id = ?", (row_id,))
            self._conn.execute("DELETE FROM session_records WHERE uuid = ?", (uuid,))
        session.renumber = session.renumber or bool(gone)

    def _put(self, session: Session, uuid: str, found: _Found, index_text: bool) -> bool:
        place = self._conn.execute(
            "INSERT INTO session_records VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET file_id = excluded.file_id, "
            "position = excluded.position, flags = excluded.flags "
            "WHERE file_id <> excluded.file_id OR position <> excluded.position "
            "RETURNING 1",
            (uuid, session.id, found.file, found.position, OWNER),
        ).fetchone()
        session.renumber = session.renumber or place is not None
        row = self._conn.execute(
            "INSERT INTO user_prompts (session_db_id, content_session_id, project_key, prompt_text, native_prompt_id, "
            "native_prompt_hash, is_queued, created_at_epoch) VALUES (?, ?, ?, ?, ?, ?, 1, ?) "
            "ON CONFLICT DO NOTHING RETURNING id",
            (
                session.id, session.content_session_id, session.project_key, found.text, uuid, found.digest, found.time,
            ),
        ).fetchone()  # fmt: skip
        if row is None:
            return False
        if index_text:
            self._conn.execute(
                "INSERT INTO search_texts (id, kind, uuid, session_db_id, project_key, created_at_epoch, body) "
                "VALUES (? * 8, 'prompt', ?, ?, ?, ?, ?)",
                (row[0], uuid, session.id, session.project_key, found.time, search_tokens(found.text)),
            )
        return True


def is_old(version: str) -> bool:
    """Whether a client of this version gives some queued prompts no record of their own."""
    return version_key(version) < FIRST_WITH_RECORDS
