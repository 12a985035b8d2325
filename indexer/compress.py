"""Turns become memory: finished turns of a session -> observations, links, summaries, work items.

A session at a time. Its memory is a pure function of its rows, so it is made whole and the store is made
to hold that: a turn that grew replaces its own observations, and a memory that was followed live is the
same as one rebuilt. Most of what is appended belongs to a turn that is still going on; one look at what
the finished ones hold, without bodies, tells whether there is anything to do.

Reading and compressing happen outside any transaction; what came of it and the mark that says so are
written in one. The caller is the only writer, so nothing changes in between.

Rules always come first. What a model made of a turn (refine.py) is kept beside the rows and takes their
place whenever the session's memory is made, under the same identity (overlay.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from indexer import dedup, events
from indexer.compressors.base import Compressor, Observation, Turn
from indexer.failpoints import passing
from indexer.overlay import fingerprint, overlaid
from indexer.store import duplicates, memories, refined, turns
from indexer.store.connection import Connection, transaction
from indexer.store.memories import Made

BATCH = 64
"""Sessions of one transaction, when many are pending."""


class Done(NamedTuple):
    """What was compressed: sessions looked at, turns, observations put, sessions that could not be."""

    sessions: int
    turns: int
    observations: int
    failed: int


class _Ready(NamedTuple):
    """What one session comes to. made: None when its rows are as they should be, or cannot be made."""

    session: turns.Header
    made: Made | None
    still: frozenset[str]
    seen: str | None
    error: str | None
    turns: int
    last_turn: str | None = None
    moved: tuple[str, ...] = ()


def run(conn: Connection, compressor: Compressor, *, limit: int = BATCH, merge: bool = False) -> Done:
    """Compress up to `limit` pending sessions, in one transaction. merge: what repeats an earlier title
    points at it (store/duplicates.py), and titles that are alike are noted."""
    ready = [_prepare(conn, compressor, session) for session in turns.pending(conn, limit)]
    if not ready:
        return Done(0, 0, 0, 0)
    known = [one for one in ready if one is not None]
    put = 0
    passing("compress.begin")
    with transaction(conn):
        changes = []
        for one in known:
            changes.append(_store(conn, compressor, one))
            passing("compress.session")
        put = sum(len(change.put) for change in changes if change)
        if merge:
            duplicates.merge(conn, {key for change in changes if change for key in change.keys})
            for project in sorted({one.session.project_key for one in known if one.made is not None}):
                propose(conn, project)
    passing("compress.committed")
    for one in known:
        if one.error:
            events.not_compressed(one.session.content_session_id, one.error)
    done = Done(len(ready), sum(one.turns for one in known), put, sum(one.error is not None for one in known))
    events.compressed(sessions=done.sessions, turns=done.turns, observations=done.observations)
    return done


def begin(conn: Connection, compressor: Compressor, *, merge: bool = False) -> None:
    """Take in what has changed since the last run: the compressor, or whether repeats are merged."""
    with transaction(conn):
        turns.begin_again(conn, compressor.name)
        if merge:
            duplicates.merge_all(conn)
        else:
            duplicates.undo(conn)


def all_of(conn: Connection, compressor: Compressor, *, merge: bool = False) -> Done:
    """Compress all that is pending, also what another compressor made; says what was done."""
    begin(conn, compressor, merge=merge)
    total = Done(0, 0, 0, 0)
    for done in everything(conn, compressor, merge=merge):
        total = Done(*map(sum, zip(total, done, strict=True)))
    return total


def everything(conn: Connection, compressor: Compressor, *, merge: bool = False) -> Iterator[Done]:
    """Compress until nothing is pending; yields after each transaction."""
    while (done := run(conn, compressor, merge=merge)).sessions:
        yield done


def propose(conn: Connection, project_key: str) -> int:
    """Note which of a project's newest titles are alike; returns how many pairs. In a transaction."""
    known = duplicates.titles(conn, project_key, dedup.NEWEST)[::-1]
    pairs = dedup.candidates([title for _, title in known])
    return duplicates.propose(conn, project_key, [(known[a][0], known[b][0], score) for a, b, score in pairs])


def _prepare(conn: Connection, compressor: Compressor, session_id: int) -> _Ready | None:
    session = turns.header(conn, session_id)
    if session is None:
        return None
    if session.borrowed:  # its turns need not be read; a compressor of ours may have told of it before
        return _Ready(session, Made((), (), ()), frozenset(), None, None, 0)
    if session.seen is not None and session.compressor == compressor.name:
        light = turns.turns(conn, session, whole=False)
        if light.seen == session.seen:
            return _Ready(session, None, frozenset(), light.seen, None, 0)
        if session.last_turn in light.open:
            return _Ready(session, None, frozenset(), session.seen, None, 0)  # it grows: its rows stay until it ends
    whole = turns.turns(conn, session)
    try:
        known = refined.of_turns(conn, [turn.id for turn in whole.finished])
        made = _made(compressor, () if session.observes else whole.finished, known)
    except Exception as error:  # noqa: BLE001 - one turn that no rule foresaw must not stop the memory of all others
        return _Ready(session, None, frozenset(), None, type(error).__name__, 0)
    moved = tuple(turn for turn, row in known.items() if row.session != session.id)
    return _Ready(session, made, whole.open, whole.seen, None, len(whole.finished), whole.last, moved)


def _made(compressor: Compressor, finished: Sequence[Turn], known: Mapping[str, refined.Row]) -> Made:
    """The memory of a session's turns, which hold on to none of their texts: many are in hand at a time.
    known: what models made of some of them; it counts while a turn still holds what it was made of."""
    seen = [(_bare(turn), one) for turn in finished for one in _observed(compressor, turn, known.get(turn.id))]
    summaries = []
    for part in sorted({turn.part for turn in finished}):
        own = tuple(turn for turn in finished if turn.part == part)
        summary = compressor.summarise(own, tuple(one for turn, one in seen if turn.part == part))
        if summary is not None:
            summaries.append(summary)
    return Made(seen, summaries, compressor.items(tuple(finished)))


def _observed(compressor: Compressor, turn: Turn, row: refined.Row | None) -> Sequence[Observation]:
    found = compressor.observe(turn)
    if row is None or not row.findings or row.hash != fingerprint(turn):
        return found
    return overlaid(turn, found, row.findings, row.model)


def _bare(turn: Turn) -> Turn:
    return turn._replace(prompt="", calls=(), texts=(), events=())


def _store(conn: Connection, compressor: Compressor, one: _Ready) -> memories.Change | None:
    change, seen, error = None, one.seen, one.error
    if one.made is not None:
        try:
            change = memories.put(conn, one.session, one.made, one.still, compressor.name)
            refined.move(conn, one.moved, one.session.id)
        except memories.Unmade as unmade:
            seen, error = None, str(unmade)
            events.not_compressed(one.session.content_session_id, type(unmade).__name__)
    memories.mark(conn, one.session, seen, compressor.name, one.last_turn or one.session.last_turn, error)
    return change
