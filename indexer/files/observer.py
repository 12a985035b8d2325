"""One life of a watchdog observer: start it over some folders, ask whether it still lives, let it go.

A dead observer looks like a quiet one, so every thread of it is asked: the observer, its emitters, and
the thread that reads the kernel's queue, which watchdog does not show. A new observer is built for
every change (root gone, link turned); none is ever mended.
"""

from __future__ import annotations

import errno
import threading
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer
from watchdog.observers.polling import PollingObserver
from watchdog.utils import BaseThread

from indexer.files.hints import EVENTS

STOP_SECONDS = 2.0


class Lives(Protocol):
    """A thread, as far as supervision is concerned."""

    def is_alive(self) -> bool:
        """Whether it still runs."""
        ...


class Observing(Lives, Protocol):
    """What is used of watchdog's BaseObserver; tests put a fake in its place."""

    @property
    def emitters(self) -> Collection[Lives]:
        """One thread a scheduled folder."""
        ...

    def schedule(
        self,
        event_handler: FileSystemEventHandler,
        path: str,
        *,
        recursive: bool,
        event_filter: list[type[FileSystemEvent]] | None,
    ) -> object:
        """Watch a folder and all below it. Before `start`."""
        ...

    def start(self) -> None:
        """Raises OSError when a folder cannot be watched."""
        ...

    def stop(self) -> None:
        """May block for as long as the file system does."""
        ...


Factory = Callable[[], Observing]


def native() -> Observing:
    """The system's own observer. Raises OSError(ENOSYS) where watchdog would only poll: our sweeps cost
    0.1 % of a core, its polling observer 20 % (tailing.md 1d)."""
    # watchdog 7.1 warns, in its reading thread, whenever a folder is made while it looks into another:
    # 4 KB of text for 60 folders, kept by the warnings registry; and where warnings are errors, the
    # thread dies of it. The race is harmless: the watch is set twice.
    warnings.filterwarnings("ignore", message="Callback with id", category=RuntimeWarning)
    observer = Observer()
    if isinstance(observer, PollingObserver):
        raise OSError(errno.ENOSYS, "this system has no change notification")
    return observer


class Watcher:
    """A started observer. Raises what watchdog raises: OSError for limits and missing folders."""

    def __init__(self, factory: Factory, handler: FileSystemEventHandler, folders: Iterable[str]) -> None:
        before = _watchdog_threads()
        self._observer = factory()
        try:
            for folder in folders:
                self._observer.schedule(handler, folder, recursive=True, event_filter=EVENTS)
            self._observer.start()
        except BaseException:
            self.stop(0.0)
            raise
        self._threads = _watchdog_threads() - before
        self._emitters = tuple(self._observer.emitters)

    def is_alive(self) -> bool:
        """Whether every thread that events pass through still runs."""
        parts: tuple[Lives, ...] = (self._observer, *self._emitters, *self._threads)
        return all(part.is_alive() for part in parts)

    def stop(self, wait: float = STOP_SECONDS) -> None:
        """Let it go: wait some seconds, then leave it behind (all its threads are daemons)."""
        ending = threading.Thread(target=self._observer.stop, name="stop-watching", daemon=True)
        ending.start()
        ending.join(wait)


def _watchdog_threads() -> frozenset[Lives]:
    return frozenset(thread for thread in threading.enumerate() if isinstance(thread, BaseThread))
