"""The recordings of a real client: each read in every way there is, and the same memory each time."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from stores import Content, check, content, memory_of, read, store

from indexer.files.discover import Found, discover
from indexer.ingest import BULK, Ingest
from indexer.project import Resolver
from indexer.sources.claude_code import ClaudeCode
from indexer.store import bulk
from indexer.store.connection import open_writer

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "recordings"
NAMES = sorted(path.parent.name for path in RECORDINGS.glob("*/EXPECT.json"))

every = pytest.mark.parametrize("name", NAMES)


def root(name: str) -> Path:
    return RECORDINGS / name / "projects"


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RECORDINGS / name / "EXPECT.json").read_text(encoding="utf-8"))
    return found


def texts(memory: Content, kind: str) -> list[str]:
    return sorted(str(row[4]) for row in memory["prompts"] if row[3] == kind)


def shuffled(seed: int) -> Callable[[list[Found]], Sequence[Found]]:
    return lambda found: random.Random(seed).sample(found, len(found))


def backwards(found: list[Found]) -> Sequence[Found]:
    return found[::-1]


def side_memory(home: Path, below: Path) -> Content:
    """What a side file holds that was loaded and published."""
    side = bulk.open_side(home)
    source = ClaudeCode()
    found = discover([str(below)], source)
    assert all(done.written.conflicts == 0 for done in Ingest(side, source, Resolver(), limit=BULK).run(found))
    bulk.publish(side, home)
    return taken(open_writer(home))


def taken(conn: sqlite3.Connection) -> Content:
    check(conn)
    held = content(conn)
    conn.close()
    return held


# --- what it holds


def test_all_recordings_are_here() -> None:
    assert len(NAMES) == 10


@every
def test_it_holds_the_sessions_prompts_and_calls_of_the_recording(name: str, tmp_path: Path) -> None:
    memory, wanted = memory_of(tmp_path, root(name)), expected(name)
    assert len(memory["sessions"]) == wanted["sessions"]
    assert texts(memory, "prompt") == sorted(wanted["prompts"])
    assert len(memory["tool uses"]) == wanted["tool_uses"]


@every
def test_every_call_has_its_answer_and_every_line_is_a_record(name: str, tmp_path: Path) -> None:
    memory = memory_of(tmp_path, root(name))
    assert [row for row in memory["tool uses"] if row[7] is None] == []
    assert memory["unmatched"] == memory["dead letters"] == []


def test_shell_input_and_commands_are_kinds_of_their_own(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, root("interactive"))
    assert texts(memory, "shell") == expected("interactive")["bash_inputs"]
    assert "/rename login work" in texts(memory, "command")


def test_a_title_the_user_gave_is_kept(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, root("interactive"))
    assert {row[7] for row in memory["sessions"]} == {expected("interactive")["custom_title"]}


def test_a_sub_agent_is_linked_to_its_call(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, root("resume_subagent"))
    assert len(memory["agents"]) == expected("resume_subagent")["subagents"]
    ((_, agent, call, _, _),) = memory["agents"]
    assert call in {row[0] for row in memory["tool uses"] if row[8] == "Agent"}
    assert {row[5] for row in memory["messages"]} == {None, agent}


def test_letter_case_is_no_other_project_but_a_dash_is(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, root("odd_paths"))
    keys = {str(row[0]) for row in memory["projects"]}
    assert len(keys) == 6
    assert {"/home/dev/odd_paths/a-b", "/home/dev/odd_paths/a/b", "/home/dev/odd_paths/myapp"} < keys


def test_a_fork_shows_its_history_and_owns_what_came_after(tmp_path: Path) -> None:
    memory = memory_of(tmp_path, root("fork"))
    owners = {row[4]: row[0] for row in memory["prompts"]}
    shown = {row[0]: row[6] for row in memory["sessions"]}
    assert owners["Original question"] != owners["Forked question"]
    assert (shown[owners["Original question"]], shown[owners["Forked question"]]) == (1, 2)


# --- the same however it is read


@every
@pytest.mark.parametrize("apart", [False, True], ids=["together", "apart"])
@pytest.mark.parametrize(
    "order", [backwards, *map(shuffled, range(3))], ids=["backwards", "shuffled", "shuffled again", "and again"]
)
def test_the_order_of_files_does_not_matter(
    name: str, order: Callable[[list[Found]], Sequence[Found]], apart: bool, tmp_path: Path
) -> None:
    plain = memory_of(tmp_path / "plain", root(name))
    assert memory_of(tmp_path / "other", root(name), order=order, apart=apart) == plain


@every
def test_reading_again_changes_nothing(name: str, tmp_path: Path) -> None:
    conn = store(tmp_path)
    read(conn, root(name))
    once = content(conn)
    for order in (list, backwards):
        conn.execute("UPDATE ingest_files SET parser_version = 0")
        read(conn, root(name), order)
        assert content(conn) == once
    conn.close()


@every
def test_a_side_file_holds_the_same(name: str, tmp_path: Path) -> None:
    assert side_memory(tmp_path / "side", root(name)) == memory_of(tmp_path / "plain", root(name))


@every
def test_watching_it_grow_gives_the_same(name: str, tmp_path: Path) -> None:
    whole = tmp_path / "projects"
    shutil.copytree(root(name), whole)
    plain = memory_of(tmp_path / "plain", whole)
    lines = {path: path.read_bytes().splitlines(keepends=True) for path in whole.rglob("*.jsonl")}
    conn = store(tmp_path / "live")
    for part in (0, 3, 5, 8, 13, 10_000):
        for path, every_line in lines.items():
            path.write_bytes(b"".join(every_line[:part]))
        read(conn, whole, backwards)
    assert taken(conn) == plain
