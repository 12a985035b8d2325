"""What a running service tells of itself: to the service manager, and in status.json for `status` to read.

It tells after the fact, and from the loop that does the work: a step that hangs is not covered by a timer
that goes on. What is wrong is told with what a person can do about it, for as long as it lasts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from indexer import condition, events, logfile, status_file
from indexer.changes import Changes
from indexer.condition import Trouble
from indexer.config import Config
from indexer.errors import IndexerError
from indexer.files.watch import Watch
from indexer.notify import Notifier
from indexer.store import checkpoints
from indexer.store.connection import Connection, translated

STATUS_SECONDS = 5.0


class Report:
    """Tells of one service. For the thread that writes the database.

    now is monotonic seconds, wall gives seconds since 1970. trouble: why the work does not go on; None: it does.
    """

    def __init__(
        self,
        config: Config,
        conn: Connection,
        changes: Changes,
        watch: Watch,
        notify: Notifier,
        wall: Callable[[], float],
    ) -> None:
        self._config, self._conn, self._changes, self._watch = config, conn, changes, watch
        self._notify, self._wall, self._ready = notify, wall, False
        self._status_at = self._alive_at = float("-inf")
        self.trouble: Trouble | None = None

    def begin(self, now: float) -> None:
        """Make the status file: on a disk that fills up later, it can be written over."""
        self.tell(now)
        self.hurry()

    def hurry(self) -> None:
        """Write the status with the next step, without waiting for its time."""
        self._status_at = float("-inf")

    def come_round(self, now: float) -> None:
        """Tell the service manager that the loop has come round: it does so here and nowhere else, so that
        a step that hangs is noticed."""
        status = f"{self._condition().reason or 'up to date'}; {self._waiting()} files to read"
        if not self._ready:
            self._ready = True
            self._notify.ready(status)
        elif now - self._alive_at >= (self._notify.watchdog_seconds or 4 * STATUS_SECONDS) / 4:
            self._alive_at = now
            self._notify.alive(status)

    def tell(self, now: float) -> None:
        """Write what is true now beside the database, at most every few seconds."""
        if now - self._status_at < STATUS_SECONDS:
            return
        self._status_at = now
        logfile.rotate()
        try:
            status_file.write(self._config.home, dict(self._state()))
        except OSError as error:  # that there is no status is no reason to stop reading
            events.failed("status", error)

    def _state(self) -> Mapping[str, object]:
        watch, wrong = self._watch.status, self._condition()
        return {
            "pid": os.getpid(),
            "mode": watch.mode,
            "reason": wrong.reason,
            "remedy": wrong.remedy,
            "watches": watch.watches,
            "directories": watch.directories,
            "overflows": watch.overflows,
            "missed": watch.missed,
            "restarts": watch.restarts,
            "pending_files": self._waiting(),
            "lag_bytes": self._lag(),
            "events": events.snapshot(),
            "updated_at": int(self._wall() * 1000),
        }

    def _waiting(self) -> int:
        return len(self._changes.pending) + self._changes.left[0]

    def _condition(self) -> Trouble:
        """All that is wrong now."""
        watch = self._watch.status
        troubles = [Trouble(watch.reason, watch.remedy), *condition.of_roots(self._config.roots)]
        return condition.joined(
            [*([self.trouble] if self.trouble else []), *troubles, *condition.of_folders(self._changes.hidden)]
        )

    def _lag(self) -> int | None:
        """Bytes that are not read yet; None while the database does not say."""
        try:
            with translated():
                sizes = {path: found.stat.size for path, found in self._changes.pending.items()}
                return checkpoints.lag(self._conn, sizes) + self._changes.left[1]
        except IndexerError as error:
            events.failed("status", error)
            return None
