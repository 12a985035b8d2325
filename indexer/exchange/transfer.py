"""Carries an import out: its batches go one by one to whoever may write, and what came of them is added up.

The running service takes a batch between two pieces of its own work; with none running, this process has the
right to write for as long as the import lasts. Neither is decided once and for all: a service that starts or stops
meanwhile, or a rescan that is on, only means that the next batch finds another way, after a wait if need be. What
was taken in stays, whatever ends the import: begun again, it passes over what is known.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from indexer.errors import Busy, IndexerError
from indexer.exchange.reading import Batch
from indexer.exchange.take_in import Taken

NAMED = 20
"""Faulty lines that a report names one by one."""
PATIENCE = 600.0
"""Seconds that another writer is waited for."""
BETWEEN = 0.5
_COUNTS = ("prompts", "tool_uses", "messages", "memories", "known", "forgotten", "excluded")


class Report(NamedTuple):
    """What an import came to. Counts as in Taken; faulty: lines that were not taken, of which `faults` names the
    first."""

    prompts: int
    tool_uses: int
    messages: int
    memories: int
    known: int
    forgotten: int
    excluded: int
    faulty: int
    faults: tuple[tuple[int, str], ...]
    seconds: float


class Way(Protocol):
    """A way for batches into the memory."""

    def __call__(self, batch: Batch) -> Taken:
        """Have a batch taken in. Raises Busy when this way is none, or none any more."""
        ...


def run(
    batches: Iterable[Batch],
    ways: Iterable[Way],
    *,
    tell: Callable[[int], None] = lambda lines: None,
    waiting: Callable[[str], None] = lambda why: None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Take all batches in. ways: tried in this order, for each batch anew, the one that worked last first.

    tell: hears of the lines that are done. waiting: why we wait, said once a wait. Raises what the batches
    raise, and Busy when nobody could write for `PATIENCE` seconds."""
    count: Counter[str] = Counter()
    faults: list[tuple[int, str]] = []
    known, began, lines = list(ways), clock(), 0
    for batch in batches:
        taken = _through(batch, known, waiting, clock, sleep)
        count.update({name: getattr(taken, name) for name in _COUNTS})
        wrong = [*batch.faults, *taken.faults]
        count["faulty"] += len(wrong)
        faults += sorted(wrong)[: max(0, NAMED - len(faults))]
        lines += len(batch.lines) + len(batch.faults)
        tell(lines)
    counts = {name: count[name] for name in (*_COUNTS, "faulty")}
    return Report(**counts, faults=tuple(faults), seconds=clock() - began)


def _through(
    batch: Batch,
    ways: list[Way],
    waiting: Callable[[str], None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
) -> Taken:
    until, told = clock() + PATIENCE, False
    while True:
        busy = Busy("nobody can write", "try again in a moment")
        for way in list(ways):
            try:
                taken = way(batch)
            except IndexerError as error:
                if not error.retryable:
                    raise
                busy = Busy(error.message, error.hint)
                continue
            ways.remove(way)
            ways.insert(0, way)
            return taken
        if clock() >= until:
            raise busy
        if not told:
            waiting(busy.message)
            told = True
        sleep(BETWEEN)


def as_request(batch: Batch) -> dict[str, Any]:
    """A batch as the running service is asked to take it."""
    return {"device": batch.device, "lines": batch.lines}


def from_request(asked: Mapping[str, Any]) -> tuple[str, list[tuple[int, object]]]:
    """Device and lines of a request. Raises IndexerError for anything else."""
    device, lines = asked.get("device"), asked.get("lines")
    if not isinstance(device, str) or not isinstance(lines, list):
        raise IndexerError("this is no batch of an import", "")
    pairs = [(one[0], one[1]) for one in lines if isinstance(one, list) and len(one) == 2 and type(one[0]) is int]
    if len(pairs) != len(lines):
        raise IndexerError("this is no batch of an import", "")
    return device, pairs


def as_answer(taken: Taken) -> dict[str, Any]:
    """What a batch came to, as the service answers."""
    return taken._asdict()


def from_answer(said: Mapping[str, Any]) -> Taken:
    """What the service answered."""
    faults = tuple((int(number), str(reason)) for number, reason in said.get("faults") or ())
    return Taken(**{name: int(said.get(name) or 0) for name in _COUNTS}, faults=faults)
