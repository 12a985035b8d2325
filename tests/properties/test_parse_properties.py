"""Whatever stands on a line, parsing it ends, says the same every time, and never raises."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transcripts import Transcript, line

from indexer.records import (
    Entry,
    Ignored,
    Prompt,
    Record,
    SourceFile,
    ToolResult,
    ToolUse,
    TurnEvent,
    Unreadable,
)
from indexer.sources.claude_code import ClaudeCode
from indexer.sources.prompts import read as read_prompt
from indexer.sources.salvage import decode

MAIN = SourceFile("/r/f/s.jsonl", "f", "s", None)
AGENT = SourceFile("/r/f/agent-a1.jsonl", "f", None, "a1")

texts = st.text(st.characters(codec="utf-8"), max_size=40) | st.sampled_from(
    [
        "<private>",
        "</private>",
        "<system-reminder>x</system-reminder>",
        "<command-name>/x",
        "<bash-input>ls",
        "[main abc1234] x\n 1 file changed",
        "<persisted-output>saved to: /x",
        "toolu_01ABCDEFGHJKLMNPQRSTUV",
        "call_0",
        "a\0b",
    ]
)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)

KINDS = (
    "user",
    "assistant",
    "system",
    "attachment",
    "queue-operation",
    "custom-title",
    "ai-title",
    "summary",
    "pr-link",
    "progress",
    "mode",
)
BLOCKS = ("text", "tool_use", "tool_result", "image", "thinking", "tool_reference", "odd")
DETAILS = (
    "stdout",
    "interrupted",
    "exitCode",
    "shellId",
    "retrieval_status",
    "structuredPatch",
    "filePath",
    "content",
    "type",
    "plan",
    "answers",
    "newTodos",
    "task",
    "taskId",
    "updatedFields",
    "statusChange",
    "agentId",
    "totalTokens",
    "gitOperation",
    "persistedOutputPath",
)


def some(keys: tuple[str, ...], held: st.SearchStrategy[Any] = values) -> st.SearchStrategy[dict[str, Any]]:
    """Objects that have some of the keys, with anything in them."""
    return st.dictionaries(st.sampled_from(keys), held, max_size=len(keys))


blocks = st.builds(
    lambda kind, rest: {"type": kind, **rest},
    st.sampled_from(BLOCKS),
    some(("text", "id", "name", "input", "tool_use_id", "content", "is_error", "tool_name")),
)
contents = values | st.lists(blocks | values, max_size=4)
messages = values | some(("id", "model", "usage"), values | some(("input_tokens", "output_tokens"))).flatmap(
    lambda rest: contents.map(lambda content: {"content": content, **rest})
)
records = st.builds(
    lambda kind, message, detail, rest: {
        "type": kind,
        "uuid": "u1",
        "sessionId": "s",
        "message": message,
        "toolUseResult": detail,
        **rest,
    },
    st.sampled_from(KINDS),
    messages,
    values | some(DETAILS),
    some(
        (
            "type",
            "uuid",
            "sessionId",
            "isSidechain",
            "isMeta",
            "isCompactSummary",
            "isApiErrorMessage",
            "origin",
            "promptSource",
            "timestamp",
            "cwd",
            "forkedFrom",
            "agentId",
            "attachment",
            "subtype",
            "content",
            "operation",
            "compactMetadata",
            "customTitle",
            "toolDenialKind",
            "requestId",
            "parentUuid",
        )
    ),
)


def check(entries: list[Entry], length: int) -> None:
    """What every entry keeps to, whatever it was read from."""
    for entry in entries:
        for text in (entry.uuid, entry.session_id, entry.agent_id, entry.forked_from):
            assert text is None or (text.isprintable() and 0 < len(text) <= 256)
        assert entry.records
        for record in entry.records:
            check_record(record, length)


def check_record(record: Record, length: int) -> None:
    match record:
        case Prompt(text=text, private=private):
            assert private is (text == "")
            assert text == text.strip()
            assert "\0" not in text
        case ToolUse(identity=identity) | ToolResult(identity=str(identity)):
            assert identity
        case TurnEvent(data=data):
            assert len(orjson.dumps(data)) <= 8192
        case Unreadable(offset=offset, length=lost):
            assert 0 <= offset < offset + lost <= length
        case Ignored(kind=kind):
            assert kind.isprintable()
            assert len(kind) <= 64
        case _:
            assert record


def parse(data: bytes, file: SourceFile = MAIN) -> list[Entry]:
    entries = list(ClaudeCode().parse(data, file))
    check(entries, len(data))
    return entries


@given(records, st.sampled_from([MAIN, AGENT]))
@settings(max_examples=600)
def test_any_record_can_be_read(record: dict[str, Any], file: SourceFile) -> None:
    data = orjson.dumps(record)
    assert parse(data, file) == parse(data, file)


@given(records)
def test_pythons_parser_reads_the_same(record: dict[str, Any]) -> None:
    data = orjson.dumps(record)
    spoilt = data[:-1] + b',"last":"\\ud800"}'
    assert parse(spoilt) == parse(data)


@given(st.binary(max_size=200))
def test_any_bytes_can_be_read(data: bytes) -> None:
    parse(data)


@given(st.lists(records.map(orjson.dumps) | st.binary(max_size=8) | st.just(b"\0" * 7), max_size=4).map(b"".join))
def test_records_amid_garbage_can_be_read(data: bytes) -> None:
    parse(data)


@pytest.fixture(scope="module")
def pair() -> tuple[bytes, bytes]:
    """Two whole lines of one session, without newlines."""
    session = Transcript("torn")
    session.user("first 索引 \\ud83d \\u0000")
    session.tool("Bash", {"command": 'echo "{\\"type\\":\\"user\\"}"'}, "x")
    return line(session.records[1])[:-1], line(session.records[0])[:-1]


@given(st.data())
def test_a_record_behind_a_torn_one_is_never_lost(pair: tuple[bytes, bytes], data: st.DataObject) -> None:
    torn, whole = pair
    cut = data.draw(st.integers(1, len(torn) - 1))
    gap = data.draw(st.sampled_from([b"", b"\0", b"\0" * 100, b" ", b"\xff"]))
    entries = parse(torn[:cut] + gap + whole)
    assert parse(whole)[0] in entries
    assert any(type(record) is Unreadable for entry in entries for record in entry.records)


@given(st.binary(max_size=60))
def test_values_and_losses_cover_the_line(data: bytes) -> None:
    """What is told as lost does not overlap."""
    lost = [found for found in decode(data) if isinstance(found, Unreadable)]
    ends = [0, *[found.offset + found.length for found in lost]]
    assert all(found.offset >= end for found, end in zip(lost, ends, strict=False))


@given(texts, texts, texts)
def test_what_is_private_is_never_read(before: str, secret: str, after: str) -> None:
    typed = f"{before}<private>zq{secret}zq</private>{after}"
    for record in read_prompt(typed):
        assert f"zq{secret}zq" not in json.dumps(record)


@given(st.text(st.sampled_from("ab<>/ \n"), max_size=30))
def test_text_without_marks_is_a_prompt_as_it_stands(typed: str) -> None:
    expected = Prompt(typed.strip()) if typed.strip() else Ignored("no-prompt-text")
    assert read_prompt(typed) == (expected,)
