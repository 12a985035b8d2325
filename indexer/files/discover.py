"""Finds the transcripts under the roots: which files there are, whose they are, what stat says of them.

A root is the client's `projects` folder itself; it may be missing now and appear later, be a link, or
lie inside another root. The walk is `walk.Walk`; here its files are given to the source, which reads
session, agent and folder from the path below the root. Paths that are no UTF-8 keep their bytes as
surrogate escapes: they must open the file again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from indexer.files.walk import Folder, Place, Stat, Walk, locate, transcript_of
from indexer.records import SourceFile
from indexer.sources.base import Source


class Found(NamedTuple):
    """A transcript: `file.path` is real; `root` is the real root it was found under."""

    file: SourceFile
    stat: Stat
    root: str


class Survey(NamedTuple):
    """What one look found. Deterministic: folders sorted, main files before agents' within each.

    directories: real path -> mtime_ns, as of before it was listed (so a change meanwhile shows next time).
    outside:     folders outside the roots that links led to; a watcher has to watch them too.
    problems:    (path, reason) of what could not be read. Missing roots are none.
    gone:        paths asked for that do not exist (only from `look`).
    """

    found: tuple[Found, ...]
    directories: Mapping[str, int]
    outside: tuple[Place, ...]
    problems: tuple[tuple[str, str], ...]
    gone: tuple[str, ...] = ()


def default_roots(env: Mapping[str, str]) -> tuple[str, ...]:
    """Where Claude Code keeps transcripts, existing or not: `projects` below each folder of
    `CLAUDE_CONFIG_DIR` (separated by commas or the path separator), else below `~/.claude` and
    `$XDG_CONFIG_HOME/claude`."""
    home = env.get("HOME") or os.path.expanduser("~")
    given = re.split(f"[,{re.escape(os.pathsep)}]", env.get("CLAUDE_CONFIG_DIR", ""))
    folders = [_with_home(folder.strip(), home) for folder in given if folder.strip()]
    if not folders:
        config = env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
        folders = [os.path.join(home, ".claude"), os.path.join(config, "claude")]
    return tuple(dict.fromkeys(os.path.join(os.path.abspath(folder), "projects") for folder in folders))


def places(roots: Iterable[str]) -> tuple[Place, ...]:
    """The roots as places to walk: real, each once, an inner root before the one around it, so that a
    file below both belongs to the inner one whatever order they are given in."""
    real = dict.fromkeys(os.path.realpath(root) for root in roots)
    deepest_first = sorted(real, key=lambda path: -path.count(os.sep))
    return tuple(Place(path, path, path) for path in deepest_first)


def discover(roots: Sequence[str], source: Source) -> Iterator[Found]:
    """Every transcript below the roots, in a survey's order, as it is found."""
    start = places(roots)
    for folder in Walk(start).run(start):
        yield from describe(folder, source)


def survey(roots: Sequence[str], source: Source) -> Survey:
    """Look at everything below the roots. Never raises for what is missing or unreadable."""
    start = places(roots)
    walk = Walk(start)
    found = [one for folder in walk.run(start) for one in describe(folder, source)]
    return Survey(tuple(found), walk.directories, tuple(walk.outside), tuple(walk.problems.items()))


def look(paths: Iterable[str], within: Sequence[Place], source: Source) -> Survey:
    """Look at these real paths only: files, and folders with all below them. A file beside a transcript
    stands for the transcript.

    `within`: the places of the roots and a survey's `outside`; what lies below none of them is left out.
    """
    walk = Walk(within)
    start = [place for path in sorted(set(map(transcript_of, paths))) if (place := locate(path, within))]
    found = [one for folder in walk.run(start) for one in describe(folder, source)]
    return Survey(tuple(found), walk.directories, tuple(walk.outside), tuple(walk.problems.items()), tuple(walk.gone))


def newest_first(found: Iterable[Found]) -> list[Found]:
    """Latest written first: what people look for is there before the years behind it."""
    return sorted(found, key=lambda one: -one.stat.mtime_ns)


def describe(folder: Folder, source: Source) -> list[Found]:
    """The transcripts among the files of one folder, main files first."""
    found: list[Found] = []
    root, plain = folder.place.root, folder.place.name == folder.place.path
    for path, stat in folder.files:
        file = source.describe(path if plain else folder.name_of(path), root)
        if file is not None:
            found.append(Found(file if plain else file._replace(path=path), stat, root))
    found.sort(key=_is_agent)
    return found


def _is_agent(found: Found) -> bool:
    return found.file.agent_id is not None


def _with_home(folder: str, home: str) -> str:
    return home + folder[1:] if folder == "~" or folder.startswith("~" + os.sep) else folder
