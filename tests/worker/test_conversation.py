"""While the worker cannot be, somebody says what is wrong, and notices when it is mended."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import IndexerError
from indexer.store.filters import Filters
from indexer.store.vectors import folder, open_store
from indexer.worker import client, conversation, wire
from indexer.worker.conversation import beat, seen, stand_in, told
from indexer.worker.server import Lock, listen

LONG = 1e9


@pytest.fixture
def home(tmp_path: Path) -> Path:
    Lock(tmp_path / "home").release()
    return tmp_path / "home"


@pytest.fixture
def sock(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(conversation, "REST_SECONDS", 0.01)
    with listen(wire.socket_path(home)) as made:
        yield made


class Broken:
    """Cannot be made until it is mended."""

    def __init__(self, error: Exception) -> None:
        self.error: Exception | None = error
        self.tries = 0

    def __call__(self) -> str:
        self.tries += 1
        if self.error is not None:
            raise self.error
        return "made"


def in_a_thread(act: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(act()))
    thread.start()
    return thread, results


def test_what_can_be_made_is_made_at_once(home: Path, sock: socket.socket) -> None:
    assert stand_in(home, sock, lambda: "made", threading.Event(), LONG) == "made"


def test_until_it_is_mended_a_search_is_told_what_is_wrong(home: Path, sock: socket.socket) -> None:
    broken = Broken(IndexerError("the disk is full", "make room"))
    thread, made = in_a_thread(lambda: stand_in(home, sock, broken, threading.Event(), LONG))
    (note,) = client.ask(home, "shed", Filters()).notes
    assert note == "vectors cannot be used, so only keywords were searched: the disk is full; make room"
    broken.error = None
    assert client.ask(home, "shed", Filters()).notes == (client.WARMING,)
    thread.join()
    assert made == ["made"]


def test_an_order_is_told_what_is_wrong(home: Path, sock: socket.socket) -> None:
    stop = threading.Event()
    broken = Broken(OSError(13, "Permission denied"))
    thread, _ = in_a_thread(lambda: stand_in(home, sock, broken, stop, LONG))
    said = client.request(home, {"op": "check"})
    stop.set()
    thread.join()
    assert "Permission denied" in said["trouble"][0]


def test_it_is_tried_again_without_a_question(home: Path, sock: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "AGAIN_SECONDS", 0.0)
    broken = Broken(IndexerError("no"))
    answers = iter([broken.error, broken.error, None])

    def make() -> str:
        broken.error = next(answers)
        return broken()

    assert (stand_in(home, sock, make, threading.Event(), LONG), broken.tries) == ("made", 3)


def test_when_nobody_asks_it_leaves(home: Path, sock: socket.socket) -> None:
    assert stand_in(home, sock, Broken(IndexerError("no")), threading.Event(), -1.0) is None


def test_told_to_stop_it_stops(home: Path, sock: socket.socket) -> None:
    stop = threading.Event()
    stop.set()
    assert stand_in(home, sock, Broken(IndexerError("no")), stop, LONG) is None


def test_a_database_that_cannot_be_opened_is_such_a_case(home: Path, sock: socket.socket) -> None:
    (folder(home) / "vectors.db").mkdir()
    thread, made = in_a_thread(lambda: stand_in(home, sock, lambda: open_store(home), threading.Event(), LONG))
    (note,) = client.ask(home, "shed", Filters()).notes
    assert "vectors.db is no file; move it away" in note
    (folder(home) / "vectors.db").rmdir()
    client.ask(home, "shed", Filters())
    thread.join()
    made[0].close()


def test_what_a_person_can_mend_is_named_first(home: Path) -> None:
    (folder(home) / "vectors.db").mkdir()
    assert "is no file" in seen(home, OSError("whatever")).message


def test_else_the_error_is_told_as_it_is(home: Path) -> None:
    ours = IndexerError("the disk is full", "make room")
    assert seen(home, ours) is ours
    assert "whatever" in seen(home, OSError("whatever")).message


def test_a_trouble_is_sent_as_message_and_remedy() -> None:
    assert told(IndexerError("full", "make room")) == ["full", "make room"]
    assert told(None) is None


def test_a_beat_shows_that_it_lives(home: Path) -> None:
    beat(home)
    os.utime(folder(home) / wire.BEAT, (0, 0))
    beat(home)
    assert (folder(home) / wire.BEAT).stat().st_mtime > 0


def test_a_beat_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "vectors").touch()
    beat(tmp_path)
    assert (tmp_path / "vectors").is_file()
