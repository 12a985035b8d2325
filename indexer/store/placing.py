"""Where a record belongs: its session's membership, and what its rows should therefore do."""

from __future__ import annotations

import sqlite3
from enum import Enum
from typing import NamedTuple

from indexer.records import Entry
from indexer.store.checkpoints import STALE, FileRow
from indexer.store.membership import OWNER, SIDECHAIN, Member, Members
from indexer.store.sessions import Session, Sessions


class Mode(Enum):
    """What a record's rows should do."""

    NEW = "insert"
    WIN = "this copy owns the rows: overwrite, but never with a null"
    FILL = "a better copy owns the rows: fill nulls only"
    SKIP = "read before, at this very place"


class Context(NamedTuple):
    """The record in hand, with all that its rows share.

    number: the session's prompts so far. agent_id: None on the main thread.
    in_order: the record follows everything the session held, so `number` is right.
    """

    mode: Mode
    entry: Entry
    uuid: str
    session: Session
    position: int
    time: int | None
    time_source: str
    number: int
    agent_id: str | None
    in_order: bool


class Placer:
    """Puts records into sessions and decides between copies, for one transaction."""

    def __init__(self, conn: sqlite3.Connection, sessions: Sessions, members: Members) -> None:
        self._conn, self._sessions, self._members = conn, sessions, members
        self._places: dict[int, tuple[bool, str | None, str]] = {}

    def place(self, uuid: str, session: Session, file: FileRow, position: int, flags: int) -> tuple[Mode, bool]:
        """Note that the session holds the record, and decide what the record's rows should do.

        Also says whether the record follows all that the session held before.
        """
        members = self._members.of(uuid)
        if not members:
            # Member(...) goes through a Python-level __new__, once a record.
            self._members.add_new(uuid, tuple.__new__(Member, (session.id, file.id, position, flags | OWNER)))
            return Mode.NEW, self._ordered(session, file, position, flags)
        own = next((member for member in members if member.session == session.id), None)
        in_order = False
        if own is None:
            self._members.put(uuid, Member(session.id, file.id, position, flags))
            in_order = self._ordered(session, file, position, flags)
        elif own.file == file.id and own.position == position:
            if len(members) == 1:
                return Mode.SKIP, False
        else:
            self._replace(uuid, session, own, Member(session.id, file.id, position, flags))
        return self._settle(uuid, session, flags, own), in_order

    def _settle(self, uuid: str, session: Session, flags: int, own: Member | None) -> Mode:
        """Give the record to its best member."""
        owner, best = self._members.owner(uuid), self._members.best(uuid, self._sessions.ages())
        if best.session != session.id:
            return Mode.FILL
        if owner is None or owner.session != session.id:
            if owner is not None:
                self._members.put(uuid, owner._replace(flags=owner.flags & ~OWNER))
            mine = next(member for member in self._members.of(uuid) if member.session == session.id)
            self._members.put(uuid, mine._replace(flags=mine.flags | OWNER))
            session.renumber = True
            return Mode.WIN
        if own is not None and own.flags & SIDECHAIN and not flags & SIDECHAIN:
            session.renumber = True
            return Mode.WIN
        return Mode.FILL

    def _replace(self, uuid: str, session: Session, own: Member, new: Member) -> None:
        """The session holds the record at two places: keep the better one."""
        if (new.flags & SIDECHAIN) != (own.flags & SIDECHAIN):
            better = not new.flags & SIDECHAIN
        elif own.file == new.file:
            better = own.position < 0 or new.position < own.position
        else:
            better = own.position < 0 or self._standing(new.file, session) < self._standing(own.file, session)
        if better:
            self._members.put(uuid, new._replace(flags=new.flags | own.flags & OWNER))
            session.renumber = True

    def _standing(self, file_id: int, session: Session) -> tuple[bool, bool, str]:
        """How well a file speaks for a session: it stands on disk, it is named for it, its path."""
        if file_id not in self._places:
            sql = "SELECT status <> 'active', session_id, path FROM ingest_files WHERE id = ?"
            self._places[file_id] = self._conn.execute(sql, (file_id,)).fetchone()
        lost, named, path = self._places[file_id]
        return bool(lost), named != session.content_session_id, path

    @staticmethod
    def _ordered(session: Session, file: FileRow, position: int, flags: int) -> bool:
        """Whether a new member simply follows all others of its session; else numbers are redone."""
        if flags & SIDECHAIN:
            return False
        if len(session.tail) == 1 and position > session.tail.get(file.id, STALE):
            session.tail[file.id] = position
            return True
        session.renumber = True
        return False

    def outranks(self, uuid: str, other: str) -> bool:
        """Whether record `uuid` is a better source than `other`, which carries the same call."""
        self._members.load([other])
        if not self._members.of(other):
            return False
        ages = self._sessions.ages()
        return self._members.best_rank(uuid, ages) < self._members.best_rank(other, ages)
