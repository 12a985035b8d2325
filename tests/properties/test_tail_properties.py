"""However a file grows and wherever turns end, the lines read are the lines written."""

from __future__ import annotations

import os
import tempfile

from hypothesis import given
from hypothesis import strategies as st

from indexer.files import fingerprint, tail
from indexer.files.tail import Oversize
from indexer.records import Line

# Few kinds of bytes, so that newlines, carriage returns and torn characters are frequent.
contents = st.lists(st.sampled_from([b"\n", b"\r\n", b"{}", b"\x00", b"\xc3", b"\xa9", b"ab"]), max_size=60).map(
    b"".join
)
cuts = st.lists(st.integers(0, 120), max_size=8)
turns = st.fixed_dictionaries(
    {"max_bytes": st.integers(1, 40), "max_lines": st.integers(1, 6), "longest": st.integers(1, 12)}
)


def expected(content: bytes, longest: int) -> list[Line | Oversize]:
    """A reader of thirty seconds' thought, to hold ours against."""
    lines: list[Line | Oversize] = []
    start = 0
    for number, data in enumerate(content.split(b"\n")[:-1], 1):
        end = start + len(data) + 1
        short = len(data) <= longest
        lines.append(Line(data, start, end, number) if short else Oversize(start, end, number, len(data)))
        start = end
    return lines


def drain(fd: int, offset: int, number: int, limits: dict[str, int]) -> list[Line | Oversize]:
    """Turns until one yields nothing."""
    lines: list[Line | Oversize] = []
    while True:
        size = os.fstat(fd).st_size
        turn = list(tail.read_lines(fd, offset, number, size=size, **limits))
        assert len(turn) <= limits["max_lines"]
        if not turn:
            return lines
        offset, number = turn[-1].end, turn[-1].number
        lines += turn


@given(content=contents, cuts=cuts, limits=turns)
def test_any_growth_read_in_any_turns_gives_exactly_the_finished_lines(
    content: bytes, cuts: list[int], limits: dict[str, int]
) -> None:
    read: list[Line | Oversize] = []
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        fd = tail.open_source(file.name)
        written = 0
        for cut in [*sorted(min(cut, len(content)) for cut in cuts), len(content)]:
            file.write(content[written:cut])
            file.flush()
            written = cut
            read += drain(fd, read[-1].end if read else 0, read[-1].number if read else 0, limits)
            assert read == expected(content[:cut], limits["longest"])
        os.close(fd)


@given(content=contents, size=st.integers(0, 120))
def test_no_line_ends_beyond_the_size_given(content: bytes, size: int) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(content)
        file.flush()
        fd = tail.open_source(file.name)
        lines = list(tail.read_lines(fd, 0, 0, size=size))
        os.close(fd)
    assert lines == expected(content[:size], tail.LONGEST)


@given(content=contents)
def test_last_line_is_what_no_turn_yields(content: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(content)
        file.flush()
        fd = tail.open_source(file.name)
        lines = expected(content, tail.LONGEST)
        offset, number = (lines[-1].end, lines[-1].number) if lines else (0, 0)
        last = tail.last_line(fd, offset, number, len(content))
        os.close(fd)
    rest = content[offset:]
    assert last == (Line(rest, offset, len(content), number + 1) if rest else None)


@given(before=contents, after=contents, offset=st.integers(0, 120))
def test_a_fingerprint_matches_if_and_only_if_the_bytes_before_the_offset_agree(
    before: bytes, after: bytes, offset: int
) -> None:
    # Short contents lie wholly under the head mark, so here "matches" must mean equality.
    offset = min(offset, len(before))
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.write(before)
        file.flush()
        fd = tail.open_source(file.name)
        fp = fingerprint.take(fd, offset)
        file.seek(0)
        file.truncate()
        file.write(after)
        file.flush()
        same = fingerprint.matches(fd, len(after), offset, fp)
        os.close(fd)
    assert same == (after[:offset] == before[:offset] and len(after) >= offset)
