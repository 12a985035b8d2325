"""What a project's page is made from."""

from __future__ import annotations

import sqlite3

from indexer.store import portrait
from indexer.store.portrait import Folder, Told, Touched

SHOP = ("github.com/example/shop-api", "/home/dev/old-shop")


def test_what_its_sessions_came_to(memory: sqlite3.Connection) -> None:
    session = "8c1f0a52-0000-4000-8000-000000000001"
    assert portrait.summaries(memory, SHOP, 5) == [
        Told(1, session, 1_795_172_500_000, "Fix the timeout", "Units matter")
    ]


def test_the_newest_summary_comes_first(memory: sqlite3.Connection) -> None:
    memory.execute(
        "INSERT INTO session_summaries (id, memory_session_id, project, project_key, request, completed, learned,"
        " created_at_epoch) VALUES (2, 'claude:4', 'old-shop', '/home/dev/old-shop', 'New', 'Done', 'x', 1795999999999)"
    )
    assert [(told.id, told.outcome) for told in portrait.summaries(memory, SHOP, 5)] == [
        (2, "Done"),
        (1, "Units matter"),
    ]
    assert [told.id for told in portrait.summaries(memory, SHOP, 1)] == [2]


def test_files_are_counted_by_how_often_calls_name_them(memory: sqlite3.Connection) -> None:
    memory.execute(
        "UPDATE tool_uses SET tool_name = 'Edit', file_path = '/home/dev/work/shop-api/auth.ts' WHERE id = 3"
    )
    memory.execute("UPDATE tool_uses SET file_path = '/home/dev/a.py' WHERE id = 4")
    assert portrait.files(memory, SHOP, 5) == [
        Touched("/home/dev/work/shop-api/auth.ts", 2, 1),
        Touched("/home/dev/a.py", 1, 0),
    ]
    assert len(portrait.files(memory, SHOP, 1)) == 1


def test_a_key_given_twice_counts_once(memory: sqlite3.Connection) -> None:
    assert portrait.files(memory, SHOP * 2, 5) == portrait.files(memory, SHOP, 5)


def test_the_folders_that_are_it(memory: sqlite3.Connection) -> None:
    folder = "/home/dev/work/shop-api"
    assert portrait.folders(memory, SHOP) == [Folder(folder, "git-remote", folder)]


def test_a_project_that_is_not_there_has_nothing(memory: sqlite3.Connection) -> None:
    assert (
        portrait.summaries(memory, ("x",), 5),
        portrait.files(memory, ("x",), 5),
        portrait.folders(memory, ("x",)),
    ) == ([], [], [])
