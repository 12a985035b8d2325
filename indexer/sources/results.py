"""Tool results: half of all lines. What came back, for which call, and what `toolUseResult` adds to it.

A real result record holds exactly one `tool_result` block (171,163 of 171,163); several are allowed, and
then `toolUseResult` is read for the first.
"""

from __future__ import annotations

from typing import Any

import orjson

from indexer.records import AgentLink, Ignored, Record, ToolResult
from indexer.sources import tool_events
from indexer.sources.fields import (
    ID_MOST,
    NAME_MOST,
    NOTE_MOST,
    PATH_MOST,
    Fields,
    identifier,
    ignored,
    is_strong_tool_id,
)
from indexer.text import clean, json_text

_PERSISTED = "<persisted-output>"
_SAVED_TO = "saved to: "
_new = tuple.__new__  # as in replies
_MALFORMED: Record = Ignored("malformed-tool-result")
_NOTHING: Fields = {}


def read(record: Fields, content: list[Any]) -> list[Record]:
    """The records of a `user` record whose message `content` holds tool results."""
    records: list[Record] = []
    detail = record.get("toolUseResult")
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind != "tool_result":
            records.append(ignored(kind, "block:"))
            continue
        tool_use_id = block.get("tool_use_id")
        if type(tool_use_id) is not str or not 0 < len(tool_use_id) <= ID_MOST:
            records.append(_MALFORMED)
            continue
        _read_block(record, block, tool_use_id, detail if type(detail) is dict else _NOTHING, records)
        detail = None
    return records


def _read_block(record: Fields, block: Fields, tool_use_id: str, detail: Fields, records: list[Record]) -> None:
    text = block.get("content")
    if type(text) is not str:
        text = _text(text)
    if "\0" in text:
        text = clean(text)
    is_error = block.get("is_error")
    identity = tool_use_id if is_strong_tool_id(tool_use_id) else _scoped(tool_use_id, record)
    side_file = _side_file(text, detail) if "persistedOutputPath" in detail or text[:1] == "<" else None
    if type(is_error) is not bool:
        is_error = None
    records.append(_new(ToolResult, (identity, tool_use_id, text, is_error, side_file)))
    if is_error is True:
        records += tool_events.of_failure(tool_use_id, text, detail, record)
    elif detail:
        records += tool_events.of_result(tool_use_id, text, detail)
    elif "toolUseResult" not in record:  # side chains mostly have none
        records += tool_events.commits_in(tool_use_id, text)
    if "agentId" in detail:
        records += _agent_link(tool_use_id, detail)


def _scoped(tool_use_id: str, record: Fields) -> str | None:
    """A weak id as its call has it: scoped by the assistant record that made it. Clients before 2.0.77 do
    not name that record, but answer it: it is the parent."""
    caller = identifier(record.get("sourceToolAssistantUUID")) or identifier(record.get("parentUuid"))
    return f"{caller}:{tool_use_id}" if caller else None


def _text(content: object) -> str:
    """Result content as text: blocks one below the other, media as a mark, other values as JSON."""
    if type(content) is list:
        return "\n".join(map(_block_text, content))
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
        return json_text(value)


def _side_file(text: str, detail: Fields) -> str | None:
    """Where the client put an output too large for the transcript."""
    path = detail.get("persistedOutputPath")
    if type(path) is not str or not path:
        path = text.partition(_SAVED_TO)[2].partition("\n")[0].strip() if text.startswith(_PERSISTED) else ""
    return path if 0 < len(path) <= PATH_MOST else None


def _agent_link(tool_use_id: str, detail: Fields) -> list[Record]:
    agent_id = identifier(detail["agentId"])
    if agent_id is None:
        return []
    agent_type, description = detail.get("agentType"), detail.get("description")
    link = AgentLink(
        agent_id,
        tool_use_id,
        agent_type[:NAME_MOST] if type(agent_type) is str else None,
        description[:NOTE_MOST] if type(description) is str else None,
    )
    return [link]
