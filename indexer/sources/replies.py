"""Assistant records: visible text, tool calls and usage of one line of an API message.

An API message is written as several lines, one content block each, with the same `message.id` and the
same usage on every line: `message_key` says which lines belong together. Nothing is assumed of a tool
call but an id and a name: models write malformed ones, and `input` may be any JSON value. Thinking is
dropped (its text, where there is any, is not meant for the user; the signatures are 2.9 % of all bytes).
Four real records hold as `message` a string spread over the keys "0", "1", ...: counted, no message.
"""

from __future__ import annotations

from indexer.records import AssistantText, Ignored, Record, ToolUse
from indexer.sources import turn_events
from indexer.sources.identity import identifier, ignored, is_strong_message_id, is_strong_tool_id
from indexer.sources.turn_events import Fields
from indexer.text import clean

_SYNTHETIC = "<synthetic>"
_NO_RESPONSE = "No response requested."
_THINKING = ("thinking", "redacted_thinking")
_FILE_KEYS = ("file_path", "notebook_path", "filePath", "relative_path")
_TOKENS_MOST = 1 << 53
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
    if record.get("isApiErrorMessage") is True:
        return [turn_events.error(record, text), *records]
    model = message.get("model")
    if model == _SYNTHETIC:
        if text.strip() == _NO_RESPONSE:
            return [_NO_RESPONSE_REQUESTED, *records]
        model = None
    usage = message.get("usage")
    records.insert(0, _assistant_text(record, message, uuid, text, model, usage))
    return records


def _assistant_text(
    record: Fields, message: Fields, uuid: str, text: str, model: object, usage: object
) -> AssistantText:
    get = usage.get if type(usage) is dict else {}.get
    return AssistantText(
        _message_key(record, message, uuid),
        clean(text) if "\0" in text else text,
        model if type(model) is str else None,
        _count(get("input_tokens")),
        _count(get("output_tokens")),
        _count(get("cache_creation_input_tokens")),
        _count(get("cache_read_input_tokens")),
    )


def _blocks(content: list[object], uuid: str, records: list[Record]) -> str:
    """The text of the blocks; calls and what is not known go into `records`."""
    texts: list[str] = []
    for block in content:
        kind = block.get("type") if type(block) is dict else None
        if kind == "tool_use":
            records.append(_tool_use(block, uuid, records))
        elif kind == "text" and type(block.get("text")) is str:
            texts.append(block["text"])
        elif kind not in _THINKING:
            records.append(ignored(kind, "block:"))
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def _tool_use(block: Fields, uuid: str, before: list[Record]) -> Record:
    tool_use_id, name = block.get("id"), block.get("name")
    if type(tool_use_id) is not str or type(name) is not str or not tool_use_id or not name:
        return _MALFORMED_USE
    given = block.get("input")
    identity = tool_use_id
    if not is_strong_tool_id(tool_use_id):
        identity = _scoped(tool_use_id, uuid, before)
    return ToolUse(identity, tool_use_id, name, given, _file_path(given) if type(given) is dict else None)


def _scoped(tool_use_id: str, uuid: str, before: list[Record]) -> str:
    """A weak id made unique by its record, and by a number when the record repeats it."""
    repeats = sum(type(record) is ToolUse and record.tool_use_id == tool_use_id for record in before)
    return f"{uuid}:{tool_use_id}#{repeats + 1}" if repeats else f"{uuid}:{tool_use_id}"


def _file_path(given: Fields) -> str | None:
    for key in _FILE_KEYS:
        path = given.get(key)
        if type(path) is str and path:
            return path
    return None


def _message_key(record: Fields, message: Fields, uuid: str) -> str:
    """A strong message id; a weak one scoped by its request; else the record's own uuid."""
    message_id = message.get("id")
    if type(message_id) is not str:
        return uuid
    if is_strong_message_id(message_id):
        return message_id
    request, known = identifier(record.get("requestId")), identifier(message_id)
    return f"{request}:{known}" if request and known else uuid


def _count(tokens: object) -> int:
    return tokens if type(tokens) is int and 0 <= tokens < _TOKENS_MOST else 0
