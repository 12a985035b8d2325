"""What systemd is told."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.notify import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(5)
        yield listening


def test_ready_carries_the_status(manager: socket.socket) -> None:
    Notifier({"NOTIFY_SOCKET": manager.getsockname()}).ready("0 bytes behind")
    assert manager.recv(1000) == b"READY=1\nSTATUS=0 bytes behind"


def test_a_sign_of_life_carries_the_status_on_one_line(manager: socket.socket) -> None:
    Notifier({"NOTIFY_SOCKET": manager.getsockname()}).alive("disk\nfull")
    assert manager.recv(1000) == b"WATCHDOG=1\nSTATUS=disk full"


def test_stopping_is_said(manager: socket.socket) -> None:
    Notifier({"NOTIFY_SOCKET": manager.getsockname()}).stopping()
    assert manager.recv(1000) == b"STOPPING=1"


def test_a_long_step_asks_for_time(manager: socket.socket) -> None:
    Notifier({"NOTIFY_SOCKET": manager.getsockname()}).busy(1.5)
    assert manager.recv(1000) == b"EXTEND_TIMEOUT_USEC=1500000"


def test_an_abstract_socket_is_reached() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0transcript-indexer-test-{os.getpid()}")
        listening.settimeout(5)
        Notifier({"NOTIFY_SOCKET": f"@transcript-indexer-test-{os.getpid()}"}).stopping()
        assert listening.recv(1000) == b"STOPPING=1"


@pytest.mark.parametrize("env", [{}, {"NOTIFY_SOCKET": ""}, {"NOTIFY_SOCKET": "/home/dev/none"}])
def test_without_a_manager_nothing_happens(env: dict[str, str]) -> None:
    notifier = Notifier(env)
    notifier.ready("x")
    notifier.alive("x")
    assert notifier.watchdog_seconds == 0


@pytest.mark.parametrize(
    ("env", "seconds"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 60.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 60.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
        ({}, 0.0),
    ],
)
def test_the_watchdog_counts_only_when_it_is_ours(env: dict[str, str], seconds: float) -> None:
    assert Notifier(env).watchdog_seconds == seconds


def test_waiting_asks_for_time_and_says_why(manager: socket.socket) -> None:
    Notifier({"NOTIFY_SOCKET": manager.getsockname()}).waiting("another writes", 30)
    assert manager.recv(1000) == b"EXTEND_TIMEOUT_USEC=30000000\nSTATUS=another writes\nWATCHDOG=1"


def test_only_a_manager_that_listens_manages() -> None:
    assert Notifier({"NOTIFY_SOCKET": "/x"}).managed
    assert not Notifier({}).managed
