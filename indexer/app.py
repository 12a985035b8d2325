"""The one place that names implementations: puts a source, the flows and the settings together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from indexer import compress as compressing
from indexer import control, events, renewal
from indexer import forget as forgetting
from indexer import rescan as rescanning
from indexer.archive.sink import ArchiveSink
from indexer.compressors.base import Compressor
from indexer.compressors.rules import Rules
from indexer.config import Config
from indexer.errors import Busy
from indexer.notify import Notifier
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode
from indexer.store import duplicates, recall
from indexer.store.connection import Connection, WriterLock, open_writer, transaction, translated
from indexer.store.migrations import migrate
from indexer.store.reads import reading

if TYPE_CHECKING:
    from indexer.doctor import Finding

WAIT_SECONDS = 5.0
"""Between two tries for the right to write, under a service manager."""


def source() -> Source:
    """The transcripts that are read."""
    return ClaudeCode()


def compressor() -> Compressor:
    """What turns are made into memory with: rules, which cost nothing and leave the machine never."""
    return Rules()


def sinks(config: Config) -> tuple[forgetting.Sink, ...]:
    """What keeps texts beside the database, and must let go of them when they are forgotten."""
    return (ArchiveSink(config.home),)


def rescan(
    config: Config, tell: Callable[[rescanning.Progress], None] | None = None, *, rebuild: bool = False
) -> rescanning.Report:
    """See rescan.rescan."""
    return rescanning.rescan(
        config, source(), dict(os.environ), tell, rebuild=rebuild, sinks=sinks(config), compressor=compressor()
    )


def redact(config: Config) -> renewal.Report:
    """See renewal.renew."""
    return renewal.renew(config)


def doctor(config: Config, env: Mapping[str, str]) -> list[Finding]:
    """See doctor.examine."""
    from indexer.doctor import Patient, examine  # noqa: PLC0415  nobody else needs it

    return examine(Patient(config, source(), env))


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
    """Follow the transcripts until `stop` is set. Raises Busy when another process does, unless a service
    manager runs us: it would give up after a few tries, so there we wait for the other to end."""
    from indexer.daemon import Daemon  # noqa: PLC0415  brings watchdog, which a rescan does not need

    events.configure(config.log_level, config.log_format)
    notifier = Notifier()
    while not stop.is_set():
        try:
            daemon = Daemon(config, source(), dict(os.environ), sinks=sinks(config), compressor=compressor())
        except Busy as error:
            if not notifier.managed:
                raise
            events.busy(str(error))
            notifier.waiting(str(error), WAIT_SECONDS * 6)
            stop.wait(WAIT_SECONDS)
        else:
            daemon.run(stop)
            return


def forget(config: Config, sessions: Sequence[str], records: Sequence[str]) -> bool:
    """Forget sessions and records (see forget.forget), through the running service if there is one.

    Raises Busy when another process writes that is no service, or the service has gone meanwhile: what it
    had begun is then done by whoever writes next."""
    try:
        lock = WriterLock(config.home)
    except Busy as busy:
        try:
            said = control.ask(config.home, os.environ, "forget", sessions=list(sessions), records=list(records))
        except Busy as silent:
            raise Busy(busy.message, silent.message) from silent
        return said.get("finished") is True
    try:
        with translated():
            conn = open_writer(config.home)
            try:
                migrate(conn)
                return forgetting.forget(conn, config.home, sessions, records, sinks(config))
            finally:
                conn.close()
    finally:
        lock.release()
