"""Which call a result with an id that repeats belongs to: the last before it in its file, soon found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from indexer.store.rows import ToolRow
from indexer.store.weak_calls import WeakCalls, weak_id


class Lines:
    """In place of a Placer: record -> (session, file, line). asked: how many records it was asked about."""

    def __init__(self) -> None:
        self.places: dict[str, tuple[int, int, int]] = {}
        self.asked = 0

    def place_of(self, context: Any) -> tuple[int, int, int]:
        place: tuple[int, int, int] = context
        return place

    def lines(self, uuids: Sequence[str], session: int, file: int) -> dict[str, int]:
        self.asked += len(uuids)
        places = {uuid: self.places[uuid] for uuid in uuids}
        return {uuid: line for uuid, (*where, line) in places.items() if where == [session, file]}


class Calls:
    """Calls with the id `call_0`, each in a record of its own."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.weak = WeakCalls(self.lines)  # type: ignore[arg-type]

    def add(self, name: str, line: int, session: int = 1, file: int = 1) -> ToolRow:
        self.lines.places[name] = (session, file, line)
        row = ToolRow(line, session, name, "")
        self.weak.add(f"{name}:call_0", row)
        return row

    def before(self, line: int, session: int = 1, file: int = 1) -> str | None:
        context: Any = (session, file, line)
        row = self.weak.nearest("call_0", context)
        return row.record_uuid if row else None


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.mark.parametrize(
    ("identity", "weak"),
    [("u1:call_0", "call_0"), ("u1:call_0#2", "call_0"), ("toolu_01ABC", ""), ("u:f.Bash:0", "f.Bash:0")],
)
def test_the_weak_id_of_an_identity(identity: str, weak: str) -> None:
    assert weak_id(identity) == weak


def test_the_last_call_before_a_line(calls: Calls) -> None:
    for line in (2, 8, 5):
        calls.add(f"u{line}", line)
    assert [calls.before(line) for line in (2, 3, 6, 8, 99)] == [None, "u2", "u5", "u5", "u8"]


def test_calls_met_later_are_found_too(calls: Calls) -> None:
    calls.add("u1", 1)
    assert calls.before(9) == "u1"
    calls.add("u4", 4)
    assert (calls.before(9), calls.before(3)) == ("u4", "u1")


def test_other_files_sessions_and_ids_do_not_count(calls: Calls) -> None:
    calls.add("u1", 1, file=2)
    calls.add("u2", 2, session=2)
    calls.weak.add("toolu_1", ToolRow(1, 1, "u3", ""))
    assert calls.before(9) is None
    assert (calls.before(9, file=2), calls.before(9, session=2)) == ("u1", "u2")


def test_of_two_calls_on_a_line_the_first(calls: Calls) -> None:
    first = calls.add("u1", 1)
    calls.add("u1", 1)
    context: Any = (1, 1, 9)
    assert calls.weak.nearest("call_0", context) is first


def test_a_call_whose_record_stands_elsewhere_by_now_is_found_there(calls: Calls) -> None:
    calls.add("u1", 1)
    row = calls.add("u5", 5)
    assert calls.before(9) == "u5"
    calls.lines.places["u5"] = (1, 1, 20)
    assert calls.before(9) == "u1"
    calls.weak.add("u5:call_0", row)
    assert calls.before(21) == "u5"


def test_a_call_that_has_left_the_file_counts_before_all_others(calls: Calls) -> None:
    calls.add("u1", -7)
    assert calls.before(1) == "u1"


def test_thousands_of_one_id_are_each_looked_at_a_few_times(calls: Calls) -> None:
    for line in range(1, 2001):
        calls.add(f"u{line}", line)
        assert calls.before(line + 1) == f"u{line}"
    assert calls.lines.asked <= 3 * 2000
