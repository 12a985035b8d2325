"""Whoever may write takes a batch; who may not is passed over, and waited for."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from indexer.errors import Busy, IndexerError, UsageError
from indexer.exchange import transfer
from indexer.exchange.reading import Batch
from indexer.exchange.take_in import Taken
from indexer.exchange.transfer import as_answer, as_request, from_answer, from_request, run

BATCHES = [Batch("abc", [(1, {"kind": "session"})], []), Batch("abc", [(2, {"kind": "record"})], [(3, "not JSON")])]


@dataclass
class Way:
    """A way that is busy so many times before it works."""

    busy: int = 0
    seen: list[Batch] = field(default_factory=list)
    faults: tuple[tuple[int, str], ...] = ()

    def __call__(self, batch: Batch) -> Taken:
        if self.busy:
            self.busy -= 1
            raise Busy("somebody writes", "")
        self.seen.append(batch)
        return Taken(1, 2, 3, 4, 5, 6, 7, self.faults)


@dataclass
class Clock:
    """Time passes with every sleep."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_what_came_of_all_batches_is_added_up() -> None:
    report = run(BATCHES, [Way()])
    assert report[:7] == (2, 4, 6, 8, 10, 12, 14)
    assert (report.faulty, report.faults) == (1, ((3, "not JSON"),))


def test_a_way_that_is_closed_is_passed_over() -> None:
    closed, open_ = Way(busy=99), Way()
    run(BATCHES, [closed, open_])
    assert (closed.seen, open_.seen) == ([], BATCHES)


def test_the_way_that_worked_is_tried_first() -> None:
    closed = Way(busy=99)
    run(BATCHES, [closed, Way()])
    assert closed.busy == 98


def test_a_way_that_closes_meanwhile_is_left_for_another() -> None:
    first, second = Way(), Way()
    first_batch = iter([False, True])

    def closing(batch: Batch) -> Taken:
        if next(first_batch):
            raise Busy("it has stopped", "")
        return first(batch)

    run(BATCHES, [closing, second])
    assert (len(first.seen), len(second.seen)) == (1, 1)


def test_while_nobody_can_write_we_wait_and_say_why_once() -> None:
    told: list[str] = []
    clock = Clock()
    run(BATCHES[:1], [Way(busy=5)], waiting=told.append, clock=clock, sleep=clock.sleep)
    assert (told, clock.now) == (["somebody writes"], 5 * transfer.BETWEEN)


def test_not_for_ever() -> None:
    clock = Clock()
    with pytest.raises(Busy, match="somebody writes"):
        run(BATCHES, [Way(busy=10**6)], clock=clock, sleep=clock.sleep)
    assert transfer.PATIENCE <= clock.now < transfer.PATIENCE + 1


def test_another_error_ends_the_import() -> None:
    def refuses(batch: Batch) -> Taken:
        raise UsageError("an old service", "")

    with pytest.raises(UsageError):
        run(BATCHES, [refuses])


def test_a_retryable_error_of_any_kind_is_waited_out() -> None:
    clock = Clock()
    errors = [IndexerError("busy", "")]
    errors[0].retryable = True
    way = Way()

    def answers(batch: Batch) -> Taken:
        if errors:
            raise errors.pop()
        return way(batch)

    run(BATCHES, [answers], clock=clock, sleep=clock.sleep)
    assert way.seen == BATCHES


def test_only_the_first_faults_are_named() -> None:
    many = Batch("abc", [], [(number, "not JSON") for number in range(50)])
    report = run([many], [Way(faults=((99, "x"),))])
    assert (report.faulty, [number for number, _ in report.faults]) == (51, list(range(transfer.NAMED)))


def test_progress_is_told_in_lines() -> None:
    told: list[int] = []
    run(BATCHES, [Way()], tell=told.append)
    assert told == [1, 3]


def test_a_batch_goes_over_the_socket_and_back() -> None:
    asked = as_request(BATCHES[0])
    asked["lines"] = [list(line) for line in asked["lines"]]
    assert from_request(asked) == ("abc", BATCHES[0].lines)
    taken = Taken(1, 2, 3, 4, 5, 6, 7, ((8, "x"),))
    assert from_answer(as_answer(taken) | {"faults": [[8, "x"]]}) == taken


@pytest.mark.parametrize(
    "asked",
    [{}, {"device": 1, "lines": []}, {"device": "a", "lines": [1]}, {"device": "a", "lines": [["1", {}]]}],
    ids=str,
)
def test_what_is_no_batch_is_refused(asked: dict[str, object]) -> None:
    with pytest.raises(IndexerError):
        from_request(asked)
