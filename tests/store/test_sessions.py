"""What is said of a session, merged in any order of reading."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from desk import NOON, Desk, entry, resolve

from indexer.project import Resolution
from indexer.records import Prompt, Title
from indexer.store.sessions import Sessions, complete_idle, version_key

BOTH = [(0, 1), (1, 0)]
ORDERS = list(permutations(range(3)))


@pytest.fixture
def desk() -> Desk:
    return Desk()


def session(desk: Desk, columns: str, name: str = "a") -> tuple[Any, ...]:
    (row,) = desk.rows(f"SELECT {columns} FROM sdk_sessions WHERE content_session_id = ?", name)
    return row


def read(desk: Desk, order: tuple[int, ...], *turns: Any) -> None:
    for place in order:
        desk.write(*turns[place])


# --- identity


def test_the_memory_id_is_derived_and_registered_once(desk: Desk) -> None:
    for number in range(2):
        desk.write(desk.file(), entry(f"u{number}", Prompt("x")))
    assert session(desk, "memory_session_id, platform_source") == ("claude:a", "claude")


def test_a_session_of_titles_alone_is_one_too(desk: Desk) -> None:
    desk.write(desk.file(), entry(None, Title("custom", "named"), time=None))
    assert session(desk, "custom_title, started_at_epoch") == ("named", None)


# --- times


@pytest.mark.parametrize("order", ORDERS)
def test_a_session_spans_all_its_times(desk: Desk, order: tuple[int, ...]) -> None:
    read(desk, order, *((desk.file(name=f"f{n}"), entry(f"u{n}", Prompt("x"), time=(5, 1, 9)[n])) for n in range(3)))
    assert session(desk, "started_at_epoch, last_at_epoch") == (NOON + 1, NOON + 9)
    assert session(desk, "started_at") == ("2026-11-20T12:00:00.001Z",)


@pytest.mark.parametrize("order", BOTH)
def test_age_is_the_first_time_in_file_order_of_the_oldest_main_file(desk: Desk, order: tuple[int, ...]) -> None:
    main = (desk.file(), entry("u1", Prompt("x"), time=8), entry("u2", Prompt("y"), time=2))
    agent = (desk.file(agent="x"), entry("u3", Prompt("z"), time=1))
    read(desk, order, main, agent)
    assert session(desk, "origin_epoch, origin_rank") == (NOON + 8, 0)


def test_until_a_main_file_is_seen_an_agents_counts(desk: Desk) -> None:
    desk.write(desk.file(agent="x"), entry("u3", Prompt("z"), time=1))
    assert session(desk, "origin_epoch, origin_rank") == (NOON + 1, 1)


def test_a_last_line_that_may_go_on_does_not_make_a_session_younger(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x"), time=3))
    desk.write(desk.file(), entry("u2", Prompt("x"), time=9), provisional=True)
    assert session(desk, "origin_epoch") == (NOON + 3,)


# --- status


def test_an_idle_session_is_completed_at_its_own_last_time(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x"), time=3))
    assert complete_idle(desk.conn, NOON + 3) == 0
    assert complete_idle(desk.conn, NOON + 4) == 1
    assert session(desk, "status, completed_at_epoch") == ("completed", NOON + 3)
    assert complete_idle(desk.conn, NOON + 4) == 0


def test_a_new_record_opens_it_again(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x"), time=3))
    complete_idle(desk.conn, NOON + 4)
    desk.write(desk.file(), entry("u2", Prompt("y"), time=9))
    assert session(desk, "status, completed_at_epoch, completed_at") == ("active", None, None)


def test_reading_old_records_again_does_not(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x"), time=3))
    complete_idle(desk.conn, NOON + 4)
    desk.again(desk.file(), entry("u1", Prompt("x"), time=3))
    assert session(desk, "status, completed_at_epoch") == ("completed", NOON + 3)


def test_an_undated_session_is_never_idle(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x"), time=None))
    assert complete_idle(desk.conn, NOON * 2) == 0


# --- the project


def test_the_folder_that_fits_the_transcripts_beats_where_the_session_went(desk: Desk) -> None:
    went = [entry("u1", Prompt("x"), cwd="/elsewhere", git_branch="dev"), entry("u2", Prompt("y"), git_branch="main")]
    desk.write(desk.file(), *went)
    assert session(desk, "cwd, project_key, git_branch, project_rank") == ("/w/a", "/w/a", "main", 5)


def test_what_changes_later_does_not_move_the_session(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x"), git_branch="main"))
    desk.write(desk.file(), entry("u2", Prompt("y"), cwd="/elsewhere"), entry("u3", Prompt("z"), git_branch="dev"))
    assert session(desk, "cwd, git_branch") == ("/w/a", "main")


@pytest.mark.parametrize("order", BOTH)
def test_a_main_file_knows_better_than_an_agents(desk: Desk, order: tuple[int, ...]) -> None:
    main = (desk.file(), entry("u1", Prompt("x"), cwd="/one"))
    agent = (desk.file(agent="x", folder="-other"), entry("u2", Prompt("z"), cwd="/two"))
    read(desk, order, main, agent)
    assert session(desk, "project_key") == ("/one",)


@pytest.mark.parametrize("order", BOTH)
def test_of_equal_evidence_the_smaller_path_counts(desk: Desk, order: tuple[int, ...]) -> None:
    turns = [(desk.file(name=n, folder="-other"), entry(f"u{n}", Prompt("x"), cwd=f"/{n}")) for n in ("x", "y")]
    read(desk, order, *turns)
    assert session(desk, "project_key") == ("/x",)


@pytest.mark.parametrize("order", BOTH)
def test_a_folders_name_alone_is_a_guess_that_a_record_upgrades(desk: Desk, order: tuple[int, ...]) -> None:
    turns = [
        (desk.file(name="z"), entry("u1", Prompt("x"), cwd=None)),
        (desk.file(agent="x"), entry("u2", Prompt("y"), cwd="/one")),
    ]
    read(desk, order, *turns)
    assert session(desk, "project_key, project_key_source") == ("/one", "path")


@pytest.mark.parametrize("order", BOTH)
def test_of_two_guesses_the_main_files_counts(desk: Desk, order: tuple[int, ...]) -> None:
    turns = [
        (desk.file(folder="-main"), entry("u1", Prompt("x"), cwd=None)),
        (desk.file(agent="x", folder="-agent"), entry("u2", Prompt("y"), cwd=None)),
    ]
    read(desk, order, *turns)
    assert session(desk, "project_key, project_rank") == ("-main", 1)


def test_better_evidence_moves_every_row_of_the_session(desk: Desk) -> None:
    desk.write(desk.file(agent="x", folder="-other"), entry("u1", Prompt("x"), cwd="/two"))
    desk.write(desk.file(), entry("u2", Prompt("y")))
    for table in ("user_prompts", "search_texts"):
        assert desk.rows(f"SELECT DISTINCT project_key FROM {table}") == [("/w/a",)]
    assert desk.rows("SELECT project_key FROM projects") == [("/w/a",)]


def test_a_directory_is_resolved_once_for_ever(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("x")))
    desk.conn.execute(
        "UPDATE project_resolutions SET project_key = 'github.com/dev/a', display = 'A', source = 'git-remote'"
    )
    desk.write(desk.file("b"), entry("u2", Prompt("y"), session="b"))
    assert session(desk, "project_key, project, project_key_source", "b") == ("github.com/dev/a", "A", "git-remote")


def test_what_a_directory_was_resolved_to_is_kept_with_its_root(desk: Desk) -> None:
    made = Resolution("key", "Name", "git-remote", "/w/a")
    sessions = Sessions(desk.conn, "claude", lambda *_: made)
    assert sessions._remembered("/w/a/src", "-w-a") == made
    assert Sessions(desk.conn, "claude", resolve)._remembered("/w/a/src", "-w-a") == made
    assert desk.one("SELECT resolved_at_epoch > 1600000000000 FROM project_resolutions") == 1


@pytest.mark.parametrize("order", BOTH)
def test_a_project_is_spelled_as_in_its_earliest_session(desk: Desk, order: tuple[int, ...]) -> None:
    turns = [
        (desk.file(n, folder="-x"), entry(f"u{n}", Prompt("x"), session=n, cwd=cwd, time=t))
        for n, cwd, t in (("a", "/W/Shop", 5), ("b", "/w/shop", 9))
    ]
    read(desk, order, *turns)
    assert desk.rows("SELECT project_key, display FROM projects") == [("/w/shop", "Shop")]


def test_a_project_that_its_first_session_left_is_spelled_as_by_the_next(desk: Desk) -> None:
    desk.write(desk.file("b", folder="-x"), entry("u1", Prompt("x"), session="b", cwd="/w/shop", time=9))
    desk.write(desk.file(agent="x", folder="-x"), entry("u2", Prompt("y"), cwd="/W/SHOP", time=1))
    assert desk.rows("SELECT display FROM projects") == [("SHOP",)]
    desk.write(desk.file(), entry("u3", Prompt("z"), time=2))
    assert desk.rows("SELECT project_key, display FROM projects ORDER BY 1") == [("/w/a", "a"), ("/w/shop", "shop")]


# --- version, fork


@pytest.mark.parametrize("order", ORDERS)
def test_the_newest_client_counts_not_the_last_spelled(desk: Desk, order: tuple[int, ...]) -> None:
    read(
        desk,
        order,
        *((desk.file(name=f"f{n}"), entry(f"u{n}", version=("2.1.9", "2.1.101", None)[n])) for n in range(3)),
    )
    assert session(desk, "client_version") == ("2.1.101",)


def test_versions_compare_by_number() -> None:
    assert sorted(["2.1.101", "2.1.9", "2.0.120", "dev"], key=version_key) == ["dev", "2.0.120", "2.1.9", "2.1.101"]


def test_a_fork_knows_its_origin(desk: Desk) -> None:
    desk.write(
        desk.file("b"), entry("u1", Prompt("x"), session="b", forked_from="a"), entry("u2", Prompt("y"), session="b")
    )
    assert session(desk, "forked_from", "b") == ("a",)


def test_platforms_are_told_apart(desk: Desk) -> None:
    desk.conn.execute("INSERT INTO sdk_sessions (content_session_id, platform_source) VALUES ('a', 'codex')")
    desk.write(desk.file(), entry("u1", Prompt("x")))
    assert desk.rows("SELECT platform_source FROM sdk_sessions ORDER BY 1") == [("claude",), ("codex",)]
