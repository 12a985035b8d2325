"""Keeps the service's log bounded where nobody else does: launchd has no journal and rotates nothing.

launchd opens the file and hands it over as standard error, so it can be neither renamed nor opened again
from here; it is copied and cut instead. That loses no line: the one process that writes is the one that cuts,
and the file is open for appending, so that what follows stands at the new start. Under systemd or in a
terminal standard error is no regular file, and nothing happens.
"""

from __future__ import annotations

import fcntl
import os
import stat
import sys
from pathlib import Path

NAME = "service.log"
"""Only a log of this name is ours to cut: whoever writes `watch 2>>my.log` keeps all of it."""

LIMIT = 5 << 20
"""Bytes after which a log is put aside; one older file is kept, so that both take 10 MB."""
_PIECE = 1 << 20


def rotate(fd: int = 2, limit: int = LIMIT) -> bool:
    """Put the log behind `fd` aside as `service.log.1` if it has grown past `limit`; says whether it did.

    Only when it is a regular file of the name `service.log`, open for appending. Raises OSError.
    """
    try:
        info = os.fstat(fd)
    except OSError:  # closed: there is no log
        return False
    if not stat.S_ISREG(info.st_mode) or info.st_size <= limit or not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_APPEND:
        return False
    path = _path_of(fd)
    if path.name != NAME:
        return False
    source = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        _copy(source, path.with_name(path.name + ".1"))
        os.ftruncate(fd, 0)
    finally:
        os.close(source)
    return True


def _path_of(fd: int) -> Path:
    if sys.platform == "darwin":
        return Path(os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0")))
    return Path(os.readlink(f"/proc/self/fd/{fd}"))  # noqa: PTH115 - the same, and no link of ours


def _copy(source: int, target: Path) -> None:
    """Write to a new file and rename it, so that the older log is whole or is the one before."""
    scratch = target.with_name(target.name + ".new")
    scratch.unlink(missing_ok=True)
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as out:
        while piece := os.read(source, _PIECE):
            out.write(piece)
    scratch.replace(target)
