"""The service's door: of one user, one line each way, and nobody at it can hold the service up."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from indexer import control
from indexer.errors import Busy, IndexerError, NotFound, UsageError


def echo(asked: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"said": asked.get("word")}


def refuse(_: Mapping[str, Any]) -> Mapping[str, Any]:
    raise NotFound("no such thing", "look elsewhere")


class Door:
    """A server whose loop is the test."""

    def __init__(self, home: Path, env: Mapping[str, str]) -> None:
        self.home, self.env = home, env
        self.server = control.Server(home, env, {"echo": echo, "refuse": refuse})

    def serve(self) -> None:
        while not self.server.serve():
            pass

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Ask in another thread, and serve in this one."""
        answers: list[dict[str, Any] | IndexerError] = []

        def run() -> None:
            try:
                answers.append(control.ask(self.home, self.env, command, **arguments))
            except IndexerError as error:
                answers.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        self.serve()
        thread.join()
        if isinstance(answers[0], IndexerError):
            raise answers[0]
        return answers[0]

    def raw(self, data: bytes, *, hang_up: bool = False) -> bytes:
        """Send bytes, be served, and read what comes."""
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(str(control.address(self.home, self.env)))
            with suppress(OSError):
                peer.sendall(data)
            if hang_up:
                peer.shutdown(socket.SHUT_WR)
            self.serve()
            peer.settimeout(5)
            with suppress(OSError):
                return peer.recv(65_536)
        return b""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def door(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.setattr(control, "READ_SECONDS", 0.2)
    made = Door(home, {"XDG_RUNTIME_DIR": str(home.parent)})
    yield made
    made.server.close()


def test_a_command_is_carried_out_and_answered(door: Door) -> None:
    assert door.ask("echo", word="hello") == {"said": "hello"}


def test_an_error_keeps_its_kind_and_its_exit_code(door: Door) -> None:
    with pytest.raises(IndexerError, match="no such thing") as raised:
        door.ask("refuse")
    assert (raised.value.kind, raised.value.exit_code, raised.value.hint) == ("not-found", 1, "look elsewhere")


def test_an_unknown_command_is_said_to_be_one(door: Door) -> None:
    with pytest.raises(IndexerError, match="does not know"):
        door.ask("dance")


def test_a_long_request_comes_whole(door: Door) -> None:
    word = "x" * 300_000
    assert door.ask("echo", word=word) == {"said": word}


def test_nobody_at_the_door_costs_nothing(door: Door) -> None:
    assert not door.server.serve()


def test_the_socket_is_its_owners_alone(door: Door) -> None:
    assert (door.home / control.NAME).stat().st_mode & 0o777 == 0o600


def test_a_closed_door_is_gone_and_asking_is_busy(door: Door) -> None:
    door.server.close()
    assert not (door.home / control.NAME).exists()
    with pytest.raises(Busy, match="does not answer"):
        control.ask(door.home, door.env, "echo")


def test_a_socket_left_by_a_killed_service_is_taken_over(door: Door) -> None:
    again = Door(door.home, door.env)
    assert again.ask("echo", word=1) == {"said": 1}
    again.server.close()


@pytest.mark.parametrize("data", [b"\n", b"[]\n", b"{\n", b"\xff\n", b"[" * 100_000 + b"\n", b'{"command": []}\n'])
def test_nonsense_is_answered_with_an_error(door: Door, data: bytes) -> None:
    assert "error" in json.loads(door.raw(data))
    assert door.ask("echo", word=2) == {"said": 2}


@pytest.mark.parametrize("hang_up", [True, False])
def test_half_a_request_holds_nobody_up(door: Door, hang_up: bool) -> None:
    assert door.raw(b'{"command": "ec', hang_up=hang_up) == b""
    assert door.ask("echo", word=3) == {"said": 3}


def test_a_request_without_an_end_is_cut_off(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "LONGEST_LINE", 1000)
    assert b"this long" in door.raw(b"x" * 70_000)


def test_a_peer_of_another_user_is_not_listened_to(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_is_ours", lambda _: False)
    assert door.raw(b'{"command": "echo"}\n') == b""


def test_a_service_of_another_user_is_not_told_anything(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    with pytest.raises(Busy, match="not yours"):
        control.ask(door.home, door.env, "echo")


# --- long paths


def deep(tmp_path: Path) -> Path:
    home = tmp_path / ("d" * 60) / ("e" * 60)
    home.mkdir(parents=True)
    return home


def test_a_path_too_long_for_a_socket_goes_to_the_runtime_folder(tmp_path: Path) -> None:
    door = Door(deep(tmp_path), {"XDG_RUNTIME_DIR": str(tmp_path)})
    folder = control.address(door.home, door.env).parent
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o777 == 0o700
    assert door.ask("echo", word="far") == {"said": "far"}
    door.server.close()
    assert list(folder.iterdir()) == []


def test_a_folder_there_that_is_loose_is_tightened(tmp_path: Path) -> None:
    home, env = deep(tmp_path), {"XDG_RUNTIME_DIR": str(tmp_path)}
    folder = control.address(home, env).parent
    folder.mkdir(mode=0o755)
    Door(home, env).server.close()
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_link_in_the_place_of_that_folder_is_refused(tmp_path: Path) -> None:
    home, env = deep(tmp_path), {"XDG_RUNTIME_DIR": str(tmp_path)}
    (tmp_path / "elsewhere").mkdir()
    control.address(home, env).parent.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IndexerError, match="not a folder of yours"):
        Door(home, env)


def test_without_a_runtime_folder_it_is_the_one_for_temporary_files(tmp_path: Path) -> None:
    assert control.address(deep(tmp_path), {}).parent.name == f"transcript-indexer-{os.getuid()}"


def test_two_memories_have_two_sockets(tmp_path: Path) -> None:
    one, two = deep(tmp_path), deep(tmp_path / "more")
    assert control.address(one, {}) != control.address(two, {})


def test_a_usage_error_of_the_server_is_one_for_the_client(door: Door) -> None:
    with pytest.raises(IndexerError) as raised:
        door.ask("unknown")
    assert raised.value.exit_code == UsageError.exit_code


def test_who_comes_back_at_once_is_waited_for(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "COMES_BACK_SECONDS", 0.5)
    monkeypatch.setattr(control, "AGAIN_SECONDS", 1.0)
    said: list[dict[str, Any]] = []

    def twice() -> None:
        said.append(control.ask(door.home, door.env, "echo", word="a"))
        threading.Event().wait(0.05)  # what it takes to make the next batch
        said.append(control.ask(door.home, door.env, "echo", word="b"))

    thread = threading.Thread(target=twice)
    thread.start()
    door.serve()
    answered = len(said)
    thread.join(timeout=5)
    assert (answered, thread.is_alive()) == (2, False)
