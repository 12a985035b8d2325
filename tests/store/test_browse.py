from __future__ import annotations

import sqlite3

from indexer.store import browse
from indexer.store.reads import aliases

SHOP, OLD, NOTES = "github.com/example/shop-api", "/home/dev/old-shop", "/home/dev/notes"
ORIGIN, FORK = "8c1f0a52-0000-4000-8000-000000000001", "8c1f0a52-0000-4000-8000-000000000002"
TEN = 1795168800000  # 2026-11-20T10:00:00Z, when the origin begins; it ends an hour later
HOUR = 3_600_000


def ids(found: list[browse.Session]) -> list[int]:
    return [session.row_id for session in found]


# --- sessions


def test_the_newest_sessions_first_and_the_undated_last(memory: sqlite3.Connection) -> None:
    assert ids(browse.sessions(memory)) == [3, 2, 1, 4, 6, 7, 5]


def test_pages_do_not_overlap(memory: sqlite3.Connection) -> None:
    pages = [ids(browse.sessions(memory, limit=3, offset=offset)) for offset in (0, 3, 6, 9)]
    assert pages == [[3, 2, 1], [4, 6, 7], [5], []]


def test_sessions_of_a_project(memory: sqlite3.Connection) -> None:
    assert ids(browse.sessions(memory, [SHOP])) == [2, 1]


def test_sessions_of_several_keys_are_merged(memory: sqlite3.Connection) -> None:
    assert ids(browse.sessions(memory, [OLD, NOTES, SHOP, OLD])) == [3, 2, 1, 4]
    assert ids(browse.sessions(memory, [OLD, NOTES, SHOP], limit=2, offset=1)) == [2, 1]


def test_no_key_is_no_session(memory: sqlite3.Connection) -> None:
    assert browse.sessions(memory, []) == []


def test_a_window_holds_what_was_going_on_in_it(memory: sqlite3.Connection) -> None:
    assert ids(browse.sessions(memory, since=TEN + HOUR // 2, until=TEN + HOUR // 2)) == [1]
    assert ids(browse.sessions(memory, since=TEN + HOUR)) == [3, 2, 1]
    assert ids(browse.sessions(memory, until=TEN)) == [1, 4, 6, 7]
    assert ids(browse.sessions(memory, [SHOP, OLD], until=TEN - 1)) == [4]


def test_a_title_given_by_a_person_wins(memory: sqlite3.Connection) -> None:
    assert [session.title for session in browse.sessions(memory, [SHOP])] == [
        "A second try",
        "Fix the auth timeout",
    ]


def test_an_old_title_goes_to_the_session_of_its_leaf(memory: sqlite3.Connection) -> None:
    assert browse.sessions(memory, [OLD])[0].title == "An old title"


def test_the_last_leaf_names_the_session(memory: sqlite3.Connection) -> None:
    memory.execute("INSERT INTO session_titles VALUES ('p7', 'Before')")
    assert browse.sessions(memory, [OLD])[0].title == "An old title"


def test_the_first_prompt_names_a_session_that_nothing_else_does(memory: sqlite3.Connection) -> None:
    assert browse.sessions(memory, ["github.com/other/tools"])[0].title == "Tools"


def test_a_fork_counts_what_it_shows(memory: sqlite3.Connection) -> None:
    fork, origin = browse.sessions(memory, [SHOP])
    assert (fork.tool_uses, fork.prompts) == (2, 2)
    assert (origin.tool_uses, origin.prompts) == (2, 2)


def test_a_session_by_its_row(memory: sqlite3.Connection) -> None:
    found = browse.session(memory, 1)
    assert found is not None
    assert found.session == ORIGIN
    assert browse.session(memory, 99) is None


def test_a_session_by_its_id_or_the_start_of_it(memory: sqlite3.Connection) -> None:
    assert ids(browse.find_sessions(memory, FORK)) == [2]
    assert ids(browse.find_sessions(memory, "3333")) == [3]
    assert ids(browse.find_sessions(memory, "8c1f")) == [1, 2]
    assert ids(browse.find_sessions(memory, "8c1f", limit=1)) == [1]


def test_a_whole_id_is_not_the_start_of_another(memory: sqlite3.Connection) -> None:
    memory.execute("UPDATE sdk_sessions SET content_session_id = '8c1f' WHERE id = 7")
    assert ids(browse.find_sessions(memory, "8c1f")) == [7]


def test_nothing_and_wildcards_find_no_session(memory: sqlite3.Connection) -> None:
    assert [browse.find_sessions(memory, name) for name in ("", "%", "_", "9", "\udcff", "\x00")] == [[]] * 6


# --- projects


def test_projects_with_their_aliases_the_last_active_first(memory: sqlite3.Connection) -> None:
    found = browse.projects(memory, aliases(memory))
    assert [(project.display, project.sessions, project.prompts, project.tool_uses) for project in found] == [
        ("Notes", 1, 1, 0),
        ("shop-api", 3, 4, 4),
        ("tools", 1, 0, 0),
        ("tools", 1, 0, 0),
    ]


def test_a_merged_project_keeps_the_names_it_had(memory: sqlite3.Connection) -> None:
    shop = browse.projects(memory, aliases(memory))[1]
    assert shop.keys == (SHOP, OLD)
    assert shop.spellings == ("Shop-API", "shop-api", "old-shop")
    assert shop.last == 1795176060000


def test_without_its_alias_a_project_stands_alone(memory: sqlite3.Connection) -> None:
    assert [project.display for project in browse.projects(memory, {})][:3] == [
        "Notes",
        "shop-api",
        "old-shop",
    ]


def test_an_alias_of_a_project_without_sessions_takes_its_key(memory: sqlite3.Connection) -> None:
    found = browse.projects(memory, {NOTES: "/home/dev/moved"})
    assert (found[0].key, found[0].display, found[0].keys) == (
        "/home/dev/moved",
        "Notes",
        ("/home/dev/moved", NOTES),
    )


def test_the_keys_of_a_folder_are_counted(memory: sqlite3.Connection) -> None:
    assert browse.keys_of_folder(memory, "/home/dev/work/shop-api") == {"github.com/example/shop-api": 1}
    assert browse.keys_of_folder(memory, "/nowhere\udcff") == {}
