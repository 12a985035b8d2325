"""The one place that names implementations: puts a source, the flows and the settings together."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from indexer import events
from indexer import rescan as rescanning
from indexer.config import Config
from indexer.errors import Busy
from indexer.notify import Notifier
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode

if TYPE_CHECKING:
    from indexer.doctor import Finding

WAIT_SECONDS = 5.0
"""Between two tries for the right to write, under a service manager."""


def source() -> Source:
    """The transcripts that are read."""
    return ClaudeCode()


def rescan(config: Config, tell: Callable[[rescanning.Progress], None] | None = None) -> rescanning.Report:
    """See rescan.rescan."""
    return rescanning.rescan(config, source(), dict(os.environ), tell)


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
            daemon = Daemon(config, source(), dict(os.environ))
        except Busy as error:
            if not notifier.managed:
                raise
            events.busy(str(error))
            notifier.waiting(str(error), WAIT_SECONDS * 6)
            stop.wait(WAIT_SECONDS)
        else:
            daemon.run(stop)
            return
