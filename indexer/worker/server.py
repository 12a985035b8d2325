"""The vector worker: one process a home that holds the models, the vectors in memory, and Chroma.

Two threads. One listens and answers, one request a connection, so that a question never waits for a batch;
the other syncs (sync.py). No asyncio, no port: a Unix socket that nobody but the owner can open.

It beats: the sync thread touches a file with every piece of work and while it rests. Whoever supervises it
kills a worker that has not beaten for two minutes (judged a batch, never a backfill). A question that takes
over a minute ends the process, since a thread that hangs inside a library cannot be ended alone.

Memory: 1.8 kB a document in the scan, 125 MB for USE, 200 for MiniLM, 100 and more for Chroma. All of it is
given back by leaving after `linger` without a question and without work; whoever asks next starts it again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from indexer import events
from indexer.errors import Busy, IndexerError
from indexer.store.connection import prepare_home, use_scratch
from indexer.store.vectors import Vectors, at_rest, folder
from indexer.sync import Arm, Sync
from indexer.worker import wire
from indexer.worker.answer import Answers, Found, Question, as_json
from indexer.worker.client import WARMING
from indexer.worker.report import compared, progress, report

REST_SECONDS = 1.0
PATIENCE = 2.0
"""Seconds a client may take to say what it wants."""
STUCK_SECONDS = 60.0
STUCK = 70
COUNT_SECONDS = 3.0
_PARTLY = "{}, so only keywords were searched; see `transcript-indexer vectors status`"
_LOCK_TRIES, _LOCK_PAUSE = 10, 0.05
_BACKLOG = 64


class Lock:
    """The right to be the worker of a home, for as long as the process lives. Raises Busy."""

    def __init__(self, home: Path) -> None:
        prepare_home(home)
        prepare_home(folder(home))
        use_scratch(home)
        self._fd = os.open(
            folder(home) / wire.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600
        )
        for last in range(_LOCK_TRIES):
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                # Somebody may only be looking whether there is a worker.
                time.sleep(_LOCK_PAUSE if last < _LOCK_TRIES - 1 else 0)
            else:
                os.ftruncate(self._fd, 0)
                os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
                return
        os.close(self._fd)
        raise Busy(f"there is a vector worker for {home} already")

    def release(self) -> None:
        """Give it up."""
        os.close(self._fd)


def listen(path: Path) -> socket.socket:
    """A socket at `path` that its owner alone can open. The caller holds the lock: what stands there is of
    a worker that died. Raises IndexerError when its folder is somebody else's."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = path.parent.lstat()
    if about.st_uid != os.getuid() or not stat.S_ISDIR(about.st_mode) or about.st_mode & 0o022:
        raise IndexerError(f"{path.parent} is not a folder of yours alone", "set XDG_RUNTIME_DIR to one that is")
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        sock.bind(str(path))
    finally:
        os.umask(before)
    sock.listen(_BACKLOG)
    return sock


class Parts(NamedTuple):
    """What a worker is made of: see sync.Sync and answer.Answers. notes: said with the answers, once each."""

    sync: Sync
    linger: float
    notes: Sequence[str] = ()


