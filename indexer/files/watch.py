"""Says when to look at which transcripts: hints from the system behind one generator, sweeps as truth.

    hints        real paths, 50 ms after the first of them
    HOT          time to stat the recent files and the folders   every 10 s, or 2 s without hints
    SWEEP        time to look at everything                      at start, every 300 s, after any doubt

With every hint dropped the sweeps alone find all; with hints only, the ordinary case is complete. The
intervals grow with the CPU time that a sweep takes, so that full sweeps never have more than 0.1 % of a
core and hot ones 0.02 %; without hints, 0.5 % each. On macOS the full sweep comes every minute: what FSEvents
drops, watchdog does not tell.

`poll(now)` is one step and never sleeps; `changes` is the thin runner that waits for the next.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from enum import Enum
from typing import Final, Literal, NamedTuple, TypeAlias

from indexer.files.hints import Handler, HintSet, OverflowLog
from indexer.files.supervisor import SYSTEM, TICK, Supervisor, System

FULL_SHARE, HOT_SHARE, BLIND_SHARE = 1_000.0, 5_000.0, 200.0
"""Least seconds from sweep to sweep for each second of CPU that one takes: with hints, and without."""
BLIND_SWEEP = 60.0


class Sweep(Enum):
    """What to look at when it is not single paths."""

    FULL = "full"
    HOT = "hot"


SWEEP: Final = Sweep.FULL
HOT: Final = Sweep.HOT

Change: TypeAlias = frozenset[str] | Sweep
"""Real paths of files and folders (gone ones too) that may have changed, or a sweep to be made."""


class Pace(NamedTuple):
    """Seconds. debounce: from the first hint, never more than max_delay; poll: hot sweeps without hints."""

    debounce: float = 0.05
    max_delay: float = 0.2
    sweep: float = 300.0
    hot: float = 10.0
    poll: float = 2.0


PACE = Pace()


class WatchStatus(NamedTuple):
    """How changes are noticed now. reason and remedy are "" when all is well.

    watches and directories: the kernel's count and the disk's at the last full sweep.
    overflows: times that hints were lost; missed: changes found by sweeps that no hint announced;
    restarts: observers built after the first.
    """

    mode: Literal["native", "polling"]
    reason: str
    remedy: str
    watches: int | None
    directories: int | None
    overflows: int
    missed: int
    restarts: int


class Watch:
    """One watcher over some roots. One thread polls it; `status` may be read from any.

    The consumer reports back what its sweeps found (`report_sweep`, `report_missed`): only so can a
    silent watcher be told from a quiet folder.
    """

    def __init__(
        self,
        roots: Sequence[str],
        pace: Pace = PACE,
        system: System = SYSTEM,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._pace = pace
        self._clock = clock
        self._hints = HintSet(min(pace.debounce, pace.max_delay), clock=clock)
        self._log = OverflowLog(self._hints)
        self._supervisor = Supervisor(roots, Handler(self._hints), system)
        self._listening = False
        self._owed = True
        self._last_full = self._last_hot = float("-inf")
        self._sweep_cpu = self._hot_cpu = 0.0
        self._hints_first = True
        self._hinted = False
        self._counts = False
        self._overflows = 0
        self._missed = 0

    @property
    def status(self) -> WatchStatus:
        """The present state, for `status`."""
        at = self._supervisor
        mode: Literal["native", "polling"] = "polling" if at.polling else "native"
        return WatchStatus(
            mode, at.reason, at.remedy, at.watches, at.directories, self._overflows, self._missed, at.restarts
        )

    def poll(self, now: float) -> Change | None:
        """One step at monotonic time `now`: what to look at, or None. Never sleeps, never raises."""
        if not self._listening:
            self._log.attach()
            self._listening = True
        if self._supervisor.tick(now):
            self._owed = True
        if self._hints.take_overflow():
            self._overflows += 1
            self._owed = True
        if self._owed or now >= self._last_full + self._sweep_interval():
            # What waits was announced: seen by the sweep first, it would count as missed.
            if self._hints_first and len(self._hints):
                return self._take_hints()
            return self._sweep(now)
        if self._hints.is_due(now):
            return self._take_hints()
        if now >= self._last_hot + self._hot_interval():
            self._last_hot = now
            self._counts = True
            return HOT
        return None

    def changes(self, stop: threading.Event) -> Iterator[Change]:
        """Yield what to look at until `stop` is set (heard within a second). Stops watching at its end."""
        try:
            while not stop.is_set():
                change = self.poll(self._clock())
                if change is None:
                    self.wait()
                else:
                    yield change
        finally:
            self.stop()

    def wait(self) -> None:
        """Sleep until `poll` may have something to do: a hint is due, a sweep, or a second's tick."""
        now = self._clock()
        next_sweep = self._last_full + self._sweep_interval()
        next_hot = self._last_hot + self._hot_interval()
        self._hints.wait(max(0.0, min(TICK, next_sweep - now, next_hot - now)))

    def report_sweep(self, cpu: float, directories: Collection[str], linked: Collection[str] = ()) -> None:
        """After a full sweep: its CPU seconds, all folders it listed, and the folders outside the roots
        that links led to (they are then watched too)."""
        self._sweep_cpu = cpu
        self._supervisor.swept(self._clock(), directories, linked)

    def report_hot(self, cpu: float) -> None:
        """After a sweep of the recent files: its CPU seconds."""
        self._hot_cpu = cpu

    def report_missed(self, count: int) -> None:
        """After any sweep: how many changes older than 5 s it found that no hint had announced.

        Counted only for sweeps of the clock's: after a start, an overflow or a sleep it is no news.
        """
        if self._counts:
            self._missed += count
            self._supervisor.missed(self._clock(), count, self._hinted)
            self._hinted = False

    def stop(self) -> None:
        """Stop watching, within two seconds."""
        self._log.detach()
        self._listening = False
        self._supervisor.stop()

    def _take_hints(self) -> frozenset[str]:
        self._hints_first = False
        self._hinted = True
        return self._hints.take()

    def _sweep(self, now: float) -> Sweep:
        self._counts = not self._owed
        self._hints_first = True
        self._owed = False
        self._last_full = self._last_hot = now
        return SWEEP

    def _sweep_interval(self) -> float:
        blind = self._supervisor.polling or sys.platform == "darwin"
        setting = min(self._pace.sweep, BLIND_SWEEP) if blind else self._pace.sweep
        return max(setting, (BLIND_SHARE if blind else FULL_SHARE) * self._sweep_cpu)

    def _hot_interval(self) -> float:
        if self._supervisor.polling:
            return max(min(self._pace.poll, self._pace.hot), BLIND_SHARE * self._hot_cpu)
        return max(self._pace.hot, HOT_SHARE * self._hot_cpu)
