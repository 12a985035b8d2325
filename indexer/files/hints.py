"""What the watcher's threads may do: put a path into a bounded set. Nothing else happens in them.

An exception in a watchdog handler kills its observer thread for good while the emitters go on filling
an unbounded queue (tailing.md 0, 7), so nothing gets out of `Handler` and `OverflowLog`. The set is a
dict of paths: a thousand appends a second to twenty files are twenty entries. Beyond 10,000 paths they
are dropped for one flag: everything must be looked at.

The filter leaves out what our own reading causes (opened, closed unwritten: 200 events for 100 reads).
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)

from indexer.files.walk import SIDE_SUFFIX, SUFFIX

LIMIT = 10_000

EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileClosedEvent,
    FileDeletedEvent,
    DirCreatedEvent,
    DirMovedEvent,
    DirDeletedEvent,
]

OVERFLOW_LOGGERS = (
    "watchdog.observers.inotify_c",
    "watchdog.observers.inotify",
    "watchdog.observers.inotify_buffer",
)


class HintSet:
    """Paths to look at soon. Threads add, one thread takes.

    `delay` seconds after the *first* hint the set is due; later ones do not push that back, so a busy
    session cannot starve itself.
    """

    def __init__(self, delay: float, limit: int = LIMIT, clock: Callable[[], float] = time.monotonic) -> None:
        self._delay = delay
        self._limit = limit
        self._clock = clock
        self._paths: dict[str, None] = {}
        self._first = 0.0
        self._overflow = False
        self._news = threading.Condition()

    def __len__(self) -> int:
        return len(self._paths)

    def add(self, path: str) -> None:
        """A path has probably changed."""
        with self._news:
            if path in self._paths:
                return
            if len(self._paths) >= self._limit:
                self._flag_overflow()
                return
            if not self._paths:
                self._first = self._clock()
                self._news.notify_all()
            self._paths[path] = None

    def overflow(self) -> None:
        """Hints were lost: drop those at hand, everything must be looked at."""
        with self._news:
            self._flag_overflow()

    def take_overflow(self) -> bool:
        """Whether hints were lost since this was asked last."""
        with self._news:
            lost, self._overflow = self._overflow, False
            return lost

    def is_due(self, now: float) -> bool:
        """Whether there are hints and the first of them has waited long enough."""
        with self._news:
            return bool(self._paths) and now >= self._first + self._delay

    def take(self) -> frozenset[str]:
        """All paths, leaving none."""
        with self._news:
            paths, self._paths = self._paths, {}
            return frozenset(paths)

    def wait(self, timeout: float) -> None:
        """Sleep until the set is due, hints are lost, or `timeout` seconds are over."""
        with self._news:
            if not self._paths and not self._overflow:
                self._news.wait(timeout)
            elif not self._overflow:
                self._news.wait(max(0.0, min(timeout, self._first + self._delay - self._clock())))

    def _flag_overflow(self) -> None:
        self._paths.clear()
        self._overflow = True
        self._news.notify_all()


class Handler(FileSystemEventHandler):
    """Turns watchdog's events into hints: transcripts, the files beside them, and folders."""

    def __init__(self, hints: HintSet) -> None:
        self._hints = hints

    def dispatch(self, event: FileSystemEvent) -> None:
        """Called in the observer's thread. Never raises: that would end the thread."""
        try:
            for raw in (event.src_path, event.dest_path):
                path = os.fsdecode(raw)
                if path and (event.is_directory or path.endswith((SUFFIX, SIDE_SUFFIX))):
                    self._hints.add(path)
        except Exception:  # noqa: BLE001 - whatever it was, a sweep makes up for it; the thread must live
            self._hints.overflow()


class OverflowLog(logging.Handler):
    """Hears of a kernel queue overflow in the only place where watchdog 7.1 tells it: its log.

    75 to 90 % of the events were gone in a flood, and no event says so (tailing.md 1a).
    """

    def __init__(self, hints: HintSet) -> None:
        super().__init__(logging.WARNING)
        self._hints = hints
        self._raised: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Called in watchdog's reading thread."""
        if "overflow" in str(record.msg).lower():
            self._hints.overflow()

    def attach(self) -> None:
        """Listen, even where the root logger is set to hide warnings."""
        for name in OVERFLOW_LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            if logger.getEffectiveLevel() > logging.WARNING:
                self._raised[name] = logger.level
                logger.setLevel(logging.WARNING)

    def detach(self) -> None:
        """Stop listening, and leave the loggers as they were."""
        for name in OVERFLOW_LOGGERS:
            logging.getLogger(name).removeHandler(self)
        for name, level in self._raised.items():
            logging.getLogger(name).setLevel(level)
        self._raised.clear()
