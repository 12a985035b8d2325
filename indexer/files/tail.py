"""Cuts a file into finished lines, from an offset, without ever keeping state between turns.

A reader sees a single write() half done (100 of 227 observed sizes ended inside a line, tailing.md 0),
so a part of a line is the normal case: it is never yielded, and the offset stays before it. Splitting
is on the byte 0x0A alone; a character cut in two by the end of the file is whole on the next turn.

Reading is `readline` on one buffered file, run by C iterators: a hand splitter takes three times as
long (performance.md 2). Measured on transcripts of 3.5 KB a line, one turn after the other: 1.6 x the
bare `for line in file`, which is 0.08 x of a bare orjson loop on top; cutting the newline off and making
the Line are nearly all of it. Blocks of 512 KiB: with 1 MiB each turn pays for its page faults (2.0 x).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from functools import partial
from io import BufferedReader, FileIO
from typing import BinaryIO, NamedTuple

from indexer.records import Line

LONGEST = 64 << 20
TURN_BYTES = 4 << 20
TURN_LINES = 1000
BLOCK = 512 << 10
PIECE = 8 << 20
"""Bytes of a line that are read in one go. The end of a longer one is looked for first, and the line then
read into a buffer of its size: `readline` would hold it two to three times while it grows."""
NEWLINE = 0x0A

OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class NotARegularFile(OSError):
    """A directory, FIFO, socket or device under a transcript's name."""


class Oversize(NamedTuple):
    """A finished line too long to be read: where it starts and ends (after its newline), its number,
    and its length without the newline."""

    start: int
    end: int
    number: int
    length: int


def open_source(path: str) -> int:
    """Open a transcript for reading and give its descriptor, which the caller closes.

    Never follows a link (discovery has resolved it) and never blocks on a FIFO.
    Raises NotARegularFile, else the OSError of open(2).
    """
    fd = os.open(path, OPEN_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise NotARegularFile(errno.EINVAL, "not a regular file", path)
    except OSError:
        os.close(fd)
        raise
    return fd


def read_lines(
    fd: int,
    offset: int,
    number: int,
    *,
    size: int,
    max_bytes: int = TURN_BYTES,
    max_lines: int = TURN_LINES,
    longest: int = LONGEST,
) -> Iterator[Line | Oversize]:
    """One turn: the finished lines from `offset` on, all within the first `size` bytes. Raises OSError.

    `number` is the count of lines before `offset`: the next turn takes `end` and `number` of the last
    line of this one. `size` is the caller's fstat: what is appended meanwhile is left for the next
    turn. The turn ends once `max_bytes` are consumed or `max_lines` yielded, but never before one line.
    A line of more than `longest` bytes is passed over in constant memory and comes as Oversize.
    """
    with _reader(fd, offset) as file:
        stop, piece = min(offset + max_bytes, size), min(longest, PIECE) + 1
        numbers = range(number + 1, number + max_lines + 1)
        # The range stands first: zip must not read a line it has no number for.
        for count, data in zip(numbers, iter(partial(file.readline, piece), b""), strict=False):
            end = offset + len(data)
            if end < stop and data[-1] == NEWLINE:
                # Line(...) goes through a Python-level __new__ and takes a quarter of the turn.
                yield tuple.__new__(Line, (data[:-1], offset, end, count))
                offset = end
                continue
            end = end if data[-1] == NEWLINE else _end_of_long(file, end, size) if len(data) == piece else 0
            if not 0 < end <= size:
                return
            last = _finished(file, data, offset, end, count, longest)
            if not last:
                return
            yield last.pop()  # a generator keeps its locals while it waits: a long line must not be one
            if end >= stop:
                return
            offset = end


def last_line(fd: int, offset: int, number: int, size: int, longest: int = LONGEST) -> Line | None:
    """The unfinished line between `offset` and the end of the file; None if there is none, if it is
    longer than `longest`, or if a newline has come. Raises OSError.

    For the rule that takes a complete last line after a quiet time: its `end` is no place for a
    checkpoint, since the line may go on.
    """
    length = size - offset
    if not 0 < length <= longest:
        return None
    with _reader(fd, offset) as file:
        data = file.read(length)
    if len(data) < length or b"\n" in data:
        return None
    return Line(data, offset, size, number + 1)


def _reader(fd: int, offset: int) -> BinaryIO:
    file: BinaryIO = BufferedReader(FileIO(fd, closefd=False), BLOCK)
    file.seek(offset)
    return file


def _finished(file: BinaryIO, data: bytes, start: int, end: int, number: int, longest: int) -> list[Line | Oversize]:
    """The line of which `readline` gave at least the beginning, and behind which the file stands then; none
    if it was rewritten meanwhile."""
    length = end - start - 1
    if len(data) > length:
        return [Line(data[:-1], start, end, number)]
    if length > longest:
        return [Oversize(start, end, number, length)]
    file.seek(start)
    data = file.read(length)
    if len(data) < length or b"\n" in data:
        return []
    file.seek(end)
    return [Line(data, start, end, number)]


def _end_of_long(file: BinaryIO, position: int, size: int) -> int:
    """The offset behind the next newline before `size`, where the file then stands; 0 if there is none."""
    while position < size and (block := file.read(min(BLOCK, size - position))):
        index = block.find(b"\n")
        if index >= 0:
            file.seek(position + index + 1)
            return position + index + 1
        position += len(block)
    return 0
