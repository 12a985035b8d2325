"""Rows go with the last session that shows them; what another shows is left whole."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from desk import NOON, Desk, call, entry, result, said
from stores import check, content, store

from indexer.records import AgentLink, Prompt, QueueOperation, Title, ToolResult, TurnEvent
from indexer.store import erasing


def erase(desk: Desk, *sessions: str, records: tuple[str, ...] = ()) -> None:
    erasing.begin(desk.conn, sessions, records)
    erasing.erase_rows(desk.conn)
    assert erasing.scrub(desk.conn)
    check(desk.conn)


def full() -> Desk:
    """Session `a` with a row in every table; `b` holds its first two records, and one of its own."""
    desk = Desk()
    shared = entry("u1", Prompt("shared")), entry("u2", said("m1", "one"), call("toolu_1"))
    own = (
        entry("u3", result("toolu_1", "gone answer"), time=3),
        entry("u4", said("m1", "two"), time=4),
        entry("u5", Prompt("gone"), TurnEvent("exit", {"code": 1}), time=5),
        entry("u6", ToolResult("nowhere", "nowhere", "late", None, None), time=6),
        entry(None, AgentLink("x", "toolu_1", None, None)),
        entry(None, QueueOperation("enqueue", "later"), version="2.0.1"),
        entry(None, Title("summary", "gone title", "u5")),
        entry(None, Title("custom", "gone name")),
    )
    desk.write(desk.file("a"), *shared, *own)
    copies = [one._replace(session_id="b") for one in shared]
    desk.write(desk.file("b"), *copies, entry("u9", Prompt("b's own"), session="b", time=9))
    return desk


def test_nothing_is_left_of_a_session_that_stands_alone() -> None:
    desk = full()
    erase(desk, "a", "b")
    held = content(desk.conn)
    assert {name: rows for name, rows in held.items() if rows and name != "files"} == {}
    assert desk.rows("SELECT * FROM session_titles") == []
    assert all(path.startswith("forgotten:") for (path,) in desk.rows("SELECT path FROM ingest_files"))


def test_shared_rows_become_those_of_the_session_that_is_left() -> None:
    desk = full()
    ids = desk.rows("SELECT id FROM user_prompts WHERE prompt_text = 'shared'")
    erase(desk, "a")
    assert desk.rows("SELECT id FROM user_prompts WHERE prompt_text = 'shared' AND content_session_id = 'b'") == ids
    assert desk.rows("SELECT content_session_id, memory_session_id FROM tool_uses") == [("b", "claude:b")]
    assert desk.rows("SELECT content_session_id FROM assistant_messages") == [("b",)]
    assert desk.rows("SELECT DISTINCT session_db_id FROM search_texts") == desk.rows("SELECT id FROM sdk_sessions")


def test_what_is_left_is_numbered_as_the_session_shows_it() -> None:
    desk = full()
    erase(desk, "a")
    assert desk.rows("SELECT prompt_text, prompt_number FROM user_prompts ORDER BY 2") == [
        ("shared", 1), ("b's own", 2),
    ]  # fmt: skip
    assert desk.rows("SELECT prompt_counter, user_prompt FROM sdk_sessions") == [(2, "shared")]


def test_a_call_that_stays_loses_an_answer_that_goes() -> None:
    desk = full()
    erase(desk, "a")
    assert desk.rows("SELECT result_uuid, tool_response, is_error FROM tool_uses") == [(None, None, None)]
    assert desk.rows("SELECT body FROM search_texts WHERE kind = 'tool_use' AND body LIKE '%gone%'") == []


def test_a_message_that_stays_loses_lines_that_go() -> None:
    desk = full()
    erase(desk, "a")
    assert desk.rows("SELECT text FROM assistant_texts") == [("one",)]
    assert desk.rows("SELECT body FROM search_texts WHERE kind = 'assistant'") == [("one",)]


def test_a_message_whose_first_line_goes_is_led_by_the_next() -> None:
    desk = full()
    erase(desk, records=("u2",))
    assert desk.rows("SELECT record_uuid, content_session_id FROM assistant_messages") == [("u4", "a")]
    assert desk.rows("SELECT body FROM search_texts WHERE kind = 'assistant'") == [("two",)]


def test_the_files_of_the_session_that_is_left_are_read_again() -> None:
    desk = full()
    erase(desk, "a")
    assert desk.to_read_again() == ["b.jsonl"]


def test_what_was_restamped_on_a_copy_is_the_heirs_once_it_is_read_again() -> None:
    desk = Desk()
    desk.write(desk.file("a"), entry("u1", Prompt("shared"), time=1))
    copy = entry("u1", Prompt("shared"), session="b", time=7)
    desk.write(desk.file("b"), copy)
    erase(desk, "a")
    assert desk.one("SELECT created_at_epoch FROM user_prompts") == NOON + 1
    desk.again(desk.file("b"), copy)
    assert desk.one("SELECT created_at_epoch FROM user_prompts") == NOON + 7
    assert desk.one("SELECT flags FROM session_records") == 4


def test_one_record_goes_from_all_its_sessions() -> None:
    desk = full()
    erase(desk, records=("u1",))
    assert desk.rows("SELECT content_session_id, prompt_number FROM user_prompts ORDER BY 1") == [("a", 1), ("b", 1)]
    assert desk.rows("SELECT content_session_id, user_prompt FROM sdk_sessions") == [("a", "gone"), ("b", "b's own")]


def test_a_file_that_another_session_stands_in_keeps_its_name() -> None:
    desk = Desk()
    desk.write(desk.file("a"), entry("u1", Prompt("gone")), entry("u2", Prompt("kept"), session="b"))
    erase(desk, "a")
    assert desk.rows("SELECT path FROM ingest_files") == [("/root/-w-a/a.jsonl",)]


def test_unknown_sessions_and_records_do_no_harm() -> None:
    desk = full()
    before = content(desk.conn)
    erase(desk, "nobody", records=("nothing",))
    assert content(desk.conn)["prompts"] == before["prompts"]
    assert not erasing.pending(desk.conn)


def test_an_unknown_session_alone_writes_nothing() -> None:
    desk = full()
    erasing.begin(desk.conn, ["nobody"], [])
    assert not erasing.pending(desk.conn)
    assert desk.rows("SELECT * FROM tombstones") == []


def test_more_records_than_a_transaction_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "CHUNK", 2)
    desk = full()
    erase(desk, "a")
    assert [row[0] for row in desk.rows("SELECT prompt_text FROM user_prompts ORDER BY 1")] == ["b's own", "shared"]


def test_begun_again_after_any_part_it_ends_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasing, "CHUNK", 1)
    once, again = full(), full()
    erase(once, "a")
    erasing.begin(again.conn, ["a"], [])
    for _ in range(40):
        _erase_a_little(again.conn)
    erasing.erase_rows(again.conn)
    assert content(again.conn) == content(once.conn)


def _erase_a_little(conn: sqlite3.Connection) -> None:
    """Erase until the fifth commit, which fails."""
    commits = iter(range(100))
    conn.set_authorizer(
        lambda action, name, *_: (
            sqlite3.SQLITE_DENY
            if action == sqlite3.SQLITE_TRANSACTION and name == "COMMIT" and next(commits) == 2
            else sqlite3.SQLITE_OK
        )
    )
    try:
        erasing.erase_rows(conn)
    except sqlite3.DatabaseError:
        if conn.in_transaction:
            conn.set_authorizer(None)
            conn.execute("ROLLBACK")
    finally:
        conn.set_authorizer(None)


def test_the_index_is_one_segment_afterwards() -> None:
    desk = full()
    for number in range(9):
        desk.write(desk.file("b"), entry(f"v{number}", Prompt(f"word{number}"), session="b", time=20 + number))
    erase(desk, "a")
    assert desk.one("SELECT count(DISTINCT segid) FROM search_fts_idx") == 1


def test_the_log_is_cut_though_the_database_stays_open(tmp_path: Path) -> None:
    conn, log = store(tmp_path), tmp_path / "index.db-wal"
    conn.execute("INSERT INTO erasures (kind, value) VALUES ('log', '')")
    assert log.stat().st_size > 0
    assert erasing.scrub(conn)
    assert log.stat().st_size == 0
    conn.close()


def test_what_is_doomed_is_told_by_its_ids() -> None:
    desk = full()
    erasing.begin(desk.conn, ["a"], [])
    sessions, uuids = erasing.doomed(desk.conn)
    assert (sessions, sorted(uuids)) == (("a",), ["u3", "u4", "u5", "u6"])


def test_without_a_full_text_index_there_is_nothing_to_merge() -> None:
    desk = full()
    for name in ("ai", "ad", "au"):
        desk.conn.execute(f"DROP TRIGGER search_texts_{name}")
    desk.conn.execute("DROP TABLE search_fts")
    erasing.begin(desk.conn, ["a"], [])
    erasing.erase_rows(desk.conn)
    assert erasing.scrub(desk.conn)
