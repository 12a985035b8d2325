"""Assistant records: visible text, tool calls and usage of one line of an API message.

An API message is written as several lines, one content block each, with the same `message.id` and the
same usage on every line: `message_key` says which lines belong together. Nothing is assumed of a tool
call but an id and a name: models write malformed ones, and `input` may be any JSON value. Thinking is
dropped (its text, where there is any, is not meant for the user; the signatures are 2.9 % of all bytes).
Four real records hold as `message` a string spread over the keys "0", "1", ...: counted, no message.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from indexer.records import AssistantText, Ignored, Record, ToolUse
from indexer.sources import turn_events
from indexer.sources.fields import (
    ID_MOST,
    NAME_MOST,
    PATH_MOST,
    Fields,
    identifier,
    ignored,
    is_strong_message_id,
    is_strong_tool_id,
)
from indexer.text import clean

_SYNTHETIC = "<synthetic>"
_NO_RESPONSE = "No response requested."
_THINKING = ("thinking", "redacted_thinking")
_OTHER_PATHS = ("notebook_path", "filePath", "relative_path")
_USAGE_KEYS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_usage = itemgetter(*_USAGE_KEYS)
_NO_USAGE: Fields = {}
_TOKENS_MOST = 1 << 53
_new = tuple.__new__  # a NamedTuple's own is a Python function: 0.15 µs more, several times a line
_MALFORMED: Record = Ignored("malformed-message")
_MALFORMED_USE: Record = Ignored("malformed-tool-use")
_NO_RESPONSE_REQUESTED: Record = Ignored("no-response-requested")


def read(record: Fields, message: Fields, uuid: str) -> list[Record]:
    """The records of an assistant record: one `AssistantText` first, then its tool calls."""
    content = message.get("content")
    records: list[Record] = []
    if type(content) is list:
        text = _blocks(content, uuid, records)
    elif type(content) is str:
        text = content
    elif "usage" in message:
        text = ""
    else:
        return [_MALFORMED]
    if "\0" in text:
        text = clean(text)
    model = message.get("model")
    if "isApiErrorMessage" in record and record["isApiErrorMessage"] is True:
        records.insert(0, turn_events.error(record, text))
    elif model == _SYNTHETIC and text.strip() == _NO_RESPONSE:
        records.insert(0, _NO_RESPONSE_REQUESTED)
    else:
        key = message.get("id")
        if type(key) is not str or not is_strong_message_id(key):
            key = _weak_key(key, record, uuid)
        model = model[:NAME_MOST] if type(model) is str and model != _SYNTHETIC else None
        records.insert(0, _new(AssistantText, (key, text, model, *_tokens(message.get("usage")))))
    return records


def _tokens(usage: Any) -> tuple[int, int, int, int]:
    """The four counts of a usage; what is missing or no count is 0."""
    try:
        given, made, written, cached = _usage(usage)
    except (KeyError, TypeError):
        get = usage.get if type(usage) is dict else _NO_USAGE.get
        given, made, written, cached = map(get, _USAGE_KEYS)
    if type(given) is type(made) is type(written) is type(cached) is int and (
        0 <= given < _TOKENS_MOST
        and 0 <= made < _TOKENS_MOST
        and 0 <= written < _TOKENS_MOST
        and 0 <= cached < _TOKENS_MOST
    ):
        return given, made, written, cached
    return _count(given), _count(made), _count(written), _count(cached)


def _count(tokens: object) -> int:
    return tokens if type(tokens) is int and 0 <= tokens < _TOKENS_MOST else 0


def _blocks(content: list[Any], uuid: str, records: list[Record]) -> str:
    """The text of the blocks; calls and what is not known go into `records`."""
    texts: list[str] = []
    weak: dict[str, int] = {}
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind == "tool_use":
            records.append(_tool_use(block, uuid, weak))
        elif kind == "text" and type(block.get("text")) is str:
            texts.append(block["text"])
        elif kind not in _THINKING:
            records.append(ignored(kind, "block:"))
    return "\n".join(texts)


def _tool_use(block: Fields, uuid: str, weak: dict[str, int]) -> Record:
    tool_use_id, name = block.get("id"), block.get("name")
    if type(tool_use_id) is not str or type(name) is not str or not name:
        return _MALFORMED_USE
    if not 0 < len(tool_use_id) <= ID_MOST:
        return _MALFORMED_USE
    given = block.get("input")
    path = None
    if type(given) is dict:
        path = given["file_path"] if "file_path" in given else _other_path(given)
        if type(path) is not str or not 0 < len(path) <= PATH_MOST:
            path = None
    identity = tool_use_id if is_strong_tool_id(tool_use_id) else _scoped(tool_use_id, uuid, weak)
    return _new(ToolUse, (identity, tool_use_id, name[:NAME_MOST], given, path))


def _other_path(given: Fields) -> object:
    for key in _OTHER_PATHS:
        if key in given:
            return given[key]
    return None


def _scoped(tool_use_id: str, uuid: str, weak: dict[str, int]) -> str:
    """A weak id made unique by its record, and by a number when the record repeats it. `weak`: how often
    the record has had each so far."""
    count = weak[tool_use_id] = weak.get(tool_use_id, 0) + 1
    return f"{uuid}:{tool_use_id}#{count}" if count > 1 else f"{uuid}:{tool_use_id}"


def _weak_key(message_id: object, record: Fields, uuid: str) -> str:
    """A weak message id scoped by its request; without one of the two the record's own uuid."""
    request, known = identifier(record.get("requestId")), identifier(message_id)
    return f"{request}:{known}" if request and known else uuid
