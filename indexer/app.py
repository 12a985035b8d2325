"""The one place that names implementations: puts a source, the flows and the settings together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from indexer import compress as compressing
from indexer import events
from indexer import rescan as rescanning
from indexer.compressors.base import Compressor
from indexer.compressors.rules import Rules
from indexer.config import Config
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode
from indexer.store import duplicates, recall
from indexer.store.connection import Connection, WriterLock, open_writer, transaction, translated
from indexer.store.migrations import migrate
from indexer.store.reads import reading


def source() -> Source:
    """The transcripts that are read."""
    return ClaudeCode()


def compressor() -> Compressor:
    """What turns are made into memory with: rules, which cost nothing and leave the machine never."""
    return Rules()


def rescan(config: Config, tell: Callable[[rescanning.Progress], None] | None = None) -> rescanning.Report:
    """See rescan.rescan."""
    return rescanning.rescan(config, source(), dict(os.environ), tell, compressor=compressor())


def compress(config: Config) -> compressing.Done:
    """Make memory of what is pending. Raises Busy, NoDatabase, CorruptDatabase, NewerDatabase."""
    with _writing(config) as conn:
        return compressing.all_of(conn, compressor(), merge=config.dedup_enabled)


def scan(config: Config) -> int:
    """Compare the titles of every project; returns how many pairs are alike. Raises as `compress`."""
    with _writing(config) as conn, transaction(conn):
        return sum(compressing.propose(conn, key) for key in recall.project_keys(conn))


def decide(config: Config, first: int, second: int, *, merge: bool) -> bool:
    """Keep what a person decided on a pair of observations; False if they are no candidates."""
    with _writing(config) as conn, transaction(conn):
        return duplicates.decide(conn, first, second, merge=merge)


@contextmanager
def _writing(config: Config) -> Iterator[Connection]:
    """The present database for writing, by this process alone."""
    with reading(config.home):
        pass  # there is a memory, and it can be read
    lock = WriterLock(config.home)
    try:
        with translated():
            conn = open_writer(config.home)
            try:
                migrate(conn)
                yield conn
            finally:
                conn.close()
    finally:
        lock.release()


def watch(config: Config, stop: threading.Event) -> None:
    """Follow the transcripts until `stop` is set. Raises Busy when another process does."""
    from indexer.daemon import Daemon  # noqa: PLC0415  brings watchdog, which a rescan does not need

    events.configure(config.log_level, config.log_format)
    Daemon(config, source(), dict(os.environ), compressor=compressor()).run(stop)