class Worker:
    """See the module's docstring. `run` until it has nothing to do, or `stop` is set."""

    def __init__(
        self, home: Path, parts: Parts, *, stop: threading.Event, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._home, self._parts, self._clock = home, parts, clock
        self._sync = parts.sync
        self._sync.beat = self._beat
        self._read: Vectors | None = None
        self._answers = Answers(home, parts.sync.scan, self._vectors, lambda: self._sync.index)
        self.stop = stop
        self.warm = threading.Event()
        self._wake = threading.Event()
        self._asked = threading.Lock()
        self._orders: list[Callable[[], None]] = []
        self._active = clock()
        self._answering_since: float | None = None
        self._notes = list(parts.notes)
        self._progress, self._counted_at = "", float("-inf")
        self._compared: dict[str, Any] = {}
        self._ordered = self._done = 0

    # -- the thread that syncs -----------------------------------------------------------------------

    def run_sync(self) -> None:
        """Load, then work and rest until told to stop. What nobody expected ends the process: it is started
        again, which is also how a model or an index that went mad is got rid of."""
        try:
            self._sync.load()
            for arm in (*self._sync.arms, *self._sync.old):
                self._beat()
                arm.load(self._clock())
                self.warm.set()
            while not self.stop.is_set():
                self._turn()
        except Exception as error:
            events.failed("vectors", error)
            raise
        finally:
            self.stop.set()
            self._sync.close()  # here: SQLite's connections are of the thread that made them

    def _turn(self) -> None:
        self._beat()
        while self._orders:
            self._orders.pop(0)()
            self._done += 1
        worked = self._sync.step()
        self._count()
        if worked:
            self._active = self._clock()
            return
        if self._clock() - self._active > self._parts.linger:
            self.stop.set()
            return
        self._wake.wait(REST_SECONDS)
        self._wake.clear()

    def _count(self) -> None:
        """Now and then, while not every model is whole: how far they have come."""
        if self._clock() - self._counted_at < COUNT_SECONDS or all(arm.whole for arm in self._sync.arms):
            return
        self._counted_at = self._clock()
        self._progress = progress(self._sync)

    def _beat(self) -> None:
        """Show that work goes on. A question that hangs stops the heart."""
        since = self._answering_since
        if since is not None and self._clock() - since > STUCK_SECONDS:
            os._exit(STUCK)
        path = folder(self._home) / wire.BEAT
        with contextlib.suppress(OSError):
            path.touch(0o600)
            os.utime(path)

    # -- the thread that answers ---------------------------------------------------------------------

    def serve(self, sock: socket.socket) -> None:
        """Answer until told to stop."""
        sock.settimeout(REST_SECONDS / 2)
        while not self.stop.is_set():
            try:
                connection, _ = sock.accept()
            except TimeoutError:
                continue
            with connection:
                self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        try:
            message = wire.receive(connection, time.monotonic() + PATIENCE)
            self._answering_since = self._clock()
            answer = self.reply(message)
            connection.settimeout(PATIENCE)
            wire.send(connection, {"version": wire.VERSION, **answer})
        except (IndexerError, OSError) as error:
            events.failed("vector worker", error)
        finally:
            self._answering_since = None

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """The answer to one message. What is not understood is said so."""
        if message.get("version") != wire.VERSION:
            self.stop.set()  # a newer program is here, or an older one is back: make room for its own worker
            return {"error": "version"}
        operation = message.get("op")
        if operation == "ask":
            self._active = self._clock()
            return self._ask(message)
        if operation == "status":
            return self._report()
        if operation in self._deeds():
            self._active = self._clock()
            return self._order(self._deeds()[operation])
        if operation == "stop":
            self.stop.set()
            return {"stopping": True}
        return {"error": "unknown"}

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        question = Question(
            str(message.get("text", "")),
            wire.filters_in(message.get("filters", {})),
            max(1, min(int(message.get("limit", 1)), 1000)),
            message.get("among"),
            message.get("like"),
        )
        if not self.warm.is_set():
            return as_json(Found({}, [], None), (WARMING,))
        found = self._answers.find(question, self._answering())
        return as_json(found, self._said(found))

    def _answering(self) -> list[Arm]:
        """Models that answer: those that are wanted and whole; beside them, while one is not, the old ones."""
        wanted = [arm for arm in self._sync.arms if arm.whole]
        return (
            wanted if len(wanted) == len(self._sync.arms) else [*wanted, *(arm for arm in self._sync.old if arm.whole)]
        )

    def _said(self, found: Found) -> list[str]:
        """At most one note: the worst there is."""
        for arm in self._sync.arms:
            if arm.trouble is not None:
                return [f"{arm.spec.arm} does not take part: {arm.trouble.message} ({arm.trouble.hint})"]
        if not self._answering():
            return [_PARTLY.format(self._progress or "vectors are being made")]
        if found.trouble is not None:
            return [found.trouble.message]
        if self._sync.index_trouble:
            return [f"{self._sync.index_trouble} (vectors are compared one by one meanwhile)"]
        return [self._notes.pop(0)] if self._notes else []

    def _deeds(self) -> dict[object, Callable[[], None]]:
        """What may be ordered: carried out by the thread that syncs, before its next piece of work."""
        return {
            "sync": self._sync.sweep,
            "rebuild": self._sync.rebuild,
            "forget": self._sync.forget,
            "check": self._compare,
        }

    def _order(self, deed: Callable[[], None]) -> dict[str, Any]:
        """Accept an order; a report with `done` of at least its number says that it was carried out."""
        self._ordered += 1
        self._orders.append(deed)
        self._wake.set()
        return {"order": self._ordered}

    def _compare(self) -> None:
        self._sync.sweep()
        while not self._sync.swept:
            self._beat()
            if not self._sync.step() and not self._sync.swept:
                break  # there is no memory to be read
        self._compared = compared(self._sync)

    def _report(self) -> dict[str, Any]:
        return report(self._home, self._vectors(), self._sync) | {
            "pid": os.getpid(),
            "warm": self.warm.is_set(),
            "done": self._done,
            "compared": self._compared,
        }

    def _vectors(self) -> Vectors | None:
        if self._read is None:
            self._read = at_rest(self._home)
        return self._read

    def close(self) -> None:
        """Close what the thread that answers has opened."""
        self._answers.close()
        if self._read is not None:
            self._read.close()
