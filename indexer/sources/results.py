"""Tool results: half of all lines. What came back, for which call, and what `toolUseResult` adds to it.

A real result record holds exactly one `tool_result` block (171,163 of 171,163); several are allowed, and
then `toolUseResult` is read for the first.
"""

from __future__ import annotations

from typing import Any

import orjson

from indexer.records import AgentLink, Ignored, Record, ToolResult
from indexer.sources import turn_events
from indexer.sources.identity import identifier, ignored, is_strong_tool_id
from indexer.sources.turn_events import Fields
from indexer.text import clean

_PERSISTED = "<persisted-output>"
_SAVED_TO = "saved to: "
_NOTHING: Fields = {}


def read(record: Fields, content: list[Any]) -> list[Record]:
    """The records of a `user` record whose message `content` holds tool results."""
    records: list[Record] = []
    source = record
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind != "tool_result":
            records.append(ignored(kind, "block:"))
            continue
        tool_use_id = block.get("tool_use_id")
        if type(tool_use_id) is not str or not tool_use_id:
            records.append(Ignored("malformed-tool-result"))
            continue
        result = _result(record, source, tool_use_id, block)
        records.append(result)
        records += turn_events.of_result(tool_use_id, result.is_error is True, result.text, source)
        link = _agent_link(tool_use_id, source)
        if link:
            records.append(link)
        source = _NOTHING
    return records


def _result(record: Fields, source: Fields, tool_use_id: str, block: Fields) -> ToolResult:
    content = block.get("content")
    text = content if type(content) is str else _text(content)
    if "\0" in text:
        text = clean(text)
    is_error = block.get("is_error")
    return ToolResult(
        _identity(record, tool_use_id),
        tool_use_id,
        text,
        is_error if type(is_error) is bool else None,
        _side_file(source, text),
    )


def _identity(record: Fields, tool_use_id: str) -> str | None:
    """That of the call: the id itself, or scoped by the assistant record that made it. Clients before
    2.0.77 do not name that record, but answer it: it is the parent."""
    if is_strong_tool_id(tool_use_id):
        return tool_use_id
    caller = identifier(record.get("sourceToolAssistantUUID")) or identifier(record.get("parentUuid"))
    return f"{caller}:{tool_use_id}" if caller else None


def _text(content: object) -> str:
    """Result content as text: blocks one below the other, media as a mark, other values as JSON."""
    if type(content) is list:
        return "\n".join(_block_text(block) for block in content)
    return "" if content is None else _json(content)


def _block_text(block: object) -> str:
    if type(block) is not dict:
        return block if type(block) is str else _json(block)
    text = block.get("text")
    if type(text) is str:
        return text
    kind = block.get("type")
    if kind == "tool_reference" and type(block.get("tool_name")) is str:
        return str(block["tool_name"])
    return f"[{kind}]" if type(kind) is str else ""


def _json(value: object) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # nested deeper than orjson writes
        return ""


def _side_file(source: Fields, text: str) -> str | None:
    """Where the client put an output too large for the transcript."""
    detail = source.get("toolUseResult")
    if type(detail) is dict:
        path = detail.get("persistedOutputPath")
        if type(path) is str and path:
            return path
    if text.startswith(_PERSISTED):
        return text.partition(_SAVED_TO)[2].partition("\n")[0].strip() or None
    return None


def _agent_link(tool_use_id: str, source: Fields) -> AgentLink | None:
    detail = source.get("toolUseResult")
    agent_id = identifier(detail.get("agentId")) if type(detail) is dict else None
    if agent_id is None:
        return None
    agent_type, description = detail.get("agentType"), detail.get("description")
    return AgentLink(
        agent_id,
        tool_use_id,
        agent_type if type(agent_type) is str else None,
        description if type(description) is str else None,
    )
