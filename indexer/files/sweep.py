"""The truth behind the hints: compares what is on disk with what was read to its end.

    full   scandir and stat of everything      324 ms CPU for 50,000 files (tailing.md 1g)
    hot    stat of the 200 files written last, of their folders and the roots, and of 200 more folders in
           turn, and into those that changed   3 ms; all folders while hints cannot be had   10 ms
    look   single paths that a hint named

A file counts as unchanged when its stat equals the one it was *settled* with: the caller settles a
file once everything in it is committed. What was never settled comes again with every sweep, so a
failed turn needs no queue. Racy rule: a file settled within 2 s of its own last change comes once more
though its stat is equal, since file clocks are too coarse to tell (4 ms on ext4, 2 s on some).

`missed` counts changes older than 5 s that no hint announced: it tells a deaf watcher from a quiet
folder, and is 0 in the first sweep, when everything was changed while nobody looked. In that sweep
files beside a transcript are taken for known, too: the client writes them with its first lines.
"""

from __future__ import annotations

import heapq
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from indexer.files.discover import Found, describe, places
from indexer.files.walk import SIDE_SUFFIX, Folder, Place, Stat, Walk, is_below, locate, transcript_of
from indexer.sources.base import Source

HOT_FILES = 200
IN_TURN = 200
"""Folders of those without hot files that one hot sweep looks at. 2,000 at once are 0.15 % of a core every
10 s; what is new in a folder that rests is hinted at, and the full sweep's to find if it is not."""
RACY_NS = 2_000_000_000
MISSED_NS = 5_000_000_000
BREATH = 1000
MOST = 10_000
"""Changes that a sweep hands over at once: each takes 1 KB until it is read, and 50,000 leave holes of 30 MB."""
UNKNOWN = -1


class Swept(NamedTuple):
    """What a sweep or a look found.

    changed:     transcripts to read, newest first, no more than 10,000.
    left:        how many more differ, and their bytes: they come with the next full sweep.
    beside:      transcripts, settled before, beside which a `meta.json` has appeared or changed.
    gone:        paths settled before that no longer exist.
    missed:      how many of `changed` a hint should have announced.
    directories: all folders known; linked: those outside the roots that links led to.
    problems:    path -> why it could not be looked at.
    cpu:         seconds of this thread's time.
    """

    changed: list[Found]
    beside: list[Found]
    gone: list[str]
    missed: int
    directories: Collection[str]
    linked: tuple[str, ...]
    problems: Mapping[str, str]
    cpu: float
    left: tuple[int, int] = (0, 0)


@dataclass
class _Result:
    count_missed: bool
    beside: list[Found] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)
    missed: int = 0
    left: int = 0
    left_bytes: int = 0
    _newest: list[tuple[bool, int, int, Found]] = field(default_factory=list)

    def found(self, found: Found, again: bool) -> Found | None:
        """Keep it if it is among the newest; gives the one that has to make room for it, or itself, if that
        was never told of. What was told of before stands behind all others: if it cannot be read, it would
        keep them out for ever."""
        entry = (not again, found.stat.mtime_ns, -len(self._newest) - self.left, found)
        if len(self._newest) < MOST:
            heapq.heappush(self._newest, entry)
            return None
        fresh, _, _, loser = heapq.heappushpop(self._newest, entry)
        self.left += 1
        self.left_bytes += loser.stat.size
        return loser if fresh else None

    @property
    def changed(self) -> list[Found]:
        """What is kept, newest first, those of one time as they were met."""
        return [found for *_, found in sorted(self._newest, key=lambda one: (-one[1], -one[2]))]


