"""Where a record belongs: its session's membership, and what its rows should therefore do."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from indexer.records import Entry
from indexer.store.checkpoints import STALE, FileRow
from indexer.store.membership import FORKED, IMPORTED, INHERITED, OWNER, SIDECHAIN, Age, Member, Members
from indexer.store.sessions import Session, Sessions


class Mode(Enum):
    """What a record's rows should do."""

    NEW = "insert"
    WIN = "this copy owns the rows: overwrite, but never with a null"
    FILL = "a better copy owns the rows: fill nulls only"
    SKIP = "read before, at this very place"


# By their own names: reading a member from an Enum costs more than a line has to spare.
NEW, WIN, FILL, SKIP = Mode


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
    imported: bool = False


class Placer:
    """Puts records into sessions and decides between copies, for one transaction."""

    def __init__(self, conn: sqlite3.Connection, sessions: Sessions, members: Members) -> None:
        self._conn, self._sessions, self._members = conn, sessions, members
        self._places: dict[int, tuple[bool, str | None, str]] = {}
        self.disturbed: set[int] = set()
        """Sessions that hold a record whose rows have come to say something else."""
        self.again: set[int] = set()
        """Files that hold the best copy of a record that has another owner still."""
        self.filled: set[int] = set()
        """Sessions whose rows another session's copies have added to."""
        self.reclaimed: set[str] = set()
        """Records known from an import alone, which a transcript has been found to hold."""

    def place(self, uuid: str, session: Session, file: FileRow, position: int, flags: int) -> tuple[Mode, bool]:
        """Note that the session holds the record, and decide what the record's rows should do.

        Also says whether the record follows all that the session held before.
        """
        members = self._members.of(uuid)
        if not members:
            return NEW, self.place_new(uuid, session, file, position, flags)
        own = next((member for member in members if member.session == session.id), None)
        in_order = improved = False
        if own is None:
            self._members.put(uuid, Member(session.id, file.id, position, flags))
            in_order = self._ordered(session, file, position, flags)
        elif own.file == file.id and own.position == position:
            if len(members) == 1:
                return SKIP, False
        else:
            improved = self._replace(uuid, session, own, Member(session.id, file.id, position, flags))
        return self._settle(uuid, session, (file.id, position), improved), in_order

    def place_new(self, uuid: str, session: Session, file: FileRow, position: int, flags: int) -> bool:
        """`place` for a record that no session holds yet, which is nearly every one."""
        # Member(...) goes through a Python-level __new__.
        self._members.add_new(uuid, tuple.__new__(Member, (session.id, file.id, position, flags | OWNER)))
        return self._ordered(session, file, position, flags)

    def _settle(self, uuid: str, session: Session, place: tuple[int, int], improved: bool) -> Mode:
        """Give the record to its best member, if it is read at that member's place now."""
        owner, best = self._members.owner(uuid), self._members.best(uuid, self._sessions.ages())
        if best.session != session.id:
            return FILL
        if owner is None or owner.session != session.id:
            if (best.file, best.position) != place:
                self.again.add(best.file)
                return FILL
            if owner is not None:
                self._members.put(uuid, owner._replace(flags=owner.flags & ~OWNER))
            self._members.put(uuid, best._replace(flags=best.flags | OWNER))
            session.renumber = improved = True
        if improved:
            self.disturbed.update(member.session for member in self._members.of(uuid))
        return WIN if improved else FILL

    def _replace(self, uuid: str, session: Session, own: Member, new: Member) -> bool:
        """The session holds the record at two places: keep the better one.

        Says whether its rows should follow: not to where the very same file has it now."""
        better, improved = own.position < 0, False
        if own.flags & INHERITED:  # its rows still say what the forgotten owner's copy said
            better = improved = True
        elif _terms(new) != _terms(own):
            better = improved = _terms(new) < _terms(own)  # a place on worse terms is none, not even for a while
        elif own.file == new.file:
            better = better or new.position < own.position
        else:
            improved = self._standing(new, session.age) < self._standing(own, session.age)
        if better or improved:
            if own.flags & IMPORTED and not new.flags & IMPORTED:
                self.reclaimed.add(uuid)
            self._members.put(uuid, new._replace(flags=new.flags | own.flags & OWNER))
            session.renumber = True
        return improved

    def _standing(self, member: Member, age: Age) -> tuple[bool, bool, str]:
        """How well a file speaks for a session: it stands on disk, it is named for it, its path."""
        if member.file not in self._places:
            sql = "SELECT status <> 'active', session_id, path FROM ingest_files WHERE id = ?"
            self._places[member.file] = self._conn.execute(sql, (member.file,)).fetchone()
        lost, named, path = self._places[member.file]
        return bool(lost), named != age.content_session_id, path

    @staticmethod
    def _ordered(session: Session, file: FileRow, position: int, flags: int) -> bool:
        """Whether a new member simply follows all others of its session; else numbers are redone."""
        if file.is_agent:
            return False
        if len(session.tail) == 1 and position > session.tail.get(file.id, STALE):
            if flags & SIDECHAIN:
                return False
            session.tail[file.id] = position
            return True
        session.renumber = True
        return False

    def owns(self, session: Session, uuid: str, place: tuple[int, int]) -> bool:
        """Whether the session owns a record that is loaded, by the copy at this place (file, position)."""
        owner = self._members.owner(uuid)
        return owner is not None and owner.session == session.id and (owner.file, owner.position) == place

    def holds(self, session: Session, uuid: str) -> bool:
        """Whether the session holds a record."""
        self._members.load([uuid])
        return any(member.session == session.id for member in self._members.of(uuid))

    def place_of(self, context: Context) -> tuple[int, int, int]:
        """Session, file and line of the record in hand."""
        here = next(m for m in self._members.of(context.uuid) if m.session == context.session.id)
        return here.session, here.file, here.position

    def lines(self, uuids: Sequence[str], session: int, file: int) -> dict[str, int]:
        """The lines of those of these records that a session holds from this file."""
        self._members.load(uuids)
        members = ((uuid, member) for uuid in uuids for member in self._members.of(uuid))
        return {uuid: member.position for uuid, member in members if (member.session, member.file) == (session, file)}

    def leads(self, context: Context, other: str) -> bool:
        """Whether the record in hand is to stand for what `other` stands for so far."""
        if other == context.uuid:
            return context.mode is WIN
        if context.mode is FILL:
            owner = self._members.owner(context.uuid)
            if owner is None or owner.session != context.session.id:
                return False
        return self.precedes(context.uuid, other)

    def precedes(self, uuid: str, other: str) -> bool:
        """Whether record `uuid` is the better source of what `other` carries too: a call that was written
        again, a line of the same message, a second answer. The better member, then the earlier place."""
        self._members.load([uuid, other])
        if not self._members.of(uuid) or not self._members.of(other):
            return bool(self._members.of(uuid))
        ages = self._sessions.ages()
        first, second = self._members.best(uuid, ages), self._members.best(other, ages)
        mine, theirs = self._members.age(first.session, ages), self._members.age(second.session, ages)
        if first.session != second.session or _terms(first) != _terms(second):
            return mine.rank(first.flags) < theirs.rank(second.flags)
        return (*self._standing(first, mine), first.position) < (*self._standing(second, theirs), second.position)


def _terms(member: Member) -> tuple[int, int, int]:
    """On what terms a session holds a record, the better ones smaller."""
    return member.flags & IMPORTED, member.flags & SIDECHAIN, member.flags & FORKED
