"""The worker beside the service: started when there is work, buried, started again after a pause."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer import events
from indexer.store.vectors import folder
from indexer.worker import client, wire
from indexer.worker.supervisor import HUNG_SECONDS, Supervisor


class Nursery:
    """Workers that exist on paper: a pid each, and what waitpid will say of it."""

    def __init__(self, home: Path) -> None:
        self.now, self.started = 100.0, 0
        self.ended: dict[int, int] = {}
        self.foreign = False
        self.killed: list[tuple[int, int]] = []
        self.failing = False
        self.supervisor = Supervisor(
            home, start=self.start, alive=lambda _: self.foreign, clock=lambda: self.now, wall=lambda: self.now
        )

    def start(self, _: Path) -> int:
        if self.failing:
            raise OSError(errno.EAGAIN, "Resource temporarily unavailable")
        self.started += 1
        return self.started

    def waitpid(self, pid: int, _: int) -> tuple[int, int]:
        return (pid, self.ended[pid]) if pid in self.ended else (0, 0)

    def after(self, seconds: float, worked: bool = False) -> int:
        """Look after it so much later; how many were started by then."""
        self.now += seconds
        self.supervisor.tend(worked)
        return self.started


@pytest.fixture
def nursery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Nursery:
    made = Nursery(tmp_path)
    monkeypatch.setattr(os, "waitpid", made.waitpid)
    monkeypatch.setattr(os, "kill", lambda pid, number: made.killed.append((pid, number)))
    return made


EXIT_1, CRASH = 1 << 8, signal.SIGSEGV


def test_one_is_started_with_the_service(nursery: Nursery) -> None:
    assert [nursery.after(1), nursery.after(1), nursery.after(1, worked=True)] == [1, 1, 1]


def test_one_that_left_for_want_of_work_is_not_started_again(nursery: Nursery) -> None:
    nursery.after(1)
    nursery.ended[1] = 0
    assert [nursery.after(1), nursery.after(1000)] == [1, 1]


def test_new_rows_start_it_again(nursery: Nursery) -> None:
    nursery.after(1)
    nursery.ended[1] = 0
    nursery.after(1)
    assert nursery.after(1, worked=True) == 2


def test_rows_that_came_in_between_two_looks_are_not_forgotten(nursery: Nursery) -> None:
    nursery.after(1)
    nursery.ended[1] = 0
    nursery.after(1)
    nursery.supervisor.tend(True)
    assert nursery.after(1) == 2


@pytest.mark.parametrize("status", [EXIT_1, CRASH])
def test_one_that_crashed_is_started_again_after_a_pause(nursery: Nursery, status: int) -> None:
    nursery.after(1)
    nursery.ended[1] = status
    assert [nursery.after(1), nursery.after(1)] == [1, 2]


def test_the_pause_doubles_up_to_a_minute(nursery: Nursery) -> None:
    nursery.ended = dict.fromkeys(range(1, 100), EXIT_1)
    pauses, started, since = [], 0, nursery.now
    for _ in range(400):
        if nursery.after(1) > started:
            pauses.append(nursery.now - since)
            started, since = nursery.started, nursery.now
    assert pauses[1:4] == sorted(pauses[1:4])
    assert max(pauses) <= 62
    assert pauses[-1] >= 60


def test_one_that_lived_long_is_started_again_at_once(nursery: Nursery) -> None:
    nursery.ended = {1: EXIT_1, 2: EXIT_1}
    nursery.after(1)
    for _ in range(10):
        nursery.after(1)
    nursery.ended = {1: EXIT_1, 2: EXIT_1}
    started = nursery.started
    nursery.after(500)
    nursery.ended[nursery.started] = EXIT_1
    nursery.after(500)
    assert nursery.after(2) > started


def test_somebody_elses_worker_is_as_good(nursery: Nursery) -> None:
    nursery.foreign = True
    assert nursery.after(1) == 0
    nursery.foreign = False
    assert nursery.after(1) == 1


def test_one_that_cannot_be_started_is_tried_again(nursery: Nursery) -> None:
    nursery.failing = True
    nursery.after(1)
    nursery.failing = False
    assert [nursery.after(0.5), nursery.after(1)] == [0, 1]


def beat(home: Path, at: float) -> None:
    folder(home).mkdir(parents=True, exist_ok=True)
    (folder(home) / wire.BEAT).touch()
    os.utime(folder(home) / wire.BEAT, (at, at))


def test_one_that_hangs_is_killed(nursery: Nursery, tmp_path: Path) -> None:
    nursery.after(1)
    beat(tmp_path, nursery.now)
    nursery.after(HUNG_SECONDS - 1)
    assert nursery.killed == []
    nursery.after(2)
    assert nursery.killed == [(1, signal.SIGKILL)]


def test_an_old_beat_is_not_the_new_ones(nursery: Nursery, tmp_path: Path) -> None:
    beat(tmp_path, 0.0)
    nursery.after(HUNG_SECONDS + 1)
    nursery.after(1)
    assert nursery.killed == []


def test_a_child_that_somebody_else_buried_has_ended(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object) -> tuple[int, int]:
        raise ChildProcessError

    nursery.after(1)
    monkeypatch.setattr(os, "waitpid", gone)
    nursery.after(1)
    assert nursery.after(1, worked=True) == 2


def test_stopping_asks_it_to_leave(nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(client, "request", lambda _, message, __: said.append(message))
    nursery.supervisor.close()
    nursery.after(1)
    nursery.supervisor.close()
    assert said == [{"op": "stop"}]


def test_stopping_does_not_wait_for_one_that_does_not_listen(nursery: Nursery) -> None:
    nursery.after(1)
    nursery.supervisor.close()
    assert nursery.killed == [(1, signal.SIGTERM)]


@pytest.fixture(autouse=True)
def _counts() -> Iterator[None]:
    yield
    events.silence()
