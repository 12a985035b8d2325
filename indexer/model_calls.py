"""Has a model asked while the service goes on: one call at a time, in a thread that touches no database.

The service's own thread takes a turn, hands the question over, and keeps the answer when it is there; a
stop waits for no call, whose attempt and cost then stand as they were set aside. Only what is recent is asked
about by itself; a backlog is for `compress --provider`, by whoever pays for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from indexer.compressors.base import Answer, Ask, Failure, Model
from indexer.refine import Desk, Job, Stop, Wanted

REST = 30.0
"""Seconds between two looks for something to ask, when there was nothing."""


class ModelCalls:
    """days: how old a turn may be. run: starts a thread; wall: epoch milliseconds; clock: monotonic seconds."""

    def __init__(
        self,
        desk: Desk,
        model: Model,
        *,
        days: float,
        wall: Callable[[], int],
        run: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._desk, self._model, self._days, self._wall = desk, model, days, wall
        self._run = run or _in_thread
        self._job: Job | None = None
        self._answer: Answer | None = None
        self._next = float("-inf")
        self._since: int | None = None

    def step(self, now: float) -> bool:
        """Keep an answer that has come, and ask the next question; says whether anything was done."""
        if self._job is not None:
            if self._answer is None:
                return False
            self._desk.give(self._job, self._answer)
            self._job = self._answer = None
            return True
        if now < self._next:
            return False
        job = self._desk.take(self._wanted())
        if isinstance(job, Stop):
            self._next, self._since = now + REST, None
            return False
        self._job = job
        self._run(lambda: self._fetch(job.ask))
        return True

    def _wanted(self) -> Wanted:
        """Looks at everything anew after each rest: what was finished meanwhile is recent too."""
        fresh = self._since is None
        if self._since is None:
            self._since = self._wall() - int(self._days * 86_400_000)
        wanted = Wanted(self._model.name, self._model.overhead, self._since)
        if fresh:
            self._desk.start(wanted)
        return wanted

    def _fetch(self, ask: Ask) -> None:
        answer: Answer = Failure("lost", "the call ended with an error of its own", tokens=None)
        try:
            answer = self._model.ask(ask)
        finally:
            self._answer = answer


def _in_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="model", daemon=True).start()
