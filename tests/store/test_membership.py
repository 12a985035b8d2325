"""Who holds a record, and who of them ought to own it."""

from __future__ import annotations

import pytest
from desk import Desk, entry

from indexer.records import Prompt
from indexer.store.membership import FORKED, OWNER, SIDECHAIN, Age, Member, Members, in_chunks, shared_by


@pytest.fixture
def desk() -> Desk:
    filled = Desk()
    for session in "ab":
        filled.write(filled.file(session), entry("u1", Prompt("hello"), session=session))
    filled.write(filled.file("b"), entry("u2", Prompt("more"), session="b"))
    return filled


RANKS = [
    Age("b", 0, 5).rank(0),
    Age("c", 0, 5).rank(0),
    Age("a", 0, 6).rank(0),
    Age("a", 0, None).rank(0),
    Age("a", 1, 1).rank(0),
    Age("a", 0, 1).rank(FORKED),
    Age("a", 0, 1).rank(SIDECHAIN),
    Age("a", 0, 1).rank(SIDECHAIN | FORKED),
]


def test_the_order_of_ranks() -> None:
    """Earlier time, smaller id; undated; an agent file's age; a named copy; a side chain."""
    assert sorted(RANKS) == RANKS


def test_owning_does_not_change_a_rank() -> None:
    assert Age("a", 0, 1).rank(OWNER) == Age("a", 0, 1).rank(0)


def test_stored_members_are_read_once(desk: Desk) -> None:
    members = Members(desk.conn)
    members.load(["u1", "nowhere"])
    desk.conn.execute("DELETE FROM session_records")
    members.load(["u1"])
    assert sorted(member.session for member in members.of("u1")) == [1, 2]
    assert list(members.of("nowhere")) == []


def test_the_owner_is_stored_and_the_best_follows_from_ages(desk: Desk) -> None:
    members = Members(desk.conn)
    members.load(["u1"])
    owner = members.owner("u1")
    assert owner is not None
    assert owner.session == members.best("u1", {}).session == 1
    assert members.best("u1", {1: Age("a", 0, 99), 2: Age("b", 0, 1)}).session == 2


def test_putting_replaces_the_member_of_the_same_session(desk: Desk) -> None:
    members = Members(desk.conn)
    members.load(["u1"])
    members.put("u1", Member(2, 9, 9, FORKED))
    assert sorted(members.of("u1"))[1:] == [Member(2, 9, 9, FORKED)]


def test_new_and_changed_members_are_written(desk: Desk) -> None:
    members = Members(desk.conn)
    members.load(["u1"])
    members.put("u1", Member(2, 2, 7, 0))
    members.add_new("u3", Member(1, 1, 8, OWNER))
    members.add_new("u4", Member(1, 1, 9, OWNER))
    members.put("u4", Member(2, 2, 9, FORKED))
    members.flush()
    stored = "SELECT uuid, session_db_id, position, flags FROM session_records WHERE position > 6 ORDER BY 1, 2"
    assert desk.rows(stored) == [("u1", 2, 7, 0), ("u3", 1, 8, OWNER), ("u4", 1, 9, OWNER), ("u4", 2, 9, FORKED)]


def test_nothing_is_written_twice(desk: Desk) -> None:
    members = Members(desk.conn)
    members.add_new("u3", Member(1, 1, 8, OWNER))
    members.flush()
    before = desk.conn.total_changes
    members.flush()
    assert desk.conn.total_changes == before


def test_shared_records_of_a_session(desk: Desk) -> None:
    assert (shared_by(desk.conn, 1), shared_by(desk.conn, 2)) == (["u1"], ["u1"])


@pytest.mark.parametrize("size", [1, 2, 3, 500])
def test_any_number_of_values_goes_into_a_query(desk: Desk, size: int) -> None:
    values = [1, 2, 3, 4, 5]
    sql = "SELECT value FROM json_each('[1, 2, 3, 4, 5]') WHERE value IN ({})"
    assert [row[0] for row in in_chunks(desk.conn, sql, values, size)] == values
    assert list(in_chunks(desk.conn, sql, [], size)) == []


def test_exactly_one_member_owns(desk: Desk) -> None:
    owners = "SELECT uuid, sum(flags & 4 <> 0) FROM session_records GROUP BY uuid"
    assert desk.rows(owners) == [("u1", 1), ("u2", 1)]
