"""How many files this process may have open: raised as far as the system lets us, and told of where it is too few.

A shell's or launchd's limit is a soft one (256 on macOS), which a process may raise itself. A service needs some
20: two databases with their logs, a lock, sockets, a pipe for events, a transcript and its archive; at 13 it
reads nothing, at 7 it cannot open its database (tried on Linux, Python 3.11).
"""

from __future__ import annotations

import resource
from contextlib import suppress

from indexer.condition import Trouble
from indexer.errors import IndexerError

WANTED = 1024
FEWEST = 48
"""With fewer, something will sooner or later not be opened."""
NONE = 8
"""With fewer, not even the database can be."""
REMEDY = f"allow more: `ulimit -n {WANTED}` in the shell that starts it, LimitNOFILE={WANTED} in a unit's drop-in"


def open_files() -> int:
    """The limit, after raising it to what is wanted or to what the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
            soft = most
    return WANTED if soft == resource.RLIM_INFINITY else soft


def trouble(limit: int) -> Trouble | None:
    """What is wrong with such a limit, None if nothing is. Raises IndexerError where nothing can be done with it."""
    if limit < NONE:
        raise IndexerError(f"only {limit} files may be open at once, too few for a database", REMEDY)
    return Trouble(f"only {limit} files may be open at once", REMEDY) if limit < FEWEST else None
