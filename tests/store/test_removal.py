"""What is taken out is only what was asked for, and all that hangs on it."""

from __future__ import annotations

from desk import Desk, call, entry, result, said
from stores import check

from indexer.records import AgentLink, Prompt, QueueOperation, ToolResult, TurnEvent, Unreadable
from indexer.store.removal import forget_files_below

BELOW = "/root/-w-sample"


def both() -> Desk:
    """A sample session `s` and a real one `a`, each with a row of every kind."""
    desk = Desk()
    for session, folder in (("a", "-w-a"), ("s", "-w-sample")):
        file = desk.file(session, folder=folder)
        lines = [
            (Prompt("hello"),),
            (said(f"m-{session}", "done"), call(f"toolu_{session}")),
            (result(f"toolu_{session}"), TurnEvent("exit", {"code": 1})),
            (ToolResult("nowhere", "nowhere", "late", None, None),),
            (AgentLink("x", f"toolu_{session}", None, None), QueueOperation("enqueue", "later")),
            (Unreadable("bad", 0, 9),),
        ]
        desk.write(
            file,
            *(
                entry(f"{session}{n}", *line, session=session, version="2.0.1", cwd=f"/w/{session}")
                for n, line in enumerate(lines)
            ),
        )
    return desk


def counts(desk: Desk) -> dict[str, int]:
    names = desk.rows(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '%fts%' AND name NOT LIKE 'sqlite_%'"
    )
    found = {name: desk.one(f"SELECT count(*) FROM {name}") for (name,) in names}
    return {
        name: rows
        for name, rows in found.items()
        if rows and name not in ("schema_versions", "project_resolutions", "device")
    }


def test_everything_of_the_folder_goes_and_nothing_else() -> None:
    desk = both()
    before = counts(desk)
    assert len(before) > 12
    assert forget_files_below(desk.conn, BELOW) == 1
    assert counts(desk) == {name: rows // 2 for name, rows in before.items()}
    assert desk.rows("SELECT content_session_id FROM sdk_sessions") == [("a",)]
    check(desk.conn)


def test_what_is_gone_is_not_found_any_more() -> None:
    desk = both()
    find = "SELECT count(*) FROM search_fts WHERE search_fts MATCH 'hello'"
    assert desk.one(find) == 2
    forget_files_below(desk.conn, BELOW)
    assert desk.one(find) == 1


def test_a_project_that_nobody_is_in_goes_too() -> None:
    desk = both()
    forget_files_below(desk.conn, BELOW)
    assert desk.rows("SELECT project_key FROM projects") == [("/w/a",)]


def test_a_folder_whose_name_begins_alike_is_another() -> None:
    desk = both()
    assert forget_files_below(desk.conn, "/root/-w-samp") == 0
    assert forget_files_below(desk.conn, "/root/-w-sample/nothing") == 0


def test_a_side_file_without_triggers_is_cleaned_as_well() -> None:
    desk = both()
    for (name,) in desk.rows("SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%s_ad'"):
        if name != "search_texts_ad":
            desk.conn.execute(f"DROP TRIGGER {name}")
    forget_files_below(desk.conn, BELOW)
    check(desk.conn)
