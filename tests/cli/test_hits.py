"""Hits for programs and for people, whatever command found them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from indexer.cli import hits
from indexer.cli.output import Output
from indexer.query import parse
from indexer.search import Hit, Results
from indexer.store.items import Place

HIT = Hit(
    *("prompt", "prompt:1", "shop", "/home/dev/shop", "s-1", "claude", "/home/dev/shop", 1795168800000),
    *("Fix it", "Fix it", "the auth timeout", 0.5, Place("/home/dev/.claude/projects/s.jsonl", 3)),
)
QUERY = parse("timeout")


def test_a_hit_carries_all_that_a_program_needs() -> None:
    found = hits.hit_json(HIT)
    assert (found["id"], found["time"], found["score"]) == ("prompt:1", "2026-11-20T10:00:00.000Z", 0.5)
    assert found["source"] == {"file": "/home/dev/.claude/projects/s.jsonl", "line": 3}
    assert found["resume"] == "cd /home/dev/shop && claude --resume s-1"


def test_an_answer_is_one_line_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(Output.plain(as_json=True), QUERY, Results((HIT,), ("lexical", "use"), ("a note",)))
    answer: Any = json.loads(capsys.readouterr().out)
    assert (answer["via"], answer["notes"], len(answer["results"])) == (["lexical", "use"], ["a note"], 1)
    assert "groups" not in answer


def test_people_get_notes_beside_the_hits(capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(Output.plain(as_json=False), QUERY, Results((HIT,), ("lexical",), ("a note",)))
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == "› prompt:1  Fix it"
    assert told.err.splitlines() == ["note: a note", "1 result"]


def test_no_groups_are_nothing_found(capsys: pytest.CaptureFixture[str]) -> None:
    hits.show(Output.plain(as_json=False), QUERY, Results((), (), ()), [])
    assert capsys.readouterr().err == "nothing found\n"
