"""Stored aliases are those of the configuration, no more and no less."""

from __future__ import annotations

from desk import Desk

from indexer.store.projects import set_aliases

ALIASES = "SELECT alias_key, project_key FROM project_aliases ORDER BY 1"


def test_aliases_are_stored_folded() -> None:
    desk = Desk()
    set_aliases(desk.conn, [("/Home/Dev/OLD", "GitHub.com/Dev/New")])
    assert desk.rows(ALIASES) == [("/home/dev/old", "github.com/dev/new")]


def test_an_alias_that_left_the_configuration_leaves_the_store() -> None:
    desk = Desk()
    set_aliases(desk.conn, [("a", "b"), ("c", "d")])
    set_aliases(desk.conn, [("c", "d")])
    assert desk.rows(ALIASES) == [("c", "d")]


def test_an_alias_may_lead_somewhere_else() -> None:
    desk = Desk()
    set_aliases(desk.conn, [("a", "b")])
    set_aliases(desk.conn, [("a", "c")])
    assert desk.rows(ALIASES) == [("a", "c")]


def test_nothing_is_written_when_nothing_changed() -> None:
    desk = Desk()
    set_aliases(desk.conn, [("a", "b")])
    before = desk.conn.total_changes
    set_aliases(desk.conn, [("A", "B")])
    assert desk.conn.total_changes == before
