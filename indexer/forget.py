"""Forgetting as a whole: the memory's rows, whatever keeps texts beside them, and the last bytes of both.

The tombstones are committed first (store/erasing.py). From then on the forgetting goes to its end: what is
cut off is taken up by whoever writes next. Other stores of text hook in as a `Sink`; each is told what goes
before the rows go, and told again if that was cut off, so that none has to remember anything itself.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from pathlib import Path
from typing import Protocol

from indexer.store import bulk, erasing
from indexer.store.connection import Connection


class Sink(Protocol):
    """A place beside the database that holds texts: the archive, the vectors."""

    def erase(self, conn: Connection, sessions: Set[str], uuids: Set[str]) -> None:
        """Let go of all texts of these sessions (content session ids) that no other session shows, and of
        these records, before returning; may be called twice for the same. uuids: every record that goes.

        Raises OSError or IndexerError when that could not be done; it is asked again later."""
        ...


def forget(
    conn: Connection, home: Path, sessions: Sequence[str], records: Sequence[str], sinks: Sequence[Sink] = ()
) -> bool:
    """Forget sessions (content session ids) and single records (uuids). The caller holds the writer lock.

    Returns whether no byte is left in any file of the memory; else a reader stood in the way, and the rest
    is done when nobody reads (`resume`)."""
    erasing.begin(conn, sessions, records)
    return resume(conn, home, sinks)


def resume(conn: Connection, home: Path, sinks: Sequence[Sink] = (), *, wait: bool = True) -> bool:
    """Take up what was begun and not done; says whether nothing is left to do. Costs one look if there is
    nothing. wait: for readers to end."""
    if not erasing.pending(conn):
        return True
    if erasing.rows_pending(conn):
        sessions, uuids = map(frozenset, erasing.doomed(conn))
        for sink in sinks:
            sink.erase(conn, sessions, uuids)
        erasing.erase_rows(conn)
    bulk.remove_leftovers(home)
    return erasing.scrub(conn, wait=wait)
