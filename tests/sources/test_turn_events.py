"""Events that are records of their own, and the bound on every event."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from indexer.records import TurnEvent
from indexer.sources.turn_events import (
    bounded,
    compact_boundary,
    compaction,
    duration,
    error,
    interruption,
    pull_request,
)

MOST = 8192


def size(data: dict[str, Any]) -> int:
    return len(orjson.dumps(data))


# --- the bound


def test_small_data_is_left_as_it_is() -> None:
    data = {"a": "x" * 7000, "b": [1, 2], "c": None}
    assert bounded(data) is data


@pytest.mark.parametrize("text", ["x" * 20_000, "项" * 20_000, '"\n' * 20_000, "\x01" * 20_000, "😀" * 20_000])
def test_a_long_text_is_cut_to_what_fits(text: str) -> None:
    fitting = bounded({"tool_use_id": "toolu_1", "plan": text})
    assert 4000 < size(fitting) < MOST
    assert fitting["tool_use_id"] == "toolu_1"
    assert fitting["plan"].endswith("bytes]")


def test_a_cut_text_says_how_long_it_was() -> None:
    assert bounded({"plan": "x" * 20_000})["plan"].endswith("…[truncated: 20000 bytes]")


def test_only_long_texts_are_cut() -> None:
    fitting = bounded({"short": "x" * 100, "long": "y" * 20_000})
    assert fitting["short"] == "x" * 100


def test_long_lists_are_shortened() -> None:
    tasks = [{"content": f"task {i} " + "x" * 200, "status": "pending"} for i in range(100)]
    fitting = bounded({"op": "list", "tasks": tasks})
    assert 1000 < size(fitting) < MOST
    assert fitting["tasks"][0]["status"] == "pending"


def test_lists_of_short_items_are_shortened() -> None:
    assert size(bounded({"fields": ["x"] * 100_000})) < MOST


def test_the_given_data_is_not_changed() -> None:
    data = {"a": "x" * 20_000, "b": ["y" * 20_000]}
    bounded(data)
    assert (len(data["a"]), len(data["b"][0])) == (20_000, 20_000)


# --- events


def test_an_error_has_its_kind_status_and_text() -> None:
    record = {"error": "rate_limit", "apiErrorStatus": 429}
    assert error(record, "slow down") == TurnEvent("error", {"error": "rate_limit", "status": 429, "text": "slow down"})


def test_an_older_error_has_its_text_alone() -> None:
    assert error({"error": {"status": 529}}, "x") == TurnEvent("error", {"text": "x"})


@pytest.mark.parametrize(
    ("text", "tool"),
    [("[Request interrupted by user]", False), ("[Request interrupted by user for tool use]", True)],
)
def test_an_interruption_says_if_a_tool_was_refused(text: str, tool: bool) -> None:
    assert interruption(text) == TurnEvent("interruption", {"tool": tool})


def test_a_compaction_holds_its_summary() -> None:
    assert compaction("We fixed it.") == TurnEvent("compaction", {"summary": "We fixed it."})
    assert size(compaction("x" * 100_000).data) < MOST


def test_a_compact_boundary_says_what_set_it_off() -> None:
    record = {"compactMetadata": {"trigger": "manual", "preTokens": 152, "durationMs": 64}}
    assert compact_boundary(record) == TurnEvent("compaction", {"trigger": "manual", "pre_tokens": 152})


@pytest.mark.parametrize("meta", [None, "x", [1], {}, {"trigger": None}], ids=repr)
def test_an_older_compact_boundary_says_nothing(meta: object) -> None:
    assert compact_boundary({"compactMetadata": meta}) == TurnEvent("compaction", {})


def test_a_duration_is_in_milliseconds() -> None:
    assert duration({"durationMs": 5475}) == TurnEvent("duration", {"ms": 5475})


@pytest.mark.parametrize("ms", [None, "5", 1.5, float("nan"), True], ids=repr)
def test_a_duration_that_is_none(ms: object) -> None:
    assert duration({"durationMs": ms}) is None


def test_a_pull_request() -> None:
    record = {"prNumber": 12, "prUrl": "https://example.invalid/12", "prRepository": "team/shop"}
    assert pull_request(record) == TurnEvent(
        "pr", {"number": 12, "url": "https://example.invalid/12", "repository": "team/shop"}
    )
