"""What is forgotten goes out of the archive too, and what is kept out of the memory never comes in."""

from __future__ import annotations

from pathlib import Path

import pytest
from archives import Library
from transcripts import Transcript

from indexer import app

MARK = b"quokka-marmalade"


@pytest.fixture
def gone() -> Transcript:
    made = Transcript("gone", cwd="/home/dev/secret")
    made.user(f"say {MARK.decode()}")
    return made


@pytest.fixture
def library(tmp_path: Path, gone: Transcript) -> Library:
    library = Library(tmp_path)
    gone.write(library.root)
    kept = Transcript("kept")
    kept.user("something else")
    kept.write(library.root)
    return library


@pytest.mark.parametrize("aged", [False, True])
def test_a_forgotten_session_leaves_the_archive(library: Library, gone: Transcript, aged: bool) -> None:
    library.rescan()
    if aged:
        library.age()
    assert MARK in library.everything
    app.forget(library.config, [gone.session_id], [])
    assert MARK not in library.everything
    assert b"something else" in library.everything


def test_nor_does_it_come_back(library: Library, gone: Transcript) -> None:
    library.rescan()
    app.forget(library.config, [gone.session_id], [])
    gone.path(library.root).with_name("copy.jsonl").write_bytes(gone.data)
    library.rescan()
    library.rescan(rebuild=True)
    assert MARK not in library.everything


def test_a_forgotten_record_does_not_come_back_either(library: Library, gone: Transcript) -> None:
    library.rescan()
    app.forget(library.config, [], [gone.records[0]["uuid"]])
    assert MARK not in library.everything
    library.rescan(rebuild=True)
    assert MARK not in library.everything


def test_an_excluded_project_is_not_archived(tmp_path: Path, library: Library) -> None:
    secretive = Library(tmp_path, excluded=("secret",))
    secretive.rescan()
    secretive.rescan()
    assert MARK not in secretive.everything
    assert b"something else" in secretive.everything


def test_a_large_one_neither(tmp_path: Path, library: Library) -> None:
    """Of more than a window a chunk is on disk before the project is known."""
    made = Transcript("large", cwd="/home/dev/secret")
    for number in range(40):
        made.user(f"{number} {MARK.decode()} " + "x" * 40_000)
    made.write(library.root)
    secretive = Library(tmp_path, excluded=("secret",))
    secretive.rescan()
    assert MARK not in secretive.everything
    assert b"something else" in secretive.everything


def test_when_it_is_excluded_no_longer_it_is(tmp_path: Path, library: Library) -> None:
    Library(tmp_path, excluded=("secret",)).rescan()
    library.rescan()
    assert MARK in library.everything
