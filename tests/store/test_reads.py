from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from indexer.errors import AmbiguousProject, CorruptDatabase, IndexerError, NoDatabase, NotFound
from indexer.store import reads
from indexer.store.connection import database_path, open_writer
from indexer.store.migrations import migrate

SHOP, OLD, NOTES = "github.com/example/shop-api", "/home/dev/old-shop", "/home/dev/notes"


def keys(conn: sqlite3.Connection, name: str, cwd: str = "/home/dev") -> tuple[str, ...]:
    return reads.resolve_project(conn, name, cwd)


# --- counts


def test_counts_are_of_what_people_mean(memory: sqlite3.Connection) -> None:
    assert reads.counts(memory)._asdict() == {
        "sessions": 7,
        "prompts": 5,
        "tool_uses": 4,
        "assistant_messages": 2,
        "projects": 4,
        "dead_letters": 3,
    }


def test_commands_and_shell_input_are_no_prompts(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE user_prompts SET prompt_kind = 'command' WHERE id = 1")
    assert reads.counts(memory).prompts == 4


def test_a_project_without_sessions_is_not_counted(memory: sqlite3.Connection) -> None:
    memory.execute("DELETE FROM sdk_sessions WHERE project_key = ?", (NOTES,))
    assert reads.counts(memory).projects == 3


def test_an_alias_is_no_project_of_its_own(memory: sqlite3.Connection) -> None:
    memory.execute("DELETE FROM project_aliases")
    assert reads.counts(memory).projects == 5


# --- names of projects


@pytest.mark.parametrize(
    "name",
    [
        SHOP,
        "GitHub.com/Example/Shop-API",
        "shop-api",
        "SHOP-API",
        "example/shop-api",
        "/home/dev/work/shop-api",
    ],
)
def test_a_project_has_many_names(memory: sqlite3.Connection, name: str) -> None:
    assert keys(memory, name)[0] == SHOP


def test_an_alias_means_the_project_and_all_read_as_it(memory: sqlite3.Connection) -> None:
    assert keys(memory, SHOP) == (SHOP, OLD)
    assert keys(memory, OLD) == (OLD, SHOP)
    assert keys(memory, "old-shop") == (OLD, SHOP)


def test_an_alias_is_followed_one_hop_only(memory: sqlite3.Connection) -> None:
    memory.execute("INSERT INTO project_aliases VALUES (?, '/home/dev/final')", (SHOP,))
    assert keys(memory, OLD) == (OLD, SHOP)
    assert keys(memory, SHOP) == (SHOP, "/home/dev/final", OLD)


def test_a_key_known_only_as_an_alias_is_known(memory: sqlite3.Connection) -> None:
    memory.execute("INSERT INTO project_aliases VALUES ('/home/dev/gone', ?)", (NOTES,))
    assert keys(memory, "/home/dev/gone") == ("/home/dev/gone", NOTES)


def test_a_configured_alias_may_be_a_display_name(memory: sqlite3.Connection) -> None:
    found = reads.resolve_project(memory, "shop-api", "/", None, [("notes", SHOP)])
    assert found == (SHOP, OLD, NOTES)


def test_a_configured_alias_of_an_unknown_name_is_kept_as_a_key(memory: sqlite3.Connection) -> None:
    assert reads.aliases(memory, [("/srv/Old", SHOP)])["/srv/old"] == SHOP


def test_a_name_of_two_projects_lists_both(memory: sqlite3.Connection) -> None:
    with pytest.raises(AmbiguousProject, match="names 2 projects") as caught:
        keys(memory, "Tools")
    assert "github.com/example/tools (tools)" in caught.value.hint
    assert "github.com/other/tools (tools)" in caught.value.hint


def test_the_end_of_a_key_tells_two_projects_apart(memory: sqlite3.Connection) -> None:
    assert keys(memory, "other/tools") == ("github.com/other/tools",)


def test_a_spelling_that_only_a_session_uses_is_a_name(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE sdk_sessions SET project = 'Notizen' WHERE id = 3")
    assert keys(memory, "notizen") == (NOTES,)


def test_names_fold_beyond_ascii(memory: sqlite3.Connection) -> None:
    memory.execute("INSERT INTO projects (project_key, display, source) VALUES ('/home/dev/café', 'Café', 'path')")
    assert keys(memory, "CAFE\u0301") == ("/home/dev/café",)


def test_a_relative_path_starts_from_the_folder_one_is_in(memory: sqlite3.Connection) -> None:
    assert keys(memory, ".", NOTES) == (NOTES,)
    assert keys(memory, "../notes", "/home/dev/work") == (NOTES,)


def test_a_path_may_begin_at_home(memory: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/dev")
    assert keys(memory, "~/notes", "/srv") == (NOTES,)


@pytest.mark.parametrize("name", ["~nobody-of-this-name/x", "\udcff/x", "./\x00", "/" * 5000, "../" * 500])
def test_odd_paths_are_unknown_projects(memory: sqlite3.Connection, name: str) -> None:
    with pytest.raises(NotFound):
        keys(memory, name)


def test_a_path_is_resolved_as_it_is_today(memory: sqlite3.Connection) -> None:
    found = reads.resolve_project(memory, "./sub", "/srv/clone", lambda path: f"{SHOP}" if "clone" in path else "")
    assert found[0] == SHOP


def test_a_folder_that_is_gone_is_known_from_its_resolution(memory: sqlite3.Connection) -> None:
    found = reads.resolve_project(memory, "/home/dev/work/shop-api/", "/", lambda path: path)
    assert found[0] == SHOP


def test_an_unknown_project_suggests_the_nearest(memory: sqlite3.Connection) -> None:
    with pytest.raises(NotFound, match="no project is called 'shopapi'") as caught:
        keys(memory, "shopapi")
    assert "did you mean shop-api" in caught.value.hint


def test_a_project_like_no_other_points_to_the_list(memory: sqlite3.Connection) -> None:
    with pytest.raises(NotFound) as caught:
        keys(memory, "zzzzzz")
    assert "transcript-indexer projects" in caught.value.hint


def test_an_empty_name_is_no_project(memory: sqlite3.Connection) -> None:
    memory.execute("DELETE FROM sdk_sessions WHERE project = ''")
    with pytest.raises(NotFound):
        keys(memory, "")


# --- the newest


@pytest.mark.parametrize(
    ("kind", "ids"),
    [
        ("prompt", ["prompt:5", "prompt:4", "shell:3"]),
        ("assistant", ["assistant:2", "assistant:1"]),
        ("tool_use", ["tool_use:3", "tool_use:2", "tool_use:1"]),
        ("observation", ["observation:2", "observation:1"]),
        ("summary", ["summary:1"]),
    ],
)
def test_the_newest_of_a_project(memory: sqlite3.Connection, kind: str, ids: list[str]) -> None:
    assert [row.id for row in reads.newest(memory, kind, [SHOP], 3)] == ids


def test_the_newest_of_several_keys_are_merged_by_time(memory: sqlite3.Connection) -> None:
    found = reads.newest(memory, "tool_use", [OLD, SHOP, OLD], 10)
    assert [row.id for row in found] == ["tool_use:3", "tool_use:2", "tool_use:1", "tool_use:4"]


def test_undated_rows_come_last(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE user_prompts SET created_at_epoch = NULL WHERE id = 5")
    assert reads.newest(memory, "prompt", [SHOP], 10)[-1].id == "prompt:5"


def test_a_row_in_two_branches_stands_once(memory: sqlite3.Connection) -> None:
    found = reads.newest(memory, "observation", [NOTES, SHOP], 10)
    assert [row.id for row in found] == ["observation:2", "observation:1"]


def test_an_answer_is_its_texts_in_order(memory: sqlite3.Connection) -> None:
    memory.execute("INSERT INTO assistant_texts VALUES ('a0', 1, 1, 3, 'First.')")
    assert reads.newest(memory, "assistant", [SHOP], 5)[1].text == "First.\nIt counts in seconds."


# --- opening


def test_reading_needs_a_memory(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase), reads.reading(tmp_path):
        pass


def test_reading_cannot_write(tmp_path: Path) -> None:
    conn = open_writer(tmp_path)
    migrate(conn)
    conn.close()
    with pytest.raises(IndexerError, match="readonly"), reads.reading(tmp_path) as reader:
        reader.execute("DELETE FROM sdk_sessions")


def test_a_damaged_file_is_reported_as_such(tmp_path: Path) -> None:
    database_path(tmp_path).write_bytes(b"this is no database, and long enough to be looked at" * 100)
    with pytest.raises(CorruptDatabase), reads.reading(tmp_path):
        pass
