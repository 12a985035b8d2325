"""Spans of time; the rest of scope is tested through the command line (tests/cli/test_scope.py)."""

from __future__ import annotations

import pytest

from indexer import scope
from indexer.errors import UsageError

NOON = 1_795_176_000_000


def test_a_day_is_its_start_or_its_end() -> None:
    first, last = scope.moment("2026-11-20"), scope.moment("2026-11-20", end=True)
    assert (last - first, first) == (86_400_000 - 1, NOON - 12 * 3_600_000)


def test_a_span_may_be_open() -> None:
    assert scope.span(None, None) == (None, None)
    assert scope.span("2026-11-20T12:00Z", None) == (NOON, None)


def test_a_span_that_runs_backwards_is_refused() -> None:
    with pytest.raises(UsageError, match="is later than"):
        scope.span("2026-11-21", "2026-11-20")
