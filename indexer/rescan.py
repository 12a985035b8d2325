"""Reads all transcripts that stand on disk into the memory, once: what is there already costs one stat.

An empty memory is filled through a side file (store/bulk.py), a filled one is added to. Either way the
result is the same, nothing is lost and nothing stands twice; interrupted, it goes on where the last
commit was. With no transcripts in the default places, a small bundled sample is read instead, so that
a new user has something to search; it leaves again when real transcripts turn up.

`rebuild` reads everything anew into a side file, whatever the memory holds, and carries over what no
transcript says (indexer/rebuild.py). The memory stays as it is until the new one takes its place.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from indexer import compress
from indexer.archive.catch_up import catch_up
from indexer.archive.chunks import Shelf
from indexer.archive.keep import Archive
from indexer.archive.renew import renew
from indexer.archive.stock import holding
from indexer.compressors.base import Compressor
from indexer.config import Config
from indexer.exclude import Exclusion
from indexer.files.discover import Found, Survey, default_roots, survey
from indexer.forget import Sink, resume
from indexer.ingest import BULK, LIVE, Ingest, Size
from indexer.ingest import Progress as Done
from indexer.project import Resolver
from indexer.rebuild import Feed, Rebuild
from indexer.redact import Redactor
from indexer.redaction_key import redactor
from indexer.sources.base import Source
from indexer.store import archive as archived
from indexer.store import bulk, checkpoints, exclusions, redaction
from indexer.store import rebuild as rebuilding
from indexer.store.connection import (
    Connection,
    WriterLock,
    database_path,
    open_writer,
    transaction,
    translated,
)
from indexer.store.migrations import migrate
from indexer.store.projects import set_aliases
from indexer.store.refusals import guard
from indexer.store.removal import forget_sample, holds_only_sample, sample_folder
from indexer.store.sessions import complete_idle

PASSES = 5
"""A file is read again at most so often because others changed who owns its records."""


class Progress(NamedTuple):
    """How far a rescan is."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int
    rows: int
    seconds: float


class Report(NamedTuple):
    """What a rescan did. problems: (path, reason). sample: the bundled sample was read. files_archived: in a
    rebuild, files that no longer stand on disk and were read from the archive. observations: made or made
    anew."""

    files_total: int
    files_read: int
    files_unchanged: int
    bytes_read: int
    rows_new: int
    dead_letters: int
    conflicts: int
    problems: tuple[tuple[str, str], ...]
    seconds: float
    sample: bool
    files_archived: int = 0
    observations: int = 0


class _Meter:
    """Adds up what was committed and tells whoever wants to know."""

    def __init__(self, tell: Callable[[Progress], None] | None, files: int, size: int) -> None:
        self._tell, self._files, self._size = tell, files, size
        self.files = self.size = self.rows = self.dead_letters = self.conflicts = 0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._began

    def add(self, commits: Iterable[Done]) -> None:
        """Have files read, reporting after each commit."""
        for done in commits:
            written = done.written
            self.files += done.files
            self.size += done.size
            self.rows += written.prompts + written.tool_uses + written.messages
            self.dead_letters += written.dead_letters
            self.conflicts += written.conflicts
            if self._tell is not None:
                done_files = min(self.files, self._files)
                self._tell(Progress(done_files, self._files, self.size, self._size, self.rows, self.seconds))


class _Job(NamedTuple):
    """What a rescan needs all along."""

    config: Config
    source: Source
    seen: Survey
    sample: bool
    tell: Callable[[Progress], None] | None
    redactor: Redactor

    def exclusion(self) -> Exclusion:
        """Projects that are not remembered."""
        return Exclusion(self.config.excluded, str(Path.home()))

    def archive(self, conn: Connection, limit: Size) -> Archive | None:
        """The archive to fill beside the rows; none for the bundled sample, or if it is switched off."""
        if self.sample or not self.config.archive_enabled:
            return None
        cap = self.config.archive_max_mb * 1_000_000
        guards = partial(guard, conn, self.exclusion())
        archive = Archive(conn, self.config.home, self.redactor, guards=guards, cap=cap, lazily=limit is BULK)
        archive.idle_before = int((time.time() - self.config.idle_minutes * 60) * 1e9)
        return archive


