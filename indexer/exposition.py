"""Answers Prometheus: `GET /metrics` on loopback or on a Unix socket, and nothing else to nobody else.

Off unless the settings name a port or a socket. It runs in a thread of its own, which opens the database for
reading as any command does and never touches the connection of the thread that writes. An answer is made at
most once in five seconds, so that whoever asks in a loop costs nothing.

HTTP by hand, a request a connection: a page of it, against 15 ms for http.server, whose slow readers hold its
thread as long as they like. A page in a browser may reach a loopback port under a name of its own (DNS
rebinding); hence the Host must be this machine's own (ux-and-security 4.5). Other users of the machine can
reach a port, and may read these numbers; a socket of mode 0600 keeps them to its owner. That nobody can
listen stops no work: it is told of, with its remedy, and tried again.
"""

from __future__ import annotations

import errno
import os
import re
import selectors
import shlex
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from indexer.condition import Trouble
from indexer.errors import IndexerError

LOOPBACK = "127.0.0.1"
PATH = "/metrics"
SECONDS = 2.0
"""The longest that one client may take."""
FRESH_SECONDS = 5.0
LONGEST = 8192
_HOST = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.IGNORECASE)
_LINE = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]")
_REASONS = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    421: "Misdirected Request",
    503: "Service Unavailable",
}


class Exposition:
    """Listens for one service. text: makes the answer; raises IndexerError when there is none to give."""

    def __init__(self, port: int, path: Path | None, text: Callable[[], str]) -> None:
        self._text = _Fresh(text)
        self._wanted: list[int | Path] = [*([port] if port else []), *([path] if path else [])]
        self._listening: dict[int | Path, socket.socket] = {}
        self._waking, self._woken = os.pipe() if self._wanted else (-1, -1)
        self._thread: threading.Thread | None = None
        self.troubles: list[Trouble] = []
        """Why it does not listen where it should."""

    def tend(self) -> None:
        """Begin to listen where it is not done yet."""
        missing = [place for place in self._wanted if place not in self._listening]
        if not missing:
            return
        self._stop_serving()
        self.troubles = []
        for place in missing:
            try:
                self._listening[place] = _listen(place)
            except OSError as error:
                self.troubles.append(_trouble(place, error))
        if self._listening:
            self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Listen no more."""
        self._stop_serving()
        for place, sock in self._listening.items():
            sock.close()
            if isinstance(place, Path):
                place.unlink(missing_ok=True)
        self._listening = {}
        if self._wanted:
            self._wanted = []
            os.close(self._waking)
            os.close(self._woken)

    def _stop_serving(self) -> None:
        if self._thread is not None:
            os.write(self._woken, b"x")
            self._thread.join(SECONDS * 2)
            self._thread = None

    def _serve(self) -> None:
        with selectors.DefaultSelector() as doors:
            doors.register(self._waking, selectors.EVENT_READ)
            for place, sock in self._listening.items():
                doors.register(sock, selectors.EVENT_READ, isinstance(place, Path))
            while True:
                for key, _ in doors.select():
                    if isinstance(key.fileobj, int):
                        os.read(self._waking, 1)
                        return
                    with suppress(OSError):  # they have left, or never say what they want
                        _serve_one(key.fileobj, self._text, private=key.data)


class _Fresh:
    """The text, made anew when it is more than some seconds old."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make, self._text, self._made = make, "", float("-inf")

    def __call__(self) -> str:
        now = time.monotonic()
        if now - self._made > FRESH_SECONDS:
            self._text, self._made = self._make(), now
        return self._text


