"""One request and its answer on the worker's socket, and who answers while the worker itself cannot be.

A worker whose database cannot be opened (no right to, no room, a folder in its place) does not end, or it
would be started again and again and every search told that vectors are being loaded. `stand_in` says what is
wrong instead, and with every question, and every few seconds, tries whether it has been mended.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from indexer import events
from indexer.errors import IndexerError
from indexer.obstacles import Obstacle, obstacle
from indexer.store.connection import translated
from indexer.store.vectors import folder
from indexer.worker import wire
from indexer.worker.client import WARMING, blocked

REST_SECONDS = 1.0
PATIENCE = 2.0
"""Seconds a client may take to say what it wants."""
AGAIN_SECONDS = 5.0

Made = TypeVar("Made")


def converse(sock: socket.socket, reply: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Answer one request, if one comes within half a second."""
    sock.settimeout(REST_SECONDS / 2)
    try:
        connection, _ = sock.accept()
    except TimeoutError:
        return
    with connection:
        try:
            message = wire.receive(connection, time.monotonic() + PATIENCE)
            answer = reply(message)
            connection.settimeout(PATIENCE)
            wire.send(connection, {"version": wire.VERSION, **answer})
        except (IndexerError, OSError) as error:
            events.failed("vector worker", error)


def beat(home: Path) -> None:
    """Show that the worker lives: whoever supervises it kills one that has not for two minutes."""
    path = folder(home) / wire.BEAT
    with suppress(OSError):
        path.touch(0o600)
        os.utime(path)


def seen(home: Path, error: Exception) -> IndexerError:
    """What a person can mend behind an error of writing in the folder of vectors; the error where nothing is seen."""
    if there := obstacle(folder(home)):
        return IndexerError(there.message, there.remedy)
    if isinstance(error, IndexerError):
        return error
    return IndexerError(f"{folder(home)}: {error}", "look whether the disk is full and whose the folder is")


def told(trouble: IndexerError | None) -> list[str] | None:
    """A trouble as it is sent: message and remedy."""
    return None if trouble is None else [trouble.message, trouble.hint]


def stand_in(
    home: Path, sock: socket.socket, make: Callable[[], Made], stop: threading.Event, linger: float
) -> Made | None:
    """What `make` makes. While it raises IndexerError, OSError or an error of SQLite's, that is what requests are
    answered with. None when told to stop, or when nobody has asked for `linger` seconds."""
    again = _Again(home, make)
    until = time.monotonic() + linger
    while again.attempt() is None and not stop.is_set() and time.monotonic() < until:
        trial = time.monotonic() + AGAIN_SECONDS
        while again.made is None and not stop.is_set() and time.monotonic() < trial:
            beat(home)
            asked = again.asked
            converse(sock, again.reply)
            until = time.monotonic() + linger if again.asked > asked else until
    made: Made | None = again.made
    return made


class _Again:
    """Tries again and again; knows what is wrong meanwhile."""

    def __init__(self, home: Path, make: Callable[[], Made]) -> None:
        self._home, self._make = home, make
        self.made: Any = None
        self.asked = 0
        self._trouble: IndexerError | None = None

    def attempt(self) -> Any:
        try:
            with translated():
                self.made = self._make()
        except (IndexerError, OSError) as error:
            if self._trouble is None:
                events.failed("vectors", error)
            self._trouble = seen(self._home, error)
        return self.made

    def reply(self, message: dict[str, Any]) -> dict[str, Any]:
        """What is wrong; when it is so no more, that vectors are being loaded."""
        self.asked += 1
        trouble = None if self.attempt() else self._trouble
        if message.get("op") != "ask":
            return {"error": "starting", "trouble": told(trouble)}
        note = WARMING if trouble is None else blocked(Obstacle(trouble.message, trouble.hint))
        return {"arms": {}, "via": [], "notes": [note]}