def rescan(
    config: Config,
    source: Source,
    env: dict[str, str],
    tell: Callable[[Progress], None] | None = None,
    *,
    rebuild: bool = False,
    sinks: Sequence[Sink] = (),
    compressor: Compressor | None = None,
) -> Report:
    """Bring the memory of `config.home` up to date with the roots, and its finished turns into memory;
    rebuild: make all of it anew.

    Raises Busy when another process writes there, CorruptDatabase, NewerDatabase, IndexerError.
    """
    lock = WriterLock(config.home)
    try:
        with _uncollected(), translated():
            redact = redactor(config)
            if rebuild and _holds_something(config.home):
                report = _rebuild(config, source, env, tell, redact, compressor)
            else:
                with _store(config.home, sinks) as (conn, limit):
                    seen, sample = _find(conn, config, source, env)
                    report = _fill(conn, limit, _Job(config, source, seen, sample, tell, redact))
                    report = report._replace(observations=_remember(conn, compressor, config))
            _take_back(config.home, sinks)
        return report
    finally:
        lock.release()


def _holds_something(home: Path) -> bool:
    if not database_path(home).exists():
        return False
    with closing(open_writer(home)) as conn:
        migrate(conn)
        return not bulk.is_empty(conn)


def _rebuild(
    config: Config,
    source: Source,
    env: dict[str, str],
    tell: Callable[[Progress], None] | None,
    redact: Redactor,
    compressor: Compressor | None,
) -> Report:
    with closing(open_writer(config.home)) as conn:
        seen, sample = _find(conn, config, source, env)
        job = _Job(config, source, seen, sample, tell, redact)
        if archive := job.archive(conn, LIVE):
            archive.tidy()
        _redact_stored(conn, job)
        old, kept = rebuilding.old_files(conn), {each.file_id for each in holding(conn)}
        rebuilding.fold_log(conn)
    side = bulk.open_side(config.home)
    try:
        archive = Archive(side, config.home, redact)
        again = Rebuild(side, config.home, source, _resolver(config), archive)
        with transaction(side):
            again.begin(old, kept, seen.found)
        report = _fill(side, BULK, job, again)
        report = report._replace(observations=_remember(side, compressor, config))
        bulk.publish(side, config.home)
    except BaseException:
        bulk.discard(side, config.home)
        raise
    return report


def _redact_stored(conn: Connection, job: _Job) -> None:
    """Have all that is stored, and archived, stand under the present rules before anything is added."""
    redaction.adopt(conn, job.redactor.rules)
    if redaction.pending(conn):
        for _ in renew(conn, Archive(conn, job.config.home), job.redactor):
            pass
    for _ in redaction.reapply(conn, job.redactor):
        pass


def _take_back(home: Path, sinks: Sequence[Sink]) -> None:
    """Sessions that turned out to be of an excluded project after some of them was stored."""
    conn = open_writer(home)
    try:
        resume(conn, home, sinks)
    finally:
        conn.close()


