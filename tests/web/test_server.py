"""Where it listens, and where it refuses to."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

from pages import TOKEN, memory  # noqa: E402 - only where Starlette is

from indexer import config  # noqa: E402
from indexer.errors import Busy, UsageError  # noqa: E402
from indexer.web import server  # noqa: E402
from indexer.web.guard import LOOPBACK, Door  # noqa: E402
from indexer.web.keys import Keys  # noqa: E402


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path: pytest's own are too long for a socket."""
    import tempfile  # noqa: PLC0415

    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


@pytest.mark.parametrize("address", ["0.0.0.0", "192.0.2.1", "::", "2001:db8::1", "8.8.8.8"])
def test_an_address_that_others_reach_is_refused(address: str) -> None:
    with pytest.raises(UsageError, match="can be reached from other machines"), server.listening(address, 0):
        pass


@pytest.mark.parametrize("address", ["localhost", "", "evil.example", "127.0.0.1:80"])
def test_a_name_is_no_address(address: str) -> None:
    with pytest.raises(UsageError, match="is no address"), server.listening(address, 0):
        pass


class Taken(socket.socket):
    """A socket whose port is another's."""

    def bind(self, _: object) -> None:
        """Refused by the system."""
        raise OSError(98, "Address already in use")


class Bound(socket.socket):
    """A socket that says it has a port, without one: tests open none."""

    bound: tuple[Any, ...] = ()

    def bind(self, address: Any) -> None:
        """Only noted."""
        type(self).bound = address

    def listen(self, _: int = 0) -> None:
        """Nobody comes."""

    def getsockname(self) -> Any:
        """With a port of the system's choice."""
        return (self.bound[0], self.bound[1] or 45_678)


def test_a_taken_port_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", Taken)
    with pytest.raises(Busy, match="port 8385") as caught, server.listening("127.0.0.1", 8385):
        pass
    assert "--port" in caught.value.hint


@pytest.mark.parametrize(("port", "answered"), [(8385, 8385), (0, 45_678)])
def test_the_door_knows_its_port(monkeypatch: pytest.MonkeyPatch, port: int, answered: int) -> None:
    monkeypatch.setattr(socket, "socket", Bound)
    with server.listening("127.0.0.1", port) as (_, door):
        assert door == Door(LOOPBACK, answered)


def test_only_what_was_asked_for_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", Bound)
    with server.listening("::1", 8385) as (_, door):
        assert (Bound.bound, door.hosts) == (("::1", 8385), LOOPBACK)


def test_a_remote_address_with_the_flag_is_answered_to_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "socket", Bound)
    with server.listening("192.0.2.1", 8385, remote=True) as (_, door):
        assert (door.hosts[:3], door.hosts[-1]) == (LOOPBACK, "192.0.2.1")


def test_a_socket_is_for_its_owner_alone_and_goes_with_the_server(folder: Path) -> None:
    before = os.umask(0)
    try:
        with server.listening_at(folder / "s") as (_, door):
            mode = (folder / "s").stat().st_mode
            assert (stat.S_IMODE(mode), door.port) == (0o600, None)
    finally:
        os.umask(before)
    assert not (folder / "s").exists()


def test_a_dead_socket_is_taken_over(folder: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "s"))
    with server.listening_at(folder / "s"):
        pass


def test_a_live_one_is_not(folder: Path) -> None:
    with (
        server.listening_at(folder / "s"),
        pytest.raises(Busy, match="somebody listens"),
        server.listening_at(folder / "s"),
    ):
        pass


def test_no_file_is_ever_taken_away(folder: Path) -> None:
    (folder / "s").write_text("mine")
    with pytest.raises(UsageError, match="is no socket"), server.listening_at(folder / "s"):
        pass
    assert (folder / "s").read_text() == "mine"


def test_a_path_that_is_too_long_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="too long"), server.listening_at(tmp_path / ("x" * 108)):
        pass


def test_a_folder_that_is_not_there_is_said(folder: Path) -> None:
    with pytest.raises(UsageError, match="No such file"), server.listening_at(folder / "none" / "s"):
        pass


class Local(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        """To the socket instead of a port."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))


def test_it_answers_over_a_socket_and_says_no_word_of_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real server in a thread: a request with the token, one without, then the end."""
    made: list[Any] = []
    real = uvicorn.Server

    def noted(given: Any) -> Any:
        made.append(real(given))
        return made[0]

    monkeypatch.setattr(uvicorn, "Server", noted)
    settings = config.load(memory(folder / "memory"), (), {"TRANSCRIPT_INDEXER_VECTORS": "none"})
    with server.listening_at(folder / "s") as (sock, door):
        thread = threading.Thread(target=server.serve, args=(settings, sock, door, Keys(TOKEN)))
        thread.start()
        try:
            assert asked(folder / "s", {"authorization": f"Bearer {TOKEN}"}) == (200, None)
            assert asked(folder / "s", {}) == (401, None)
        finally:
            made[0].should_exit = True
            thread.join(20)
    assert not thread.is_alive()


def asked(path: Path, headers: dict[str, str]) -> tuple[int, str | None]:
    """Status and the name that the server gives itself."""
    connection = Local(path)
    connection.request("GET", "/search", headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status, answer.getheader("server")
