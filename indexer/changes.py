"""What of the transcripts is to be read next: hints and sweeps put a file in, a turn takes it out.

It is a dict of files, newest last, and forgets nothing that a sweep would not find again. Of a round's files
most are the latest, so that no backlog delays what is written now, and some those that have waited longest.
A last line without newline waits until its file has not changed for a while.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import chain, islice

from indexer import events
from indexer.files.discover import Found
from indexer.files.sweep import Sweeper, Swept
from indexer.files.walk import Stat
from indexer.files.watch import Change, Sweep, Watch
from indexer.ingest import Ingest
from indexer.sources.base import Source
from indexer.store import checkpoints
from indexer.store.connection import Connection, transaction
from indexer.store.removal import forget_sample, sample_folder

ROUND = 50
"""Files a round of turns takes before hints are looked at again."""
WAITED = 10
"""Of these, so many are those that have waited longest."""


class Changes:
    """The queue of one service, over one database. For the thread that writes it.

    quiet_seconds: how long a file must rest before a last line without newline is read. clock: monotonic
    seconds.
    """

    def __init__(
        self,
        conn: Connection,
        source: Source,
        sweeper: Sweeper,
        watch: Watch,
        ingest: Ingest,
        *,
        quiet_seconds: float,
        clock: Callable[[], float],
    ) -> None:
        self._conn, self._source, self._sweeper = conn, source, sweeper
        self._watch, self._ingest, self._clock = watch, ingest, clock
        self._quiet_seconds, self._sample = quiet_seconds, sample_folder()
        self.pending: dict[str, Found] = {}
        """What differs from what was read, by path."""
        self.quiet: set[str] = set()
        """Files whose last line is taken for complete though no newline ends it."""
        self.hidden: dict[str, str] = {}
        """What could not be looked at: path -> why."""
        self.left = (0, 0)
        """Files that the last sweep has left out because they were too many, and their bytes."""
        self._unended: dict[str, Found] = {}
        self._gone: list[str] = []
        self._since: dict[str, tuple[Stat | None, float]] = {}
        self._progress = False

    @property
    def more(self) -> bool:
        """Whether a sweep has left out something, and what it handed over is read. Where nothing of that could
        be read, the next sweep by the clock will do."""
        return self.left[0] > 0 and self._progress and not self.pending

    def look(self, change: Change, now: float) -> None:
        """See what a hint names, or what a sweep that is due finds."""
        waiting = self.left[0]
        if change is Sweep.FULL:
            missed = self.sweep(now)
            self._watch.report_missed(0 if waiting else missed)
        elif change is Sweep.HOT:
            swept = self._sweeper.hot(thorough=self._watch.status.mode == "polling")
            self._grow_quiet(now)
            self._take(swept)
            self._look_behind()
            self._watch.report_hot(swept.cpu)
            self._watch.report_missed(0 if waiting else swept.missed)
        elif not isinstance(change, Sweep):
            self._take(self._sweeper.look(change))

    def sweep(self, now: float) -> int:
        """Look at everything, also at what could not be read, and what others made to be read again; returns
        how many changes no hint had announced."""
        lost = []
        for path in checkpoints.unfinished(self._conn, self._source.parser_version):
            self._sweeper.doubt(path)
            if not os.path.lexists(path):
                lost.append(path)
        swept = self._sweeper.full()
        self.hidden, self.left, self._progress = dict(swept.problems), swept.left, False
        below = tuple(f"{path}/" for path in swept.problems)
        self._take(swept)
        self._lose([path for path in lost if not path.startswith(below)])
        with transaction(self._conn):
            if any(found.root != self._sample for found in swept.changed[:1]):
                forget_sample(self._conn)
        self._watch.report_sweep(swept.cpu, swept.directories, swept.linked)
        events.sweep(
            files=len(swept.directories), changed=len(swept.changed), missed=swept.missed, seconds=self._clock() - now
        )
        return swept.missed

    def mark_gone(self) -> None:
        """Note in the database which files are gone; what they held stays."""
        if self._gone:
            with transaction(self._conn):
                checkpoints.mark_lost(self._conn, self._gone)
            self._gone = []

    def batch(self) -> list[Found]:
        """The files of one round: the latest changes first, then some that have waited longest, so that
        nothing waits for ever. They stay pending until they are settled."""
        latest, longest = islice(reversed(self.pending), ROUND - WAITED), islice(self.pending, WAITED)
        return [self.pending[path] for path in dict.fromkeys(chain(latest, longest))]

    def settle(self, batch: Sequence[Found], rest: Sequence[Found]) -> None:
        """A round is committed; `rest` are those of its files that have more to read."""
        more = {found.file.path for found in rest}
        for found in batch:
            path = found.file.path
            del self.pending[path]
            if path in more:
                self.pending[path] = found
                continue
            if path in self._ingest.failed:
                continue  # never settled, it comes again with every sweep
            self._progress |= self._sweeper.settle(path, found.stat)
            self.quiet.discard(path)
            if path in self._ingest.unfinished:
                self._unended[path] = found
            else:
                self._unended.pop(path, None)
                self._since.pop(path, None)

    def _look_behind(self) -> None:
        """What could not be read may be readable by now: no hint tells of that."""
        open_now = [path for path in self.hidden if os.access(path, os.R_OK | os.X_OK) or not os.path.lexists(path)]
        for path in open_now:
            del self.hidden[path]
        if open_now:
            looked = self._sweeper.look(open_now)
            self.hidden |= looked.problems
            self._take(looked)

    def _take(self, swept: Swept) -> None:
        """Queue what differs from what was read, the newest last."""
        for found in reversed([*swept.changed, *swept.beside]):
            self.pending.setdefault(found.file.path, found)
        self._lose(swept.gone)

    def _lose(self, paths: Sequence[str]) -> None:
        """Files that are gone: what they held stays, but nothing more is waited for."""
        self._gone += paths
        for path in paths:
            self._ingest.unfinished.discard(path)
            self._unended.pop(path, None)
            self.pending.pop(path, None)

    def _grow_quiet(self, now: float) -> None:
        """A last line without newline is read once its file has not changed for a while."""
        for path in sorted(self._ingest.unfinished - self.quiet):
            found = self._unended.get(path)
            if found is None:
                continue
            stat, since = self._since.get(path, (None, now))
            if stat != found.stat:
                self._since[path] = (found.stat, now)
            elif now - since >= self._quiet_seconds:
                self.quiet.add(path)
                self.pending[path] = found
