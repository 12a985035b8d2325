"""What a turn yields: finished lines, whole, once, and nothing after the size it was told."""

from __future__ import annotations

import errno
import os
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.files import tail
from indexer.files.tail import Oversize
from indexer.records import Line

Write = Callable[[bytes], int]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


@pytest.fixture
def write(path: Path) -> Iterator[Write]:
    """Put these bytes into the file and give its descriptor."""
    opened: list[int] = []

    def put(content: bytes) -> int:
        path.write_bytes(content)
        opened.append(tail.open_source(str(path)))
        return opened[-1]

    yield put
    for fd in opened:
        os.close(fd)


def turn(fd: int, offset: int = 0, number: int = 0, **limits: int) -> list[Line | Oversize]:
    limits.setdefault("size", os.fstat(fd).st_size)
    return list(tail.read_lines(fd, offset, number, **limits))


def texts(lines: list[Line | Oversize]) -> list[bytes]:
    return [line.data for line in lines if isinstance(line, Line)]


# -- opening ---------------------------------------------------------------------------------------


def test_open_is_read_only_and_closed_on_exec(path: Path, write: Write) -> None:
    fd = write(b"a\n")
    assert not os.get_inheritable(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.write(fd, b"x")


def test_open_does_not_follow_a_link(path: Path, tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"a\n")
    path.symlink_to(tmp_path / "real")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        tail.open_source(str(path))


def test_open_refuses_a_folder_and_closes_it(path: Path) -> None:
    path.mkdir()
    before = os.listdir("/dev/fd")
    with pytest.raises(tail.NotARegularFile):
        tail.open_source(str(path))
    assert len(os.listdir("/dev/fd")) == len(before)


def test_open_never_waits_for_a_fifo(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(tail.NotARegularFile):
        tail.open_source(str(path))


def test_open_refuses_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may be 107 bytes long
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s.jsonl")
        with pytest.raises(OSError, match=os.strerror(errno.ENXIO)):
            tail.open_source("s.jsonl")


def test_open_says_when_the_file_is_gone(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tail.open_source(str(path))


# -- lines -----------------------------------------------------------------------------------------


def test_lines_carry_start_end_and_number(write: Write) -> None:
    assert turn(write(b"one\n\nthree\n")) == [
        Line(b"one", 0, 4, 1),
        Line(b"", 4, 5, 2),
        Line(b"three", 5, 11, 3),
    ]


def test_a_turn_goes_on_where_the_last_one_ended(write: Write) -> None:
    fd = write(b"one\ntwo\n")
    assert turn(fd, 4, 1) == [Line(b"two", 4, 8, 2)]


def test_carriage_returns_and_other_line_separators_stay(write: Write) -> None:
    content = "a\r\nb\x0b\x0c\x1c\x85\u2028c\rd\n".encode()
    assert texts(turn(write(content))) == [b"a\r", content[3:-1]]


def test_row_3_a_half_written_last_line_is_not_yielded(path: Path, write: Write) -> None:
    fd = write(b"one\ntw")
    assert texts(turn(fd)) == [b"one"]
    assert turn(fd, 4, 1) == []
    path.write_bytes(b"one\ntwo\n")
    assert turn(fd, 4, 1) == [Line(b"two", 4, 8, 2)]


def test_row_4_a_character_split_at_the_end_is_whole_next_time(path: Path, write: Write) -> None:
    line = '{"text":"日本語 é 🙂"}\n'.encode()
    for cut in range(len(line)):
        fd = write(line[:cut])
        assert turn(fd) == []
        path.write_bytes(line)
        assert texts(turn(fd)) == [line[:-1]]


def test_row_12_nul_bytes_pass_through_whole(write: Write) -> None:
    fd = write(b"a\x00\x00b\n\x00\x00\x00")
    assert texts(turn(fd)) == [b"a\x00\x00b"]


def test_row_13_what_is_appended_during_the_turn_waits(path: Path, write: Write) -> None:
    fd = write(b"one\ntwo\n")
    lines = tail.read_lines(fd, 0, 0, size=8)
    assert next(lines) == Line(b"one", 0, 4, 1)
    with path.open("ab") as more:
        more.write(b"three\n")
    assert list(lines) == [Line(b"two", 4, 8, 2)]


def test_a_line_finished_beyond_the_given_size_waits(write: Write) -> None:
    fd = write(b"one\ntwo\n")
    for size in range(4, 8):
        assert texts(turn(fd, size=size)) == [b"one"]


def test_file_cut_shorter_than_the_offset_yields_nothing(write: Write) -> None:
    fd = write(b"one\n")
    assert turn(fd, 100, 7, size=200) == []
    assert turn(fd, 100, 7) == []


def test_the_descriptor_stays_open(write: Write) -> None:
    fd = write(b"one\n")
    assert turn(fd) == turn(fd)


# -- limits ----------------------------------------------------------------------------------------


def test_a_turn_ends_after_max_lines(write: Write) -> None:
    fd = write(b"1\n2\n3\n4\n")
    assert texts(turn(fd, max_lines=3)) == [b"1", b"2", b"3"]
    assert turn(fd, max_lines=0) == []


def test_a_turn_ends_once_max_bytes_are_consumed(write: Write) -> None:
    fd = write(b"123\n" * 5)
    assert len(turn(fd, max_bytes=8)) == 2
    assert len(turn(fd, max_bytes=9)) == 3


def test_a_line_above_max_bytes_still_passes(write: Write) -> None:
    fd = write(b"x" * 100 + b"\nnext\n")
    assert texts(turn(fd, max_bytes=10)) == [b"x" * 100]


def test_lines_longer_than_the_buffer_are_whole(write: Write) -> None:
    long = b"y" * (3 * tail.BLOCK + 5)
    assert texts(turn(write(b"a\n" + long + b"\nb\n"))) == [b"a", long, b"b"]


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_line_longer_than_what_is_read_in_one_go_is_whole(
    write: Write, monkeypatch: pytest.MonkeyPatch, more: int
) -> None:
    monkeypatch.setattr(tail, "PIECE", 10)
    long = b"y" * (10 + more)
    fd = write(b"a\n" + long + b"\nb\n")
    assert turn(fd) == [Line(b"a", 0, 2, 1), Line(long, 2, 13 + more, 2), Line(b"b", 13 + more, 15 + more, 3)]


def test_a_long_line_is_held_once(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "PIECE", tail.BLOCK)
    fd = write(b"y" * (40 * tail.BLOCK) + b"\n")
    tracemalloc.start()
    lines = tail.read_lines(fd, 0, 0, size=40 * tail.BLOCK + 1)
    assert len(next(lines).data) == 40 * tail.BLOCK  # type: ignore[union-attr]
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 44 * tail.BLOCK
    assert left < 4 * tail.BLOCK


def test_a_long_line_cut_while_its_end_was_looked_for_ends_the_turn(
    path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = tail._end_of_long

    def cut(*args: Any) -> int:
        found = find(*args)
        os.truncate(path, 3 * tail.BLOCK)
        return found

    monkeypatch.setattr(tail, "PIECE", 10)
    monkeypatch.setattr(tail, "_end_of_long", cut)
    assert turn(write(b"y" * (5 * tail.BLOCK) + b"\n")) == []


# -- lines too long --------------------------------------------------------------------------------


def test_row_14_a_line_too_long_is_passed_over_and_reported(write: Write) -> None:
    fd = write(b"a\n" + b"x" * 11 + b"\nb\n")
    assert turn(fd, longest=10) == [Line(b"a", 0, 2, 1), Oversize(2, 14, 2, 11), Line(b"b", 14, 16, 3)]


@pytest.mark.parametrize("length", [9, 10])
def test_the_longest_line_allowed_is_a_line(write: Write, length: int) -> None:
    fd = write(b"x" * length + b"\n")
    assert turn(fd, longest=10) == [Line(b"x" * length, 0, length + 1, 1)]


@pytest.mark.parametrize("length", [5, 10, 11, 12, 30])
def test_a_long_line_without_its_newline_yields_nothing(write: Write, length: int) -> None:
    assert turn(write(b"x" * length), longest=10) == []


def test_a_long_line_whose_newline_lies_beyond_the_size_yields_nothing(write: Write) -> None:
    assert turn(write(b"x" * 20 + b"\n"), longest=10, size=20) == []


def test_a_turn_ends_after_a_long_line_that_used_it_up(write: Write) -> None:
    fd = write(b"x" * 20 + b"\nb\n")
    assert turn(fd, longest=10, max_bytes=15) == [Oversize(0, 21, 1, 20)]
    assert turn(fd, 21, 1, longest=10) == [Line(b"b", 21, 23, 2)]


def test_a_long_line_of_many_blocks_keeps_memory_constant(path: Path, write: Write) -> None:
    fd = write(b"")
    with path.open("wb") as file:
        file.truncate(40 * tail.BLOCK)
        file.seek(0, os.SEEK_END)
        file.write(b"\nshort\n")
    tracemalloc.start()
    lines = turn(fd, longest=tail.BLOCK, max_bytes=1 << 30)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines[0] == Oversize(0, 40 * tail.BLOCK + 1, 1, 40 * tail.BLOCK)
    assert texts(lines) == [b"short"]
    assert peak < 6 * tail.BLOCK


# -- the unfinished last line ----------------------------------------------------------------------


def test_last_line_is_the_tail_without_newline(write: Write) -> None:
    fd = write(b"one\ntwo")
    assert tail.last_line(fd, 4, 1, 7) == Line(b"two", 4, 7, 2)


def test_last_line_is_none_without_a_tail_or_with_a_newline(write: Write) -> None:
    fd = write(b"one\ntwo\n")
    assert tail.last_line(fd, 8, 2, 8) is None
    assert tail.last_line(fd, 4, 1, 8) is None
    assert tail.last_line(fd, 9, 2, 8) is None


def test_last_line_is_none_when_too_long_or_cut_meanwhile(write: Write) -> None:
    fd = write(b"one\ntwo")
    assert tail.last_line(fd, 4, 1, 7, longest=2) is None
    assert tail.last_line(fd, 4, 1, 9) is None
