"""The one place that names implementations: puts a source, the flows and the settings together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from indexer import control, events, renewal
from indexer import forget as forgetting
from indexer import rescan as rescanning
from indexer.archive.sink import ArchiveSink
from indexer.config import Config
from indexer.errors import Busy
from indexer.notify import Notifier
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import WriterLock, open_writer, translated
from indexer.store.migrations import migrate

if TYPE_CHECKING:
    from indexer.doctor import Finding

WAIT_SECONDS = 5.0
"""Between two tries for the right to write, under a service manager."""


def source() -> Source:
    """The transcripts that are read."""
    return ClaudeCode()


def sinks(config: Config) -> tuple[forgetting.Sink, ...]:
    """What keeps texts beside the database, and must let go of them when they are forgotten."""
    return (ArchiveSink(config.home),)


def rescan(
    config: Config, tell: Callable[[rescanning.Progress], None] | None = None, *, rebuild: bool = False
) -> rescanning.Report:
    """See rescan.rescan."""
    return rescanning.rescan(config, source(), dict(os.environ), tell, rebuild=rebuild, sinks=sinks(config))


def redact(config: Config) -> renewal.Report:
    """See renewal.renew."""
    return renewal.renew(config)


def doctor(config: Config, env: Mapping[str, str]) -> list[Finding]:
    """See doctor.examine."""
    from indexer.doctor import Patient, examine  # noqa: PLC0415  nobody else needs it

    return examine(Patient(config, source(), env))


def watch(config: Config, stop: threading.Event) -> None:
    """Follow the transcripts until `stop` is set. Raises Busy when another process does, unless a service
    manager runs us: it would give up after a few tries, so there we wait for the other to end."""
    from indexer.daemon import Daemon  # noqa: PLC0415  brings watchdog, which a rescan does not need

    events.configure(config.log_level, config.log_format)
    notifier = Notifier()
    while not stop.is_set():
        try:
            daemon = Daemon(config, source(), dict(os.environ), sinks=sinks(config))
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
