"""The live feed, without a clock: what is between two looks is the test's own."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

import anyio
from pages import Browser, memory

from indexer import config
from indexer.config import Config
from indexer.errors import NoDatabase
from indexer.store import feed
from indexer.store.connection import open_writer
from indexer.store.feed import Cursor
from indexer.web import live

SEEN = Cursor(7, 2, 4, 2, 1)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return memory(tmp_path / "memory")


def settings(home: Path) -> Config:
    return config.load(home, (), {"TRANSCRIPT_INDEXER_VECTORS": "none"})


def store(home: Path, number: int, text: str = "a new prompt") -> None:
    """A prompt, as the service stores one."""
    conn = open_writer(home)
    conn.execute(
        "INSERT INTO user_prompts (id, session_db_id, content_session_id, project_key, prompt_text, native_prompt_id,"
        " native_prompt_hash, created_at_epoch) VALUES (?, 3, 'x', '/home/dev/notes', ?, ?, 'h', ?)",
        (number, text, f"n{number}", 1_795_255_200_000 + number),
    )
    conn.execute(
        "INSERT INTO search_texts (id, kind, session_db_id, project_key, created_at_epoch, body)"
        " VALUES (?, 'prompt', 3, '/home/dev/notes', ?, ?)",
        (number * 8, 1_795_255_200_000 + number, text),
    )
    conn.close()


class Done(Exception):
    """The test has seen enough."""


def told(home: Path, seen: Cursor | None, *between: Callable[[], object]) -> list[str]:
    """What the stream says, with these things done between its looks."""
    left = list(between)
    found: list[str] = []

    async def pause(_: float) -> None:
        if not left:
            raise Done
        left.pop(0)()

    anyio.run(_follow, settings(home), seen, pause, found)
    return found


async def _follow(
    given: Config, seen: Cursor | None, pause: Callable[[float], Awaitable[None]], found: list[str]
) -> None:
    try:
        async for event in live.events(given, seen, pause):
            found += [event]
    except Done:
        return


def fields(event: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in event.strip().splitlines())


def entries(events: list[str]) -> list[dict[str, Any]]:
    found = [fields(event) for event in events if "event: entry" in event]
    return [{"id": one["id"], "data": json.loads(one["data"])} for one in found]


def nothing() -> None:
    """Nobody stores anything."""


def test_what_is_stored_meanwhile_is_told(home: Path) -> None:
    events = told(home, SEEN, lambda: store(home, 8), nothing)
    (entry,) = entries(events)
    assert entry["id"] == "p8a2t4o2s1"
    assert "a new prompt" in entry["data"]


def test_what_was_missed_is_told_first(home: Path) -> None:
    store(home, 8)
    assert len(entries(told(home, SEEN))) == 1
    assert entries(told(home, feed.read("p8a2t4o2s1"))) == []


def test_who_comes_without_a_place_begins_now_and_is_told_where(home: Path) -> None:
    events = told(home, None, lambda: store(home, 8), nothing)
    assert any("event: start" in event and "id: p7a2t4o2s1" in event for event in events)
    assert len(entries(events)) == 1


def test_entries_come_in_order_of_time(home: Path) -> None:
    def both() -> None:
        store(home, 9, "later")
        store(home, 8, "sooner")

    texts = [entry["data"] for entry in entries(told(home, SEEN, both, nothing))]
    assert ["sooner" in texts[0], "later" in texts[1]] == [True, True]


def test_of_very_many_the_last_are_told(home: Path) -> None:
    def many() -> None:
        for number in range(8, 8 + live.MOST + 5):
            store(home, number)

    found = entries(told(home, SEEN, many, nothing))
    assert len(found) == live.MOST
    assert {entry["id"] for entry in found} == {f"p{7 + live.MOST + 5}a2t4o2s1"}


def test_the_state_is_told_when_it_changes(home: Path) -> None:
    events = told(home, SEEN, nothing, nothing)
    assert sum("event: state" in event for event in events) == 1


def test_a_quiet_stream_says_that_it_is_there(home: Path) -> None:
    events = told(home, SEEN, *[nothing] * (live.HEARTBEAT + 2))
    assert events.count(": still here\n\n") == 1


def test_an_event_is_one_line_whatever_it_holds(home: Path) -> None:
    store(home, 8, "one\ntwo\r\n\nevent: evil <script>")
    for event in told(home, SEEN):
        assert len(event.strip().splitlines()) <= 3
        assert "<script" not in event


def test_without_a_memory_it_waits_and_says_why(tmp_path: Path) -> None:
    events = told(tmp_path / "none", None, nothing)
    assert sum("event: trouble" in event for event in events) == 2
    assert "there is no memory yet" in events[1]


def test_a_memory_that_comes_later_is_followed(tmp_path: Path) -> None:
    events = told(tmp_path / "late", None, partial(memory, tmp_path / "late"), nothing)
    assert any("event: start" in event for event in events)


def test_a_look_writes_nothing(home: Path) -> None:
    before = (home / "index.db").read_bytes()
    live.look(settings(home), SEEN)
    assert (home / "index.db").read_bytes() == before


def test_a_look_at_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase):
        live.look(settings(tmp_path / "none"), None)


def test_only_so_many_follow_at_once() -> None:
    places = live.Places()
    for _ in range(live.STREAMS):
        places.__enter__()
    assert not places.free
    places.__exit__()
    assert places.free


def test_the_feed_is_a_stream_behind_the_guard(home: Path) -> None:
    answer = Browser(home).get("/feed?after=p1a2t4o2s1")
    assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert Browser(home).get("/feed", cookie=None).status == 401
    assert Browser(home).get("/feed", sec_fetch_site="cross-site").status == 403