def answer(request: bytes, text: Callable[[], str], *, private: bool) -> bytes:
    """The response to a request's head. private: it came by a socket that only its owner can open, where no
    name leads."""
    lines = request.split(b"\r\n")
    asked = _LINE.fullmatch(lines[0])
    if asked is None:
        return _response(400, "this is no request\n")
    hosts = [line.partition(b":")[2].strip() for line in lines[1:] if line[:5].lower() == b"host:"]
    if not private and (len(hosts) != 1 or not _HOST.fullmatch(hosts[0].decode("latin-1"))):
        return _response(421, "this machine only\n")
    if asked[2].partition(b"?")[0] != PATH.encode():
        return _response(404, f"there is {PATH}\n")
    if asked[1] not in (b"GET", b"HEAD"):
        return _response(405, "GET only\n")
    try:
        return _response(200, text(), body=asked[1] == b"GET")
    except IndexerError as error:
        return _response(503, f"{error.message}\n")


def _response(code: int, text: str, *, body: bool = True) -> bytes:
    data = text.encode("utf-8", "replace")
    head = [
        f"HTTP/1.1 {code} {_REASONS[code]}",
        f"Content-Type: text/plain; {'version=0.0.4; ' if code == 200 else ''}charset=utf-8",
        f"Content-Length: {len(data)}",
        *(["Allow: GET, HEAD"] if code == 405 else []),
        "Cache-Control: no-store",
        "X-Content-Type-Options: nosniff",
        "Connection: close",
    ]
    return ("\r\n".join(head) + "\r\n\r\n").encode("ascii") + (data if body else b"")


def _serve_one(door: Any, text: Callable[[], str], *, private: bool) -> None:
    peer, _ = door.accept()
    with peer:
        request = _request(peer)
        peer.settimeout(SECONDS)
        peer.sendall(answer(request, text, private=private))


def _request(peer: socket.socket) -> bytes:
    """A request's head, as much of it as there is. Raises OSError when it takes too long."""
    data, deadline = bytearray(), time.monotonic() + SECONDS
    while b"\r\n\r\n" not in data and len(data) < LONGEST:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        peer.settimeout(left)
        piece = peer.recv(LONGEST)
        if not piece:
            break
        data += piece
    return bytes(data).partition(b"\r\n\r\n")[0]


# --- where it listens ---------------------------------------------------------------------------------


def _listen(place: int | Path) -> socket.socket:
    family = socket.AF_UNIX if isinstance(place, Path) else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if isinstance(place, Path):
            _bind_privately(sock, place)
        else:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind((LOOPBACK, place))
        sock.listen(8)
        sock.settimeout(SECONDS)
    except BaseException:
        sock.close()
        raise
    return sock


def _bind_privately(sock: socket.socket, path: Path) -> None:
    """Bind with mode 0600 from the first moment. A socket that nobody listens at any more makes room; anything
    else of that name stays."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode) or _answers(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        path.unlink()
    before = os.umask(0o177)
    try:
        sock.bind(str(path))
    finally:
        os.umask(before)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        return other.connect_ex(str(path)) != errno.ECONNREFUSED


def _trouble(place: int | Path, error: OSError) -> Trouble:
    if isinstance(place, Path):
        reason = f"metrics are not served at {place}: {error.strerror or error}"
        return Trouble(reason, next(_remedies_of_path(place, error)))
    reason = f"metrics are not served at port {place}: {error.strerror or error}"
    if error.errno == errno.EADDRINUSE:
        return Trouble(reason, f"set metrics.port to another than {place}")
    if error.errno == errno.EAFNOSUPPORT:
        return Trouble(reason, "`transcript-indexer service install` again lets the service open the port")
    return Trouble(reason, "set metrics.port to one from 1024 on, or metrics.socket")


def _remedies_of_path(path: Path, error: OSError) -> Iterator[str]:
    if error.errno == errno.EEXIST:
        yield f"take {shlex.quote(str(path))} away, or set metrics.socket to another path"
    if error.errno == errno.ENOENT:
        yield f"mkdir -m 700 -p {shlex.quote(str(path.parent))}"
    if error.errno is None:  # a path of over 107 bytes is none for a socket
        yield "set metrics.socket to a shorter path"
    yield "set metrics.socket to a path that the service may write to, as in the folder of the memory"
