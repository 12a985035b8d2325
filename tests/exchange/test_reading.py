"""A hostile file costs us one reading of it, and every line that is no line is named."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from indexer.errors import NotFound, UsageError
from indexer.exchange import reading
from indexer.exchange.reading import Batch, Fault, batches, numbered, parsed

HEADER = {"kind": "header", "format": "transcript-indexer export", "version": 1, "device": "abc"}


def session(name: str) -> dict[str, Any]:
    return {"kind": "session", "session": name}


def record(name: str, number: int = 0) -> dict[str, Any]:
    return {"kind": "record", "session": name, "number": number}


def made(*values: object) -> list[Batch]:
    return list(batches(numbered([HEADER, *values]), "x.jsonl"))


def values(path: Path) -> list[object]:
    return [value for _, _, value in parsed(path)]


def written(tmp_path: Path, *lines: bytes) -> Path:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n".join(lines))
    return path


def test_lines_are_numbered_and_blank_ones_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, b'{"a":1}', b"", b"  ", b'{"b":2}')
    assert [(number, value) for number, _, value in parsed(path)] == [(1, {"a": 1}), (4, {"b": 2})]


@pytest.mark.parametrize(
    "line",
    [b"{", b"\xff\xfe", b'{"a": NaN}', b'"\\ud800"', b"[" * 200_000, b'{"a":' * 30 + b"1" + b"}" * 30],
    ids=["torn", "no utf-8", "nan", "surrogate", "bomb", "deep"],
)
def test_what_is_no_line_is_a_fault(line: bytes, tmp_path: Path) -> None:
    found = values(written(tmp_path, line, b'{"b":2}'))
    assert isinstance(found[0], Fault)
    assert found[1:] == [{"b": 2}]


def test_a_line_too_long_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST", 100)
    found = values(written(tmp_path, b'"' + b"x" * 1000 + b'"', b'{"b":2}', b"y" * 101))
    assert [isinstance(value, Fault) for value in found] == [True, False, True]


def test_a_line_of_too_many_parts_is_a_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PARTS", 10)
    assert values(written(tmp_path, b"[[],[],[],[],[],[],[],[],[],[],[]]")) == [Fault("of more than 10 parts")]


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        list(parsed(tmp_path / "nothing"))
    with pytest.raises(UsageError):
        list(parsed(tmp_path))
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError):
        list(parsed(tmp_path / "pipe"))


@pytest.mark.parametrize(
    "first",
    [{"kind": "session"}, {**HEADER, "format": "x"}, {**HEADER, "version": 2}, {**HEADER, "device": 5}, 7],
    ids=str,
)
def test_a_file_that_is_no_export_is_refused_with_its_line(first: object) -> None:
    with pytest.raises(UsageError, match=r"x\.jsonl, line 1"):
        list(batches(numbered([first]), "x.jsonl"))


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(UsageError, match="is empty"):
        list(batches([], "x.jsonl"))


def test_a_header_alone_is_an_export_of_nothing() -> None:
    assert made() == []


def test_each_batch_begins_with_the_sessions_it_has_lines_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_LINES", 3)
    found = made(session("a"), *(record("a", number) for number in range(4)))
    assert [batch.lines[0] for batch in found] == [(2, session("a"))] * len(found)
    assert [value for batch in found for _, value in batch.lines[1:]] == [record("a", n) for n in range(4)]


def test_a_batch_holds_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH_BYTES", 200)
    found = made(session("a"), *(record("a", number) | {"text": "x" * 150} for number in range(3)))
    assert len(found) >= 3


def test_a_large_session_line_is_a_fault_not_a_burden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "LONGEST_SESSION", 100)
    (batch,) = made(session("a") | {"text": "x" * 200}, record("a"))
    assert [number for number, _ in batch.faults] == [2]
    assert batch.lines == [(3, record("a"))]


def test_sessions_are_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "REMEMBERED", 300)
    monkeypatch.setattr(reading, "BATCH_LINES", 20)
    found = made(*(session(f"s{number}") for number in range(20)), record("s19"), record("s0"))
    assert found[-1].lines == [(21, session("s19")), (22, record("s19")), (23, record("s0"))]


def test_a_second_header_counts_for_what_follows() -> None:
    found = made(session("a"), HEADER | {"device": "def"}, session("b"))
    assert [(batch.device, batch.lines[0][1]) for batch in found] == [("abc", session("a")), ("def", session("b"))]


def test_faults_go_with_their_batch() -> None:
    (batch,) = list(batches([(1, 1, HEADER), (2, 1, Fault("not JSON"))], "x.jsonl"))
    assert (batch.lines, batch.faults) == ([], [(2, "not JSON")])
