"""Reads all transcripts that stand on disk into the memory, once: what is there already costs one stat.

An empty memory is filled through a side file (store/bulk.py), a filled one is added to. Either way the
result is the same, nothing is lost and nothing stands twice; interrupted, it goes on where the last
commit was. With no transcripts in the default places, a small bundled sample is read instead, so that
a new user has something to search; it leaves again when real transcripts turn up.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from indexer import compress
from indexer.compressors.base import Compressor
from indexer.config import Config
from indexer.files.discover import Found, Survey, default_roots, survey
from indexer.ingest import BULK, LIVE, Ingest, Size
from indexer.project import Resolver
from indexer.sources.base import Source
from indexer.store import bulk, checkpoints
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
    """What a rescan did. problems: (path, reason). sample: the bundled sample was read. observations: made
    or made anew."""

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

    def add(self, ingest: Ingest, files: Iterable[Found]) -> None:
        """Read the files, reporting after each commit."""
        for done in ingest.run(files):
            written = done.written
            self.files += done.files
            self.size += done.size
            self.rows += written.prompts + written.tool_uses + written.messages
            self.dead_letters += written.dead_letters
            self.conflicts += written.conflicts
            if self._tell is not None:
                done_files = min(self.files, self._files)
                self._tell(Progress(done_files, self._files, self.size, self._size, self.rows, self.seconds))


def rescan(
    config: Config,
    source: Source,
    env: dict[str, str],
    tell: Callable[[Progress], None] | None = None,
    *,
    compressor: Compressor | None = None,
) -> Report:
    """Bring the memory of `config.home` up to date with the roots, and its finished turns into memory.

    Raises Busy when another process writes there, CorruptDatabase, NewerDatabase, IndexerError.
    """
    lock = WriterLock(config.home)
    try:
        with _uncollected(), translated(), _store(config.home) as (conn, limit):
            seen, sample = _find(conn, config, source, env)
            report = _fill(conn, limit, config, source, seen, sample, tell)
            return report._replace(observations=_remember(conn, compressor, config))
    finally:
        lock.release()


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
    if seen.found or config.roots or seen.problems or not holds_only_sample(conn):
        return seen, False
    return survey([sample_folder()], source), True


@contextmanager
def _store(home: Path) -> Iterator[tuple[Connection, Size]]:
    """The database to fill, and in batches of what size.

    When there is nothing to add to, it is a side file, published at the end. Also an interrupted load is
    published: what it has read need not be read again."""
    if database_path(home).exists():
        conn = open_writer(home)
        migrate(conn)
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
            bulk.publish(side, home)
            raise
        bulk.publish(side, home)
    except BaseException:
        bulk.discard(side, home)
        raise


def _fill(
    conn: Connection,
    limit: Size,
    config: Config,
    source: Source,
    seen: Survey,
    sample: bool,
    tell: Callable[[Progress], None] | None,
) -> Report:
    with transaction(conn):
        set_aliases(conn, config.aliases)
        hidden = [path for path, _ in seen.problems]
        checkpoints.mark_gone(conn, {found.file.path for found in seen.found}, hidden)
        if any(found.root != sample_folder() for found in seen.found[:1]):
            forget_sample(conn)
    todo = _changed(conn, source, seen.found)
    meter = _Meter(tell, len(todo), sum(found.stat.size for found in todo))
    resolver = Resolver(config.environments, git_remote=config.git_remote)
    ingest = Ingest(conn, source, resolver, limit=limit)
    read = len(todo)
    for _ in range(PASSES):
        meter.add(ingest, todo)
        todo = _changed(conn, source, seen.found)
        if not todo:
            break
    with transaction(conn):
        complete_idle(conn, int((time.time() - config.idle_minutes * 60) * 1000))
    missing = [(root, "there is no such folder") for root in config.roots if not Path(root).is_dir()]
    return Report(
        len(seen.found), read, len(seen.found) - read, meter.size, meter.rows, meter.dead_letters, meter.conflicts,
        (*missing, *seen.problems, *checkpoints.unreadable(conn)), meter.seconds, sample,
    )  # fmt: skip


def _remember(conn: Connection, compressor: Compressor | None, config: Config) -> int:
    """Compress every finished turn that is not; returns how many observations that made."""
    if compressor is None:
        return 0
    return compress.all_of(conn, compressor, merge=config.dedup_enabled).observations


def _changed(conn: Connection, source: Source, found: Sequence[Found]) -> list[Found]:
    """Files whose stat is not the one of their last complete reading."""
    known = checkpoints.known_stats(conn, source.parser_version)
    return [one for one in found if known.get(checkpoints.stored(one.file.path)) != tuple(one.stat)]
