"""What is stored and what is indexed of a tool call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.store.bodies import INPUT_INDEXED, RESULT_INDEXED, STORED, capped, digest, dump, input_text, result_tokens
from indexer.text import content_hash

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
        ("修复", '"修复"'),
        (None, "null"),
        ("\ud83d", '"\ufffd"'),
        (1 << 70, str(1 << 70)),
    ],
)
def test_json_is_compact_and_spells_characters_out(value: object, text: str) -> None:
    assert dump(value) == (text, text.encode())


@given(values)
def test_json_says_what_the_value_is(value: Any) -> None:
    text, data = dump(value)
    assert text.encode() == data
    if "\ufffd" not in text:
        assert json.loads(text) == value


@pytest.mark.parametrize("text", ["x" * STORED, "é" * (STORED // 2), ""])
def test_what_fits_is_stored_whole(text: str) -> None:
    assert capped(text, text.encode()) is text


@pytest.mark.parametrize("text", ["x" * (STORED + 1), "é" * STORED, "😀" * STORED])
def test_what_does_not_fit_says_how_long_it_was(text: str) -> None:
    cut, size = capped(text, text.encode()), len(text.encode())
    assert cut.endswith(f"…[truncated: {size} bytes]")
    assert text.startswith(cut.rpartition("…")[0])
    assert STORED - 4 < len(cut.rpartition("…")[0].encode()) <= STORED


def test_a_digest_is_the_content_hash_of_its_parts() -> None:
    assert digest(b"a", b"", "é".encode()) == content_hash("a", "", "é")
    assert len(digest(b"")) == 16
    assert digest(b"a", b"b") != digest(b"ab")


# --- what is indexed of an input


def test_strings_of_an_input_in_their_order_without_keys() -> None:
    given_input = {"command": "ls", "opts": [{"deep": "b"}, 3, "c"], "n": 1, "flag": True, "last": "d"}
    assert input_text(given_input) == "ls\nb\nc\nd"


@pytest.mark.parametrize("value", [None, 3, [], {}, {"a": 1}])
def test_an_input_without_strings_has_nothing(value: object) -> None:
    assert input_text(value) == ""


def test_no_more_than_a_kilobyte_of_an_input() -> None:
    text = input_text(["a" * 1_000, "b" * 1_000, "c"])
    assert (text.count("a"), text.count("b"), "c" in text) == (1_000, INPUT_INDEXED - 1_000, False)


def test_bytes_count_not_characters() -> None:
    assert len(input_text(["码" * 1_000])) == INPUT_INDEXED // 3
    assert input_text(["码" * 300, "b" * 200]) == "码" * 300 + "\n" + "b" * (INPUT_INDEXED - 900)


def test_what_sqlite_cannot_hold_is_replaced() -> None:
    assert input_text({"a": "x\0y\ud83d"}) == "x\ufffdy\ufffd"


def test_a_deep_input_is_no_danger() -> None:
    deep: Any = "end"
    for _ in range(20_000):
        deep = [deep]
    assert input_text(deep) == "end"


# --- what is indexed of a result


def test_a_short_result_is_indexed_whole() -> None:
    assert result_tokens("") == ""
    assert result_tokens("it works") == "\nit works"


def test_a_long_result_by_its_ends() -> None:
    text = "a" * RESULT_INDEXED + " middle " + "b" * RESULT_INDEXED
    tokens = result_tokens(text)
    assert "middle" not in tokens
    assert (tokens.count("a"), tokens.count("b")) == (RESULT_INDEXED, RESULT_INDEXED)


def test_the_ends_of_a_long_result_are_cut_between_characters() -> None:
    assert result_tokens("é" * RESULT_INDEXED) == "\n" + "é" * RESULT_INDEXED
    tokens = result_tokens("x" + "é" * RESULT_INDEXED + "y")
    assert tokens == "\nx" + "é" * (RESULT_INDEXED // 2 - 1) + "\n" + "é" * (RESULT_INDEXED // 2 - 1) + "y"
