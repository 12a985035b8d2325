"""Arguments: bounds, defaults, mistakes a model makes, and cursors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import UsageError
from indexer.recall import inputs
from indexer.recall.tools import TOOLS

SCHEMA: dict[str, Any] = {
    "properties": {
        "query": {"type": "string", "maxLength": 5},
        "limit": {"type": "integer", "default": 10, "minimum": 1, "maximum": 50},
        "kind": {"type": "string", "enum": ["a", "b"]},
        "ids": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "maxLength": 3}},
    },
    "required": ["query"],
}


def check(**given: Any) -> dict[str, Any]:
    return inputs.checked(SCHEMA, {"query": "x"} | given)


def test_what_is_left_out_has_its_default() -> None:
    assert check() == {"query": "x", "limit": 10, "kind": None, "ids": None}


def test_null_means_left_out() -> None:
    assert check(limit=None, kind=None) == check()


@pytest.mark.parametrize(("given", "read"), [("7", 7), (7.0, 7), (" 12 ", 12)])
def test_numbers_may_be_written_as_text(given: object, read: int) -> None:
    assert check(limit=given)["limit"] == read


@pytest.mark.parametrize(("given", "read"), [("1", ["1"]), (12, ["12"]), ([3, "b"], ["3", "b"])])
def test_one_may_stand_for_a_list_of_one(given: object, read: list[str]) -> None:
    assert check(ids=given)["ids"] == read


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"limit": 0}, "a whole number from 1 to 50"),
        ({"limit": 51}, "a whole number from 1 to 50"),
        ({"limit": True}, "a whole number from 1 to 50"),
        ({"limit": 1.5}, "a whole number from 1 to 50"),
        ({"limit": "many"}, "a whole number from 1 to 50"),
        ({"kind": "c"}, "one of a, b"),
        ({"kind": ["a"]}, "one of a, b"),
        ({"ids": []}, "1 to 2 of: a text of at most 3 characters"),
        ({"ids": ["a", "b", "c"]}, "1 to 2 of"),
        ({"ids": ["toolong"]}, "a text of at most 3 characters"),
        ({"ids": [{}]}, "a text of at most 3 characters"),
        ({"ids": True}, "1 to 2 of"),
        ({"query": "sixsix"}, "at most 5 characters"),
        ({"query": 5}, "a text"),
    ],
)
def test_what_is_out_of_bounds_is_refused_with_the_bounds(given: dict[str, Any], hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        check(**given)
    assert next(iter(given)) in raised.value.message
    assert hint in raised.value.hint


def test_an_unknown_argument_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="no argument 'limt'") as raised:
        check(limt=3)
    assert raised.value.hint == "did you mean limit?"


def test_an_argument_like_no_other_lists_them() -> None:
    with pytest.raises(UsageError) as raised:
        check(zzzzzz=3)
    assert raised.value.hint == "arguments are query, limit, kind, ids"


@pytest.mark.parametrize("given", [None, {}, {"query": None}])
def test_what_is_missing_is_said(given: dict[str, Any] | None) -> None:
    with pytest.raises(UsageError, match="query is missing"):
        inputs.checked(SCHEMA, given)


def test_a_long_value_is_not_repeated_in_whole() -> None:
    with pytest.raises(UsageError) as raised:
        check(query="x" * 10_000)
    assert len(raised.value.message) < 200


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(tool=st.sampled_from(TOOLS), data=st.data())
def test_no_json_does_more_than_be_refused(tool: Any, data: st.DataObject) -> None:
    names = st.sampled_from([*tool.schema["properties"], "other"])
    given = data.draw(st.dictionaries(names, json_values, max_size=4))
    refused = False
    try:
        found = inputs.checked(tool.schema, given)
    except UsageError as error:
        refused, found = bool(error.hint), {}
    assert refused or found.keys() == tool.schema["properties"].keys()


# --- cursors


def test_a_cursor_leads_on() -> None:
    args = {"query": "x", "limit": 5, "cursor": None}
    assert inputs.offset(args) == 0
    assert inputs.offset(args | {"cursor": inputs.cursor(args, 15)}) == 15


def test_the_limit_may_change_from_page_to_page() -> None:
    cursor = inputs.cursor({"query": "x", "limit": 5}, 5)
    assert inputs.offset({"query": "x", "limit": 50, "cursor": cursor}) == 5


@pytest.mark.parametrize("cursor", ["5", "x.y", "-5.aaaaaaaa", "9999999999.x", "٣.x", "5.00000000"])
def test_a_cursor_made_up_is_refused(cursor: str) -> None:
    with pytest.raises(UsageError, match="does not belong to this call"):
        inputs.offset({"query": "x", "cursor": cursor})


def test_a_cursor_of_another_question_is_refused() -> None:
    cursor = inputs.cursor({"query": "x"}, 5)
    with pytest.raises(UsageError, match="does not belong"):
        inputs.offset({"query": "y", "cursor": cursor})
