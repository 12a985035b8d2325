"""The two ways of a batch into the memory: by this process, or by the service that runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from indexer import compress, control
from indexer.compressors.base import Compressor
from indexer.config import Config
from indexer.exchange.reading import Batch
from indexer.exchange.take_in import Setting, Taken, take
from indexer.exchange.transfer import as_answer, as_request, from_answer, from_request
from indexer.exclude import Exclusion
from indexer.forget import Sink, resume
from indexer.project import Resolver
from indexer.redact import Redactor
from indexer.redaction_key import redactor
from indexer.store import exclusions, redaction
from indexer.store.connection import Connection, WriterLock, open_writer, transaction, translated
from indexer.store.migrations import migrate
from indexer.store.projects import set_aliases
from indexer.store.sessions import complete_idle


class Direct:
    """Writes by itself. Takes the right to write with the first batch and gives it up with `close`."""

    def __init__(self, config: Config, compressor: Compressor | None = None, sinks: tuple[Sink, ...] = ()) -> None:
        self._config, self._compressor, self._sinks = config, compressor, sinks
        self._open: tuple[Connection, Setting] | None = None
        self._undo = ExitStack()

    def __call__(self, batch: Batch) -> Taken:
        """Take a batch in. Raises Busy while another process writes."""
        with translated():
            conn, setting = self._open or self._begin()
            return take(conn, setting, batch.device, batch.lines)

    def _begin(self) -> tuple[Connection, Setting]:
        config = self._config
        with ExitStack() as undo:
            lock = WriterLock(config.home)
            undo.callback(lock.release)
            conn = open_writer(config.home)
            undo.callback(conn.close)
            migrate(conn)
            setting = setting_of(config, redactor(config))
            redaction.adopt(conn, setting.redactor.rules)
            with transaction(conn):
                set_aliases(conn, config.aliases)
                exclusions.adopt(conn, setting.exclusion)
            resume(conn, config.home, self._sinks)
            self._undo = undo.pop_all()
        self._open = conn, setting
        return self._open

    def close(self) -> None:
        """Do what follows from all that was taken in: sessions that are over, memories of ours, what turned out
        to be excluded. Nothing, if no batch came this way."""
        if self._open is None:
            return
        conn, config = self._open[0], self._config
        try:
            with translated():
                with transaction(conn):
                    complete_idle(conn, int((time.time() - config.idle_minutes * 60) * 1000))
                if self._compressor is not None:
                    compress.all_of(conn, self._compressor, merge=config.dedup_enabled)
                resume(conn, config.home, self._sinks)
                conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Give up the right to write; whoever writes next does what is left."""
        self._undo.close()
        self._open = None


class Service:
    """Asks the running service, of the user whose environment this is."""

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self._home, self._env = home, env

    def __call__(self, batch: Batch) -> Taken:
        """Have a batch taken in. Raises Busy when none answers, and what it answers."""
        return from_answer(control.ask(self._home, self._env, "import", **as_request(batch)))


class Intake:
    """The service's end."""

    def __init__(self, conn: Connection, config: Config, redact: Redactor, exclusion: Exclusion) -> None:
        self._conn, self._setting = conn, setting_of(config, redact)._replace(exclusion=exclusion)

    def take(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Carry out a request. Raises IndexerError for what is no batch, or cannot be written."""
        device, lines = from_request(asked)
        with translated():
            return as_answer(take(self._conn, self._setting, device, lines))


def setting_of(config: Config, redact: Redactor) -> Setting:
    """What the settings say to an import."""
    resolver = Resolver(config.environments, git_remote=config.git_remote)
    return Setting(redact, resolver.resolve, Exclusion(config.excluded, str(Path.home())))
