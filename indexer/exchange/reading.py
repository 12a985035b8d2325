"""Reads an export line by line within bounds, and hands it on in batches that stand for themselves.

A line is at most 8 MiB (what we write is at most half of that: exports.LONGEST), of at most 250,000 parts (lists
and objects cost 30 times their bytes), nested at most 24 deep, and JSON. One that is not is passed over and named
by its number: a hostile file can make us read it once, nothing else. A batch holds some 1 MiB, and again the
`session` line of every session that it has lines of, so that it can be taken in by anybody at any time.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeAlias

import orjson

from indexer.errors import NotFound, UsageError
from indexer.exchange.shape import Faulty, check_header, too_deep

LONGEST, LONGEST_SESSION = 8 << 20, 2 << 20
PARTS = 250_000
BATCH_BYTES, BATCH_LINES = 1 << 20, 1_000
REMEMBERED = 8 << 20
"""Bytes of sessions whose lines may still come: an export has those of a session together."""

Numbered: TypeAlias = tuple[int, object]


class Fault(NamedTuple):
    """Why a line was not taken."""

    reason: str


class Batch(NamedTuple):
    """Lines to be taken in together: (line number, JSON value). faults: lines that are none."""

    device: str
    lines: list[Numbered]
    faults: list[tuple[int, str]]


def parsed(path: Path) -> Iterator[tuple[int, int, object]]:
    """(line number, bytes, JSON value or Fault) of each line that is not blank.

    Raises NotFound, UsageError for what is no file."""
    with _open(path) as stream:
        number = 0
        while line := stream.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST and not line.endswith(b"\n"):
                while (rest := stream.readline(LONGEST)) and not rest.endswith(b"\n"):
                    pass
                yield number, LONGEST, Fault(f"longer than {LONGEST >> 20} MiB")
            elif line.strip():
                yield number, len(line), _value(line)


def _value(line: bytes) -> object:
    if len(line) > PARTS and line.count(b"[") + line.count(b"{") > PARTS:
        return Fault(f"of more than {PARTS:,} parts")
    try:
        value = orjson.loads(line)
    except (orjson.JSONDecodeError, RecursionError):
        return Fault("not JSON")
    return Fault("nested too deep") if too_deep(value) else value


def _open(path: Path) -> BinaryIO:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise NotFound(f"there is no {path}", "give the path of an export, or of a copy of index.db") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise UsageError(f"{path} is not a file", "give the path of an export, or of a copy of index.db")
    return os.fdopen(fd, "rb", buffering=1 << 20)


def numbered(values: Iterable[object]) -> Iterator[tuple[int, int, object]]:
    """As `parsed`, of lines that were never written: their size is a guess."""
    for number, value in enumerate(values, 1):
        yield number, _size(value), value


def _size(value: object) -> int:
    """About the bytes of a line: those of its texts."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(_size, value.values())) + 10 * len(value)
    if isinstance(value, list):
        return sum(map(_size, value))
    return 8


def batches(lines: Iterable[tuple[int, int, object]], name: str) -> Iterator[Batch]:
    """Lines as batches. name: of the export, for an error. Raises UsageError for what is no export at all."""
    made = _Batches(name)
    for number, size, value in lines:
        yield from made.add(number, size, value)
    yield from made.rest()


class _Batches:
    """The batch in hand, and what is known of the sessions whose lines may still come."""

    def __init__(self, name: str) -> None:
        self._name, self._device = name, ""
        self._sessions: OrderedDict[object, tuple[int, Numbered]] = OrderedDict()
        self._held = 0
        self._told: set[object] = set()
        self._batch = Batch("", [], [])
        self._bytes = 0

    def add(self, number: int, size: int, value: object) -> Iterator[Batch]:
        """Take a line; yields a batch that is full."""
        if not self._device or (isinstance(value, dict) and value.get("kind") == "header"):
            yield from self._cut()
            self._begin(number, value)
            return
        if self._bytes + size > BATCH_BYTES or len(self._batch.lines) + len(self._batch.faults) >= BATCH_LINES:
            yield from self._cut()
        if isinstance(value, dict) and value.get("kind") == "session" and size > LONGEST_SESSION:
            value = Fault(f"a session's line longer than {LONGEST_SESSION >> 20} MiB")
        if isinstance(value, Fault):
            self._batch.faults.append((number, value.reason))
        else:
            self._put(number, size, value)
        self._bytes += size

    def _begin(self, number: int, value: object) -> None:
        """A header: those of a later export in the same file count for what follows."""
        try:
            self._device = check_header(value)
        except Faulty as fault:
            raise UsageError(
                f"{self._name}, line {number}: {fault}",
                "`transcript-indexer export --output FILE` writes what can be imported",
            ) from None
        self._batch = Batch(self._device, [], [])

    def _put(self, number: int, size: int, value: object) -> None:
        session = value.get("session") if isinstance(value, dict) else None
        if not isinstance(session, str):
            self._batch.lines.append((number, value))
            return
        if isinstance(value, dict) and value.get("kind") == "session":
            self._remember(session, size, (number, value))
        elif session not in self._told and session in self._sessions:
            self._batch.lines.extend([self._sessions[session][1], (number, value)])
        else:
            self._batch.lines.append((number, value))
        self._told.add(session)

    def _remember(self, session: str, size: int, line: Numbered) -> None:
        self._batch.lines.append(line)
        self._held += size - self._sessions.pop(session, (0, line))[0]
        self._sessions[session] = size, line
        while self._held > REMEMBERED:
            _, (gone, _) = self._sessions.popitem(last=False)
            self._held -= gone

    def _cut(self) -> Iterator[Batch]:
        if self._batch.lines or self._batch.faults:
            yield self._batch
        self._batch, self._bytes = Batch(self._device, [], []), 0
        self._told.clear()

    def rest(self) -> Iterator[Batch]:
        """What is left at the end. Raises UsageError if there was no line at all."""
        if not self._device:
            raise UsageError(f"{self._name} is empty", "`transcript-indexer export --output FILE` writes what can be")
        yield from self._cut()
