"""Which fields are believed: ids, strong and weak, names of what is ignored, facts."""

from __future__ import annotations

import pytest

from indexer.records import Ignored
from indexer.sources.fields import facts, identifier, ignored, is_strong_message_id, is_strong_tool_id

UUID = "4296a34a-1631-4b6b-a34c-d02765106673"


@pytest.mark.parametrize("value", [UUID, "x", "call_0", "functions.Bash:0", "é", "a" * 256])
def test_an_id_is_a_printable_word(value: str) -> None:
    assert identifier(value) == value


@pytest.mark.parametrize(
    "value",
    ["", "a b", "a\tb", "a\nb", "\x00", "a\x7f", "a\u00a0b", "\ud800", "a" * 257, None, 5, True, ["x"], {}],
    ids=repr,
)
def test_anything_else_is_no_id(value: object) -> None:
    assert identifier(value) is None


@pytest.mark.parametrize(
    "strong",
    [
        "toolu_01ABCDEFGHJKLMNPQRSTUV",
        "toolu_a268aa872607479da05091",
        "toolu_ok00000000000000000001",
        "toolu_1a2b3c4d-5e6f-4a7",
        "toolu_vrtx_01ABCDEFGHJKLMNPQRSTUV",
        "toolu_bdrk_01ABCDEFGHJKLMNPQRSTUV",
        "tooluse_Zx81_kd8Q1mPq3rT5uVw",
        "call_0123456789abcdef",
        "call_function_0123456789abcdef",
        UUID,
        UUID.upper(),
    ],
)
def test_strong_tool_ids(strong: str) -> None:
    assert is_strong_tool_id(strong)


@pytest.mark.parametrize(
    "weak",
    [
        "",
        "call_0",
        "call_a1b2c3d4",
        "functions.Bash:0",
        "toolu_a",
        "toolu_ABCDEFGHIJKLMNO",
        "toolu_vrtx_ABCDEFGHIJK",
        "call_function_9ki1xpx9pojd_1",
        "toolu_01ABCDEFGHJKLMNPQRSTUV ",
        "toolu_01ABCDEFGHJKLMNPQRSTUV\n",
        "Toolu_01ABCDEFGHJKLMNPQRSTUV",
        "chatcmpl-tool-0123456789abcdef0123",
        UUID[:-1],
        "{" + UUID + "}",
    ],
    ids=repr,
)
def test_weak_tool_ids(weak: str) -> None:
    assert not is_strong_tool_id(weak)


@pytest.mark.parametrize("strong", ["msg_01ABCDEFGHJKLMNPQRSTUV", "msg_same_for_all_four", UUID])
def test_strong_message_ids(strong: str) -> None:
    assert is_strong_message_id(strong)


@pytest.mark.parametrize("weak", ["msg_1", "msg_36f675cc", "msg_vrtx_0123456789", "resp_0123456789abcdef01", ""])
def test_weak_message_ids(weak: str) -> None:
    assert not is_strong_message_id(weak)


def test_a_kind_is_counted_under_its_name() -> None:
    assert ignored("quantum-state") == Ignored("quantum-state")
    assert ignored("file", "attachment/") == Ignored("attachment/file")


def test_a_kind_may_be_printed() -> None:
    assert ignored("a\x1b[31m\nb") == Ignored("a?[31m?b")


def test_a_kind_is_at_most_64_characters() -> None:
    assert ignored("x" * 1000, "system/") == Ignored("system/" + "x" * 57)


@pytest.mark.parametrize("kind", [None, 5, [1], {"a": 1}, True], ids=repr)
def test_a_kind_that_is_no_string_is_untyped(kind: object) -> None:
    assert ignored(kind, "block:") == Ignored("block:untyped")


def test_facts_are_renamed_integers_and_strings() -> None:
    source = {"preTokens": 152, "trigger": "manual", "other": 1}
    assert facts(source, {"preTokens": "pre_tokens", "trigger": "trigger"}) == {
        "pre_tokens": 152,
        "trigger": "manual",
    }


@pytest.mark.parametrize("value", [None, "", True, 1.5, [1], {"a": 1}], ids=repr)
def test_other_values_are_no_facts(value: object) -> None:
    assert facts({"a": value}, {"a": "a"}) == {}


@pytest.mark.parametrize("source", [None, "text", [1], 5], ids=repr)
def test_nothing_but_an_object_has_facts(source: object) -> None:
    assert facts(source, {"a": "a"}) == {}
