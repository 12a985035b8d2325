"""HOME/status.json: what a running service says of itself, for `status` to read.

It is written anew and renamed, so that no reader sees half of it. On a full disk that fails, just when there
is something to tell: then the old file is written over in its own place, which takes no new room. For that
all are filled up with blanks to whole blocks.
"""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

NAME = "status.json"
BLOCK = 4096
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def write(home: Path, state: dict[str, Any]) -> None:
    """Say this from now on. Raises OSError when it cannot be written even in the old one's place."""
    data = json.dumps(state).encode()
    data += b" " * (-len(data) % BLOCK)
    path = home / NAME
    try:
        _replace(path, data)
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        path.with_suffix(".json.new").unlink(missing_ok=True)
        _overwrite(path, data)


def read(home: Path, pid: int) -> dict[str, Any] | None:
    """What the process `pid` said last; None if it has said nothing that can be read. A report of another
    process is of a service that died without taking it away."""
    try:
        said = json.loads((home / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return said if isinstance(said, dict) and said.get("pid") == pid else None


def clear(home: Path) -> None:
    """Nothing runs any more."""
    (home / NAME).unlink(missing_ok=True)


def _replace(path: Path, data: bytes) -> None:
    scratch = path.with_suffix(".json.new")
    scratch.unlink(missing_ok=True)  # never through a link
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        if os.write(fd, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(fd)
    scratch.replace(path)


def _overwrite(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        data += b" " * (os.fstat(fd).st_size - len(data))
        os.pwrite(fd, data, 0)
    finally:
        os.close(fd)
