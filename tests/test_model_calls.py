"""The service asks a model while it goes on with its work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from scripted_model import Backlog, Fixed, many, told
from stores import read

from indexer.compressors.base import Answer, Ask, Failure
from indexer.model_calls import REST, ModelCalls

DAYS = 10_000.0


@pytest.fixture
def backlog(tmp_path: Path) -> Backlog:
    return Backlog(tmp_path)


class Hand:
    """Runs what would be a thread when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []

    def run(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def finish(self) -> None:
        self.waiting.pop()()


def model_calls(backlog: Backlog, hand: Hand, model: Fixed, days: float = DAYS) -> ModelCalls:
    return ModelCalls(backlog.desk, model, days=days, wall=backlog.clock, run=hand.run)


def test_one_call_at_a_time_and_nobody_waits(backlog: Backlog) -> None:
    hand, model = Hand(), Fixed(told())
    going = model_calls(backlog, hand, model)
    assert [going.step(0.0), going.step(0.0), len(hand.waiting)] == [True, False, 1]
    hand.finish()
    assert [going.step(0.0), backlog.states, len(model.asked)] == [True, {"made": 1}, 1]


def test_all_turns_are_asked_about_in_the_end(backlog: Backlog) -> None:
    hand = Hand()
    going = model_calls(backlog, hand, Fixed(told()))
    while going.step(0.0):
        if hand.waiting:
            hand.finish()
    assert backlog.states == {"made": 3}


def test_old_turns_are_left_to_who_asks_for_them(backlog: Backlog) -> None:
    backlog.clock.now += 2 * 86_400_000
    hand = Hand()
    assert [model_calls(backlog, hand, Fixed(told()), days=1.0).step(0.0), hand.waiting] == [False, []]


def test_what_is_finished_later_is_looked_for_after_a_rest(backlog: Backlog) -> None:
    hand = Hand()
    going = model_calls(backlog, hand, Fixed(told()))
    while going.step(0.0):
        if hand.waiting:
            hand.finish()
    many("later", [7, 8]).write(backlog.folder / "projects")
    read(backlog.conn, backlog.folder / "projects")
    backlog.compress()
    assert [going.step(REST - 1), going.step(REST + 1)] == [False, True]


def test_a_model_that_breaks_is_a_lost_answer(backlog: Backlog) -> None:
    class Broken(Fixed):
        def ask(self, ask: Ask) -> Answer:
            raise ZeroDivisionError

    hand = Hand()
    going = model_calls(backlog, hand, Broken())
    going.step(0.0)
    with pytest.raises(ZeroDivisionError):
        hand.finish()
    going.step(0.0)
    assert backlog.one("SELECT error FROM model_turns") == "the call ended with an error of its own"


def test_the_real_thread(backlog: Backlog) -> None:
    came = threading.Event()

    class Slow(Fixed):
        def ask(self, ask: Ask) -> Answer:
            came.wait(10)
            return Failure("rejected", "no")

    going = ModelCalls(backlog.desk, Slow(), days=DAYS, wall=backlog.clock)
    assert [going.step(0.0), going.step(0.0)] == [True, False]
    came.set()
    for thread in [one for one in threading.enumerate() if one.name == "model"]:
        thread.join(10)
    assert [going.step(0.0), backlog.states] == [True, {"failed": 1}]