class Sweeper:
    """Remembers what was read of which file, and finds what differs. For one thread."""

    def __init__(
        self,
        roots: Sequence[str],
        source: Source,
        settled: Mapping[str, tuple[int, ...]],
        wall: Callable[[], int] = time.time_ns,
    ) -> None:
        """`settled`: what earlier runs read to its end, as the fields of Stat. `wall`: as time.time_ns."""
        self._roots = roots
        self._source = source
        self._wall = wall
        # 64 bits of a stat in place of it: a fifth of the memory at 100,000 files.
        self._settled = {path: hash(stat) for path, stat in settled.items()}
        self._reported: set[str] = set()
        self._racy: set[str] = set()
        self._sides: set[str] = set()
        self._hot: dict[str, None] = {}
        self._directories: dict[str, int] = {}
        self._turn = 0
        self._within = places(roots)
        self._outside: tuple[Place, ...] = ()
        self._first = True

    def settle(self, path: str, stat: Stat) -> bool:
        """All of the file that `stat` shows (taken before reading) is read and committed. Says whether that is
        news."""
        news = self._settled.get(path) != hash(stat)
        self._settled[path] = hash(stat)
        self._reported.discard(path)
        if self._is_recent(max(stat.mtime_ns, stat.ctime_ns)):
            self._racy.add(path)
        return news

    def doubt(self, path: str) -> None:
        """The file has to be read again, whatever its stat says."""
        self._settled.pop(path, None)

    def full(self, breathe: Callable[[], None] | None = None) -> Swept:
        """Look at everything. `breathe` is called every thousand files, so that hints can be served."""
        began, breaks, files = time.thread_time(), 0.0, 0
        self._within = places(self._roots)
        walk, before = Walk(self._within), set(self._settled)
        result = _Result(count_missed=not self._first)
        newest: list[tuple[int, str]] = []
        for folder in walk.run(self._within):
            self._compare(folder, result)
            _keep_newest(newest, folder)
            before.difference_update(path for path, _ in folder.files)
            files += len(folder.files)
            if breathe and files >= BREATH:
                files, paused = 0, time.thread_time()
                breathe()
                breaks += time.thread_time() - paused
        self._first = False
        self._outside = tuple(walk.outside)
        self._directories = self._trusted(walk.directories)
        self._hot = {path: None for _, path in sorted(newest)}
        self._drop_gone(before, walk, result)
        return self._swept(result, walk, time.thread_time() - began - breaks)

    def hot(self, *, thorough: bool = False) -> Swept:
        """Look at the files written last, and into the folders that changed: of all if `thorough`, else of
        those that are hot and some more."""
        began = time.thread_time()
        walk, result = Walk(self._everywhere, self._directories), _Result(count_missed=True)
        # Folders first: a file met with its folder is not looked at again, one met alone has no side files.
        folders = self._directories if thorough else self._folders_in_turn()
        for folder in walk.run(self._places_of([*self._changed_folders(folders), *self._changed_files()])):
            self._compare(folder, result)
        self._directories |= self._trusted(walk.directories)
        self._drop_gone(walk.gone, walk, result)
        return self._swept(result, walk, time.thread_time() - began)

    def look(self, paths: Iterable[str]) -> Swept:
        """Look at what hints named: files, and folders with all below them."""
        began = time.thread_time()
        asked = set(paths)
        besides = {transcript_of(path) for path in asked if path.endswith(SIDE_SUFFIX)}
        self._sides -= besides
        walk, result = Walk(self._everywhere), _Result(count_missed=False)
        for folder in walk.run(self._places_of(sorted(asked | besides))):
            sides = [path for path, _ in folder.files if path in besides]
            self._compare(folder._replace(sides=folder.sides + sides), result)
        self._directories |= self._trusted(walk.directories)
        self._drop_gone(self._settled_below(walk.gone), walk, result)
        return self._swept(result, walk, time.thread_time() - began)

    @property
    def _everywhere(self) -> tuple[Place, ...]:
        return (*self._within, *self._outside)

    def _places_of(self, paths: Iterable[str]) -> Iterator[Place]:
        everywhere = self._everywhere
        return (place for path in paths if (place := locate(path, everywhere)))

    def _compare(self, folder: Folder, result: _Result) -> None:
        """Sort out what differs in one folder."""
        fresh: list[tuple[str, Stat]] = []
        beside: list[tuple[str, Stat]] = []
        sides = set(folder.sides).difference(self._sides)
        for path, stat in folder.files:
            if self._differs(path, stat):
                fresh.append((path, stat))
            elif path in sides:
                beside.append((path, stat))
        self._sides.update(sides)
        if fresh:
            self._report(folder._replace(files=fresh), result)
        if beside and not self._first:
            result.beside += describe(folder._replace(files=beside), self._source)

    def _report(self, fresh: Folder, result: _Result) -> None:
        for found in describe(fresh, self._source):
            path, stat = found.file.path, found.stat
            announced = path in self._reported or self._settled.get(path) == hash(stat)
            if result.count_missed and not announced:
                result.missed += self._wall() - stat.ctime_ns > MISSED_NS
            self._racy.discard(path)
            loser = result.found(found, again=announced)
            self._reported.add(path)
            self._keep_hot(path)
            if loser:
                self._reported.discard(loser.file.path)

    def _keep_hot(self, path: str) -> None:
        self._hot.pop(path, None)
        self._hot[path] = None
        if len(self._hot) > HOT_FILES:
            del self._hot[next(iter(self._hot))]

    def _changed_files(self) -> list[str]:
        """Of the hot ones. A stat each and no more: nearly always there are none."""
        changed = []
        for path in self._hot:
            try:
                differs = self._differs(path, Stat.of(os.stat(path, follow_symlinks=False)))
            except OSError:
                differs = True
            if differs:
                changed.append(path)
        return changed

    def _differs(self, path: str, stat: Stat) -> bool:
        return self._settled.get(path) != hash(stat) or path in self._racy

    def _folders_in_turn(self) -> Collection[str]:
        """The roots, the folders of hot files, those that changed a moment ago, and the next of all others."""
        if len(self._directories) <= IN_TURN:
            return self._directories
        some = dict.fromkeys(at.path for at in self._everywhere)
        some |= dict.fromkeys(map(os.path.dirname, self._hot))
        some |= dict.fromkeys(path for path, mtime_ns in self._directories.items() if mtime_ns == UNKNOWN)
        begin, self._turn = self._turn, self._turn + IN_TURN
        if self._turn >= len(self._directories):
            self._turn = 0
        return some | dict.fromkeys(islice(self._directories, begin, begin + IN_TURN))

    def _changed_folders(self, folders: Iterable[str]) -> list[str]:
        changed = [at.path for at in self._everywhere if at.path not in self._directories]
        for path in [path for path in folders if path in self._directories]:
            try:
                if os.stat(path).st_mtime_ns != self._directories[path]:
                    changed.append(path)
            except OSError:  # gone, or no longer to be seen: the next full sweep says which
                del self._directories[path]
        return changed

    def _settled_below(self, gone: Collection[str]) -> set[str]:
        folders = [path for path in gone if path not in self._settled]
        if not folders:
            return set(gone)
        return {path for path in self._settled if path in gone or any(is_below(path, at) for at in folders)}

    def _drop_gone(self, candidates: Iterable[str], walk: Walk, result: _Result) -> None:
        """Keep those that are really gone: not unreadable, not under roots of other runs, and not
        moved about under our eyes."""
        everywhere = self._everywhere
        for path in sorted(self._settled.keys() & set(candidates)):
            unsure = any(is_below(path, problem) for problem in walk.problems)
            if not unsure and locate(path, everywhere) and not os.path.lexists(path):
                del self._settled[path]
                self._hot.pop(path, None)
                result.gone.append(path)

    def _trusted(self, directories: Mapping[str, int]) -> dict[str, int]:
        """Folder times to compare with; one that changed just now may change again unseen."""
        return {path: UNKNOWN if self._is_recent(at) else at for path, at in directories.items()}

    def _is_recent(self, at_ns: int) -> bool:
        return abs(self._wall() - at_ns) < RACY_NS

    def _swept(self, result: _Result, walk: Walk, cpu: float) -> Swept:
        return Swept(
            result.changed,
            result.beside,
            result.gone,
            result.missed,
            tuple(self._directories),
            tuple(place.path for place in self._outside),
            walk.problems,
            cpu,
            (result.left, result.left_bytes),
        )


def _keep_newest(newest: list[tuple[int, str]], folder: Folder) -> None:
    for path, stat in folder.files:
        if len(newest) < HOT_FILES:
            heapq.heappush(newest, (stat.mtime_ns, path))
        elif stat.mtime_ns > newest[0][0]:
            heapq.heapreplace(newest, (stat.mtime_ns, path))
