"""Same file or not: every doubt must answer "not"."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from indexer.files import fingerprint, tail
from indexer.files.fingerprint import Fingerprint

FIRST = b'{"uuid":"a","n":1}\n'
SECOND = b'{"uuid":"b","n":2}\n'


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = tail.open_source(str(path))
    try:
        yield fd
    finally:
        os.close(fd)


def mark(path: Path, offset: int) -> Fingerprint:
    with opened(path) as fd:
        return fingerprint.take(fd, offset)


def same(path: Path, offset: int, fp: Fingerprint) -> bool:
    with opened(path) as fd:
        return fingerprint.matches(fd, os.fstat(fd).st_size, offset, fp)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "s.jsonl"
    path.write_bytes(FIRST + SECOND)
    return path


def test_unchanged_file_matches(file: Path) -> None:
    assert same(file, len(FIRST), mark(file, len(FIRST)))


def test_grown_file_matches(file: Path) -> None:
    offset = len(FIRST + SECOND)
    fp = mark(file, offset)
    file.write_bytes(FIRST + SECOND + b"more\n")
    assert same(file, offset, fp)


def test_offset_zero_matches_anything(file: Path) -> None:
    assert same(file, 0, Fingerprint(0, b"", 0, b""))


def test_lengths_grow_with_the_offset_up_to_1024_and_64(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"x" * 5000)
    assert mark(path, 10)[::2] == (10, 10)
    assert mark(path, 500)[::2] == (500, 64)
    assert mark(path, 5000)[::2] == (1024, 64)


def test_row_5_truncated_and_rewritten_longer_does_not_match(file: Path) -> None:
    fp = mark(file, len(FIRST))
    file.write_bytes(b'{"uuid":"z","n":9}\n' * 9)
    assert not same(file, len(FIRST), fp)


def test_row_6_truncated_with_the_same_head_does_not_match(file: Path) -> None:
    fp = mark(file, len(FIRST + SECOND))
    file.write_bytes(FIRST)
    assert not same(file, len(FIRST + SECOND), fp)


def test_row_7_replaced_by_rename_matches_only_with_the_same_content(file: Path, tmp_path: Path) -> None:
    fp = mark(file, len(FIRST + SECOND))
    copy = tmp_path / "new"
    copy.write_bytes(FIRST + SECOND + b"third\n")
    os.replace(copy, file)
    assert same(file, len(FIRST + SECOND), fp)
    copy.write_bytes(SECOND + FIRST + b"third\n")
    os.replace(copy, file)
    assert not same(file, len(FIRST + SECOND), fp)


def test_row_8_an_inode_number_used_again_does_not_match(file: Path) -> None:
    fp = mark(file, len(FIRST))
    file.unlink()
    file.write_bytes(b"another transcript, as long or longer\n")
    assert not same(file, len(FIRST), fp)


def test_row_9_and_11_moved_or_copied_content_matches(file: Path, tmp_path: Path) -> None:
    fp = mark(file, len(FIRST))
    shutil.copy(file, tmp_path / "copy.jsonl")
    file.rename(tmp_path / "moved.jsonl")
    assert same(tmp_path / "copy.jsonl", len(FIRST), fp)
    assert same(tmp_path / "moved.jsonl", len(FIRST), fp)


def test_row_10_deleted_and_restored_matches(file: Path) -> None:
    content, fp = file.read_bytes(), mark(file, len(FIRST))
    file.unlink()
    file.write_bytes(content)
    assert same(file, len(FIRST), fp)


def test_same_head_but_other_last_line_does_not_match(tmp_path: Path) -> None:
    # A fork starts with its parent's history: the head alone would say "the same file".
    history, path = b"h" * 1100 + b"\n", tmp_path / "s.jsonl"
    path.write_bytes(history + b"parent goes on\n")
    fp = mark(path, len(history) + 15)
    path.write_bytes(history + b"a fork goes on\n")
    assert not same(path, len(history) + 15, fp)


def test_same_last_lines_but_other_head_does_not_match(tmp_path: Path) -> None:
    repeated, path = b'{"type":"mode"}\n' * 200, tmp_path / "s.jsonl"
    path.write_bytes(b"one session...\n" + repeated)
    fp = mark(path, 15 + len(repeated))
    path.write_bytes(b"other session.\n" + repeated)
    assert not same(path, 15 + len(repeated), fp)


def test_file_cut_before_it_is_marked_never_matches(file: Path) -> None:
    fp = mark(file, 10_000)
    assert not same(file, 10_000, fp)
    file.write_bytes(b"y" * 20_000)
    assert not same(file, 10_000, fp)


@pytest.mark.parametrize("lens", [(0, 5), (5, 0), (900, 5), (5, 900), (-1, 5)], ids=str)
def test_a_damaged_mark_does_not_match(file: Path, lens: tuple[int, int]) -> None:
    good = mark(file, len(FIRST))
    assert not same(file, len(FIRST), good._replace(head_len=lens[0], tail_len=lens[1]))
