"""However transcripts are read, the memory holds the same: any order of files, any grouping into
transactions, any length of turns, once or twice, whole or while they grow."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from pathlib import Path

from hypothesis import given, note, settings
from stores import Content, content
from ways import PLAIN, Way, found_below, new_memory, run, settle, ways
from worlds import World, worlds


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
