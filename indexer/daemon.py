"""Follows the transcripts for months: hints and sweeps become turns of ingest, errors become waiting.

One thread reads files and writes the database. What is to be read is a dict of files, newest last; a
change puts its file there, a turn takes it out, so nothing can be forgotten that a sweep would not find
again. A database that is busy or a disk that is full stops reading, not the process: the transcripts
are the queue. What `status` shows of a running service is written here, after the fact it tells of.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain, islice
from typing import Any

from indexer import compress, condition, control, events, logfile, status_file
from indexer.archive.catch_up import catch_up
from indexer.archive.keep import Archive
from indexer.archive.renew import renew
from indexer.compressors.base import Compressor
from indexer.condition import Trouble
from indexer.config import Config
from indexer.errors import CorruptDatabase, IndexerError, NewerDatabase, UsageError
from indexer.exchange.writing import Intake
from indexer.exclude import Exclusion
from indexer.files.discover import Found, default_roots
from indexer.files.sweep import Sweeper, Swept
from indexer.files.walk import Stat
from indexer.files.watch import Change, Pace, Sweep, Watch
from indexer.forget import Sink, forget, resume
from indexer.ingest import Ingest
from indexer.notify import Notifier
from indexer.project import Resolver
from indexer.redaction_key import redactor
from indexer.sources.base import Source
from indexer.store import archive as archived
from indexer.store import checkpoints, exclusions, redaction, upkeep
from indexer.store.connection import Connection, WriterLock, identity, open_writer, transaction, translated
from indexer.store.migrations import migrate
from indexer.store.projects import set_aliases
from indexer.store.refusals import guard
from indexer.store.removal import forget_sample, sample_folder
from indexer.store.sessions import complete_idle
from indexer.worker.supervisor import Supervisor

ROUND = 50
"""Files a round of turns takes before hints are looked at again."""
WAITED = 10
"""Of these, so many are those that have waited longest."""
SESSIONS = 8
"""Sessions that are compressed before hints are looked at again: some 20 ms."""
STATUS_SECONDS = 5.0
IDLE_SECONDS = 60.0
UPGRADE_SECONDS = 1800.0
"""What an upgrade of a large database may take before the service is ready: an index made anew reads it all."""
UPKEEP_AFTER = 60.0
"""Seconds without work after which the database is looked after, a step at a time."""
FORGET_SECONDS = 600.0
"""What a forgetting may take before the service manager doubts us: VACUUM writes the whole database."""
BACKOFF = (1.0, 60.0)


class Daemon:
    """One indexer over the roots. `run` until stopped; `step` is one piece of work, for tests.

    clock: monotonic seconds; wall: seconds since 1970, for file times and the idle rule only. vectors: looks
    after the vector worker; None: there is none.
    """

    def __init__(
        self,
        config: Config,
        source: Source,
        env: Mapping[str, str],
        *,
        compressor: Compressor | None = None,
        watch: Watch | None = None,
        vectors: Supervisor | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sinks: Sequence[Sink] = (),
    ) -> None:
        self._sinks = sinks
        self._config, self._source, self._clock, self._wall = config, source, clock, wall
        self._roots, self._compressor = config.roots or default_roots(env), compressor
        pace = Pace(
            config.debounce_ms / 1000, config.max_delay_ms / 1000, config.sweep_seconds, config.hot_sweep_seconds,
            config.poll_seconds,
        )  # fmt: skip
        self._watch = watch or Watch(self._roots, pace)
        self._notify, self._ready = Notifier(env), False
        self._vectors = vectors
        self._lock = WriterLock(config.home)
        self._exclusion = Exclusion(config.excluded, env.get("HOME", ""))
        self._notify.busy(UPGRADE_SECONDS)
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            self._redactor = redactor(config)
            self._conn = self._open()
            commands = {"forget": self._forget, "import": self._import}
            self._control = control.Server(config.home, env, commands)
            self._intake = Intake(self._conn, config, self._redactor, self._exclusion)
            undo.pop_all()
        with translated():
            redaction.adopt(self._conn, self._redactor.rules)
            known = checkpoints.known_stats(self._conn, source.parser_version)
            self._archive = self._keep()
            self._behind = archived.behind(self._conn) if self._archive else []
        self._sweeper = Sweeper(self._roots, source, known, lambda: int(wall() * 1e9))
        self._ingest = Ingest(
            self._conn,
            source,
            Resolver(config.environments, git_remote=config.git_remote),
            quiet=lambda path: path in self._quiet,
            archive=self._archive,
            exclusion=self._exclusion,
            redactor=self._redactor,
        )
        self._renewing = True
        self._archive_renewal: Iterator[int] = iter(())
        if redaction.pending(self._conn):
            self._archive_renewal = renew(self._conn, Archive(self._conn, config.home), self._redactor)
        self._sample = sample_folder()
        self._unended: dict[str, Found] = {}
        self._pending: dict[str, Found] = {}
        self._gone: list[str] = []
        self._quiet: set[str] = set()
        self._since: dict[str, tuple[Stat | None, float]] = {}
        self._delay, self._retry_at = 0.0, 0.0
        self._trouble: Trouble | None = None
        self._hidden: dict[str, str] = {}
        self._left, self._progress = (0, 0), False
        self._status_at = self._idle_at = self._alive_at = float("-inf")
        self._worked_at: float | None = None
        self._tell(clock())  # on a disk that fills up later, this file can be written over
        self._status_at = float("-inf")

    def _open(self) -> Connection:
        conn = open_writer(self._config.home)
        with translated():
            migrate(conn)
            with transaction(conn):
                set_aliases(conn, self._config.aliases)
                exclusions.adopt(conn, self._exclusion)
            self._finish_forgetting(conn, wait=True)
            if self._compressor is not None:
                compress.begin(conn, self._compressor, merge=self._config.dedup_enabled)
        self._database = identity(self._config.home)
        return conn

    def _keep(self) -> Archive | None:
        """The archive, swept of what a crash has left; None when it is switched off."""
        if not self._config.archive_enabled:
            return None
        guards = partial(guard, self._conn, self._exclusion)
        cap = self._config.archive_max_mb * 1_000_000
        archive = Archive(self._conn, self._config.home, self._redactor, guards=guards, cap=cap)
        archive.tidy()
        return archive

    def run(self, stop: threading.Event) -> None:
        """Work until `stop` is set; ends within a turn. Raises CorruptDatabase and NewerDatabase."""
        began = self._clock()
        events.started(str(self._config.home), tuple(self._roots))
        try:
            while not stop.is_set():
                if not self.step():
                    self._watch.wait()
        finally:
            self.close()
            events.stopped(self._clock() - began)

    def close(self) -> None:
        """Stop watching, fold the WAL back and give up the lock."""
        self._notify.stopping()
        self._watch.stop()
        self._control.close()
        if self._vectors is not None:
            self._vectors.close()
        with translated():
            upkeep.fold_log(self._conn)
        self._conn.close()
        status_file.clear(self._config.home)
        self._lock.release()

    def step(self) -> bool:
        """Look for changes, give the changed files a turn each; says whether there was anything to do."""
        now, served, unfinished = self._clock(), False, False
        change = self._watch.poll(now)
        more = change is None and self._has_more()
        try:
            with translated():
                if change is not None:
                    self._look(change, now)
                elif more:
                    self._sweep(now)
                if now >= self._retry_at:
                    self._stand()
                    served = self._control.serve()
                    self._mark_gone()
                    self._renew()
                    self._work()
                    self._tend(now)
                    self._catch_up()
                    unfinished = self._remember()
                    self._recover()
                    self._look_after(now)
        except (CorruptDatabase, NewerDatabase):
            raise
        except (IndexerError, OSError) as error:
            self._stall(error, now)
        self._report(now)
        if self._vectors is not None:
            self._vectors.tend(worked=self._worked_at is not None and self._worked_at >= now)
        self._tell(now)
        waiting = bool(self._pending or self._behind) or self._renewing or self._has_more()
        return change is not None or served or unfinished or (waiting and now >= self._retry_at)

    def _has_more(self) -> bool:
        """Whether a sweep has left out something, and what it handed over is read. Where nothing of that could
        be read, the next sweep by the clock will do."""
        return self._left[0] > 0 and self._progress and not self._pending

    # -- what has changed --------------------------------------------------------------------------

    def _look(self, change: Change, now: float) -> None:
        waiting = self._left[0]
        if change is Sweep.FULL:
            missed = self._sweep(now)
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

    def _sweep(self, now: float) -> int:
        """Look at everything, also at what could not be read, and what others made to be read again; returns
        how many changes no hint had announced."""
        lost = []
        for path in checkpoints.unfinished(self._conn, self._source.parser_version):
            self._sweeper.doubt(path)
            if not os.path.lexists(path):
                lost.append(path)
        swept = self._sweeper.full()
        self._hidden, self._left, self._progress = dict(swept.problems), swept.left, False
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

    def _look_behind(self) -> None:
        """What could not be read may be readable by now: no hint tells of that."""
        open_now = [path for path in self._hidden if os.access(path, os.R_OK | os.X_OK) or not os.path.lexists(path)]
        for path in open_now:
            del self._hidden[path]
        if open_now:
            looked = self._sweeper.look(open_now)
            self._hidden |= looked.problems
            self._take(looked)

    def _take(self, swept: Swept) -> None:
        """Queue what differs from what was read, the newest last."""
        for found in reversed([*swept.changed, *swept.beside]):
            self._pending.setdefault(found.file.path, found)
        self._lose(swept.gone)

    def _lose(self, paths: Sequence[str]) -> None:
        """Files that are gone: what they held stays, but nothing more is waited for."""
        self._gone += paths
        for path in paths:
            self._ingest.unfinished.discard(path)
            self._unended.pop(path, None)
            self._pending.pop(path, None)

    def _mark_gone(self) -> None:
        if self._gone:
            with transaction(self._conn):
                checkpoints.mark_lost(self._conn, self._gone)
            self._gone = []

    def _grow_quiet(self, now: float) -> None:
        """A last line without newline is read once its file has not changed for a while."""
        for path in sorted(self._ingest.unfinished - self._quiet):
            found = self._unended.get(path)
            if found is None:
                continue
            stat, since = self._since.get(path, (None, now))
            if stat != found.stat:
                self._since[path] = (found.stat, now)
            elif now - since >= self._config.quiet_seconds:
                self._quiet.add(path)
                self._pending[path] = found

    # -- work --------------------------------------------------------------------------------------

    def _stand(self) -> None:
        """What is written to a database that nobody can open is lost once its transcripts are."""
        if identity(self._config.home) != self._database:
            raise CorruptDatabase(
                "the database was moved or deleted while it was written to", "start `transcript-indexer watch` again"
            )

    def _renew(self) -> None:
        """Take some of the stored texts through redaction rules that are newer than they are."""
        if self._renewing and next(self._archive_renewal, None) is None:
            self._renewing = next(redaction.reapply(self._conn, self._redactor), None) is not None

    def _work(self) -> None:
        """One round of turns: the latest changes first, so that no backlog delays what is written now,
        then some that have waited longest, so that nothing waits for ever. What fails stays pending."""
        latest, longest = islice(reversed(self._pending), ROUND - WAITED), islice(self._pending, WAITED)
        batch = [self._pending[path] for path in dict.fromkeys(chain(latest, longest))]
        if batch:
            self._worked_at = self._clock()
        rest = {found.file.path for found in self._ingest.round(batch)}
        for found in batch:
            path = found.file.path
            del self._pending[path]
            if path in rest:
                self._pending[path] = found
                continue
            if path in self._ingest.failed:
                continue  # never settled, it comes again with every sweep
            self._progress |= self._sweeper.settle(path, found.stat)
            self._quiet.discard(path)
            if path in self._ingest.unfinished:
                self._unended[path] = found
            else:
                self._unended.pop(path, None)
                self._since.pop(path, None)

    def _tend(self, now: float) -> None:
        """Once a minute: sessions that have gone quiet are complete, and their ends go into the archive."""
        if now - self._idle_at >= IDLE_SECONDS:
            self._idle_at = now
            self._finish_forgetting(self._conn, wait=False)
            idle = self._wall() - self._config.idle_minutes * 60
            with transaction(self._conn):
                complete_idle(self._conn, int(idle * 1000))
            if self._archive is not None:
                self._archive.idle_before = int(idle * 1e9)
                self._archive.seal()

    def _catch_up(self) -> None:
        """One transcript that was read and not archived, when there is nothing to read."""
        if self._ingest.excluded:
            self._ingest.excluded = False
            self._finish_forgetting(self._conn, wait=False)
        self._behind += self._ingest.behind
        self._ingest.behind.clear()
        if self._archive is not None and self._behind and not self._pending:
            catch_up(self._conn, self._archive, self._source, self._behind.pop())

    def _remember(self) -> bool:
        """Compress what has been read, a few sessions at a time; says whether there is more. A backlog of
        files comes first: its turns would be made again and again while they grow."""
        if self._compressor is None or self._pending:
            return False
        done = compress.run(self._conn, self._compressor, limit=SESSIONS, merge=self._config.dedup_enabled)
        if done.observations:
            self._worked_at = self._clock()
        return done.sessions == SESSIONS

    def _look_after(self, now: float) -> None:
        """Once after a while of rest: merge the index, give pages back, fold the log, in small steps."""
        if self._worked_at is None or self._pending or now - self._worked_at < UPKEEP_AFTER:
            return
        if not upkeep.step(self._conn):
            upkeep.fold_log(self._conn)
            self._worked_at = None

    def _stall(self, error: Exception, now: float) -> None:
        """Nothing was lost: the transaction rolled back, the files are still pending."""
        first, longest = BACKOFF
        self._delay = min(max(first, self._delay * 2), longest)
        self._retry_at = now + self._delay
        self._idle_at = float("-inf")  # the next try writes, whether or not there is anything to read
        self._trouble = condition.of_error(error)
        self._status_at = float("-inf")
        events.stalled(self._trouble.reason, self._delay)

    def _recover(self) -> None:
        if self._trouble:
            events.recovered(self._trouble.reason)
            self._status_at = float("-inf")
        self._delay, self._retry_at, self._trouble = 0.0, 0.0, None

    # -- commands ----------------------------------------------------------------------------------

    def _forget(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Forget, then look at everything: files of sessions that are left may have to be read again."""
        sessions, records = _names(asked.get("sessions")), _names(asked.get("records"))
        self._notify.busy(FORGET_SECONDS)
        with translated():
            finished = forget(self._conn, self._config.home, sessions, records, self._sinks)
            if self._archive is not None:
                self._archive.measure()
            self._sweep(self._clock())
        return {"finished": finished}

    def _import(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Take in a batch of an import."""
        self._worked_at = self._clock()
        return self._intake.take(asked)

    def _finish_forgetting(self, conn: Connection, *, wait: bool) -> None:
        """Take up what was cut off, or could not be finished while somebody was reading."""
        try:
            with translated():
                resume(conn, self._config.home, self._sinks, wait=wait)
        except (CorruptDatabase, NewerDatabase):
            raise
        except (IndexerError, OSError) as error:
            events.failed("forget", error)

    # -- status ------------------------------------------------------------------------------------

    def _report(self, now: float) -> None:
        """Tell the service manager that the loop has come round: it does so here and nowhere else, so that
        a step that hangs is noticed."""
        status = f"{self._condition().reason or 'up to date'}; {len(self._pending) + self._left[0]} files to read"
        if not self._ready:
            self._ready = True
            self._notify.ready(status)
        elif now - self._alive_at >= (self._notify.watchdog_seconds or 4 * STATUS_SECONDS) / 4:
            self._alive_at = now
            self._notify.alive(status)

    def _tell(self, now: float) -> None:
        """Write what is true now beside the database, at most every few seconds."""
        if now - self._status_at < STATUS_SECONDS:
            return
        self._status_at = now
        logfile.rotate()
        watch, wrong = self._watch.status, self._condition()
        state = {
            "pid": os.getpid(),
            "mode": watch.mode,
            "reason": wrong.reason,
            "remedy": wrong.remedy,
            "watches": watch.watches,
            "directories": watch.directories,
            "overflows": watch.overflows,
            "missed": watch.missed,
            "restarts": watch.restarts,
            "pending_files": len(self._pending) + self._left[0],
            "lag_bytes": self._lag(),
            "events": events.snapshot(),
            "updated_at": int(self._wall() * 1000),
        }
        try:
            status_file.write(self._config.home, state)
        except OSError as error:  # that there is no status is no reason to stop reading
            events.failed("status", error)

    def _condition(self) -> Trouble:
        """All that is wrong now."""
        watch = self._watch.status
        troubles = [Trouble(watch.reason, watch.remedy), *condition.of_roots(self._config.roots)]
        return condition.joined(
            [*([self._trouble] if self._trouble else []), *troubles, *condition.of_folders(self._hidden)]
        )

    def _lag(self) -> int | None:
        """Bytes that are not read yet; None while the database does not say."""
        try:
            with translated():
                sizes = {path: found.stat.size for path, found in self._pending.items()}
                return checkpoints.lag(self._conn, sizes) + self._left[1]
        except IndexerError as error:
            events.failed("status", error)
            return None


def _names(given: object) -> list[str]:
    """A list of ids out of a request. Raises UsageError for anything else."""
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise UsageError("a list of ids is missing", "")
    return given
