"""`timeline`: around an id, or around the best hit."""

from __future__ import annotations

from typing import Any

import pytest

FORK = "8c1f0a52-0000-4000-8000-000000000002"


def ids(answer: Any) -> list[str]:
    return [hit["id"] for hit in answer.json["results"]]


def test_around_an_id_for_programs(ask: Any) -> None:
    answer = ask("timeline", "command:2", "--json", "--before", "1", "--after", "1")
    assert answer.json.keys() == {"schema_version", "query", "anchor", "before", "after", "results", "via", "notes"}
    assert (answer.json["anchor"], answer.json["before"], answer.json["after"]) == ("command:2", 1, 1)
    assert len(ids(answer)) == 3
    assert ids(answer)[1] == "command:2"


def test_the_order_is_that_of_time(ask: Any) -> None:
    times = [hit["time"] for hit in ask("timeline", "shell:3", "--json").json["results"]]
    assert times == sorted(times)


def test_around_the_best_hit_of_a_search(ask: Any) -> None:
    answer = ask("timeline", "auth", "timeout", "fire", "--json", "--before", "0", "--after", "1")
    assert (answer.json["anchor"], ids(answer)[0]) == ("prompt:1", "prompt:1")


def test_kinds_filter_the_neighbours(ask: Any) -> None:
    found = ids(ask("timeline", "command:2", "--json", "--kind", "prompt", "--after", "9"))
    assert {name.partition(":")[0] for name in found} <= {"prompt", "command"}


def test_a_session_may_be_asked_for(ask: Any) -> None:
    found = ask("timeline", "prompt:5", "--json", "--session", FORK).json["results"]
    assert "prompt:1" in [hit["id"] for hit in found]
    assert "prompt:4" not in [hit["id"] for hit in found]


def test_aliases_are_one_project(ask: Any) -> None:
    assert "tool_use:4" in ids(ask("timeline", "prompt:1", "--json"))


def test_nothing_found_is_no_error(ask: Any) -> None:
    answer = ask("timeline", "zzzz", "--json")
    assert (answer.code, answer.json["anchor"], answer.json["results"]) == (0, None, [])
    assert ask("timeline", "zzzz").err.splitlines()[-1] == "nothing found"


def test_an_id_that_is_not_there_is_an_error(ask: Any) -> None:
    answer = ask("timeline", "prompt:99")
    assert (answer.code, "there is no 'prompt:99'" in answer.err) == (1, True)


def test_a_timeline_for_people(ask: Any) -> None:
    lines = ask("timeline", "command:2", "--before", "1", "--after", "1").out.splitlines()
    assert len(lines) >= 5
    assert any(line.startswith("/ command:2") for line in lines)
    assert lines[0].startswith("2026-11-20 10:")


@pytest.mark.parametrize("words", ["prompt:6", "evil"])
@pytest.mark.parametrize("color", ["never", "always"])
def test_nothing_repaints_the_terminal(ask: Any, clean: Any, words: str, color: str) -> None:
    answer = ask("timeline", words, "--color", color)
    assert answer.out
    clean(answer.out)


def test_what_was_imported_is_marked(ask: Any) -> None:
    assert "  imported from claude-mem (user_prompts:4)" in ask("timeline", "prompt:6").out.splitlines()
    (result,) = ask("timeline", "prompt:6", "--json").json["results"]
    assert result["origin"] == {"origin_device_id": "claude-mem", "origin_local_id": "user_prompts:4"}
