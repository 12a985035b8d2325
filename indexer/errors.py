"""Every error raised on purpose: what went wrong, what to do, whether to retry, and the exit code.

    IndexerError            1   problem found
    +- UsageError           2   the command line or the config is wrong
    |  +- ConfigError       2   an unknown key, a bad pattern, a value out of range
    |  +- AmbiguousProject  2   `--project` names several projects
    |  +- NotFound          1   an id, session or project that is not in the memory
    +- NoDatabase           3   nothing has been indexed yet
    +- Busy                 4   another writer holds the lock, or the database stays locked
    +- CorruptDatabase      5   SQLite says the file is damaged
    +- DamagedArchive       5   a file of the archive does not hold what its name says
    +- NewerDatabase        6   written by a newer version of this program

Exit codes are those of the command line's contract (ux-and-security 1.5); 130 (interrupted) is the
shell's own. `kind` is the stable, kebab-case name that `--json` prints.
"""

from __future__ import annotations


class IndexerError(Exception):
    """Base of all deliberate errors. `message` says what happened, `hint` what the user can do."""

    kind = "error"
    exit_code = 1
    retryable = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(IndexerError):
    """The command line asks for something that makes no sense."""

    kind = "usage"
    exit_code = 2


class ConfigError(UsageError):
    """The configuration holds an unknown key or an impossible value."""

    kind = "config"


class AmbiguousProject(UsageError):
    """A project name that fits several projects; the hint lists them."""

    kind = "ambiguous-project"


class NotFound(UsageError):
    """An id, session or project that the memory does not hold."""

    kind = "not-found"
    exit_code = 1


class NoDatabase(IndexerError):
    """There is no database yet: nothing has been indexed."""

    kind = "no-database"
    exit_code = 3


class Busy(IndexerError):
    """Another process writes, or the database stayed locked past the busy timeout."""

    kind = "busy"
    exit_code = 4
    retryable = True


class CorruptDatabase(IndexerError):
    """SQLite reports a damaged file."""

    kind = "corrupt-database"
    exit_code = 5


class NewerDatabase(IndexerError):
    """The database was written by a newer version of this program."""

    kind = "newer-database"
    exit_code = 6


class DamagedArchive(IndexerError):
    """A file of the archive is missing, or does not hold what its name says."""

    kind = "damaged-archive"
    exit_code = 5
