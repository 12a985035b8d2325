"""What is said of the vectors is what there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from meaning import MODEL, Meaning, spec

from indexer.worker.report import at_rest, compared, progress, report, size_of


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Meaning]:
    made = Meaning(tmp_path, index=True)
    made.memory.prompt("paint the shed")
    yield made
    made.sync.close()


def test_before_anything_was_taken_in(meaning: Meaning) -> None:
    said = report(meaning.home, meaning.vectors, meaning.sync)
    assert (said["rows"], said["taken_in"], said["swept"]) == (1, 0, False)
    assert not said["arms"][0]["whole"]


def test_when_all_is_in_step(meaning: Meaning) -> None:
    meaning.settle()
    said = report(meaning.home, meaning.vectors, meaning.sync)
    assert (said["rows"], said["taken_in"], said["index"]) == (1, 1, {"open": True, "trouble": None})
    (arm,) = said["arms"]
    assert (arm["documents"], arm["vectors"], arm["indexed"], arm["loaded"], arm["trouble"]) == (1, 1, 1, True, None)


def test_while_the_index_is_rebuilt(meaning: Meaning) -> None:
    meaning.settle()
    meaning.sync.lose_index()
    said = report(meaning.home, meaning.vectors, meaning.sync)
    assert "rebuilt" in said["index"]["trouble"]
    assert said["arms"][0]["unindexed"] == 1


def test_a_difference_is_named(meaning: Meaning) -> None:
    meaning.settle()
    held = meaning.shelf.held[MODEL]
    held["stray"] = held.pop("prompt:u1:text")
    (found,) = compared(meaning.sync).values()
    assert (found["missing"], found["stray"], found["different"]) == (["prompt:u1:text"], ["stray"], 2)


def test_an_index_that_fails_is_put_aside_when_it_is_compared(meaning: Meaning) -> None:
    meaning.settle()
    meaning.shelf.broken = "InternalError"
    assert compared(meaning.sync) == {}
    assert meaning.aside == [1]


def test_without_an_index_there_is_nothing_to_compare(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path / "other")
    assert compared(meaning.sync) == {}
    meaning.sync.close()


def test_without_vectors_the_rows_are_counted(meaning: Meaning) -> None:
    said = at_rest(meaning.home, None, [spec()])
    assert (said["rows"], said["taken_in"], said["arms"]) == (1, 0, [])


def test_without_a_memory_there_are_no_rows(tmp_path: Path) -> None:
    assert at_rest(tmp_path / "nowhere", None, [])["rows"] == 0


def test_progress_is_of_the_first_model_that_is_not_whole(meaning: Meaning) -> None:
    assert progress(meaning.sync) == ""
    meaning.now = 3.0
    meaning.sync.step()
    meaning.sync.step()
    assert progress(meaning.sync).endswith("% of 1 row has vectors of hashing")
    meaning.settle()
    assert progress(meaning.sync) == ""


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"12345")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert size_of(tmp_path) == 5
