"""The secret of one memory: 32 random bytes in HOME/key, for its owner alone (0600).

Hashes that must not be guessed from outside (what was forgotten, what was redacted) are keyed with it.
It is made on first use, whole or not at all: written beside its place and linked there, so that two
processes that make it at once end with the same one. Whoever loses the file loses the link between such
hashes and their words, which is why a damaged one is an error and never replaced.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from indexer.errors import IndexerError

NAME = "key"
SIZE = 32
_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def secret(home: Path) -> bytes:
    """The key of the memory in `home`, made if there is none. Raises IndexerError when it is damaged."""
    found = existing(home)
    if found is not None:
        return found
    scratch = home / f"{NAME}.{os.getpid()}.new"
    with suppress(FileNotFoundError):
        scratch.unlink()
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, secrets.token_bytes(SIZE))
        os.fsync(fd)
    finally:
        os.close(fd)
    try:
        os.link(scratch, home / NAME)
    except FileExistsError:
        return secret(home)
    finally:
        scratch.unlink()
    _sync(home)
    return secret(home)


def existing(home: Path) -> bytes | None:
    """The key, None if none was made yet; a file that others could read is tightened first.

    Raises IndexerError when there is something else in its place, or a part of it."""
    try:
        fd = os.open(home / NAME, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _damaged(home, error.strerror or str(error)) from error
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise _damaged(home, "it is not a file")
        if info.st_mode & 0o077:
            os.fchmod(fd, 0o600)
        key = os.read(fd, SIZE + 1)
    finally:
        os.close(fd)
    if len(key) != SIZE:
        raise _damaged(home, f"it has not {SIZE} bytes")
    return key


def _damaged(home: Path, why: str) -> IndexerError:
    return IndexerError(f"{home / NAME} cannot be used as the memory's key: {why}", "put the right file back")


def _sync(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
