"""What a running service tells of itself: to the service manager, in status.json for `status` to read, and to
Prometheus where the settings name a port or a socket.

It tells after the fact, and from the loop that does the work: a step that hangs is not covered by a timer
that goes on. What is wrong is told with what a person can do about it, for as long as it lasts.

How long a backlog will take is measured, not guessed: by how much of it went in the last minute, what was
written meanwhile included. While it does not shrink, no time is given.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping

from indexer import condition, events, limits, logfile, status_file
from indexer.changes import Changes
from indexer.condition import Trouble
from indexer.config import Config
from indexer.errors import IndexerError
from indexer.exposition import Exposition
from indexer.files.watch import Watch
from indexer.metrics import text
from indexer.notify import Notifier
from indexer.store import checkpoints
from indexer.store.connection import Connection, translated
from indexer.text import many
from indexer.vitals import measured

STATUS_SECONDS = 5.0
MEASURED_SECONDS = 60.0
"""Of a backlog's course, so much counts for how long it will take."""


class Backlog:
    """How the bytes that are not read grow fewer. now: monotonic seconds."""

    def __init__(self) -> None:
        self._course: deque[tuple[float, int]] = deque()
        self.progress_at: float | None = None
        """When it last shrank, or there was none."""

    def note(self, now: float, lag: int) -> None:
        """So much is left now. A backlog that grew from nothing is a new one."""
        if lag == 0 or not self._course or lag < self._course[-1][1]:
            self.progress_at = now
        if self._course and self._course[-1][1] == 0:
            self._course.clear()
        while self._course and now - self._course[0][0] > MEASURED_SECONDS:
            self._course.popleft()
        self._course.append((now, lag))

    def seconds_left(self) -> float | None:
        """At the pace of the last minute; None where it does not shrink or was looked at only once."""
        (began, first), (ended, last) = (self._course[0], self._course[-1]) if self._course else ((0.0, 0), (0.0, 0))
        gone = first - last
        return last * (ended - began) / gone if last and gone > 0 and ended > began else None


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
        self._backlog = Backlog()
        self._exposition = Exposition(config.metrics_port, config.metrics_socket, lambda: text(measured(config.home)))
        self._narrow = limits.trouble(limits.open_files())
        self.trouble: Trouble | None = None

    def begin(self, now: float) -> None:
        """Make the status file: on a disk that fills up later, it can be written over."""
        self.tell(now)
        self.hurry()

    def close(self) -> None:
        """Nothing runs any more, and nothing is told of it."""
        self._exposition.close()
        status_file.clear(self._config.home)

    def hurry(self) -> None:
        """Write the status with the next step, without waiting for its time."""
        self._status_at = float("-inf")

    def come_round(self, now: float) -> None:
        """Tell the service manager that the loop has come round: it does so here and nowhere else, so that
        a step that hangs is noticed."""
        first, self._ready = not self._ready, True
        status = f"{self._condition().reason or 'up to date'}; {many(self._waiting(), 'file')} to read"
        if first:
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
        self._exposition.tend()
        try:
            status_file.write(self._config.home, dict(self._state(now)))
        except OSError as error:  # that there is no status is no reason to stop reading
            events.failed("status", error)

    def _state(self, now: float) -> Mapping[str, object]:
        watch, wrong, lag, wall = self._watch.status, self._condition(), self._lag(), self._wall()
        if lag is not None:
            self._backlog.note(now, lag)
        left, since = self._backlog.seconds_left(), self._backlog.progress_at
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
            "lag_bytes": lag,
            "eta_seconds": None if left is None else round(left, 1),
            "progress_at": None if since is None else int((wall - (now - since)) * 1000),
            "events": events.snapshot(),
            "troubles": events.troubles(),
            "updated_at": int(wall * 1000),
        }

    def _waiting(self) -> int:
        return len(self._changes.pending) + self._changes.left[0]

    def _condition(self) -> Trouble:
        """All that is wrong now."""
        watch = self._watch.status
        # Before its first look, a watcher knows of no root, and would have us wait for those that are there.
        looked = [Trouble(watch.reason, watch.remedy)] if self._ready else []
        troubles = [*looked, *condition.of_roots(self._config.roots)]
        return condition.joined(
            [
                *filter(None, (self.trouble, self._narrow)),
                *troubles,
                *condition.of_folders(self._changes.hidden),
                *self._exposition.troubles,
            ]
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
