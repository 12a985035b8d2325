"""Assistant records: text, calls, usage, keys."""

from __future__ import annotations

from typing import Any

import pytest
from transcripts import Transcript, uid

from indexer.records import AssistantText, Ignored, Record, ToolUse, TurnEvent
from indexer.sources.replies import read

UUID = uid("record")
STRONG = "toolu_01ABCDEFGHJKLMNPQRSTUV"


def message(*blocks: Any, **fields: Any) -> dict[str, Any]:
    return {"id": "msg_01ABCDEFGHJKLMNPQRSTUV", "model": "claude-x", "content": list(blocks), **fields}


def texts(*blocks: Any, record: dict[str, Any] | None = None, **fields: Any) -> AssistantText:
    """The assistant text of a message with these blocks."""
    first = read(record or {}, message(*blocks, **fields), UUID)[0]
    assert isinstance(first, AssistantText)
    return first


def text(block: str) -> dict[str, Any]:
    return {"type": "text", "text": block}


def call(tool_use_id: Any = STRONG, name: Any = "Bash", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": tool_use_id, "name": name, "input": {"command": "ls"}, **fields}


def uses(*blocks: Any) -> list[Record]:
    return read({}, message(*blocks), UUID)[1:]


# --- text


def test_a_line_holds_one_assistant_text() -> None:
    usage = {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 4,
        "service_tier": "standard",
    }
    assert read({}, message(text("Done."), usage=usage), UUID) == [
        AssistantText("msg_01ABCDEFGHJKLMNPQRSTUV", "Done.", "claude-x", 1, 2, 3, 4)
    ]


def test_several_text_blocks_are_joined() -> None:
    assert texts(text("one"), text("two")).text == "one\ntwo"


def test_a_line_without_text_has_an_empty_one_for_its_usage() -> None:
    found = texts(call(), usage={"input_tokens": 7})
    assert (found.text, found.input_tokens) == ("", 7)


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking"])
def test_thinking_is_dropped(kind: str) -> None:
    thinking = {"type": kind, "thinking": "hmm", "signature": "c2ln"}
    assert read({}, message(thinking, text("x")), UUID)[1:] == []
    assert texts(thinking, text("x")).text == "x"


def test_content_may_be_a_string() -> None:
    assert texts(content="plain").text == "plain"


def test_nul_is_replaced() -> None:
    assert texts(text("a\0b")).text == "a\ufffdb"
    assert texts(content="a\0b").text == "a\ufffdb"


def test_unknown_blocks_are_counted() -> None:
    found = uses({"type": "hologram"}, "bare", None, {"type": ["x"]}, {"type": "text", "text": 5})
    assert found == [
        Ignored("block:hologram"),
        Ignored("block:untyped"),
        Ignored("block:untyped"),
        Ignored("block:untyped"),
        Ignored("block:text"),
    ]


@pytest.mark.parametrize("kind", ["server_tool_use", "tool_result", "fallback"])
def test_calls_of_the_server_are_no_tool_uses(kind: str) -> None:
    assert uses({"type": kind, "id": STRONG, "name": "web_search", "input": {}}) == [Ignored(f"block:{kind}")]


def test_a_message_spread_over_digits_is_malformed() -> None:
    spread = {str(i): letter for i, letter in enumerate("API error")}
    assert read({}, spread, UUID) == [Ignored("malformed-message")]


def test_a_message_with_usage_alone_still_counts_it() -> None:
    assert read({}, {"usage": {"output_tokens": 3}}, UUID) == [AssistantText(UUID, "", None, 0, 3, 0, 0)]


# --- usage


@pytest.mark.parametrize("count", [None, "5", 1.5, True, -1, 2**53, [1]], ids=repr)
def test_what_is_no_count_is_zero(count: object) -> None:
    found = texts(usage={"input_tokens": count, "output_tokens": 2})
    assert (found.input_tokens, found.output_tokens) == (0, 2)


@pytest.mark.parametrize("count", [None, "5", 1.5, True, -1, 2**53, [1]], ids=repr)
def test_one_bad_count_spoils_no_other(count: object) -> None:
    usage = {"input_tokens": 1, "output_tokens": count}
    found = texts(usage=usage | {"cache_creation_input_tokens": 3, "cache_read_input_tokens": 4})
    assert found[3:] == (1, 0, 3, 4)


@pytest.mark.parametrize("usage", [None, "none", [1], 5, {}], ids=repr)
def test_no_usage_is_no_tokens(usage: object) -> None:
    assert texts(usage=usage)[3:] == (0, 0, 0, 0)


# --- keys and models


@pytest.mark.parametrize("strong", ["msg_01ABCDEFGHJKLMNPQRSTUV", "msg_same_for_all_four", UUID])
def test_a_strong_message_id_is_the_key(strong: str) -> None:
    assert texts(id=strong, record={"requestId": "req_1"}).message_key == strong


def test_a_weak_message_id_is_scoped_by_its_request() -> None:
    assert texts(id="msg_1", record={"requestId": "req_1"}).message_key == "req_1:msg_1"


@pytest.mark.parametrize(("weak", "request_id"), [("msg_1", None), (None, "req_1"), (5, "req_1"), ("m 1", "req_1")])
def test_else_the_key_is_the_record(weak: object, request_id: object) -> None:
    assert texts(id=weak, record={"requestId": request_id}).message_key == UUID


@pytest.mark.parametrize("model", ["<synthetic>", None, 5, ["x"]], ids=repr)
def test_a_model_that_is_none(model: object) -> None:
    assert texts(text("x"), model=model).model is None


# --- errors


def test_no_response_requested_is_dropped() -> None:
    found = read({}, message(text("No response requested."), model="<synthetic>"), UUID)
    assert found == [Ignored("no-response-requested")]


def test_a_model_may_say_so_itself() -> None:
    assert texts(text("No response requested.")).text == "No response requested."


def test_an_api_error_is_an_event_and_no_text() -> None:
    record = {"isApiErrorMessage": True, "error": "rate_limit", "apiErrorStatus": 429}
    found = read(record, message(text("API Error: 429"), model="<synthetic>"), UUID)
    assert found == [TurnEvent("error", {"error": "rate_limit", "status": 429, "text": "API Error: 429"})]


def test_a_flag_that_is_not_true_is_no_error() -> None:
    assert texts(text("fine"), record={"isApiErrorMessage": False}).text == "fine"


# --- tool uses


def test_a_tool_use_with_a_strong_id() -> None:
    assert uses(call()) == [ToolUse(STRONG, STRONG, "Bash", {"command": "ls"}, None)]


def test_a_weak_id_is_scoped_by_the_record() -> None:
    assert uses(call("call_0")) == [ToolUse(f"{UUID}:call_0", "call_0", "Bash", {"command": "ls"}, None)]


def test_a_weak_id_that_a_record_repeats_is_numbered() -> None:
    found = uses(call("call_0"), call("call_1"), call("call_0"), call("call_0"))
    assert [use.identity for use in found if isinstance(use, ToolUse)] == [
        f"{UUID}:call_0",
        f"{UUID}:call_1",
        f"{UUID}:call_0#2",
        f"{UUID}:call_0#3",
    ]


@pytest.mark.parametrize(
    "block",
    [call(None), call(5), call(""), call("x" * 257), call(name=None), call(name=""), call(name={"a": 1})],
    ids=range(7),
)
def test_a_call_without_id_or_name_is_malformed(block: dict[str, Any]) -> None:
    assert uses(block) == [Ignored("malformed-tool-use")]


@pytest.mark.parametrize(
    "name", ['Task" >\n<parameter name="description', "...<tool_call>Bash", "Gash", "mcp__memory__search"]
)
def test_names_are_kept_as_the_model_wrote_them(name: str) -> None:
    (use,) = uses(call(name=name))
    assert isinstance(use, ToolUse)
    assert use.name == name


@pytest.mark.parametrize("given", [None, "text", 5, [1], {}, {"__unparsedToolInput": {}}, {'{"command': "x"}], ids=repr)
def test_any_input_is_kept(given: object) -> None:
    (use,) = uses(call(input=given))
    assert isinstance(use, ToolUse)
    assert (use.input, use.file_path) == (given, None)


def test_a_call_without_input_has_none() -> None:
    (use,) = uses({"type": "tool_use", "id": STRONG, "name": "LS"})
    assert isinstance(use, ToolUse)
    assert use.input is None


@pytest.mark.parametrize("key", ["file_path", "notebook_path", "filePath", "relative_path"])
def test_the_file_a_call_is_about(key: str) -> None:
    (use,) = uses(call(input={key: "/home/dev/shop/a.py", "path": "/home/dev"}))
    assert isinstance(use, ToolUse)
    assert use.file_path == "/home/dev/shop/a.py"


@pytest.mark.parametrize("path", [None, "", 5, ["a"]], ids=repr)
def test_a_path_that_is_none(path: object) -> None:
    (use,) = uses(call(input={"file_path": path}))
    assert isinstance(use, ToolUse)
    assert use.file_path is None


def test_text_and_calls_of_one_record(session: Transcript) -> None:
    record = session.assistant(text("one"), call(), text("two"))
    found = read(record, record["message"], record["uuid"])
    assert [type(item) for item in found] == [AssistantText, ToolUse]
    assert isinstance(found[0], AssistantText)
    assert found[0].text == "one\ntwo"
