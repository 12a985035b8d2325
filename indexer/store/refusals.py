"""Keeps out what was forgotten: entries of forgotten sessions, and forgotten records in whatever session.

A forgotten session never comes back, whatever file holds it, also what is written into it later. A
forgotten record does not either: a client that resumes a forgotten session under a new id copies its
records, and what it copies was forgotten; what is said in the new session is new. A record that a session
shared with one that was not forgotten has no tombstone, and stays with that one.

A line of the prompt queue has no id of its own: it is known by its time and text. A title line of old
clients belongs to the session of its leaf record, whatever file it stands in, and goes with that record.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from indexer.exclude import Exclusion
from indexer.records import Entry, QueueOperation, Title
from indexer.store.checkpoints import FileRow
from indexer.store.exclusions import Exclusions
from indexer.store.tombstones import Tombstones, queued_marks
from indexer.text import clean

Guard: TypeAlias = Callable[[Sequence[Entry]], bool]


def guard(conn: sqlite3.Connection, exclusion: Exclusion, file: FileRow) -> Guard | None:
    """Says of a line of this file whether it is to be kept nowhere: it holds something that was forgotten,
    or is of a session that is known to be excluded. None when nothing is kept out at all."""
    refusals, exclusions = Refusals(conn), Exclusions(conn, exclusion)
    if not refusals.any and not exclusions.any:
        return None

    def keeps_out(entries: Sequence[Entry]) -> bool:
        if refusals.any:
            refusals.look_up((file, entry) for entry in entries)
            if any(refusals.refuses(file, entry) for entry in entries):
                return True
        return any(exclusions.known(entry.session_id or file.session_id) for entry in entries)

    return keeps_out


class Refusals:
    """What one transaction must not store."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._stones = Tombstones(conn)
        self._sessions: set[str] = set()
        self._records: set[str] = set()
        self._queued: set[str] = set()

    @property
    def any(self) -> bool:
        """Whether there is anything to refuse."""
        return self._stones.any

    def look_up(self, entries: Iterable[tuple[FileRow, Entry]]) -> None:
        """Ask of all entries at once what of them was forgotten."""
        sessions, records, lines, leaves = set(), set(), set(), set()
        for file, entry in entries:
            sessions.add(entry.session_id or file.session_id or "")
            sessions.add(entry.forked_from or "")
            records.add(entry.uuid or "")
            for record in entry.records:
                if isinstance(record, QueueOperation) and record.text:
                    lines.update(queued_marks(entry.time, clean(record.text).strip(), buried=False))
                elif isinstance(record, Title) and record.leaf_uuid:
                    leaves.add(record.leaf_uuid)
        self._sessions = self._stones.buried("session", sessions)
        self._records = self._stones.buried("record", records | leaves)
        self._queued = self._stones.buried("queued", lines)

    def refuses(self, file: FileRow, entry: Entry) -> bool:
        """Whether an entry was forgotten; its file then remembers that."""
        leaf = next((record.leaf_uuid for record in entry.records if isinstance(record, Title)), None)
        if leaf is not None:
            refused = leaf in self._records
        else:
            refused = (entry.session_id or file.session_id) in self._sessions or entry.uuid in self._records
        file.refused = file.refused or refused
        return refused

    def silences(self, entry: Entry, line: QueueOperation) -> bool:
        """Whether a line of the prompt queue repeats what was forgotten, in whatever session."""
        if not self._queued or not line.text:
            return False
        return not self._queued.isdisjoint(queued_marks(entry.time, clean(line.text).strip(), buried=False))

    def nameless(self, session_id: str | None) -> str | None:
        """A session's origin as it may be stored: not the id of a forgotten one."""
        return None if session_id in self._sessions else session_id
