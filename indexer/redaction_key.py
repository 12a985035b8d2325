"""The key of the marks' hex and of the files' fingerprints: 32 random bytes in the home folder, 0600.

Both would otherwise be plain hashes of what may be a short password beside text that is known: whoever gets
hold of the database alone could try passwords until one fits. With the key lost nothing else is: the next
rescan makes another, reads every transcript once more, and new marks of an old secret differ from old ones.
"""

from __future__ import annotations

import os
import re
from fnmatch import translate
from pathlib import Path

from indexer.config import Config
from indexer.errors import IndexerError
from indexer.redact import Redactor, Settings, compiled_pattern

NAME = "redaction.key"
LENGTH = 32


def redactor(config: Config) -> Redactor:
    """What redacts for this home folder, by the built-in rules and the user's. Makes the key if there is
    none: the caller holds the writer lock."""
    allow = tuple(map(compiled_pattern, config.redact_allow))
    files = tuple(re.compile(f"(?is:(?:.*/)?(?:{translate(glob)}))") for glob in config.redact_secret_files)
    return Redactor(key(config.home), Settings(config.redact_rules, allow, files))


def key(home: Path) -> bytes:
    """The key of `home`, made at first use. Raises IndexerError for a file that holds none, OSError."""
    path = home / NAME
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return _made(path)
    try:
        if os.fstat(fd).st_mode & 0o077:
            os.fchmod(fd, 0o600)
        found = os.read(fd, LENGTH + 1)
    finally:
        os.close(fd)
    if len(found) != LENGTH:
        raise IndexerError(f"{path} holds no key", "move it away: a new one is made, and transcripts are read again")
    return found


def _made(path: Path) -> bytes:
    """A new key, whole on disk before anything is made with it."""
    made = os.urandom(LENGTH)
    scratch = path.with_name(f"{NAME}.new")
    scratch.unlink(missing_ok=True)
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, made)
        os.fsync(fd)
    finally:
        os.close(fd)
    scratch.rename(path)
    return made
