"""Of several sessions that are left, the one that would have owned a record without the forgotten one has it."""

from __future__ import annotations

from desk import Desk, entry, said

from indexer.records import Prompt, TurnEvent
from indexer.store.connection import transaction
from indexer.store.heirs import hand_over, settle
from indexer.store.membership import INHERITED, OWNER

LEAVING = "SELECT id FROM sdk_sessions WHERE content_session_id = 'a'"
OWNERS = "SELECT s.content_session_id, r.flags FROM session_records r JOIN sdk_sessions s ON s.id = r.session_db_id"


def three(**second: str) -> Desk:
    """A record that `a` owns, and that `c` and the younger `b` hold too."""
    desk = Desk()
    desk.write(desk.file("a"), entry("u1", Prompt("hi"), TurnEvent("exit", {}), time=1), entry("u2", said("m", "x")))
    for name, time, more in (("c", 2, second), ("b", 3, {})):
        desk.write(
            desk.file(name),
            entry(f"first-{name}", Prompt(name), session=name, time=time),
            entry("u1", Prompt("hi"), TurnEvent("exit", {}), session=name, time=1, **more),
        )
    return desk


def give(desk: Desk) -> None:
    with transaction(desk.conn):
        hand_over(desk.conn, ["u1"], LEAVING)


def test_the_oldest_that_is_left_inherits() -> None:
    desk = three()
    give(desk)
    assert desk.rows(f"{OWNERS} WHERE r.uuid = 'u1' ORDER BY 1") == [("b", 0), ("c", OWNER | INHERITED)]
    assert desk.one("SELECT content_session_id FROM user_prompts WHERE native_prompt_id = 'u1'") == "c"


def test_a_copy_that_names_its_origin_comes_after_one_that_does_not() -> None:
    desk = three(forked_from="a")
    give(desk)
    assert desk.one("SELECT content_session_id FROM user_prompts WHERE native_prompt_id = 'u1'") == "b"


def test_events_and_index_texts_go_along() -> None:
    desk = three()
    give(desk)
    heir = desk.one("SELECT id FROM sdk_sessions WHERE content_session_id = 'c'")
    assert desk.one("SELECT session_db_id FROM turn_events WHERE uuid = 'u1'") == heir
    assert desk.one("SELECT session_db_id FROM search_texts WHERE uuid = 'u1'") == heir


def test_a_record_that_the_leaving_session_did_not_own_stays_where_it_is() -> None:
    desk = three()
    with transaction(desk.conn):
        hand_over(desk.conn, ["u1"], "SELECT id FROM sdk_sessions WHERE content_session_id = 'b'")
    assert desk.rows(f"{OWNERS} WHERE r.uuid = 'u1' ORDER BY 1") == [("a", OWNER), ("c", 0)]


def test_numbers_follow() -> None:
    desk = three()
    give(desk)
    sql = "SELECT native_prompt_id, prompt_number FROM user_prompts WHERE content_session_id = 'c' ORDER BY 2"
    assert desk.rows(sql) == [("first-c", 1), ("u1", 2)]


def test_files_that_are_gone_are_not_read_again() -> None:
    desk = three()
    desk.conn.execute("UPDATE ingest_files SET status = 'gone' WHERE path LIKE '%/c.jsonl'")
    give(desk)
    assert desk.to_read_again() == ["b.jsonl"]


def test_settling_nobody_is_no_work() -> None:
    desk = three()
    before = desk.conn.total_changes
    settle(desk.conn, [])
    assert desk.conn.total_changes == before
