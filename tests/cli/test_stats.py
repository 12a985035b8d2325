"""`stats`: counts, their time zone, and bars."""

from __future__ import annotations

import time
from typing import Any

import pytest

from indexer.cli.stats import BAR, bar


def test_counts_for_programs(ask: Any) -> None:
    answer = ask("stats", "--json").json
    assert answer["by_day"][0] == {"day": "2026-11-19", "prompts": 0, "tools": 1, "output_tokens": 0}
    assert answer["by_day"][1] == {"day": "2026-11-20", "prompts": 3, "tools": 3, "output_tokens": 50}
    assert answer["by_tool"] == [
        {"tool": "Bash", "calls": 2, "errors": 1},
        {"tool": "Grep", "calls": 1, "errors": 0},
        {"tool": "Read", "calls": 1, "errors": 0},
    ]
    assert (answer["time_zone"], answer["by_model"][0]["input_tokens"]) == ("UTC", 1010)


def test_aliases_are_one_project(ask: Any) -> None:
    found = {line["project"]: (line["prompts"], line["tools"]) for line in ask("stats", "--json").json["by_project"]}
    assert found == {"shop-api": (3, 4), "Notes": (1, 0)}


def test_days_are_those_of_the_zone_that_is_named(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "NZST-13")
    time.tzset()
    answer = ask("stats", "--json").json
    assert (answer["time_zone"], answer["by_day"][-1]["day"]) == ("NZST", "2026-11-21")
    assert {line["day"] for line in answer["by_day"]} == {"2026-11-19", "2026-11-20", "2026-11-21"}


def test_the_zone_is_named_for_people(ask: Any) -> None:
    assert ask("stats").err == "days are of the time zone UTC\n"


def test_a_line_has_its_bar_and_its_numbers(ask: Any) -> None:
    lines = ask("stats", "--by", "tool").out.splitlines()
    assert lines[0] == "by tool: calls, errors"
    assert lines[1] == f"  Bash  {'█' * BAR}  2  1"
    assert lines[2].split() == ["Grep", "█" * (BAR // 2), "1", "0"]


def test_only_what_was_asked_for(ask: Any) -> None:
    assert ask("stats", "--by", "day").out.count("by ") == 1
    assert ask("stats").out.count("by ") == 4


def test_a_project_and_a_time(ask: Any) -> None:
    answer = ask("stats", "--project", "Notes", "--since", "2026-11-21", "--json").json
    assert [line["prompts"] for line in answer["by_day"]] == [1]
    assert answer["by_tool"] == []


def test_nothing_in_that_time_is_said(ask: Any) -> None:
    answer = ask("stats", "--since", "2030-01-01")
    assert (answer.code, answer.out, answer.err) == (0, "", "nothing has been counted in that time\n")


def test_long_lists_say_what_they_leave_out(ask: Any, edit: Any) -> None:
    for number in range(20):
        edit(
            "INSERT INTO tool_uses (identity, tool_use_id, content_session_id, session_db_id, record_uuid, tool_name,"
            " created_at_epoch) VALUES (?, ?, 's', 1, 'u', ?, 1795168800000)",
            *(f"x{number}", "x", f"Tool{number:02}"),
        )
    assert "  and 11 more: --by tool" in ask("stats").out.splitlines()
    assert "more: --by" not in ask("stats", "--by", "tool").out


def test_names_of_tools_do_not_reach_the_terminal_raw(ask: Any, edit: Any, clean: Any) -> None:
    edit("UPDATE tool_uses SET tool_name = ?", "Ba\x1b]0;owned\x07sh\n")
    clean(ask("stats").out)


@pytest.mark.parametrize(
    ("number", "drawn"), [(0, ""), (1, "▏"), (100, "█" * BAR), (50, "█" * (BAR // 2)), (51, "█" * 12 + "▎")]
)
def test_bars_are_exact_to_an_eighth_and_never_hide_something(number: int, drawn: str) -> None:
    assert bar(number, 1000 if number == 1 else 100) == drawn


def test_no_bar_where_nothing_is(ask: Any) -> None:
    assert bar(0, 0) == ""
