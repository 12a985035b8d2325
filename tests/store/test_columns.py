"""Filters as conditions on the columns that a scan holds."""

from __future__ import annotations

import pytest

from indexer.store.columns import KINDS, none, others, wanted
from indexer.store.filters import Filters


def test_without_filters_every_kind_passes() -> None:
    want = wanted(Filters())
    assert want.kinds == set(KINDS)
    assert want[1:] == (None, None, None, None)


def test_a_type_leaves_observations_alone_and_ignores_case() -> None:
    want = wanted(Filters(type="BugFix"))
    assert (set(want.kinds), want.type) == ({"observation"}, "bugfix")


def test_kinds_are_those_asked_for() -> None:
    assert wanted(Filters(kinds=("prompt", "shell"))).kinds == {"prompt", "shell"}


def test_a_tool_leaves_nothing_that_has_vectors() -> None:
    assert wanted(Filters(tool="Bash")).kinds == {"tool_use"}


def test_projects_are_keys() -> None:
    assert wanted(Filters(project=("a", "b"))).projects == frozenset("ab")
    assert wanted(Filters(project=())).projects == frozenset()


@pytest.mark.parametrize(
    "filters", [Filters(session="s"), Filters(file="a.py"), Filters(agent="x"), Filters(concept="c")]
)
def test_what_only_the_memory_can_answer(filters: Filters) -> None:
    assert others(filters)
    assert not none(filters)


@pytest.mark.parametrize(
    "filters", [Filters(project=("a",)), Filters(since=0), Filters(kinds=("prompt",)), Filters(type="x")]
)
def test_what_columns_can_answer(filters: Filters) -> None:
    assert not others(filters)
    assert not none(filters)


def test_limit_and_offset_filter_nothing() -> None:
    assert none(Filters(limit=3, offset=7))
