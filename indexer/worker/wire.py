"""What goes over the worker's socket: one JSON message each way, led by its length in four bytes.

The socket stands under HOME, 0600, in a folder that is 0700. A path of over 107 bytes does not fit in the
address of a Unix socket: then it stands in a 0700 folder in XDG_RUNTIME_DIR, named after HOME.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import gettempdir
from typing import Any

from indexer.errors import IndexerError
from indexer.store.filters import Filters
from indexer.store.vectors import folder

VERSION = 1
"""Of the messages; a worker of another version is asked to make room."""
LONGEST_PATH = 107
LARGEST = 16 << 20
LOCK = "worker.lock"
BEAT = "worker.beat"
STARTING = "starting"
"""Files in the folder of vectors: of the worker that there is, the moment it last showed that it lives, and how
often one was started since one came to answer."""
_SOCKET = "worker.sock"
_LENGTH = struct.Struct(">I")
_NAMES = tuple(field.name for field in fields(Filters))


class Unreachable(IndexerError):
    """Nobody answers, or not in time, or not in our words."""

    kind = "unreachable"
    retryable = True


class Late(Unreachable):
    """Somebody listens, and has not answered in time."""


def socket_path(home: Path, env: Mapping[str, str] = os.environ) -> Path:
    """Where the worker of `home` listens."""
    path = folder(home) / _SOCKET
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    # Made by the session for its owner alone; where there is none, made so by `listen`, or refused.
    base = Path(env["XDG_RUNTIME_DIR"]) if env.get("XDG_RUNTIME_DIR") else Path(gettempdir())
    return base / f"transcript-indexer-{os.getuid()}" / f"{name}.sock"


def send(sock: socket.socket, message: Mapping[str, Any]) -> None:
    """Send one message. Raises OSError."""
    data = json.dumps(message).encode()
    sock.sendall(_LENGTH.pack(len(data)) + data)


def receive(sock: socket.socket, until: float) -> dict[str, Any]:
    """One message, by the moment `until` of time.monotonic. Raises Unreachable, Late when that has passed."""
    try:
        (length,) = _LENGTH.unpack(_exactly(sock, _LENGTH.size, until))
        if length > LARGEST:
            raise Unreachable("the vector worker's answer is too long")
        message = json.loads(_exactly(sock, length, until))
    except TimeoutError:
        raise Late("the vector worker does not answer in time") from None
    except (OSError, ValueError, RecursionError) as error:
        raise Unreachable(f"the vector worker does not answer ({type(error).__name__})") from None
    if not isinstance(message, dict):
        raise Unreachable("the vector worker's answer is none")
    return message


def _exactly(sock: socket.socket, size: int, until: float) -> bytes:
    data = bytearray()
    while len(data) < size:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        piece = sock.recv(min(size - len(data), 1 << 16))
        if not piece:
            raise ConnectionResetError
        data += piece
    return bytes(data)


def filters_out(filters: Filters) -> dict[str, Any]:
    """Filters as JSON can hold them; those that are None are left out."""
    return {name: value for name, value in asdict(filters).items() if value is not None}


def filters_in(sent: object) -> Filters:
    """Filters as they were sent. Raises Unreachable for what no client of ours sends."""
    if not isinstance(sent, dict) or not set(sent) <= set(_NAMES):
        raise Unreachable("filters that are not known")
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in sent.items()}
    return Filters(**values)
