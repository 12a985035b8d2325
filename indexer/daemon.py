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
from collections.abc import Callable, Mapping
from itertools import chain, islice
from pathlib import Path

import orjson

from indexer import events
from indexer.config import Config
from indexer.errors import CorruptDatabase, IndexerError, NewerDatabase
from indexer.files.discover import Found, Survey, default_roots, look, newest_first, places, survey
from indexer.files.walk import Stat
from indexer.files.watch import Change, Pace, Sweep, Watch
from indexer.ingest import Ingest
from indexer.project import Resolver
from indexer.sources.base import Source
from indexer.store import checkpoints
from indexer.store.connection import Connection, WriterLock, open_writer, transaction, translated
from indexer.store.migrations import migrate
from indexer.store.projects import set_aliases
from indexer.store.removal import forget_sample, sample_folder
from indexer.store.sessions import complete_idle

ROUND = 50
"""Files a round of turns takes before hints are looked at again."""
WAITED = 10
"""Of these, so many are those that have waited longest."""
HOT_FILES = 200
HOT_AGE = 86_400.0
ANNOUNCED = 5.0
"""A change younger than this may still have its hint under way."""
STATUS = "status.json"
STATUS_SECONDS = 5.0
IDLE_SECONDS = 60.0
BACKOFF = (1.0, 60.0)


