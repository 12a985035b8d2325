"""Spans of time; the rest of scope is tested through the command line (tests/cli/test_scope.py)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from daemons import settings

from indexer import scope
from indexer.errors import UsageError
from indexer.query import Filters
from indexer.worker import client

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


@pytest.mark.parametrize(("mode", "waits"), [("hybrid", False), ("semantic", True)])
def test_only_a_search_by_meaning_alone_waits_and_no_search_for_two_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, waits: bool
) -> None:
    given: list[float] = []
    monkeypatch.setattr(scope, "ask", lambda *_, wait, **__: given.append(wait))
    found: Any = scope.meaning(replace(settings(tmp_path), vectors_store="chroma"), mode)
    found("shed", Filters())
    assert (given[0] > 0) == waits
    assert max(given[0], client.TIMEOUT) < 1.6


def test_words_alone_ask_nobody(tmp_path: Path) -> None:
    assert scope.meaning(replace(settings(tmp_path), vectors_store="chroma"), "lexical") is None
    assert scope.meaning(replace(settings(tmp_path), vectors_store="none"), "hybrid") is None
