"""Which sessions hold a record, and which of them owns its rows.

A fork or resume copies history into a new session under the same uuids (6 % of all uuids stand in two
files or more), so a record may have several members and its rows one owner. The owner is the member
with the smallest rank, whatever order the files are read in (DECISIONS, identity 3):

    imported last  >  side chain last  >  copy that names its origin last  >  older session first  >
    smaller session id

A session's age is the first dated record of its main file in file order; that of a sub-agent's file
counts only while no main file has been seen.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

SIDECHAIN, FORKED, OWNER, INHERITED, IMPORTED = 1, 2, 4, 8, 16
Rank: TypeAlias = tuple[int, int, int, int, int, str]
_UNDATED = 1 << 62


class Member(NamedTuple):
    """One row of session_records, without its uuid."""

    session: int
    file: int
    position: int
    flags: int


@dataclass(slots=True)
class Age:
    """What decides between two sessions that hold the same record."""

    content_session_id: str
    origin_rank: int
    origin_epoch: int | None

    def rank(self, flags: int) -> Rank:
        """The order among members; smaller owns."""
        epoch = _UNDATED if self.origin_epoch is None else self.origin_epoch
        return (
            flags & IMPORTED, flags & SIDECHAIN, flags & FORKED, self.origin_rank, epoch, self.content_session_id
        )  # fmt: skip


@dataclass(slots=True)
class Members:
    """The members of every record of one transaction: what is stored, and what is about to be."""

    conn: sqlite3.Connection
    known: dict[str, tuple[Member, ...]] = field(default_factory=dict)
    """The members of each record that was loaded or placed."""
    _ages: dict[int, Age] = field(default_factory=dict)
    _changed: set[tuple[str, int]] = field(default_factory=set)
    new: list[str] = field(default_factory=list)
    """Records that had no member before."""

    def load(self, uuids: Iterable[str]) -> None:
        """Read the stored members of these records."""
        sql = "SELECT uuid, session_db_id, file_id, position, flags FROM session_records WHERE uuid IN ({})"
        for uuid, *rest in in_chunks(self.conn, sql, [uuid for uuid in uuids if uuid not in self.known]):
            self.known[uuid] = (*self.known.get(uuid, ()), Member(*rest))

    def of(self, uuid: str) -> Sequence[Member]:
        """All members of a record, in no order."""
        return self.known.get(uuid, ())

    def put(self, uuid: str, member: Member) -> None:
        """Add a member, or replace the one of the same session."""
        rest = (other for other in self.known.get(uuid, ()) if other.session != member.session)
        self.known[uuid] = (*rest, member)
        self._changed.add((uuid, member.session))

    def add_new(self, uuid: str, member: Member) -> None:
        """`put` for a record that has no member yet, without the search."""
        self.known[uuid] = (member,)
        self.new.append(uuid)

    def owner(self, uuid: str) -> Member | None:
        """The member whose session the record's rows name."""
        return next((member for member in self.known.get(uuid, ()) if member.flags & OWNER), None)

    def best(self, uuid: str, ages: dict[int, Age]) -> Member:
        """The member that ought to own the record. ages: sessions of this transaction, by row id."""
        return min(self.known[uuid], key=lambda member: self.age(member.session, ages).rank(member.flags))

    def age(self, session: int, ages: dict[int, Age]) -> Age:
        """The age of a session, in hand or stored."""
        known = ages.get(session) or self._ages.get(session)
        if known is None:
            sql = "SELECT content_session_id, origin_rank, origin_epoch FROM sdk_sessions WHERE id = ?"
            known = self._ages[session] = Age(*self.conn.execute(sql, (session,)).fetchone())
        return known

    def flush(self) -> None:
        """Write every member that was added or changed."""
        known = self.known
        single = [(uuid, *known[uuid][0]) for uuid in self.new if len(known[uuid]) == 1]
        changed = set(self._changed)
        if len(single) < len(self.new):
            changed |= {(uuid, member.session) for uuid in self.new if len(known[uuid]) > 1 for member in known[uuid]}
        self._conn_many(single)
        self._conn_many(
            [
                (uuid, *member)
                for uuid, session in sorted(changed)
                for member in known[uuid]
                if member.session == session
            ]
        )
        self.new.clear()
        self._changed.clear()

    def _conn_many(self, rows: Sequence[tuple[object, ...]]) -> None:
        self.conn.executemany(
            "INSERT INTO session_records (uuid, session_db_id, file_id, position, flags) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (uuid, session_db_id) DO UPDATE SET file_id = excluded.file_id, "
            "position = excluded.position, flags = excluded.flags",
            rows,
        )


def in_chunks(
    conn: sqlite3.Connection, sql: str, values: Sequence[object], size: int = 500
) -> Iterator[tuple[Any, ...]]:
    """Run `… IN ({})` for any number of values, a few hundred at a time."""
    for start in range(0, len(values), size):
        chunk = values[start : start + size]
        yield from conn.execute(sql.format(",".join("?" * len(chunk))), chunk)


def shared_by(conn: sqlite3.Connection, session: int) -> list[str]:
    """Records of a session that another session holds too."""
    sql = (
        "SELECT r.uuid FROM session_records r WHERE r.session_db_id = ? AND EXISTS "
        "(SELECT 1 FROM session_records o WHERE o.uuid = r.uuid AND o.session_db_id <> r.session_db_id)"
    )
    return [uuid for (uuid,) in conn.execute(sql, (session,))]
