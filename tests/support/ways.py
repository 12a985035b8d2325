"""Ways to read a world of transcripts: orders, groupings into transactions, lengths of turns."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hypothesis import strategies as st

from indexer.files.discover import Found, discover
from indexer.ingest import Ingest, Size
from indexer.project import Resolver
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import configure
from indexer.store.migrations import migrate

RESOLVER = Resolver(home="/nowhere")
SOURCE = ClaudeCode()
PASSES = 5
"""Times a rescan reads files again that others made it doubt (rescan.PASSES)."""


class Way(NamedTuple):
    """A way to read a world. cuts: where transactions end; turn: bytes read of a file in one go; rounds:
    turns of all files interleaved; grown: first only so many hundredths of each file."""

    seed: int
    cuts: frozenset[int]
    turn: int
    twice: bool
    rounds: bool
    grown: int | None


ways = st.builds(
    Way,
    st.integers(0, 50),
    st.frozensets(st.integers(0, 7)),
    st.sampled_from([1 << 20, 1, 600, 1200, 2500]),
    st.booleans(),
    st.booleans(),
    st.none() | st.integers(0, 100),
)


def _template() -> bytes:
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.execute("PRAGMA page_size = 4096")
    migrate(conn)
    return conn.serialize()


EMPTY = _template()


def new_memory() -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.deserialize(EMPTY)
    configure(conn)
    return conn


def found_below(root: Path) -> list[Found]:
    return sorted(discover([str(root)], SOURCE), key=lambda found: found.file.path)


def pending(conn: sqlite3.Connection, found: Sequence[Found]) -> list[Found]:
    """What a sweep would read again."""
    sql = "SELECT path FROM ingest_files WHERE size < 0 AND status = 'active'"
    paths = {path for (path,) in conn.execute(sql)}
    return [one for one in found if one.file.path in paths]


def run(conn: sqlite3.Connection, found: Sequence[Found], way: Way) -> None:
    reader = Ingest(conn, SOURCE, RESOLVER, limit=Size(1000, 1 << 20, 60.0, way.turn))
    group: list[Found] = []
    for place, one in enumerate(found):
        group.append(one)
        if place in way.cuts or place == len(found) - 1:
            rest = group
            while way.rounds and rest:
                rest = reader.round(rest)
            if not way.rounds:
                list(reader.run(group))
            group = []


def settle(conn: sqlite3.Connection, found: Sequence[Found], way: Way) -> None:
    for _ in range(PASSES):
        rest = pending(conn, found)
        if not rest:
            return
        run(conn, rest, way)
    raise AssertionError("files are read again and again")


PLAIN = Way(0, frozenset(), 1 << 20, False, False, None)
