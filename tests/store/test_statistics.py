from __future__ import annotations

import sqlite3

from indexer.store import statistics
from indexer.store.statistics import Window

SHOP, OLD = "github.com/example/shop-api", "/home/dev/old-shop"
TEN = 1_795_168_800_000


def test_prompts_by_quarter_and_project(memory: sqlite3.Connection) -> None:
    found = sorted(statistics.prompts(memory, Window()))
    assert [(slot.start - TEN, slot.number) for slot in found if slot.project_key == SHOP] == [
        (0, 1),
        (900_000, 1),
        (7_200_000, 1),
    ]


def test_commands_and_undated_prompts_are_not_counted(memory: sqlite3.Connection) -> None:
    assert sum(slot.number for slot in statistics.prompts(memory, Window())) == 4


def test_tools_with_their_errors(memory: sqlite3.Connection) -> None:
    found = {(slot.name, slot.number, slot.errors) for slot in statistics.tools(memory, Window((SHOP,)))}
    assert found == {("Read", 1, 0), ("Bash", 1, 1), ("Grep", 1, 0)}


def test_models_with_their_tokens(memory: sqlite3.Connection) -> None:
    found = statistics.models(memory, Window())
    assert {slot.name for slot in found} == {"claude-sonnet-4-5"}
    assert [sum(column) for column in zip(*(slot.tokens for slot in found), strict=True)] == [1010, 50, 0, 0]


def test_a_window_of_time(memory: sqlite3.Connection) -> None:
    assert len(statistics.prompts(memory, Window(None, TEN, TEN))) == 1
    assert statistics.tools(memory, Window(None, TEN + 86_400_000 * 30)) == []


def test_projects_are_told_apart_and_counted_once(memory: sqlite3.Connection) -> None:
    assert [slot.number for slot in statistics.tools(memory, Window((OLD, OLD)))] == [1]
    assert statistics.tools(memory, Window(())) == []
