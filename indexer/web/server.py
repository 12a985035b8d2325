"""Listens, and serves the page until interrupted: on a port of this machine, or on a Unix socket (0600).

The socket is made here and handed to uvicorn, so that a port which is taken is a plain error, and so that
nobody can connect to a socket file in the moment between its making and its mode. uvicorn is held to h11 and
asyncio, which every installation has, and told to trust no header of a proxy.

A port of all the machine's addresses is never opened by accident: any but a loopback address wants
`--allow-remote`, since whoever sees the traffic then sees the cookie.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn

from indexer.config import Config
from indexer.control import LONGEST_PATH
from indexer.errors import Busy, UsageError
from indexer.web.guard import LOOPBACK, Door
from indexer.web.keys import Keys
from indexer.web.site import make

_BACKLOG = 64


def serve(settings: Config, sock: socket.socket, door: Door, keys: Keys) -> None:
    """Answer on this socket until SIGINT or SIGTERM. Open event streams get a second to end."""
    config = uvicorn.Config(
        make(settings, door, keys),
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[sock])


@contextmanager
def listening(address: str, port: int, *, remote: bool = False) -> Iterator[tuple[socket.socket, Door]]:
    """A socket on a port of this machine; port 0 takes a free one. Raises UsageError, Busy."""
    given = ipaddress_of(address)
    if not given.is_loopback and not remote:
        raise UsageError(
            f"{address} can be reached from other machines",
            "use `ssh -L`, or give --allow-remote if the network is yours: the page is not encrypted",
        )
    family = socket.AF_INET6 if given.version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((address, port))
            sock.listen(_BACKLOG)
        except OSError as error:
            raise Busy(f"port {port} of {address}: {error.strerror}", "give another one: --port N") from error
        own = f"[{address}]" if given.version == 6 else address
        names = LOOPBACK if given.is_loopback else (*LOOPBACK, socket.gethostname().lower())
        yield sock, Door(tuple(dict.fromkeys((*names, own))), sock.getsockname()[1])


def ipaddress_of(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address by its number; `localhost` is none, since somebody else says where it leads."""
    try:
        return ipaddress.ip_address(address)
    except ValueError:
        raise UsageError(f"{address!r} is no address", "give it as 127.0.0.1 or ::1") from None


@contextmanager
def listening_at(path: Path) -> Iterator[tuple[socket.socket, Door]]:
    """A Unix socket for its owner alone. One that nobody listens at any more is taken over.

    Raises UsageError, Busy."""
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise UsageError(f"{path} is too long for a socket", f"at most {LONGEST_PATH} bytes")
    _clear(path)
    before = os.umask(0o177)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            sock.bind(str(path))
        except OSError as error:
            raise UsageError(f"{path}: {error.strerror}", "give a path in a folder of yours") from error
        finally:
            os.umask(before)
        sock.listen(_BACKLOG)
        try:
            yield sock, Door(LOOPBACK, None)
        finally:
            with suppress(OSError):
                path.unlink()


def _clear(path: Path) -> None:
    """Make room for the socket where a dead one stands. Nothing else is ever taken away."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise UsageError(f"{path} is there already, and is no socket", "give another path")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer, suppress(ConnectionRefusedError):
        peer.connect(str(path))
        raise Busy(f"somebody listens at {path}", "stop it, or give another path")
    path.unlink()
