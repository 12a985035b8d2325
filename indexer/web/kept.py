"""Answers that hold until the memory changes, so that the next page of the same thing need not be found anew.

What is kept is worth its room only where finding takes most of a page's time: the counts of a year (150 to 250 ms
on 500 MB of transcripts), the course of a session (60 ms of 80 for one of 2,000 steps). Whatever is stored changes
the database's files, and with them the stamp under which an answer is kept; those of another stamp go at once, so
that nothing forgotten stays here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeAlias, TypeVar

from indexer.config import Config
from indexer.store.connection import database_path

T = TypeVar("T")
Stamp: TypeAlias = tuple[object, ...]


class Kept(Generic[T]):
    """The last few answers of one kind of question."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: dict[Hashable, T] = {}
        self._stamp: Stamp = ()
        self._lock = threading.Lock()

    def get(self, question: Hashable, now: Stamp, find: Callable[[], T]) -> T:
        """The answer, found if it is not known to hold. Two that ask at once may both find it."""
        with self._lock:
            if now != self._stamp:
                self._found.clear()
                self._stamp = now
            elif question in self._found:
                return self._found[question]
        made = find()
        with self._lock:
            if now == self._stamp:
                self._found[question] = made
                while len(self._found) > self._most:
                    del self._found[next(iter(self._found))]
        return made


def stamp(settings: Config) -> Stamp:
    """What changes whenever something is stored: inode, time and size of the database's file and of its log.

    To be taken before the question is asked: what is stored meanwhile then makes it another."""
    path = database_path(settings.home)
    found: list[object] = [str(path)]
    for file in (path, path.with_name(path.name + "-wal")):
        try:
            info = file.stat()
        except OSError:
            continue
        found += [info.st_ino, info.st_mtime_ns, info.st_size]
    return tuple(found)
