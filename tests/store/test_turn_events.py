"""Events are kept once, at most 8 KiB each, with the session that owns their record."""

from __future__ import annotations

import pytest
from desk import NOON, Desk, entry

from indexer.records import Ignored, TurnEvent
from indexer.store.turn_events import EVENT_LIMIT


@pytest.fixture
def desk() -> Desk:
    return Desk()


def events(desk: Desk) -> list[tuple[object, ...]]:
    sql = "SELECT e.uuid, ordinal, content_session_id, kind, data, created_at_epoch - ? FROM turn_events e "
    return desk.rows(sql + "JOIN sdk_sessions s ON s.id = e.session_db_id ORDER BY 1, 2", NOON)


def test_events_are_kept_by_record_and_place(desk: Desk) -> None:
    file = desk.file()
    line = entry("u1", TurnEvent("exit", {"code": 1}), Ignored("x"), TurnEvent("plan", {"text": "é"}), time=4)
    desk.write(file, line)
    wanted = [("u1", 0, "a", "exit", '{"code":1}', 4), ("u1", 2, "a", "plan", '{"text":"é"}', 4)]
    assert events(desk) == wanted
    desk.again(file, line)
    assert events(desk) == wanted


def test_an_events_data_is_capped(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", TurnEvent("plan", {"text": "é" * EVENT_LIMIT})))
    (text,) = [str(row[4]) for row in events(desk)]
    assert len(text.encode()) < EVENT_LIMIT + 60
    assert "[truncated: " in text


def test_events_move_to_the_origin_with_its_time(desk: Desk) -> None:
    line = TurnEvent("exit", {})
    desk.write(desk.file("b"), entry("u1", line, session="b", time=50, forked_from="a"))
    desk.write(desk.file("a"), entry("u1", line, time=4))
    assert events(desk) == [("u1", 0, "a", "exit", "{}", 4)]
