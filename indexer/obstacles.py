"""What keeps a folder of ours from being used, and how to mend it: by looking, in a millisecond, touching nothing.

A process that cannot write where it must fails deep inside a library, in words that say little, or ends and is
started again for ever. So whoever is about to start one looks here first, and so does whoever saw one fail.
"""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

LEAST = 1 << 20
"""Bytes that must be left on the disk: a database cannot even be opened without a little room for its log."""
_FOLDER, _FILE = os.R_OK | os.W_OK | os.X_OK, os.R_OK | os.W_OK


class Obstacle(NamedTuple):
    """What is wrong, and what a person can do about it."""

    message: str
    remedy: str


def obstacle(folder: Path, deep: bool = False) -> Obstacle | None:
    """The first thing that keeps `folder` and the files in it from being read and written; None if nothing is
    seen. deep: the folders below it too. A folder that is not there is as good as the one it would be made in."""
    try:
        there = folder
        while not os.path.lexists(there):
            there = there.parent
        found = next(_troubles(there, there == folder, deep), None)
        return found or _no_room(there)
    except OSError as error:
        return Obstacle(f"{error.filename}: {error.strerror}", "check who owns it and its mode")


def _troubles(folder: Path, ours: bool, deep: bool) -> Iterator[Obstacle]:
    if not folder.is_dir():
        yield Obstacle(f"{folder} is no folder", "move it away")
        return
    if not os.access(folder, _FOLDER):
        yield _closed(folder)
        return
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name) if ours else ():
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            if deep:
                yield from _troubles(path, True, True)
            elif "." in entry.name:  # where a file of ours should be: our folders' names have no dot
                yield Obstacle(f"{path} is no file", "move it away")
        elif entry.is_file(follow_symlinks=False) and not os.access(path, _FILE):
            yield _closed(path)


def _closed(path: Path) -> Obstacle:
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return Obstacle(f"{path} is on a file system that is read-only", "mount it for writing, or set `storage.home`")
    if path.stat().st_uid != os.getuid():
        return Obstacle(f"{path} belongs to another user", f"`sudo chown {os.getuid()} {shlex.quote(str(path))}`")
    mode = "u+rwx" if stat.S_ISDIR(path.stat().st_mode) else "u+rw"
    return Obstacle(f"{path} cannot be read and written", f"`chmod {mode} {shlex.quote(str(path))}`")


def _no_room(folder: Path) -> Obstacle | None:
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize >= LEAST:
        return None
    return Obstacle(f"the disk that holds {folder} is full", "make room on it; nothing is lost meanwhile")
