"""Follows the transcripts for months: hints and sweeps become turns of ingest, errors become waiting.

One thread reads files and writes the database: what is to be read is `changes`', what is told of it is
`report`'s. A database that is busy or a disk that is full stops reading, not the process: the transcripts
are the queue.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from indexer import compress, condition, control, events
from indexer.archive.catch_up import catch_up
from indexer.archive.keep import Archive
from indexer.archive.renew import renew
from indexer.changes import Changes
from indexer.compressors.base import Compressor
from indexer.config import Config
from indexer.control_commands import Binder
from indexer.errors import CorruptDatabase, IndexerError, NewerDatabase
from indexer.exchange.writing import Intake
from indexer.exclude import Exclusion
from indexer.files.discover import default_roots
from indexer.files.sweep import Sweeper
from indexer.files.watch import Pace, Watch
from indexer.forget import Sink, forget, resume
from indexer.ingest import Ingest
from indexer.notify import Notifier
from indexer.project import Resolver
from indexer.redaction_key import redactor
from indexer.report import Report
from indexer.sources.base import Source
from indexer.store import archive as archived
from indexer.store import checkpoints, exclusions, redaction, upkeep
from indexer.store.connection import Connection, WriterLock, identity, open_writer, transaction, translated
from indexer.store.migrations import migrate
from indexer.store.projects import set_aliases
from indexer.store.refusals import guard
from indexer.store.sessions import complete_idle
from indexer.worker.supervisor import Supervisor

SESSIONS = 8
"""Sessions that are compressed before hints are looked at again: some 20 ms."""
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
    after the vector worker; None: there is none. commands: what is done for others, and asked of a model.
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
        commands: Binder | None = None,
    ) -> None:
        self._sinks = sinks
        self._config, self._source, self._clock, self._wall = config, source, clock, wall
        self._roots, self._compressor = config.roots or default_roots(env), compressor
        pace = Pace(
            config.debounce_ms / 1000, config.max_delay_ms / 1000, config.sweep_seconds, config.hot_sweep_seconds,
            config.poll_seconds,
        )  # fmt: skip
        self._watch = watch or Watch(self._roots, pace)
        self._notify = Notifier(env)
        self._vectors = vectors
        self._lock = WriterLock(config.home)
        self._exclusion = Exclusion(config.excluded, env.get("HOME", ""))
        self._notify.busy(UPGRADE_SECONDS)
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            self._redactor = redactor(config)
            self._conn = self._open()
            self._commands = commands(self._conn, self._redactor, self._notify.busy) if commands else None
            own = {"forget": self._forget, "import": self._import}
            self._control = control.Server(config.home, env, own | (self._commands.commands if self._commands else {}))
            self._intake = Intake(self._conn, config, self._redactor, self._exclusion)
            undo.pop_all()
        with translated():
            redaction.adopt(self._conn, self._redactor.rules)
            known = checkpoints.known_stats(self._conn, source.parser_version)
            self._archive = self._keep()
            self._behind = archived.behind(self._conn) if self._archive else []
        self._ingest = Ingest(
            self._conn,
            source,
            Resolver(config.environments, git_remote=config.git_remote),
            quiet=lambda path: path in self._changes.quiet,
            archive=self._archive,
            exclusion=self._exclusion,
            redactor=self._redactor,
        )
        self._renewing = True
        self._archive_renewal: Iterator[int] = iter(())
        if redaction.pending(self._conn):
            self._archive_renewal = renew(self._conn, Archive(self._conn, config.home), self._redactor)
        sweeper = Sweeper(self._roots, source, known, lambda: int(wall() * 1e9))
        self._changes = Changes(
            self._conn, source, sweeper, self._watch, self._ingest, quiet_seconds=config.quiet_seconds, clock=clock
        )
        self._report = Report(config, self._conn, self._changes, self._watch, self._notify, wall)
        self._delay, self._retry_at = 0.0, 0.0
        self._idle_at = float("-inf")
        self._worked_at: float | None = None
        self._report.begin(clock())

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
        self._report.close()
        self._lock.release()

    def step(self) -> bool:
        """Look for changes, give the changed files a turn each; says whether there was anything to do."""
        now, served, unfinished = self._clock(), False, False
        change = self._watch.poll(now)
        more = change is None and self._changes.more
        try:
            with translated():
                if change is not None:
                    self._changes.look(change, now)
                elif more:
                    self._changes.sweep(now)
                if now >= self._retry_at:
                    self._stand()
                    served = self._control.serve()
                    self._changes.mark_gone()
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
        self._report.come_round(now)
        if self._vectors is not None:
            self._vectors.tend(worked=self._worked_at is not None and self._worked_at >= now)
        self._report.tell(now)
        waiting = bool(self._changes.pending or self._behind) or self._renewing or self._changes.more
        return change is not None or served or unfinished or (waiting and now >= self._retry_at)

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
        """One round of turns. What fails stays pending."""
        batch = self._changes.batch()
        if batch:
            self._worked_at = self._clock()
        self._changes.settle(batch, self._ingest.round(batch))

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
        if self._archive is not None and self._behind and not self._changes.pending:
            catch_up(self._conn, self._archive, self._source, self._behind.pop())

    def _remember(self) -> bool:
        """Compress what has been read, a few sessions at a time; says whether there is more. A backlog of
        files comes first: its turns would be made again and again while they grow."""
        if self._compressor is None or self._changes.pending:
            return False
        done = compress.run(self._conn, self._compressor, limit=SESSIONS, merge=self._config.dedup_enabled)
        if done.observations:
            self._worked_at = self._clock()
        return done.sessions == SESSIONS or bool(self._commands and self._commands.step(self._clock()))

    def _look_after(self, now: float) -> None:
        """Once after a while of rest: merge the index, give pages back, fold the log, in small steps."""
        if self._worked_at is None or self._changes.pending or now - self._worked_at < UPKEEP_AFTER:
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
        self._report.trouble = trouble = condition.of_error(error)
        self._report.hurry()
        events.stalled(trouble.reason, self._delay)

    def _recover(self) -> None:
        if self._report.trouble:
            events.recovered(self._report.trouble.reason)
            self._report.hurry()
        self._delay, self._retry_at, self._report.trouble = 0.0, 0.0, None

    # -- commands ----------------------------------------------------------------------------------

    def _forget(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Forget, then look at everything: files of sessions that are left may have to be read again."""
        sessions, records = control.names(asked.get("sessions")), control.names(asked.get("records"))
        self._notify.busy(FORGET_SECONDS)
        with translated():
            finished = forget(self._conn, self._config.home, sessions, records, self._sinks)
            if self._archive is not None:
                self._archive.measure()
            self._changes.sweep(self._clock())
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
