"""What the rules observe is what a careful reader of the turn would have noted (support/turn_cases.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from remembered import observed, turns_of
from turn_cases import ANSWERS, CASES, CWD, Case

from indexer.compressors.base import Observation
from indexer.compressors.rules import Rules

TYPES = ("bugfix", "feature", "refactor", "change", "discovery", "decision")


def below(files: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(file.removeprefix(CWD + "/") for file in files)


def lacks(one: Observation, facts: tuple[str, ...]) -> list[str]:
    return [fact for fact in facts if not any(said.startswith(fact) for said in one.facts)]


def test_there_are_thirty_turns_in_english_and_chinese() -> None:
    assert len(CASES) >= 30
    assert sum(not case.prompt.isascii() for case in CASES) >= 8


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_turn_is_noted_as_a_careful_reader_would(case: Case, tmp_path: Path) -> None:
    found = observed(tmp_path, case.transcript())
    assert [(one.type, one.title) for one in found] == [(note.type, note.title) for note in case.notes]
    for one, note in zip(found, case.notes, strict=True):
        assert below(one.files_modified) == note.files
        assert lacks(one, note.facts) == []
        assert set(note.read) <= set(below(one.files_read)) | set(note.files)


@pytest.mark.parametrize("case", [case for case in CASES if case.notes], ids=lambda case: case.name)
def test_every_field_is_within_its_bounds(case: Case, tmp_path: Path) -> None:
    for one in observed(tmp_path, case.transcript()):
        assert one.type in TYPES
        assert 0 < len(one.title) <= 80
        assert len(one.subtitle.split()) <= 24
        assert 0 < len(one.concepts) <= 4


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_turns_tokens_are_counted_once(case: Case, tmp_path: Path) -> None:
    (turn,) = turns_of(tmp_path, case.transcript())
    found = Rules().observe(turn)
    assert sum(one.tokens for one in found) == (turn.tokens if found else 0)
    assert turn.tokens > 0


@pytest.mark.parametrize(("prompt", "answer", "kind", "title"), ANSWERS, ids=[prompt for prompt, *_ in ANSWERS])
def test_titles_of_answers_as_models_write_them(
    prompt: str, answer: str, kind: str, title: str, tmp_path: Path
) -> None:
    steps = [("edit", "src/x.ts", 2, 1), ("say", answer)]
    (one,) = observed(tmp_path, Case("answer", prompt, steps).transcript())
    assert (one.type, one.title) == (kind, title)
