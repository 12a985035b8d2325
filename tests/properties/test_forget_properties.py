"""Forgetting is as if it had never been: in any small world, a memory that has forgotten a session holds
what one holds that was told beforehand not to take it in; and nothing of it is in any file."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, note, settings
from hypothesis import strategies as st
from stores import Content, check, content, read
from worlds import World, stamp, worlds

from indexer.store import erasing
from indexer.store.connection import configure
from indexer.store.migrations import migrate


def _template() -> bytes:
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.execute("PRAGMA page_size = 4096")
    migrate(conn)
    return conn.serialize()


EMPTY = _template()
MORE = {
    "resolutions": "SELECT cwd, project_key, source FROM project_resolutions",
    "titles": "SELECT leaf_uuid, title FROM session_titles",
    "ages": "SELECT s.content_session_id, f.path, x.is_agent, x.first_epoch FROM session_files x "
    "JOIN sdk_sessions s ON s.id = x.session_db_id JOIN ingest_files f ON f.id = x.file_id",
}


def new_memory() -> sqlite3.Connection:
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.deserialize(EMPTY)
    configure(conn)
    return conn


def taken(conn: sqlite3.Connection) -> Content:
    held = content(conn)
    held |= {name: sorted(map(tuple, conn.execute(sql)), key=repr) for name, sql in MORE.items()}
    # Names and dates of files that hold nothing but titles of records that went may be there still.
    held["files"] = sorted((row[1:4] for row in held["files"]), key=repr)
    # Lines of one message repeat its counts, the last ones largest: the store keeps but the largest.
    held["messages"] = sorted((row[:6] + row[11:] for row in held["messages"]), key=repr)
    check(conn)
    conn.close()
    return held


class Forgotten(NamedTuple):
    session: str
    stones: list[tuple[bytes]]
    content: Content


def forgotten(root: Path, pick: int) -> Forgotten:
    """Read a world, forget one of its sessions, read again what has to be."""
    conn = new_memory()
    read(conn, root)
    names = [name for (name,) in conn.execute("SELECT content_session_id FROM sdk_sessions ORDER BY 1")]
    session = names[pick % len(names)] if names else "nobody"
    erasing.begin(conn, [session], [])
    erasing.erase_rows(conn)
    assert erasing.scrub(conn)
    stones = conn.execute("SELECT hash FROM tombstones").fetchall()
    check(conn)
    read(conn, root)
    return Forgotten(session, stones, taken(conn))


def never_taken_in(root: Path, told: Forgotten) -> Content:
    """What a memory holds that refused the session from the start."""
    conn = new_memory()
    conn.executemany("INSERT INTO tombstones VALUES (?)", told.stones)
    read(conn, root)
    return taken(conn)


def dated(world: World) -> World:
    """The world with a time on every record: one without keeps the time that it had of a forgotten neighbour."""
    files = {}
    for name, data in world.files.items():
        records = [json.loads(line) for line in data.splitlines()]
        whole = [{"timestamp": stamp(0), **record} if "uuid" in record else record for record in records]
        files[name] = b"".join(json.dumps(record).encode() + b"\n" for record in whole)
    return World(files)


@given(worlds(), st.integers(0, 5))
@settings(max_examples=200)
def test_what_is_left_is_what_would_have_been_without_it(world: World, pick: int) -> None:
    note(repr(world))
    root = Path(tempfile.mkdtemp())
    try:
        dated(world).lay(root)
        told = forgotten(root, pick)
        expected = never_taken_in(root, told)
    finally:
        shutil.rmtree(root)
    note(f"forgotten: {told.session}")
    # An answer whose call went, and which another answer had outdone, stands in its transcript only.
    assert not set(told.content.pop("unmatched")) - set(expected.pop("unmatched"))
    # A folder that only outdone evidence named goes as well: nobody can say whose it was.
    assert not set(told.content.pop("resolutions")) - set(expected.pop("resolutions"))
    for name, rows in expected.items():
        got = told.content[name]
        missing, extra = ([r for r in one if r not in other] for one, other in ((rows, got), (got, rows)))
        if missing or extra:
            note(f"{name}:\n  missing {missing}\n  extra   {extra}")
    assert [name for name in expected if told.content[name] != expected[name]] == []
