"""Asks the vector worker, from wherever a search comes: never raises, never waits long, loads nothing heavy.

Without a worker one is started (the same one that `watch` starts: the lock decides who is it) and the
answer comes at once, without vectors and with a note: a search must not wait two seconds for a model. Where
none can live, because its folder cannot be written or because it ends as often as it is started, that is
said instead: "being loaded" would be said for ever.
"""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from indexer.obstacles import Obstacle, obstacle
from indexer.store.connection import prepare_home
from indexer.store.filters import Filters
from indexer.store.vectors import folder
from indexer.worker import wire

LIMIT = 200
TIMEOUT = 1.5
"""Seconds: with the words, a search answers within two, whatever the worker does."""
_POLL = 0.05
_FRESH = 20.0
_STARTING = 5.0
"""Seconds that a worker is given to take its lock before another is started."""
_TRIES = 3
"""Starts without a worker that came to answer, after which it is said that none comes up."""
WARMING = "vectors are being loaded, so only keywords were searched; ask again in a few seconds"
_SILENT = "the vector worker does not answer, so only keywords were searched; see `transcript-indexer vectors status`"
_BUSY = "the vector worker had no time to answer, so only keywords were searched; ask again in a moment"
_NOT_STARTED = "the vector worker cannot be started ({}), so only keywords were searched"
_ENDS = (
    "the vector worker ends at its start, so only keywords were searched; `transcript-indexer vectors serve` says why"
)
_children: set[int] = set()
"""Workers that this process started and has not buried."""


class Near(NamedTuple):
    """A row found by its meaning. id: of search_texts. score: the cosine of its best document."""

    id: int
    score: float


class Answer(NamedTuple):
    """arms: rows by arm, the best first; an arm that could not answer is absent. via: `exact`, `chroma`.
    notes: for people, one at most."""

    arms: Mapping[str, tuple[Near, ...]]
    via: tuple[str, ...]
    notes: tuple[str, ...]


NOTHING = Answer({}, (), ())


def ask(
    home: Path,
    text: str,
    filters: Filters,
    *,
    limit: int = LIMIT,
    among: Sequence[int] | None = None,
    like: int | None = None,
    wait: float = 0.0,
    timeout: float = TIMEOUT,
    store: str = "chroma",
) -> Answer:
    """The rows nearest in meaning to `text`, or to the row `like`, that pass all filters; of the rows
    `among` alone, if given. limit: rows an arm. wait: seconds to give a worker that is not warm yet. Answers
    within the longer of `wait` and `timeout`."""
    if store == "none" or (not text.strip() and like is None):
        return NOTHING
    message = {
        "op": "ask", "text": text, "filters": wire.filters_out(filters), "limit": limit,
        "among": None if among is None else list(among), "like": like,
    }  # fmt: skip
    began = time.monotonic()
    until, last = began + wait, began + max(wait, timeout)
    while True:
        try:
            answer = _read(request(home, message, min(timeout, max(_POLL, last - time.monotonic()))))
        except wire.Late:
            answer = Answer({}, (), (_BUSY if _young(home) else _SILENT,))
        except wire.Unreachable:
            answer = _begin(home)
        if answer.notes != (WARMING,) or time.monotonic() >= until:
            return answer
        time.sleep(_POLL)


def request(home: Path, message: Mapping[str, Any], timeout: float = TIMEOUT) -> dict[str, Any]:
    """One message to the worker and its answer. Raises Unreachable, in bounded time."""
    until = time.monotonic() + timeout
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(timeout)
        try:
            sock.connect(str(wire.socket_path(home)))
            wire.send(sock, {"version": wire.VERSION, **message})
        except (OSError, ValueError) as error:
            raise wire.Unreachable(f"there is no vector worker ({type(error).__name__})") from None
        answer = wire.receive(sock, until)
    if answer.get("version") != wire.VERSION:
        raise wire.Unreachable("the vector worker is of another version")
    return answer


def _read(answer: dict[str, Any]) -> Answer:
    """The answer, of whatever a worker of another version may have sent."""
    try:
        arms = {
            str(arm): tuple(Near(int(row), float(score)) for row, score in found)
            for arm, found in answer["arms"].items()
        }
        return Answer(arms, tuple(map(str, answer["via"])), tuple(map(str, answer["notes"])))
    except (KeyError, TypeError, ValueError, AttributeError):
        return Answer({}, (), (_SILENT,))


def _begin(home: Path) -> Answer:
    """Nobody answered: start a worker, unless there is one that is busy starting, or none can be."""
    if alive(home):
        return Answer({}, (), (WARMING,) if _young(home) else (_SILENT,))
    if there := obstacle(folder(home)):
        return Answer({}, (), (blocked(there),))
    if ended():
        return Answer({}, (), (_ENDS,))
    try:
        tries = start_once(home)
    except OSError as error:
        return Answer({}, (), (_NOT_STARTED.format(error.strerror or error),))
    return Answer({}, (), (_ENDS if tries > _TRIES else WARMING,))


def blocked(there: Obstacle) -> str:
    """What is said of vectors that something stands in the way of."""
    return f"vectors cannot be used, so only keywords were searched: {there.message}; {there.remedy}"


def ended() -> bool:
    """Whether a worker that this process started has ended with an error; buries those that have ended."""
    codes = []
    for pid in tuple(_children):
        try:
            gone, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            gone, status = pid, 0
        if gone:
            _children.discard(pid)
            codes.append(os.waitstatus_to_exitcode(status))
    return any(codes)


def start_once(home: Path) -> int:
    """Start a worker, unless somebody did a moment ago: it may not have its lock yet, and every search of a
    busy moment would start one of its own. Returns how often one was started since one came to answer.

    A byte a start is written into a file that the worker takes away. Raises OSError."""
    marker = folder(home) / wire.STARTING
    with suppress(FileNotFoundError):
        about = marker.stat()
        if 0 <= time.time() - about.st_mtime < _STARTING:
            return about.st_size
    prepare_home(home)
    marker.parent.mkdir(mode=0o700, exist_ok=True)
    fd = os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(fd, b".")
        tries = os.fstat(fd).st_size
    finally:
        os.close(fd)
    _children.add(start(home))
    return tries


def _young(home: Path) -> bool:
    """Whether the worker has shown that it is alive within the last seconds."""
    try:
        return time.time() - (folder(home) / wire.BEAT).stat().st_mtime < _FRESH
    except OSError:
        return True


def start(home: Path) -> int:
    """Start a worker in the background; returns its pid. The lock sees to it that there is one at most.

    Raises OSError. posix_spawn: importing subprocess alone costs 15 ms, and nothing is needed of it."""
    prepare_home(home)
    command = [sys.executable, "-P", "-m", "indexer", "vectors", "serve", "--home", str(home)]
    null = os.open(os.devnull, os.O_RDWR)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, null, fd) for fd in (0, 1, 2)]
        return os.posix_spawn(sys.executable, command, dict(os.environ), file_actions=actions)
    finally:
        os.close(null)


def alive(home: Path) -> bool:
    """Whether a process holds the worker's lock."""
    try:
        fd = os.open(folder(home) / wire.LOCK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
