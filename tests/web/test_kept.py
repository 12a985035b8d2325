"""Answers that hold until the memory changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from indexer import config
from indexer.web.kept import Kept, stamp


def asking(kept: Kept[int]) -> tuple[list[object], Callable[[object, object], int]]:
    """What had to be found, and a way to ask."""
    found: list[object] = []

    def find(question: object) -> int:
        found.append(question)
        return len(found)

    return found, lambda question, now: kept.get(question, (now,), lambda: find(question))


def test_what_is_known_is_not_found_again() -> None:
    found, ask = asking(Kept[int](4))
    assert [ask("a", 1), ask("a", 1), ask("b", 1), ask("a", 1)] == [1, 1, 2, 1]
    assert found == ["a", "b"]


def test_a_change_makes_every_answer_a_new_one() -> None:
    found, ask = asking(Kept[int](4))
    assert [ask("a", 1), ask("b", 1), ask("a", 2), ask("b", 2), ask("a", 1)] == [1, 2, 3, 4, 5]
    assert found == ["a", "b", "a", "b", "a"]


def test_only_the_last_few_are_kept() -> None:
    found, ask = asking(Kept[int](2))
    for question in "abcca":
        ask(question, 1)
    assert found == ["a", "b", "c", "a"]


def test_what_was_found_before_a_change_is_not_kept_after_it() -> None:
    kept = Kept[int](4)

    def slow() -> int:
        kept.get("other", ("new",), lambda: 0)
        return 1

    assert kept.get("a", ("old",), slow) == 1
    assert kept.get("a", ("new",), lambda: 2) == 2


def test_nothing_of_another_stamp_stays() -> None:
    kept = Kept[int](4)
    kept.get("a", (1,), lambda: 1)
    kept.get("b", (2,), lambda: 2)
    assert list(kept._found) == ["b"]


def test_the_stamp_changes_with_the_file_and_its_log(tmp_path: Path) -> None:
    settings = config.load(tmp_path, (), {})
    stamps = [stamp(settings)]
    for name, content in (("index.db", b"a"), ("index.db-wal", b"a"), ("index.db-wal", b"ab")):
        (tmp_path / name).write_bytes(content)
        stamps.append(stamp(settings))
    os.utime(tmp_path / "index.db", ns=(1, 1))
    stamps.append(stamp(settings))
    assert len(set(stamps)) == len(stamps)
    assert stamp(settings) == stamps[-1]


def test_two_memories_have_two_stamps(tmp_path: Path) -> None:
    assert stamp(config.load(tmp_path / "a", (), {})) != stamp(config.load(tmp_path / "b", (), {}))
