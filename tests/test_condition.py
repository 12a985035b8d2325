"""What is wrong is said with what to do, and each thing once."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from indexer.condition import Trouble, joined, of_error, of_folders, of_roots
from indexer.errors import Busy


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (Busy("it is locked", "close it"), Trouble("it is locked", "close it")),
        (OSError(errno.ENOSPC, "No space left", "/x"), Trouble("/x: No space left", "")),
        (OSError(errno.EIO, "Input/output error"), Trouble("Input/output error", "")),
        (OSError("odd"), Trouble("odd", "")),
    ],
    ids=str,
)
def test_an_error_is_told_in_its_own_words(error: Exception, trouble: Trouble) -> None:
    assert of_error(error) == trouble


def test_a_closed_folder_names_the_command_that_opens_it() -> None:
    (trouble,) = of_folders({"/a b": "Permission denied"})
    assert trouble == Trouble("cannot read /a b: Permission denied", "chmod u+rX '/a b'")


def test_what_no_command_mends_names_none() -> None:
    assert [trouble.remedy for trouble in of_folders({"/a": "Input/output error"})] == [""]


def test_many_folders_are_counted() -> None:
    told = [trouble.reason for trouble in of_folders({f"/p{number}": "x" for number in range(9)})]
    assert told == ["cannot read /p0: x", "cannot read /p1: x", "cannot read /p2: x", "nor 6 more folders"]


def test_of_chosen_roots_the_missing_are_told_of(tmp_path: Path) -> None:
    (trouble,) = of_roots([str(tmp_path), str(tmp_path / "none")])
    assert trouble.reason == f"waiting for {tmp_path}/none to appear"
    assert trouble.remedy.startswith(f"mkdir -p {tmp_path}/none")


def test_no_trouble_is_silent() -> None:
    assert joined([]) == joined([Trouble("", "")]) == Trouble("", "")


def test_several_are_told_at_once_and_each_once() -> None:
    one, two = Trouble("a", "do a"), Trouble("b", "")
    assert joined([one, two, one]) == Trouble("a; b", "do a")


def test_a_path_of_odd_bytes_is_told_of() -> None:
    (trouble,) = of_folders({os.fsdecode(b"/caf\xe9"): "Permission denied"})
    assert "cannot read" in trouble.reason
