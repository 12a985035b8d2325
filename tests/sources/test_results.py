"""Tool results: identity, text, errors, side files, links to sub-agents."""

from __future__ import annotations

from typing import Any

import pytest

from indexer.records import AgentLink, Ignored, Record, ToolResult, TurnEvent
from indexer.sources.results import read

STRONG = "toolu_01ABCDEFGHJKLMNPQRSTUV"
SIDE_FILE = "/home/dev/.claude/projects/-home-dev-shop/s/tool-results/b1.txt"


def block(content: Any = "ok", tool_use_id: Any = STRONG, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, **fields}


def result(content: Any = "ok", record: dict[str, Any] | None = None, **fields: Any) -> ToolResult:
    """The result in a record with one block."""
    first = read(record or {}, [block(content, **fields)])[0]
    assert isinstance(first, ToolResult)
    return first


def beside(record: dict[str, Any], **fields: Any) -> list[Record]:
    """What a record with one block holds beside its result."""
    return read(record, [block(**fields)])[1:]


def test_a_result_of_a_strong_id() -> None:
    assert read({}, [block("notes.txt", is_error=False)]) == [ToolResult(STRONG, STRONG, "notes.txt", False, None)]


# --- identity


def test_a_weak_id_is_scoped_by_the_record_that_called() -> None:
    record = {"sourceToolAssistantUUID": "caller", "parentUuid": "parent"}
    assert result(tool_use_id="call_0", record=record).identity == "caller:call_0"


def test_else_by_the_parent() -> None:
    assert result(tool_use_id="call_0", record={"parentUuid": "parent"}).identity == "parent:call_0"


@pytest.mark.parametrize("parent", [None, 5, "", "a b"], ids=repr)
def test_without_either_it_has_no_identity(parent: object) -> None:
    found = result(tool_use_id="call_0", record={"parentUuid": parent})
    assert (found.identity, found.tool_use_id) == (None, "call_0")


@pytest.mark.parametrize("tool_use_id", [None, "", 5, ["x"], "x" * 257], ids=range(5))
def test_a_result_without_id_is_malformed(tool_use_id: object) -> None:
    assert read({}, [block(tool_use_id=tool_use_id)]) == [Ignored("malformed-tool-result")]


# --- text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "text", "text": "see"}, {"type": "image", "source": {"data": "iVBO"}}], "see\n[image]"),
        ([{"type": "document", "source": {}}], "[document]"),
        ([{"type": "tool_reference", "tool_name": "TaskCreate"}], "TaskCreate"),
        ([{"type": "tool_reference"}], "[tool_reference]"),
        ([{"type": "hologram"}, "bare", 5, None, {}], "[hologram]\nbare\n5\nnull\n"),
        ({"a": 1}, '{"a":1}'),
        (5, "5"),
        (False, "false"),
        ("a\0b", "a\ufffdb"),
        ([{"type": "text", "text": "a\0b"}], "a\ufffdb"),
    ],
    ids=repr,
)
def test_content_as_text(content: object, text: str) -> None:
    assert result(content).text == text


def test_content_without_a_value_is_empty() -> None:
    first = read({}, [{"type": "tool_result", "tool_use_id": STRONG}])[0]
    assert first == ToolResult(STRONG, STRONG, "", None, None)


def test_content_of_any_depth_is_kept() -> None:
    deep: Any = 1
    for _ in range(1_000):
        deep = {"a": deep}
    assert result(deep).text == '{"a":' * 1_000 + "1" + "}" * 1_000


@pytest.mark.parametrize(("flag", "is_error"), [(True, True), (False, False), (None, None), ("true", None), (1, None)])
def test_is_error_is_true_false_or_unknown(flag: object, is_error: bool | None) -> None:
    assert result(is_error=flag).is_error is is_error


# --- several blocks


def test_several_results_in_one_record() -> None:
    record = {"toolUseResult": {"agentId": "a1"}}
    found = read(record, [block("one"), block("two", tool_use_id="toolu_01ZZZZZZZZZZZZZZZZZZZZ")])
    assert [item.text for item in found if isinstance(item, ToolResult)] == ["one", "two"]
    assert [item.tool_use_id for item in found if isinstance(item, AgentLink)] == [STRONG]


def test_other_blocks_are_counted() -> None:
    found = read({}, [{"type": "text", "text": "x"}, block(), None])
    assert found == [
        Ignored("block:text"),
        ToolResult(STRONG, STRONG, "ok", None, None),
        Ignored("block:untyped"),
    ]


# --- side files


def test_the_side_file_of_a_large_output() -> None:
    record = {"toolUseResult": {"stdout": "", "persistedOutputPath": SIDE_FILE, "persistedOutputSize": 340_000}}
    assert result(record=record).side_file == SIDE_FILE


def test_the_side_file_that_only_the_text_names() -> None:
    text = f"<persisted-output>\nOutput too large (340.7KB). Full output saved to: {SIDE_FILE}\n\nPreview:\n1\n2"
    found = result(text)
    assert (found.side_file, found.text) == (SIDE_FILE, text)


@pytest.mark.parametrize(
    "text",
    ["<persisted-output>\ncut", "saved to: /x", "<persisted-output>saved to: \nx", "<a>saved to: /x</a>"],
)
def test_texts_that_name_no_side_file(text: str) -> None:
    assert result(text).side_file is None


@pytest.mark.parametrize("path", [None, "", 5, ["x"]], ids=repr)
def test_a_side_file_that_is_none(path: object) -> None:
    assert result(record={"toolUseResult": {"persistedOutputPath": path}}).side_file is None


# --- sub-agents


def test_an_agents_result_links_it_to_its_call() -> None:
    detail = {
        "status": "async_launched",
        "agentId": "a1",
        "agentType": "Explore",
        "description": "Look around",
    }
    assert beside({"toolUseResult": detail}) == [AgentLink("a1", STRONG, "Explore", "Look around")]


def test_an_older_agents_result_names_no_type() -> None:
    detail = {"status": "async_launched", "agentId": "a1", "agentType": 5, "description": None}
    assert beside({"toolUseResult": detail}) == [AgentLink("a1", STRONG, None, None)]


@pytest.mark.parametrize("agent_id", [None, "", 5, "a b"], ids=repr)
def test_an_agent_without_an_id_is_no_link(agent_id: object) -> None:
    assert beside({"toolUseResult": {"agentId": agent_id}}) == []


# --- toolUseResult


@pytest.mark.parametrize("detail", ["Error: x", [{"type": "text", "text": "x"}], None, 5, {}], ids=repr)
def test_tool_use_results_of_any_type(detail: object) -> None:
    assert beside({"toolUseResult": detail}) == []


def test_events_follow_the_result() -> None:
    detail = {"stdout": "", "stderr": "", "interrupted": True}
    assert beside({"toolUseResult": detail}) == [TurnEvent("exit", {"tool_use_id": STRONG, "interrupted": True})]


def test_an_error_is_an_event_whatever_the_detail() -> None:
    failure = TurnEvent("exit", {"tool_use_id": STRONG, "error": True})
    details: list[Any] = ["Error: x", {"stdout": "x"}, [], None]
    for detail in details:
        assert beside({"toolUseResult": detail}, is_error=True) == [failure]


def test_a_commit_of_a_sub_agent_without_detail_is_seen() -> None:
    text = "[main abc1234] fix login\n 1 file changed, 2 insertions(+)"
    assert beside({}, content=text) == [
        TurnEvent("commit", {"tool_use_id": STRONG, "branch": "main", "sha": "abc1234", "subject": "fix login"})
    ]
