"""However transcripts are read, the memory holds the same: any order of files, any grouping into
transactions, any length of turns, once or twice, whole or while they grow."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, note, settings
from hypothesis import strategies as st
from stores import Content, content
from worlds import World, worlds

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


def memory(world: World, way: Way) -> Content:
    """What a memory holds that read the world in this way."""
    root = Path(tempfile.mkdtemp())
    try:
        conn = new_memory()
        if way.grown is not None:
            part = {name: data[: len(data) * way.grown // 100] for name, data in world.files.items()}
            World(part).lay(root)
            read(conn, root, way)
        world.lay(root)
        read(conn, root, way)
        if way.twice:
            conn.execute("UPDATE ingest_files SET parser_version = 0")
            read(conn, root, way._replace(seed=way.seed + 1))
        return taken(conn, root)
    finally:
        shutil.rmtree(root)


def read(conn: sqlite3.Connection, root: Path, way: Way) -> None:
    found = found_below(root)
    if way.seed:
        random.Random(way.seed).shuffle(found)
    run(conn, found, way)
    settle(conn, found, way)


MORE = {
    "ages": "SELECT s.content_session_id, f.path, x.is_agent, x.first_epoch FROM session_files x "
    "JOIN sdk_sessions s ON s.id = x.session_db_id JOIN ingest_files f ON f.id = x.file_id",
    "evidence": "SELECT s.content_session_id, f.path, s.observed_model_epoch FROM sdk_sessions s "
    "LEFT JOIN ingest_files f ON f.id = s.project_file_id",
    "unmatched": "SELECT u.uuid, u.identity, s.content_session_id, u.created_at_epoch, u.is_error, u.tool_response "
    "FROM unmatched_results u JOIN sdk_sessions s ON s.id = u.session_db_id",
    "titles": "SELECT leaf_uuid, title FROM session_titles",
}


def taken(conn: sqlite3.Connection, root: Path) -> Content:
    """The content, without the temporary folder's name."""
    held = content(conn)
    held |= {name: sorted(map(tuple, conn.execute(sql)), key=repr) for name, sql in MORE.items()}
    conn.execute("INSERT INTO search_fts(search_fts) VALUES ('integrity-check')")
    assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
    conn.close()
    return {name: [_bare(row, str(root.resolve())) for row in rows] for name, rows in held.items()}


def _bare(row: tuple[object, ...], root: str) -> tuple[object, ...]:
    return tuple(value.removeprefix(root) if isinstance(value, str) else value for value in row)


PLAIN = Way(0, frozenset(), 1 << 20, False, False, None)


@given(worlds(), ways)
@settings(max_examples=200)
def test_the_memory_does_not_depend_on_the_way_of_reading(world: World, way: Way) -> None:
    note(repr(world))
    expected, got = memory(world, PLAIN), memory(world, way)
    for name, rows in expected.items():
        plain, here = (
            [row for row in one if row not in other] for one, other in ((rows, got[name]), (got[name], rows))
        )
        if plain or here:
            note(f"{name}:\n  only plain {plain}\n  only here  {here}")
    assert [name for name in expected if got[name] != expected[name]] == []
