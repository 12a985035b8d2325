"""What of a row gets vectors: its documents, their stable names, and the pieces of long texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.documents import PIECE, chunks, documents, is_latin, is_wide, stamp
from indexer.store.embeddable import Row


def row(*fields: tuple[str, str], **changed: Any) -> Row:
    about = Row(8, "prompt", "prompt:u1", "/home/dev/shop", None, None, 1, 1, fields)
    return about._replace(**changed)


def observation(**fields: str) -> Row:
    return row(*fields.items(), kind="observation", native="observation:s:h")


def names(one: Row) -> list[str]:
    return [document.name for document in documents(one)]


def texts(one: Row) -> list[str]:
    return [document.text for document in documents(one)]


def test_a_prompt_is_one_document_named_after_its_record() -> None:
    assert names(row(("text", "fix the login"))) == ["prompt:u1:text"]


def test_title_and_subtitle_are_one_document() -> None:
    assert texts(observation(title="Login", subtitle="sessions expire")) == ["Login: sessions expire"]


def test_each_fact_is_a_document() -> None:
    found = documents(observation(facts=json.dumps(["one", "two"])))
    assert [(one.name, one.text) for one in found] == [
        ("observation:s:h:fact_0", "one"),
        ("observation:s:h:fact_1", "two"),
    ]


def test_a_title_alone_is_found_too() -> None:
    assert names(observation(title="Login")) == ["observation:s:h:title"]


@pytest.mark.parametrize(("facts", "made"), [('[1, null, ""]', ["1"]), ("not json", ["not json"]), ("{}", [])])
def test_facts_of_another_form_are_taken_as_they_are(facts: str, made: list[str]) -> None:
    assert texts(observation(facts=facts)) == made


def test_summary_fields_are_documents() -> None:
    one = row(("request", "a b"), ("learned", "c d"), kind="summary", native="summary:s:1")
    assert names(one) == ["summary:s:1:request", "summary:s:1:learned"]


def test_a_row_that_says_nothing_has_none() -> None:
    assert documents(row(("text", " -- \n"))) == []


def test_the_same_text_has_the_same_hash_anywhere() -> None:
    one, other = documents(row(("text", "x y"))), documents(row(("text", " x  y"), native="prompt:u2"))
    assert one[0].hash == other[0].hash


# --- pieces


def test_a_short_text_is_one_piece() -> None:
    assert chunks("fix the login") == ["fix the login"]


def test_a_long_text_is_cut_at_words() -> None:
    pieces = chunks("word " * 400)
    assert len(pieces) == 3
    assert all(len(piece) <= PIECE and set(piece.split()) == {"word"} for piece in pieces)


def test_no_more_pieces_than_asked_for() -> None:
    assert len(chunks("word " * 10_000, 2)) == 2


def test_a_character_of_chinese_takes_the_room_of_three() -> None:
    assert [len(piece) for piece in chunks("字" * 700)] == [300, 300, 100]


def test_escape_sequences_are_not_embedded() -> None:
    assert chunks("\x1b[31mred\x1b[0m") == ["red"]


def test_an_answer_has_up_to_four_pieces() -> None:
    assert len(documents(row(("text", "word " * 5000), kind="assistant"))) == 4


@given(st.text(max_size=3000))
def test_pieces_are_never_empty_and_never_too_long(text: str) -> None:
    pieces = chunks(text)
    assert all(piece.strip() and len(piece) <= PIECE for piece in pieces)
    assert len(pieces) <= 4


@given(st.text(alphabet="ab 字\n", max_size=2000))
def test_pieces_hold_the_text_in_order(text: str) -> None:
    joined, whole = "".join("".join(chunks(text, 50)).split()), "".join(text.split())
    assert joined == whole


# --- stamps


def changed(**what: Any) -> bool:
    one = row(("text", "a b"))
    other = one._replace(**what)
    return stamp(one, documents(one)) != stamp(other, documents(other))


@pytest.mark.parametrize(
    "what",
    [
        {"fields": (("text", "c d"),)},
        {"project_key": "/home/dev/other"},
        {"merged": "x"},
        {"time": 2},
        {"session": 2},
        {"kind": "command"},
        {"type": "bugfix"},
    ],
)
def test_a_stamp_changes_with_all_that_the_index_holds(what: dict[str, Any]) -> None:
    assert changed(**what)


def test_a_stamp_does_not_depend_on_the_row_id() -> None:
    assert not changed(id=16)


# --- scripts


@pytest.mark.parametrize(
    ("text", "latin"), [("fix it", True), ("修改时区", False), ("修改 the time zone", True), ("", True)]
)
def test_what_a_latin_model_is_given(text: str, latin: bool) -> None:
    assert is_latin(text) is latin


@pytest.mark.parametrize(
    ("text", "wide"), [("fix it", False), ("修改 timezone", True), ("설정", True), ("ตั้งค่า", True), ("café", False)]
)
def test_what_a_latin_model_is_asked(text: str, wide: bool) -> None:
    assert is_wide(text) is wide
