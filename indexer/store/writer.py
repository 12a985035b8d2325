"""Entries become rows: one transaction's worth, each record put where it belongs exactly once.

First the whole transaction is surveyed (what it says of its sessions, which of its records are known),
then every record is placed and put by the module of its type, then all is written in bulk, and last
comes what depends on several records: numbers, queued prompts, titles. Nothing here commits.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from indexer.exclude import Exclusion
from indexer.project import Resolution
from indexer.records import (
    AgentLink,
    AssistantText,
    Entry,
    Ignored,
    Prompt,
    QueueOperation,
    Record,
    Title,
    ToolResult,
    ToolUse,
    TurnEvent,
    Unreadable,
)
from indexer.store import numbering, private
from indexer.store.checkpoints import FileRow, read_again, restart, save
from indexer.store.exclusions import Exclusions
from indexer.store.membership import FORKED, IMPORTED, SIDECHAIN, Members, shared_by
from indexer.store.messages import Messages
from indexer.store.placing import NEW, WIN, Context, Placer
from indexer.store.prompts import Prompts
from indexer.store.queued import Queue
from indexer.store.refusals import Refusals
from indexer.store.rows import Rows
from indexer.store.sessions import TITLE_LENGTH, Facts, Resolve, Session, Sessions, set_title
from indexer.store.tools import Tools
from indexer.store.turn_events import TurnEvents
from indexer.store.turns import touch
from indexer.store.twins import Twins

NOTHING_EXCLUDED = Exclusion()
Times: TypeAlias = list[tuple[int | None, str]]
"""Of each entry of a turn its time and where that is from."""


class Placed(NamedTuple):
    """An entry and where it stands: its line number, and the offset of its line in the file."""

    position: int
    offset: int
    entry: Entry


class Turn(NamedTuple):
    """What was read of one file in one go. `provisional` entries stand on a last line that has no
    newline yet: they are stored, but nothing that counts lines may count them."""

    file: FileRow
    placed: Sequence[Placed]
    provisional: bool = False


class Written(NamedTuple):
    """What a transaction added."""

    prompts: int
    tool_uses: int
    messages: int
    dead_letters: int
    conflicts: int


class Writer:
    """Writes the turns of one transaction. Made anew for each; holds no state beyond it."""

    def __init__(
        self,
        conn: sqlite3.Connection,
        platform: str,
        resolve: Resolve,
        *,
        index_text: bool = True,
        exclusion: Exclusion = NOTHING_EXCLUDED,
        given: Mapping[str, Resolution] | None = None,
    ) -> None:
        self._conn = conn
        self._exclusions = Exclusions(conn, exclusion)
        self._refusals = Refusals(conn)
        self._sessions = Sessions(conn, platform, resolve)
        self._sessions.given = given or {}
        self._members = Members(conn)
        self._rows = Rows(conn, index_text)
        self._placer = Placer(conn, self._sessions, self._members)
        self._queue, self._twins = Queue(conn), Twins(conn)
        self._prompts = Prompts(conn, self._rows, self._queue)
        self._messages = Messages(conn, self._rows, self._placer)
        self._tools = Tools(conn, self._rows, self._placer, platform)
        self._dead: list[tuple[object, ...]] = []
        self._summaries: list[tuple[str, str]] = []
        self._undated: list[tuple[FileRow, int]] = []
        self._made: set[int] = set()
        self._private_calls: list[str] = []
        self.excluded: set[str] = set()
        """Sessions that were found to be of an excluded project."""
        self._uuids: set[str] = set()
        self._keys: set[str] = set()
        self._identities: set[str] = set()
        self._version: str | None = None
        self._stale = False
        self._first_ids = self._rows.last_ids()
        # No method of this object's own: the cycle would keep every transaction's rows until a collection,
        # and a bulk load collects nothing (200 MB at 500 MB of transcripts).
        self._puts: dict[type, Callable[[Context, Any, int], None]] = {
            ToolUse: self._tools.put,
            ToolResult: self._tools.put_result,
            AssistantText: self._messages.put,
            Prompt: self._prompts.put,
            TurnEvent: TurnEvents(self._rows).put,
        }

    def write(self, turns: Sequence[Turn]) -> Written:
        """Put the entries of all turns. The rows of their files are moved on, but saved by the caller,
        in the same transaction."""
        for turn in turns:
            if not turn.file.id:
                save(self._conn, turn.file)
                self._made.add(turn.file.id)
            elif turn.file.line_no == 0 and turn.file.generation:
                restart(self._conn, turn.file.id)
        if self._refusals.any or self._exclusions.any:
            turns = self._admitted(turns)
        times = [self._survey(turn) for turn in turns]
        if self._exclusions.any:
            turns, times = self._without_excluded(turns, times)
        self._load()
        for turn, dated in zip(turns, times, strict=True):
            self._version = turn.file.last_version
            self._stale = self._rows.refresh = turn.file.stale
            for placed, (time, source) in zip(turn.placed, dated, strict=True):
                self._entry(turn, placed, time, source)
            turn.file.last_version = self._version
        self._flush()
        self._settle({turn.file.id: turn.file for turn in turns})
        return Written(self._prompts.new, self._tools.new, self._messages.new, len(self._dead), self._prompts.conflicts)

    # -- before the rows ---------------------------------------------------------------------------

    def _admitted(self, turns: Sequence[Turn]) -> list[Turn]:
        """The turns without what was forgotten, and without sessions that are known to be excluded."""
        if self._refusals.any:
            self._refusals.look_up((turn.file, placed.entry) for turn in turns for placed in turn.placed)
            refuses = self._refusals.refuses
            turns = [
                turn._replace(placed=[placed for placed in turn.placed if not refuses(turn.file, placed.entry)])
                for turn in turns
            ]
        if self._exclusions.any:
            holds = self._exclusions.holds
            turns = [
                turn._replace(
                    placed=[p for p in turn.placed if not holds(p.entry.session_id or turn.file.session_id, turn.file)]
                )
                for turn in turns
            ]
        return list(turns)

    def _without_excluded(self, turns: Sequence[Turn], times: Sequence[Times]) -> tuple[list[Turn], list[Times]]:
        """The turns, and their times, without sessions that are found to be excluded now."""
        excluded = self.excluded = self._exclusions.judge(self._sessions, [turn.file for turn in turns])
        kept_turns, kept_times = [], []
        for turn, dated in zip(turns, times, strict=True):
            kept = [
                (placed, time)
                for placed, time in zip(turn.placed, dated, strict=True)
                if (placed.entry.session_id or turn.file.session_id) not in excluded
            ]
            kept_turns.append(turn._replace(placed=[placed for placed, _ in kept]))
            kept_times.append([time for _, time in kept])
        return kept_turns, kept_times

    def _survey(self, turn: Turn) -> Times:
        """Merge what the entries say of their sessions, and note what may be stored already; returns each
        entry's time and its source.

        A record without a time takes that of the dated one before it in the file, else the next."""
        file, times = turn.file, []
        facts: dict[str, Facts] = {}
        was_undated, before, named = file.first_epoch is None, file.last_epoch, file.session_id
        last = fact = None
        for _, _, entry in turn.placed:
            uuid, session_id, time, cwd, version, _, _, _, forked_from, records = entry
            if time is None:
                times.append((before, "neighbour"))
            else:
                before = time
                times.append((time, "record"))
            if uuid is not None:
                self._note_known(uuid, records)
                session_id = session_id or named
            if session_id is None:
                continue
            if session_id != last or fact is None:
                last, fact = session_id, facts.setdefault(session_id, Facts())
            fact.add_time(time)
            if version is not fact.version or cwd is not fact.cwd or forked_from is not None:
                fact.add(entry, file.folder)
        file.last_epoch = before
        if was_undated:
            times = self._date_first(turn, times)
        self._sessions.merge(file, facts, from_start=not file.line_no and not turn.provisional)
        return times

    def _note_known(self, uuid: str, records: Sequence[Record]) -> None:
        for record in records:
            kind = type(record)
            if kind is AssistantText:
                self._keys.add(record.message_key)  # type: ignore[union-attr]
            elif kind is ToolUse or kind is ToolResult:
                self._identities.add(record.identity or "")  # type: ignore[union-attr]
            elif kind is Ignored:
                continue
            self._uuids.add(uuid)

    def _date_first(self, turn: Turn, times: list[tuple[int | None, str]]) -> list[tuple[int | None, str]]:
        """Records before the first dated one take its time, also those of earlier turns."""
        file = turn.file
        first = next((place for place, (time, _) in enumerate(times) if time is not None), None)
        if first is None:
            return [(None, "none")] * len(times)
        file.first_epoch = times[first][0]
        if turn.provisional or file.id not in self._made:
            self._undated.append((file, turn.placed[first].position))
        return [(file.first_epoch if time is None else time, source) for time, source in times]

    def _load(self) -> None:
        """Look up all that the transaction may meet again, in a few statements."""
        self._members.load(self._uuids)
        self._tools.load(self._identities)
        self._messages.load(self._keys)

    # -- one entry ---------------------------------------------------------------------------------

    def _entry(self, turn: Turn, placed: Placed, time: int | None, time_source: str) -> None:
        position, _, entry = placed
        uuid = entry.uuid
        context = None
        if entry.version is not None:
            if self._version is None:
                self._queue.tell_version(turn.file.id, entry.version)
            self._version = entry.version
        for ordinal, record in enumerate(entry.records):
            put = self._puts.get(type(record))
            if put is None or uuid is None:
                if not self._aside(turn, placed, record):
                    self._unidentified(turn, placed, time, record)
                continue
            if context is None:
                context = self._context(turn, entry, uuid, position, time, time_source)
                if context is None:
                    _pass_over(turn, "no-session")
                    return
            if context.session.private and context.in_order and type(record) is not Prompt:
                if type(record) is ToolUse:
                    self._private_calls.append(record.identity)
                continue
            put(context, record, ordinal)

    def _context(
        self, turn: Turn, entry: Entry, uuid: str, position: int, time: int | None, time_source: str
    ) -> Context | None:
        """Place the record in its session; None when it names none, nor does its file."""
        session_id = entry.session_id or turn.file.session_id
        if session_id is None:
            return None
        session, agent = self._sessions[session_id], None
        flags = (FORKED if entry.forked_from else 0) | (IMPORTED if turn.file.imported else 0)
        if entry.sidechain or turn.file.agent_id is not None:
            flags |= SIDECHAIN
            agent = entry.agent_id or turn.file.agent_id or numbering.INLINE_AGENT
            if session.agents_from is None:
                session.agents_from = self._first_ids
        if uuid in self._members.known:
            mode, in_order = self._placer.place(uuid, session, turn.file, position, flags)
            if self._stale and mode is not NEW and self._placer.owns(session, uuid, (turn.file.id, position)):
                mode = WIN  # redacted by other rules now: it says again what it says
            self._rows.refresh = self._stale or uuid in self._placer.reclaimed
        else:
            mode, in_order = NEW, self._placer.place_new(uuid, session, turn.file, position, flags)
        number = session.prompt_counter
        # Context(...) goes through a Python-level __new__, once a record.
        values = (mode, entry, uuid, session, position, time, time_source, number, agent, in_order, turn.file.imported)
        return tuple.__new__(Context, values)

    def _aside(self, turn: Turn, placed: Placed, record: Record) -> bool:
        """Deal with what belongs to the file rather than to a session; says whether it did."""
        if isinstance(record, Ignored):
            _pass_over(turn, record.kind)
        elif isinstance(record, Unreadable):
            offset = placed.offset + record.offset
            self._dead.append((turn.file.id, offset, record.length, placed.position, record.reason))
        elif isinstance(record, Title) and record.kind == "summary":
            if record.leaf_uuid:
                if self._stale:  # of two titles the larger stays, which an old mark may be
                    sql = "DELETE FROM session_titles WHERE leaf_uuid = ? AND instr(title, '[REDACTED:')"
                    self._conn.execute(sql, (record.leaf_uuid,))
                self._summaries.append((record.leaf_uuid, record.text[:TITLE_LENGTH]))
        else:
            return False
        return True

    def _unidentified(self, turn: Turn, placed: Placed, time: int | None, record: Record) -> None:
        """Records that need no uuid of their own: the session is enough."""
        session_id = placed.entry.session_id or turn.file.session_id
        if session_id is None:
            if not isinstance(record, AgentLink):
                _pass_over(turn, "no-session")
            return
        if type(record) in self._puts:
            _pass_over(turn, "no-uuid")
            return
        session = self._sessions.get(session_id)
        if isinstance(record, AgentLink):
            self._put_agent(session, record)
        elif turn.file.is_agent:
            return  # a repetition of what the main file says
        elif isinstance(record, Title):
            set_title(session, turn.file.id, record)
        elif isinstance(record, QueueOperation) and not turn.provisional:
            if self._refusals.silences(placed.entry, record):
                return
            self._queue.add(session, turn.file.id, placed.position, time, self._version, record)

    def _put_agent(self, session: Session, link: AgentLink) -> None:
        """Of two calls that drove one sub-agent the smaller id stands, in any order of reading; of two
        types and descriptions likewise."""
        session.renumber_agents = True
        if self._stale:
            sql = "UPDATE session_agents SET description = NULL WHERE session_db_id = ? AND agent_id = ?"
            self._conn.execute(f"{sql} AND instr(description, '[REDACTED:')", (session.id, link.agent_id))
        self._conn.execute(
            "INSERT INTO session_agents (session_db_id, agent_id, tool_use_id, agent_type, description) "
            "VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            + ", ".join(
                f"{name} = min(coalesce({name}, excluded.{name}), coalesce(excluded.{name}, {name}))"
                for name in ("tool_use_id", "agent_type", "description")
            ),
            (session.id, *link),
        )

    # -- the end -----------------------------------------------------------------------------------

    def _flush(self) -> None:
        self._tools.finish()
        if self._rows.index_text:
            self._messages.index_new()
            self._tools.index_new()
        for session in self._sessions.all() if self._refusals.any else ():
            session.forked_from = self._refusals.nameless(session.forked_from)
        self._rows.flush()
        self._members.flush()
        self._sessions.flush()
        if self._rows.index_text:
            self._messages.index_grown()
        sql = "INSERT OR IGNORE INTO dead_letters (file_id, offset, length, line, reason) VALUES (?, ?, ?, ?, ?)"
        self._conn.executemany(sql, self._dead)

    def _settle(self, files: dict[int, FileRow]) -> None:
        for file, position in self._undated:
            numbering.date_undated(self._conn, file, position)
            self._sessions.disturb(numbering.sharing(self._conn, file))
        self._sessions.disturb(self._placer.disturbed | self._queue.store())
        sessions = self._sessions.all()
        self._prompts.new += self._queue.settle(sessions, self._rows.index_text)
        self._twins.settle(sessions)
        for session in sessions:
            if session.aged:
                self._rivals(session, files)
        self._read_again(files)
        moved = {session.id for session in sessions if session.renumber}
        numbering.settle(self._conn, sessions)
        private.note_calls(self._conn, self._private_calls)
        private.suppress(self._conn, sessions)
        numbering.choose_titles(self._conn, [s for s in sessions if s.titles or s.id in moved])
        numbering.settle_titles(self._conn, self._summaries, self._uuids, moved)
        touch(self._conn, sorted({session.id for session in sessions} | self._placer.filled))

    def _rivals(self, session: Session, files: dict[int, FileRow]) -> None:
        """A session's age has changed after its records came in. Where it should now own what another
        session owns (or the reverse), or has the better answer to a call that they share, the better
        member's file has to be read again to take over."""
        uuids = shared_by(self._conn, session.id)
        self._members.load(uuids)
        ages = self._sessions.ages()
        for uuid in uuids:
            owner, best = self._members.owner(uuid), self._members.best(uuid, ages)
            if owner is None or owner.session != best.session:
                self._placer.again.add(best.file)
        if uuids:
            sql = "SELECT file_id FROM session_files WHERE session_db_id = ?"
            stands_in = {file_id for (file_id,) in self._conn.execute(sql, (session.id,))}
            self._placer.again |= stands_in - {file.id for file in files.values() if not file.line_no}

    def _read_again(self, files: dict[int, FileRow]) -> None:
        for file_id in sorted(self._placer.again):
            if file_id in files:
                files[file_id].reread = True
            else:
                read_again(self._conn, file_id)


def _pass_over(turn: Turn, kind: str) -> None:
    if not turn.provisional:  # its line is read again once it is whole
        turn.file.pass_over(kind)
