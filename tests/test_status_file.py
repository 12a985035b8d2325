"""What a service says is read whole, and is said even on a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer import status_file

MINE = {"pid": 7, "reason": "none"}
Fail = Callable[[int], None]


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """From now on no new file can be written."""

    def arm(code: int) -> None:
        def refuse(*_: object) -> int:
            raise OSError(code, os.strerror(code))

        monkeypatch.setattr(os, "write", refuse)

    return arm


def test_what_is_written_is_read(tmp_path: Path) -> None:
    status_file.write(tmp_path, MINE)
    assert status_file.read(tmp_path, 7) == MINE
    assert [path.name for path in tmp_path.iterdir()] == [status_file.NAME]


def test_it_is_private_and_fills_whole_blocks(tmp_path: Path) -> None:
    status_file.write(tmp_path, MINE)
    info = (tmp_path / status_file.NAME).stat()
    assert (info.st_mode & 0o777, info.st_size) == (0o600, status_file.BLOCK)


def test_what_another_process_said_is_none(tmp_path: Path) -> None:
    status_file.write(tmp_path, MINE)
    assert status_file.read(tmp_path, 8) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff"])
def test_what_cannot_be_read_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / status_file.NAME).write_bytes(data)
    assert status_file.read(tmp_path, 7) is None


def test_cleared_it_says_nothing_and_may_be_cleared_again(tmp_path: Path) -> None:
    status_file.write(tmp_path, MINE)
    status_file.clear(tmp_path)
    status_file.clear(tmp_path)
    assert status_file.read(tmp_path, 7) is None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_without_room_the_old_one_is_written_over(tmp_path: Path, fail: Fail, code: int) -> None:
    status_file.write(tmp_path, MINE | {"long": "x" * 5000})
    fail(code)
    status_file.write(tmp_path, MINE | {"reason": "the disk is full"})
    assert status_file.read(tmp_path, 7) == {"pid": 7, "reason": "the disk is full"}
    assert [path.name for path in tmp_path.iterdir()] == [status_file.NAME]


def test_other_errors_are_the_callers(tmp_path: Path, fail: Fail) -> None:
    status_file.write(tmp_path, MINE)
    fail(errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        status_file.write(tmp_path, MINE | {"pid": 8})
    assert status_file.read(tmp_path, 7) == MINE


def test_half_a_write_is_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status_file.write(tmp_path, MINE)
    write: Any = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:10]))
    status_file.write(tmp_path, MINE | {"reason": "full"})
    assert status_file.read(tmp_path, 7) == {"pid": 7, "reason": "full"}
