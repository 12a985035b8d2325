"""What is remembered does not depend on how history came in: whole or while it grew, in any order of files,
compressed at any moments in between."""

from __future__ import annotations

import random
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from remembered import Verbatim, end, made, remember
from stores import Content
from ways import PLAIN, Way, found_below, new_memory, run, settle, ways
from worlds import World, worlds

from indexer import compress
from indexer.compressors.base import Compressor
from indexer.compressors.rules import Rules


def memory(world: World, way: Way, moments: list[int], compressor: Compressor, merge: bool) -> Content:
    """What is remembered of a world that grew, was read this way and compressed at these moments. moments:
    hundredths of each file that stood there; an odd one ends every session too early."""
    root = Path(tempfile.mkdtemp())
    try:
        conn = new_memory()
        for moment in moments:
            World({name: data[: len(data) * moment // 100] for name, data in world.files.items()}).lay(root)
            taken_in(conn, root, way)
            if moment % 2:
                end(conn)
            list(compress.everything(conn, compressor, merge=merge))
        world.lay(root)
        taken_in(conn, root, way)
        remember(conn, compressor, merge=merge)
        return named(conn, root)
    finally:
        shutil.rmtree(root)


def taken_in(conn: sqlite3.Connection, root: Path, way: Way) -> None:
    found = found_below(root)
    if way.seed:
        random.Random(way.seed).shuffle(found)
    run(conn, found, way)
    settle(conn, found, way)


def named(conn: sqlite3.Connection, root: Path) -> Content:
    """What was made, and that nothing of it hangs in the air."""
    held = made(conn)
    conn.execute("INSERT INTO search_fts(search_fts) VALUES ('integrity-check')")
    assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
    assert conn.execute("SELECT count(*) FROM compress_marks WHERE error IS NOT NULL").fetchone() == (0,)
    conn.close()
    return held


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("compressor", "merge"),
    [(Rules(), False), (Verbatim(), False), (Verbatim(), True)],
    ids=["rules", "verbatim", "verbatim, repeats merged"],
)
@given(world=worlds(), way=ways, moments=st.lists(st.integers(0, 100), max_size=4).map(sorted))
@settings(max_examples=50)
def test_what_is_remembered_does_not_depend_on_how_it_came_in(
    compressor: Compressor, merge: bool, world: World, way: Way, moments: list[int]
) -> None:
    note(repr(world))
    rebuilt, lived = (memory(world, *how, compressor, merge) for how in ((PLAIN, []), (way, moments)))
    for name, rows in rebuilt.items():
        if rows != lived[name]:
            note(f"{name}:\n  only rebuilt {[r for r in rows if r not in lived[name]]}")
            note(f"  only lived {[r for r in lived[name] if r not in rows]}")
    assert [name for name in rebuilt if rebuilt[name] != lived[name]] == []
