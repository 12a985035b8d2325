"""Whatever world of transcripts a memory was made of: it moves whole, once, and in either order with reading."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from claude_mem_db import _V13, add
from hypothesis import HealthCheck, given, settings
from moving import differing, everything, export, itself, remember_all, rescanned, share_key, take, take_claude_mem
from stores import Content, store
from worlds import World, worlds

EXAMPLES = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
NOON = 1_793_523_600_000


@contextmanager
def machines(world: World) -> Iterator[dict[str, Path]]:
    """Homes of four machines: A has read the world, which lies beside the others too, unread."""
    with tempfile.TemporaryDirectory() as folder:
        homes = {name: Path(folder, name, "home") for name in "ABCD"}
        homes["A"].parent.mkdir()
        world.lay(homes["A"].parent / "projects")
        rescanned(homes["A"])
        for name in "BCD":
            homes[name].parent.mkdir()
            share_key(homes["A"], homes[name])
            shutil.copytree(homes["A"].parent / "projects", homes[name].parent / "projects")
        yield homes


def compressed(home: Path) -> None:
    conn = store(home)
    remember_all(conn)
    conn.close()


def apart(held: Content, home: Path) -> Content:
    """Without the folder that the transcripts stand in."""
    place = f"{home.parent}/"
    return {
        kind: [tuple(v.replace(place, "") if isinstance(v, str) else v for v in row) for row in rows]
        for kind, rows in held.items()
        if kind != "queue"
    }


@EXAMPLES
@given(worlds())
def test_a_memory_comes_back_from_another_machine_as_it_was(world: World) -> None:
    with machines(world) as home:
        before = everything(home["A"])
        assert take(home["B"], export(home["A"], home["A"].parent / "x.jsonl")).faulty == 0
        take(home["A"], export(home["B"], home["B"].parent / "y.jsonl"))
        assert differing(everything(home["A"]), before) == {}


@EXAMPLES
@given(worlds())
def test_reading_before_or_after_an_import_is_the_same(world: World) -> None:
    with machines(world) as home:
        file = export(home["A"], home["A"].parent / "x.jsonl")
        take(home["B"], file)
        rescanned(home["B"])
        rescanned(home["C"])
        take(home["C"], file)
        compressed(home["C"])
        assert differing(apart(itself(home["B"]), home["B"]), apart(itself(home["C"]), home["C"])) == {}


@EXAMPLES
@given(worlds())
def test_reading_before_or_after_claude_mem_is_the_same(world: World) -> None:
    with machines(world) as home:
        path = claude_mem(home["A"], home["A"].parent / "cm.db")
        take_claude_mem(home["B"], path)
        rescanned(home["B"])
        rescanned(home["C"])
        take_claude_mem(home["C"], path)
        compressed(home["C"])
        assert differing(apart(everything(home["B"]), home["B"]), apart(everything(home["C"]), home["C"])) == {}
        report = take_claude_mem(home["B"], path)
        assert (report.prompts, report.tool_uses, report.memories) == (0, 0, 0)


def claude_mem(home: Path, path: Path) -> Path:
    """What claude-mem would have kept of the same sessions: two thirds of it, and some that nobody else has."""
    ours, theirs = store(home), sqlite3.connect(path)
    theirs.executescript(_V13)
    sessions = ours.execute("SELECT content_session_id, cwd FROM sdk_sessions ORDER BY 1").fetchall()
    for number, (name, cwd) in enumerate(sessions, 1):
        about = {"content_session_id": name, "memory_session_id": f"m{name}", "cwd": cwd if number % 2 else None}
        add(theirs, "sdk_sessions", **about, project="proj", started_at="", started_at_epoch=1)
        memory = {"memory_session_id": f"m{name}", "type": "bugfix", "title": f"of {name}", "project": "proj"}
        add(theirs, "observations", **memory, created_at="", created_at_epoch=NOON + number)
    _copy(theirs, "user_prompts", ours.execute(
        "SELECT content_session_id, id AS prompt_number, CASE WHEN id % 4 = 3 THEN 'another' ELSE prompt_text END AS "
        "prompt_text, coalesce(created_at_epoch, 1793523600000) - 7 FROM user_prompts WHERE NOT is_private AND id % 3"
    ), ("content_session_id", "prompt_number", "prompt_text"))  # fmt: skip
    _copy(theirs, "tool_uses", ours.execute(
        "SELECT DISTINCT content_session_id, tool_use_id, 'p', tool_name, tool_input, CASE WHEN id % 2 THEN "
        "tool_response END, coalesce(created_at_epoch, 1793523600000) + 7 FROM tool_uses WHERE id % 3 GROUP BY 1, 2"
    ), ("content_session_id", "tool_use_id", "project", "tool_name", "tool_input", "tool_response"))  # fmt: skip
    ours.close()
    theirs.commit()
    theirs.close()
    return path


def _copy(conn: sqlite3.Connection, table: str, rows: Any, names: tuple[str, ...]) -> None:
    for *values, time in rows.fetchall():
        add(conn, table, **dict(zip(names, values, strict=True)), created_at="", created_at_epoch=time)
