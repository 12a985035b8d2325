"""Keeps a vector worker running beside the service: starts it when there is work, buries it, kills a hung one.

The service never loads a model or Chroma: it starts a process and looks after it, in microseconds a turn.
A worker that left for want of work (code 0) is started again when something new has been read; one that
crashed, after a pause that doubles up to a minute. A worker that somebody else started is as good: the lock
says that there is one.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from indexer import events
from indexer.errors import IndexerError
from indexer.store.vectors import folder
from indexer.worker import client, wire

HUNG_SECONDS = 120.0
LOOK_SECONDS = 1.0
BACKOFF = (1.0, 60.0)


class Supervisor:
    """One worker for `home`. start: spawns it and gives its pid. All times by `clock`, in seconds."""

    def __init__(
        self,
        home: Path,
        *,
        start: Callable[[Path], int] = client.start,
        alive: Callable[[Path], bool] = client.alive,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._home, self._start, self._alive = home, start, alive
        self._clock, self._wall = clock, wall
        self._pid: int | None = None
        self._delay = 0.0
        self._look_at = self._start_at = float("-inf")
        self._wanted = True
        self._began = 0.0

    def tend(self, worked: bool) -> None:
        """Look after the worker. worked: something was read into the memory since the last call."""
        self._wanted = self._wanted or worked
        now = self._clock()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        self._bury(now)
        if self._pid is not None:
            self._kill_hung()
        elif self._wanted and now >= self._start_at:
            self._begin(now)

    def _begin(self, now: float) -> None:
        if self._alive(self._home):
            return  # somebody else's, while it lives; should it end, there is still something to do
        try:
            self._pid = self._start(self._home)
        except OSError as error:
            events.failed("vector worker", error)
            self._wait(now)
            return
        self._began, self._wanted = now, False
        events.worker_started(self._pid)

    def _bury(self, now: float) -> None:
        if self._pid is None:
            return
        try:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self._pid, 0
        if pid == 0:
            return
        code = os.waitstatus_to_exitcode(status)
        events.worker_ended(self._pid, code)
        self._pid = None
        if code != 0:
            self._wanted = True
            if now - self._began > BACKOFF[1]:
                self._delay = 0.0
            self._wait(now)

    def _wait(self, now: float) -> None:
        first, longest = BACKOFF
        self._delay = min(max(first, self._delay * 2), longest)
        self._start_at = now + self._delay

    def _kill_hung(self) -> None:
        """Only ever our own child. What it was doing is done again by the next."""
        try:
            silent = self._wall() - (folder(self._home) / wire.BEAT).stat().st_mtime
        except OSError:
            return
        if silent > HUNG_SECONDS and self._clock() - self._began > HUNG_SECONDS and self._pid is not None:
            os.kill(self._pid, signal.SIGKILL)

    def close(self) -> None:
        """Ask our worker to leave; it ends within a piece of work, and needs nobody for that."""
        if self._pid is None:
            return
        try:
            client.request(self._home, {"op": "stop"}, 0.5)
        except IndexerError:
            try:
                os.kill(self._pid, signal.SIGTERM)
            except ProcessLookupError:
                return
