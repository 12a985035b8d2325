"""What the running service does for commands that write memory: compress, dedup, and questions to a model.

The service's own thread carries it out (control.py), so a command needs no lock. A model is asked by the
command's own process, which waits for the answer; the service hands the question out and takes the answer in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from indexer import compress
from indexer.compressors.base import Compressor, Failure, Told
from indexer.control import Command
from indexer.errors import UsageError
from indexer.model_calls import ModelCalls
from indexer.redact import Redactor
from indexer.refine import Desk, Wanted, as_json, job_of
from indexer.store import duplicates, recall
from indexer.store.connection import Connection, transaction, translated

Binder: TypeAlias = "Callable[[Connection, Redactor, Callable[[float], None]], ControlCommands]"
"""Binds the commands to a service: to its connection, its redactor, and what tells that a step takes long."""
COMPRESS_SECONDS = 600.0
"""What compressing all that is pending may take before the service manager doubts the service."""


class ControlCommands:
    """commands: by name, for control.Server. busy: tells the service manager that a step may take long."""

    def __init__(
        self,
        conn: Connection,
        compressor: Compressor,
        desk: Desk,
        *,
        merge: bool,
        model_calls: ModelCalls | None = None,
        busy: Callable[[float], None] = lambda seconds: None,
    ) -> None:
        self._conn, self._compressor, self._desk, self._merge = conn, compressor, desk, merge
        self._model_calls, self._busy = model_calls, busy
        self.commands: dict[str, Command] = {
            "compress": self._compress,
            "dedup.scan": self._scan,
            "dedup.decide": self._decide,
            "model.start": self._start,
            "model.take": self._take,
            "model.give": self._give,
        }

    def step(self, now: float) -> bool:
        """Have the model that the settings name asked, if they name one; says whether anything was done."""
        return self._model_calls is not None and self._model_calls.step(now)

    def _compress(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        self._busy(COMPRESS_SECONDS)
        total = compress.Done(0, 0, 0, 0)
        with translated():
            for done in compress.everything(self._conn, self._compressor, merge=self._merge):
                total = compress.Done(*map(sum, zip(total, done, strict=True)))
        return total._asdict()

    def _scan(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        self._busy(COMPRESS_SECONDS)
        with translated():
            return {"pairs": scan(self._conn)}

    def _decide(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        first, second, merge = asked.get("first"), asked.get("second"), asked.get("merge")
        if not isinstance(first, int) or not isinstance(second, int) or not isinstance(merge, bool):
            raise UsageError("two observations and a decision are needed", "")
        with translated():
            return {"known": decide(self._conn, first, second, merge=merge)}

    def _start(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        with translated(), _sound():
            self._desk.start(Wanted(*asked["wanted"]), by_hand=True, failed=asked.get("failed") is True)
        return {}

    def _take(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        with translated(), _sound():
            return as_json(self._desk.take(Wanted(*asked["wanted"])))

    def _give(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        with translated(), _sound():
            job, answer = job_of(asked["job"]), asked["answer"]
            return self._desk.give(job, Told(*answer) if len(answer) == 2 else Failure(*answer))._asdict()


@contextmanager
def _sound() -> Iterator[None]:
    """Refuses a request of the wrong shape."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"the request is not understood: {type(error).__name__}", "") from error


def scan(conn: Connection) -> int:
    """Compare the titles of every project; returns how many pairs are alike."""
    with transaction(conn):
        return sum(compress.propose(conn, key) for key in recall.project_keys(conn))


def decide(conn: Connection, first: int, second: int, *, merge: bool) -> bool:
    """Keep what a person decided on a pair of observations; False if they are no candidates."""
    with transaction(conn):
        return duplicates.decide(conn, first, second, merge=merge)
