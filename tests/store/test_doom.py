"""A dry run counts what would go, and what stays for others."""

from __future__ import annotations

import pytest
from desk import NOON, Desk, call, entry, result, said

from indexer.errors import NotFound, UsageError
from indexer.records import Prompt
from indexer.store import doom


@pytest.fixture
def desk() -> Desk:
    """`a` and its fork `b` share a prompt and a call; `c` is of another project and older."""
    made = Desk()
    shared = entry("u1", Prompt("shared"), time=100), entry("u2", call("toolu_1"), time=101)
    own = entry("u3", result("toolu_1", "four"), time=102), entry("u4", Prompt("ü own"), time=103)
    made.write(made.file("a"), *shared, *own, entry("u5", said("m1", "answer"), time=104))
    made.write(made.file("b"), *(one._replace(session_id="b") for one in shared))
    made.write(made.file("c"), entry("c1", Prompt("old"), session="c", cwd="/w/c", time=-100))
    return made


def test_a_session_is_weighed_without_what_it_shares(desk: Desk) -> None:
    found = doom.weigh(desk.conn, ["a"])
    assert (found.prompts, found.tool_uses, found.messages) == (1, 0, 1)
    assert found.size == len("ü own".encode()) + len("answer")
    assert (found.stays, found.kept_for) == (2, ("b",))


def test_two_that_share_are_weighed_with_it_once(desk: Desk) -> None:
    found = doom.weigh(desk.conn, ["a", "b"])
    assert (found.prompts, found.tool_uses, found.messages, found.stays) == (2, 1, 1, 0)


def test_a_fork_that_owns_nothing_takes_nothing(desk: Desk) -> None:
    assert doom.weigh(desk.conn, ["b"])[2:] == (0, 0, 0, 0, 2, ("a",))


def test_a_single_record_is_weighed_by_itself(desk: Desk) -> None:
    assert doom.weigh(desk.conn, [], ["u1"])[2:] == (1, 0, 0, len("shared"), 0, ())


def test_weighing_nothing(desk: Desk) -> None:
    assert doom.weigh(desk.conn, []) == doom.Doom((), ())


def test_weighing_changes_nothing(desk: Desk) -> None:
    before = desk.conn.total_changes
    desk.conn.execute("PRAGMA query_only = ON")
    doom.weigh(desk.conn, ["a", "c"])
    assert desk.conn.total_changes == before


def test_sessions_of_a_project(desk: Desk) -> None:
    assert doom.of_project(desk.conn, ["/w/a"]) == ["a", "b"]
    assert doom.of_project(desk.conn, []) == []


def test_sessions_that_ended_before_a_time(desk: Desk) -> None:
    assert doom.before(desk.conn, NOON) == ["c"]
    assert doom.before(desk.conn, NOON + 102) == ["c", "b"]


@pytest.mark.parametrize(
    ("table", "kind", "uuids"),
    [
        ("user_prompts", "prompt", ["u1"]),
        ("tool_uses", "tool_use", ["u2", "u3"]),
        ("assistant_messages", "assistant", ["u5"]),
    ],
)
def test_the_records_behind_a_result(desk: Desk, table: str, kind: str, uuids: list[str]) -> None:
    row_id = desk.one(f"SELECT min(id) FROM {table}")
    assert doom.of_item(desk.conn, f"{kind}:{row_id}") == uuids


@pytest.mark.parametrize("name", ["prompt", "prompt:", "prompt:x", "nothing:1", "prompt:-1", "prompt:" + "9" * 30])
def test_what_is_no_id_is_said_to_be_none(desk: Desk, name: str) -> None:
    with pytest.raises(UsageError, match="is no id"):
        doom.of_item(desk.conn, name)


@pytest.mark.parametrize("name", ["prompt:99", "command:1"])
def test_what_is_not_there_is_not_found(desk: Desk, name: str) -> None:
    with pytest.raises(NotFound, match="there is no"):
        doom.of_item(desk.conn, name)


def test_an_observation_goes_with_its_session(desk: Desk) -> None:
    with pytest.raises(UsageError, match="one by one"):
        doom.of_item(desk.conn, "observation:1")