class Daemon:
    """One indexer over the roots. `run` until stopped; `step` is one piece of work, for tests.

    clock: monotonic seconds; wall: seconds since 1970, for file times and the idle rule only.
    """

    def __init__(
        self,
        config: Config,
        source: Source,
        env: Mapping[str, str],
        *,
        watch: Watch | None = None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._config, self._source, self._clock, self._wall = config, source, clock, wall
        self._roots = config.roots or default_roots(env)
        pace = Pace(
            config.debounce_ms / 1000, config.max_delay_ms / 1000, config.sweep_seconds, config.hot_sweep_seconds,
            config.poll_seconds,
        )  # fmt: skip
        self._watch = watch or Watch(self._roots, pace)
        self._lock = WriterLock(config.home)
        try:
            self._conn = self._open()
        except BaseException:
            self._lock.release()
            raise
        self._known = checkpoints.known_stats(self._conn, source.parser_version)
        self._ingest = Ingest(
            self._conn,
            source,
            Resolver(config.environments, git_remote=config.git_remote),
            quiet=lambda path: path in self._quiet,
        )
        self._within = places(self._roots)
        self._sample = sample_folder()
        self._files: dict[str, Found] = {}
        self._directories: dict[str, int] = {}
        self._pending: dict[str, Found] = {}
        self._quiet: set[str] = set()
        self._since: dict[str, tuple[Stat | None, float]] = {}
        self._delay, self._retry_at = 0.0, 0.0
        self._trouble = ""
        self._status_at = self._idle_at = float("-inf")

    def _open(self) -> Connection:
        conn = open_writer(self._config.home)
        with translated():
            migrate(conn)
            with transaction(conn):
                set_aliases(conn, self._config.aliases)
        return conn

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
        self._watch.stop()
        with translated():
            self._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._conn.close()
        (self._config.home / STATUS).unlink(missing_ok=True)
        self._lock.release()

    def step(self) -> bool:
        """Look for changes, give the changed files a turn each; says whether there was anything to do."""
        now = self._clock()
        change = self._watch.poll(now)
        try:
            with translated():
                if change is not None:
                    self._look(change, now)
                if now >= self._retry_at:
                    self._work()
                    self._tend(now)
                    self._recover()
        except (CorruptDatabase, NewerDatabase):
            raise
        except (IndexerError, OSError) as error:
            self._stall(error, now)
        try:
            self._tell(now)
        except OSError as error:  # a disk without room for a status is no reason to stop reading
            events.failed("status", error)
        return change is not None or (bool(self._pending) and now >= self._retry_at)

    # -- what has changed --------------------------------------------------------------------------

    def _look(self, change: Change, now: float) -> None:
        if isinstance(change, Sweep):
            if change is Sweep.FULL:
                self._sweep(now)
            else:
                self._hot(now)
        else:
            seen = look(change, self._within, self._source)
            self._directories.update(seen.directories)
            self._take(seen)

    def _sweep(self, now: float) -> None:
        cpu = time.thread_time()
        seen = survey(self._roots, self._source)
        self._within = (*places(self._roots), *seen.outside)
        self._files = {found.file.path: found for found in seen.found}
        self._directories = dict(seen.directories)
        # Afresh: files that could not be read, that came back, or whose records others now own.
        self._known = checkpoints.known_stats(self._conn, self._source.parser_version)
        missed = self._take(seen)
        with transaction(self._conn):
            checkpoints.mark_gone(self._conn, set(self._files), hidden=[path for path, _ in seen.problems])
            if any(found.root != self._sample for found in seen.found[:1]):
                forget_sample(self._conn)
        self._watch.report_sweep(time.thread_time() - cpu, seen.directories, [place.path for place in seen.outside])
        self._watch.report_missed(missed)
        events.sweep(files=len(seen.found), changed=len(self._pending), missed=missed, seconds=self._clock() - now)

    def _hot(self, now: float) -> None:
        """The files of the last day, and every folder whose listing may have changed."""
        recent = (self._wall() - HOT_AGE) * 1e9
        hot = [found for found in newest_first(self._files.values()) if found.stat.mtime_ns > recent][:HOT_FILES]
        changed = {found.file.path for found in hot if _stat(found.file.path) != found.stat}
        for folder, mtime in self._directories.items():
            info = _try_stat(folder)
            if info is not None and info.st_mtime_ns != mtime:
                self._directories[folder] = info.st_mtime_ns
                changed.add(folder)
        self._grow_quiet(now)
        if changed:
            seen = look(changed, self._within, self._source)
            self._directories.update(seen.directories)
            self._watch.report_missed(self._take(seen))

    def _take(self, seen: Survey) -> int:
        """Queue what differs from what was read; returns how many changes are older than their hint
        would have been."""
        late = 0
        overdue = (self._wall() - ANNOUNCED) * 1e9
        for found in reversed(newest_first(seen.found)):
            path, name = found.file.path, checkpoints.stored(found.file.path)
            self._files[path] = found
            if self._known.get(name) != found.stat and path not in self._pending:
                self._pending[path] = found
                late += name in self._known and found.stat.mtime_ns < overdue
        return late

    def _grow_quiet(self, now: float) -> None:
        """A last line without newline is read once its file has not changed for a while."""
        for path in sorted(self._ingest.unfinished - self._quiet):
            found = self._files.get(path)
            if found is None:
                self._ingest.unfinished.discard(path)
                continue
            stat, since = self._since.get(path, (None, now))
            if stat != found.stat:
                self._since[path] = (found.stat, now)
            elif now - since >= self._config.quiet_seconds:
                self._quiet.add(path)
                self._pending[path] = found

    # -- work --------------------------------------------------------------------------------------

    def _work(self) -> None:
        """One round of turns: the latest changes first, so that no backlog delays what is written now,
        then some that have waited longest, so that nothing waits for ever. What fails stays pending."""
        latest, longest = islice(reversed(self._pending), ROUND - WAITED), islice(self._pending, WAITED)
        batch = [self._pending[path] for path in dict.fromkeys(chain(latest, longest))]
        rest = {found.file.path for found in self._ingest.round(batch)}
        for found in batch:
            path = found.file.path
            del self._pending[path]
            if path in rest:
                self._pending[path] = found
                continue
            self._known[checkpoints.stored(path)] = found.stat
            if path in self._quiet:
                self._quiet.discard(path)
                self._since[path] = (found.stat, float("inf"))

    def _tend(self, now: float) -> None:
        """Once a minute: sessions that have gone quiet are complete."""
        if now - self._idle_at >= IDLE_SECONDS:
            self._idle_at = now
            with transaction(self._conn):
                complete_idle(self._conn, int((self._wall() - self._config.idle_minutes * 60) * 1000))

    def _stall(self, error: Exception, now: float) -> None:
        """Nothing was lost: the transaction rolled back, the files are still pending."""
        first, longest = BACKOFF
        self._delay = min(max(first, self._delay * 2), longest)
        self._retry_at = now + self._delay
        self._idle_at = float("-inf")  # the next try writes, whether or not there is anything to read
        self._trouble = str(error)
        events.stalled(self._trouble, self._delay)

    def _recover(self) -> None:
        if self._trouble:
            events.recovered(self._trouble)
        self._delay, self._retry_at, self._trouble = 0.0, 0.0, ""

    # -- status ------------------------------------------------------------------------------------

    def _tell(self, now: float) -> None:
        """Write what is true now beside the database, at most every few seconds."""
        if now - self._status_at < STATUS_SECONDS:
            return
        self._status_at = now
        watch = self._watch.status
        state = {
            "pid": os.getpid(),
            "mode": watch.mode,
            "reason": watch.reason or self._trouble,
            "remedy": watch.remedy,
            "watches": watch.watches,
            "directories": watch.directories,
            "overflows": watch.overflows,
            "missed": watch.missed,
            "restarts": watch.restarts,
            "pending_files": len(self._pending),
            "lag_bytes": sum(self._behind(found) for found in self._pending.values()),
            "events": events.snapshot(),
            "updated_at": int(self._wall() * 1000),
        }
        path = self._config.home / STATUS
        scratch = path.with_suffix(".json.new")
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, orjson.dumps(state))
        finally:
            os.close(fd)
        scratch.replace(path)

    def _behind(self, found: Found) -> int:
        known = self._known.get(checkpoints.stored(found.file.path))
        return max(0, found.stat.size - (known[2] if known else 0))


def _try_stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat(follow_symlinks=False)
    except OSError:
        return None


def _stat(path: str) -> Stat | None:
    info = _try_stat(path)
    return Stat.of(info) if info is not None else None
