"""What a session came to, and how its to-do list changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from remembered import turns_of
from transcripts import Transcript
from turn_cases import CASES, fail

from indexer.compressors.base import Event, Summary, WorkItem
from indexer.compressors.digest import work_items
from indexer.compressors.rules import Rules

NOTED = {case.name: case for case in CASES}


def summary(folder: Path, session: Transcript) -> Summary | None:
    rules, turns = Rules(), tuple(turns_of(folder, session))
    return rules.summarise(turns, tuple(one for turn in turns for one in rules.observe(turn)))


def session_of(*names: str) -> Transcript:
    session = Transcript("s")
    for name in names:
        NOTED[name].write(session)
    return session


def test_a_summary_says_what_was_asked_done_and_learned(tmp_path: Path) -> None:
    found = summary(tmp_path, session_of("off by one", "reading only"))
    assert found is not None
    assert found.request.startswith("The last page of the product list is always empty")
    assert found.completed == "Fixed the off-by-one in page_count"
    assert found.learned == "The payment client retries three times with exponential backoff"
    assert "client.py" in found.investigated
    assert found.files_edited == ("/home/dev/shop/shop/pagination.py",)


def test_it_tells_what_is_still_to_be_done_and_what_still_fails(tmp_path: Path) -> None:
    session = session_of("off by one")
    session.user("deploy it")
    fail(session, "make deploy", "error: no space left on device")
    session.text("The deploy failed. The next step is to free some space on the server.")
    found = summary(tmp_path, session)
    assert found is not None
    assert found.next_steps == "The next step is to free some space on the server."
    assert found.notes == "make deploy: error: no space left on device"


def test_of_mere_chatter_there_is_none(tmp_path: Path) -> None:
    assert summary(tmp_path, session_of("greeting", "thanks")) is None


# --- to-do lists


def listed(*tasks: tuple[str, str], time: int = 1) -> Event:
    return Event(
        "task",
        {"op": "list", "tasks": [{"content": name, "status": status} for name, status in tasks]},
        time,
        f"r{time}",
    )


def task(time: int, **data: Any) -> Event:
    return Event("task", data, time, f"r{time}")


def changes(*events: Event) -> list[tuple[str, str, str]]:
    found: list[WorkItem] = list(work_items((event, event.record) for event in events))
    return [(item.identity, item.subject, item.status) for item in found]


def test_only_changes_are_entries() -> None:
    first, second = listed(("a", "pending"), ("b", "pending")), listed(("a", "completed"), ("b", "pending"), time=2)
    assert changes(first, second) == [("r1#0", "a", "pending"), ("r1#1", "b", "pending"), ("r2#0", "a", "completed")]


def test_what_left_the_list_unfinished_was_dropped() -> None:
    found = changes(listed(("a", "pending"), ("b", "completed")), listed(("c", "pending"), time=2))
    assert [(name, status) for _, name, status in found[2:]] == [("c", "pending"), ("a", "dropped")]


def test_tasks_have_one_record_each() -> None:
    found = changes(
        task(1, op="create", id="1", subject="Test it"),
        task(2, op="update", id="1", to="in_progress", fields=["status"]),
        task(3, op="update", id="1", fields=["owner"]),
        task(4, op="update", id="1", to="deleted"),
    )
    assert [(name, status) for _, name, status in found] == [
        ("Test it", "pending"), ("Test it", "in_progress"), ("Test it", "dropped"),
    ]  # fmt: skip


def test_malformed_lists_are_passed_over() -> None:
    assert changes(task(1, op="list", tasks="no list"), task(2, op="list", tasks=[3, {}]), task(3, op="update")) == []
