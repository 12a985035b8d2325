"""What goes over the socket, and where that stands."""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.store.filters import Filters
from indexer.worker import wire
from indexer.worker.wire import Unreachable, filters_in, filters_out, receive, send, socket_path


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair()
    yield one, other
    one.close()
    other.close()


def soon(seconds: float = 5.0) -> float:
    return time.monotonic() + seconds


def test_a_message_arrives_as_it_was_sent(pair: tuple[socket.socket, socket.socket]) -> None:
    send(pair[0], {"op": "ask", "text": "时区 \ud800"})
    assert receive(pair[1], soon()) == {"op": "ask", "text": "时区 \ud800"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0",
        struct.pack(">I", 9) + b"half",
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 3) + b"{,}",
        b"\xff" * 8,
    ],
)
def test_what_is_no_message_is_refused(pair: tuple[socket.socket, socket.socket], data: bytes) -> None:
    pair[0].sendall(data)
    pair[0].close()
    with pytest.raises(Unreachable):
        receive(pair[1], soon())


def test_nobody_is_waited_for_longer_than_said(pair: tuple[socket.socket, socket.socket]) -> None:
    with pytest.raises(Unreachable):
        receive(pair[1], time.monotonic() - 1)


def test_the_socket_stands_under_home() -> None:
    home = Path("/home/dev/memory")
    assert socket_path(home, {}) == home / "vectors" / "worker.sock"


def test_a_path_that_is_too_long_goes_to_the_runtime_folder() -> None:
    home = Path("/home") / ("d" * 100)
    path = socket_path(home, {"XDG_RUNTIME_DIR": "/run/user/1000"})
    assert path.parent == Path("/run/user/1000") / f"transcript-indexer-{os.getuid()}"
    assert len(os.fsencode(path)) <= wire.LONGEST_PATH


def test_two_homes_never_share_a_socket() -> None:
    env = {"XDG_RUNTIME_DIR": "/run"}
    assert socket_path(Path("/" + "a" * 120), env) != socket_path(Path("/" + "b" * 120), env)


@pytest.mark.parametrize(
    "filters", [Filters(), Filters(project=("a", "b"), kinds=("prompt",), since=1, until=2, session="s", limit=7)]
)
def test_filters_come_back_as_they_went(filters: Filters) -> None:
    assert filters_in(json.loads(json.dumps(filters_out(filters)))) == filters


@pytest.mark.parametrize("sent", [None, [], {"nothing": 1}])
def test_filters_that_nobody_sends_are_refused(sent: object) -> None:
    with pytest.raises(Unreachable):
        filters_in(sent)
