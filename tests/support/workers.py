"""A vector worker in this process: its sync thread by hand or for real, its socket for real."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from meaning import Meaning

from indexer.worker import wire
from indexer.worker.server import Lock, Parts, Worker, listen


def worker(meaning: Meaning, linger: float = 60.0, notes: tuple[str, ...] = ()) -> Worker:
    """A worker over what `meaning` has; no thread runs."""
    return Worker(meaning.home, Parts(meaning.sync, linger, notes), stop=threading.Event(), clock=lambda: meaning.now)


def say(one: Worker, **message: Any) -> Mapping[str, Any]:
    """Its reply to a message."""
    return one.reply({"version": wire.VERSION, **message})


@contextmanager
def serving(one: Worker, home: Path) -> Iterator[None]:
    """The worker answers on its socket in a thread, holding its lock."""
    lock = Lock(home)
    with listen(wire.socket_path(home)) as sock:
        thread = threading.Thread(target=one.serve, args=(sock,))
        thread.start()
        try:
            yield
        finally:
            one.stop.set()
            thread.join()
            lock.release()