@contextmanager
def _uncollected() -> Iterator[None]:
    """Records hold no cycles, and there are thousands in hand at any time: the collector would look at
    each of them again and again, for a tenth of the whole."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _find(conn: Connection, config: Config, source: Source, env: dict[str, str]) -> tuple[Survey, bool]:
    """What stands on disk; the bundled sample when the default places hold nothing, nor ever did."""
    seen = survey(config.roots or default_roots(env), source)
    known = config.roots or Shelf(config.home).folder.is_dir() or not holds_only_sample(conn)
    if seen.found or seen.problems or known:
        return seen, False
    return survey([sample_folder()], source), True


@contextmanager
def _store(home: Path, sinks: Sequence[Sink]) -> Iterator[tuple[Connection, Size]]:
    """The database to fill, and in batches of what size.

    When there is nothing to add to, it is a side file, published at the end. Also an interrupted load is
    published: what it has read need not be read again."""
    if database_path(home).exists():
        conn = open_writer(home)
        migrate(conn)
        resume(conn, home, sinks)
        if not bulk.is_empty(conn):
            try:
                yield conn, LIVE
                conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                conn.close()
            return
        conn.close()
    side = bulk.open_side(home)
    try:
        try:
            yield side, BULK
        except KeyboardInterrupt:
            os.sync()  # what was archived so far
            bulk.publish(side, home)
            raise
        bulk.publish(side, home)
    except BaseException:
        bulk.discard(side, home)
        raise


def _fill(conn: Connection, limit: Size, job: _Job, again: Rebuild | None = None) -> Report:
    config, source, seen = job.config, job.source, job.seen
    archive, exclusion = job.archive(conn, limit), job.exclusion()
    if archive is not None and again is None:
        archive.tidy()
    _redact_stored(conn, job)
    with transaction(conn):
        set_aliases(conn, config.aliases)
        exclusions.adopt(conn, exclusion)
        if again is None:
            _mark_gone(conn, seen)
        if any(found.root != sample_folder() for found in seen.found[:1]):
            forget_sample(conn)
    todo = _changed(conn, source, seen.found)
    feed: Feed | None = again
    if archive is not None and limit is BULK and again is None:
        feed = Feed(conn, source, _resolver(config), archive)
        feed.adopt()
    gone = feed.files if feed else []
    size = sum(found.stat.size for found in todo) + sum(row.offset for row in gone)
    meter = _Meter(job.tell, len(todo) + len(gone), size)
    ingest = Ingest(
        conn, source, _resolver(config), limit=limit, archive=archive, exclusion=exclusion, redactor=job.redactor
    )
    read = len(todo)
    for _ in range(PASSES):
        meter.add(ingest.run(todo))
        if feed is not None:
            meter.add(feed.fed())
        todo = _changed(conn, source, seen.found)
        if not todo and not (feed and feed.unfinished()):
            break
    if again is not None:
        again.end()
    if feed is not None:
        with transaction(conn):
            _mark_gone(conn, seen)
    _finish(conn, config, source, archive, published=again is None)
    missing = [(root, "there is no such folder") for root in config.roots if not Path(root).is_dir()]
    damaged = feed.problems if feed is not None else []
    return Report(
        len(seen.found), read, len(seen.found) - read, meter.size, meter.rows, meter.dead_letters, meter.conflicts,
        (*missing, *seen.problems, *checkpoints.unreadable(conn), *damaged), meter.seconds, job.sample,
        len(feed.files) if feed is not None else 0,
    )  # fmt: skip


def _mark_gone(conn: Connection, seen: Survey) -> None:
    checkpoints.mark_gone(conn, {found.file.path for found in seen.found}, [path for path, _ in seen.problems])


def _finish(conn: Connection, config: Config, source: Source, archive: Archive | None, *, published: bool) -> None:
    """What comes after all files: sessions that are over, and the ends of what was archived.

    published: nobody else names the archive's files, so that those in no use may go."""
    with transaction(conn):
        complete_idle(conn, int((time.time() - config.idle_minutes * 60) * 1000))
    if archive is not None:
        for file_id in archived.behind(conn):
            catch_up(conn, archive, source, file_id)
        if published:
            archive.seal()
        archive.shelf.sync()


def _resolver(config: Config) -> Resolver:
    return Resolver(config.environments, git_remote=config.git_remote)


def _remember(conn: Connection, compressor: Compressor | None, config: Config) -> int:
    """Compress every finished turn that is not; returns how many observations that made."""
    if compressor is None:
        return 0
    return compress.all_of(conn, compressor, merge=config.dedup_enabled).observations


def _changed(conn: Connection, source: Source, found: Sequence[Found]) -> list[Found]:
    """Files whose stat is not the one of their last complete reading."""
    known, names = checkpoints.known_stats(conn, source.parser_version), checkpoints.names(conn)
    return [one for one in found if all(known.get(name) != tuple(one.stat) for name in names(one.file.path))]
