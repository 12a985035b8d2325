"""The ladder for damaged lines: what is read, what is lost, and where."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from transcripts import Transcript, line

from indexer.records import Ignored, Unreadable
from indexer.sources import salvage
from indexer.sources.salvage import decode, too_many_values


@pytest.fixture
def whole(session: Transcript) -> bytes:
    """A good line, without its newline."""
    return line(session.user("whole 索引"))[:-1]


@pytest.fixture
def next_one(session: Transcript) -> bytes:
    """Another good line."""
    return line(session.text("next"))[:-1]


def value(data: bytes) -> Any:
    return json.loads(data)


@pytest.mark.parametrize("data", [b"", b"\r", b"  \t\r", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r"], ids=repr)
def test_a_blank_line_holds_nothing(data: bytes) -> None:
    assert decode(data) == []


def test_a_byte_order_mark_is_skipped(whole: bytes) -> None:
    assert decode(b"\xef\xbb\xbf" + whole) == [value(whole)]


def test_a_lone_surrogate_escape_becomes_a_replacement_character() -> None:
    assert decode(rb'{"a":"broken \ud83d emoji","\udc00":[{"b":"\ud83d\ude00"}]}') == [
        {"a": "broken \ufffd emoji", "\ufffd": [{"b": "😀"}]}
    ]


def test_an_encoded_surrogate_becomes_a_replacement_character() -> None:
    assert decode(b'{"a":"x\xed\xa0\xbdy"}') == [{"a": "x\ufffdy"}]


def test_numbers_that_only_python_reads() -> None:
    found = decode(b'{"a":NaN,"b":-Infinity,"s":"\\ud800"}')[0]
    assert isinstance(found, dict)
    assert math.isnan(found["a"])
    assert found["b"] == -math.inf


@pytest.mark.parametrize(
    ("digits", "number"),
    [("18446744073709551615", 2**64 - 1), ("18446744073709551616", float(2**64)), ("9" * 5000, math.inf)],
    ids=["64 bits", "65 bits", "5000 digits"],
)
def test_integers_fit_64_bits_or_are_floats(digits: str, number: float) -> None:
    assert decode(b'{"s":"\\ud800","n":%s}' % digits.encode()) == [{"s": "\ufffd", "n": number}]


def test_bytes_that_are_no_utf8_are_replaced_in_a_record_that_has_a_uuid(whole: bytes) -> None:
    spoilt = whole.replace("索引".encode(), b"\xff\xfe")
    found, loss = decode(spoilt)
    assert isinstance(found, dict)
    assert found["message"]["content"] == "whole \ufffd\ufffd"
    assert loss == Ignored("invalid-utf-8")


def test_bytes_that_are_no_utf8_are_lost_without_a_uuid() -> None:
    data = b'{"type":"user","message":{"role":"user","content":"\xff\xfe broken"}}'
    assert decode(data) == [Unreadable("not-utf-8", 0, len(data))]


@pytest.mark.parametrize("data", [b"nonsense", b'{"a":', b"{'a':1}", b'{"a":"\x01"}', b"{}{"[:3]])
def test_what_is_no_json_is_unreadable(data: bytes) -> None:
    assert decode(data) == [Unreadable("not-json", 0, len(data))]


def test_a_value_that_is_no_object_comes_back_as_it_is() -> None:
    assert decode(b'["\\ud83d"]') == [["\ufffd"]]


# --- NUL


def test_a_line_of_nul_bytes_is_unreadable() -> None:
    assert decode(b"\0" * 4096) == [Unreadable("nul-bytes", 0, 4096)]


def test_a_record_behind_nul_bytes_is_kept(whole: bytes) -> None:
    assert decode(b"\0" * 4096 + whole) == [Unreadable("nul-bytes", 0, 4096), value(whole)]


def test_records_on_both_sides_of_nul_bytes_are_kept(whole: bytes, next_one: bytes) -> None:
    found = decode(whole + b"\0\0" + next_one + b"\0")
    after = len(whole) + 2 + len(next_one)
    assert found == [
        value(whole),
        Unreadable("nul-bytes", len(whole), 2),
        value(next_one),
        Unreadable("nul-bytes", after, 1),
    ]


def test_a_record_torn_by_nul_bytes_is_lost_alone(whole: bytes, next_one: bytes) -> None:
    torn = whole[:60] + b"\0" * 10
    assert decode(torn + next_one) == [Unreadable("torn", 0, 70), value(next_one)]


def test_a_byte_order_mark_counts_in_offsets(whole: bytes) -> None:
    assert decode(b"\xef\xbb\xbf\0\0" + whole) == [Unreadable("nul-bytes", 3, 2), value(whole)]


def test_many_nul_runs_end() -> None:
    data = b"x\0" * 100_000
    assert decode(data) == [Unreadable("not-json", 0, len(data))]


# --- records glued together


def test_a_record_behind_a_torn_one_is_kept(whole: bytes, next_one: bytes) -> None:
    for cut in (1, 13, 80, len(whole) - 1):
        assert decode(whole[:cut] + next_one) == [Unreadable("torn", 0, cut), value(next_one)]


def test_two_writers_in_one_line(whole: bytes) -> None:
    assert decode(b'{"parentUuid":"80d' + whole) == [Unreadable("torn", 0, 18), value(whole)]


def test_a_record_torn_inside_a_character(whole: bytes, next_one: bytes) -> None:
    cut = whole.index("索".encode()) + 1
    assert decode(whole[:cut] + next_one) == [Unreadable("torn", 0, cut), value(next_one)]


def test_whole_records_without_a_newline_between(whole: bytes, next_one: bytes) -> None:
    title = b'{"type":"ai-title","aiTitle":"x","sessionId":"s"}'
    assert decode(whole + title + b" " + next_one) == [value(whole), value(title), value(next_one)]


def test_a_record_before_garbage_is_kept(whole: bytes) -> None:
    assert decode(whole + b'{"parentUuid":"x') == [value(whole), Unreadable("torn", len(whole), 16)]


def test_a_salvaged_record_may_need_the_ladder_itself(next_one: bytes) -> None:
    spoilt = next_one.replace(b'"next"', rb'"\ud83d"')
    found = decode(b'{"torn' + spoilt)
    assert found[0] == Unreadable("torn", 0, 6)
    assert isinstance(found[1], dict)
    assert found[1]["message"]["content"][0]["text"] == "\ufffd"


def test_objects_inside_a_torn_record_are_no_records(whole: bytes) -> None:
    inner = b'{"type":"user","uuid":"u","message":{"role":"user","content":"copied"}}'
    torn = b'{"type":"progress","data":{"messages":[' + inner + b",{"
    assert decode(torn) == [Unreadable("not-json", 0, len(torn))]


def test_the_search_is_limited_to_the_last_mebibyte(whole: bytes, next_one: bytes) -> None:
    far = b'{"torn' + whole + b"x" * (1 << 20)
    assert decode(far) == [Unreadable("not-json", 0, len(far))]
    near = b'{"torn' + b"x" * (1 << 20) + next_one
    assert decode(near)[1:] == [value(next_one)]


def test_at_most_200_starts_are_tried(next_one: bytes) -> None:
    false_starts = b'{"type"' * 250
    assert decode(false_starts + next_one) == [Unreadable("not-json", 0, 250 * 7 + len(next_one))]
    assert decode(false_starts[: 150 * 7] + next_one)[1:] == [value(next_one)]


# --- depth


@pytest.mark.parametrize("opening", [b"[", b'{"type":'], ids=["arrays", "objects"])
@pytest.mark.parametrize("depth", [1_100, 100_000])
def test_a_depth_bomb_is_unreadable(opening: bytes, depth: int) -> None:
    data = opening * depth
    (lost,) = decode(data)
    assert isinstance(lost, Unreadable)
    assert lost[1:] == (0, len(data))


def test_json_nested_too_deep_is_unreadable() -> None:
    data = b"[" * 100_000 + b"]" * 100_000
    assert decode(data) == [Unreadable("too-deep", 0, len(data))]


@pytest.mark.parametrize(
    "hostile",
    [
        b'{"type":[' * 201 + b"1," * 500_000,
        b'{"type":[' * 201 + b'{"a":"b"},' * 100_000,
        (b'{"type":"' + b"x" * 5_000 + b'",') * 200,
        b'{"a"\0' * 200_000,
    ],
    ids=["integers", "objects", "strings", "pieces"],
)
def test_a_hostile_line_is_given_up_soon(hostile: bytes) -> None:
    began = time.process_time()
    assert decode(hostile) == [Unreadable("not-json", 0, len(hostile))]
    assert time.process_time() - began < 3


def test_a_file_whose_newlines_were_lost(whole: bytes, next_one: bytes) -> None:
    found = decode(b"\r".join([whole, next_one] * 500) + b"\r")
    assert found == [value(whole), value(next_one)] * 500


# --- more values than memory holds


@pytest.mark.parametrize(
    ("data", "count"), [(b"[[],[]]", 4), (b'{"a":1,"b":2}', 2), (b'[",,","[",{}]', 4), (rb'["\",[",1]', 2)]
)
def test_values_are_counted_by_what_stands_between_them(
    data: bytes, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(salvage, "_VALUES", count)
    assert not too_many_values(data)
    monkeypatch.setattr(salvage, "_VALUES", count - 1)
    assert too_many_values(data)


def test_brackets_and_commas_in_strings_are_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(salvage, "_VALUES", 2)
    assert not too_many_values(json.dumps({"text": 'a, b, [c], {d}, \\", \n' * 10}).encode())
