"""What a line of an export must look like, whoever wrote it: a JSON object becomes checked values, or a fault.

An export is untrusted input: it may come from another version, another program, or somebody who means harm. Every
field has its type and its bounds here; one that is missing, of another type or beyond its bounds makes the line
faulty, and only that line. Fields that are not known are passed over, so that a later version may add some.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from indexer.text import clean

Line: TypeAlias = Mapping[str, Any]

FORMAT, VERSION = "transcript-indexer export", 1
LONGEST_NAME, LONGEST_PATH, LONGEST_TITLE = 512, 4_096, 4_000
MOST = 10_000
"""Items of any list in one line."""
DEEPEST = 24
_LATEST = 253_402_300_799_999
_KINDS = ("prompt", "command", "shell")
_LISTS = ("facts", "concepts", "files_read", "files_modified", "files_edited", "reinforcement_dates")
_TEXTS = (
    "type", "title", "subtitle", "narrative", "text", "generated_by_model", "agent_type", "agent_id", "metadata",
    "last_reinforced", "request", "investigated", "learned", "completed", "next_steps", "notes", "list_name", "fields",
)  # fmt: skip
_NUMBERS = ("prompt_number", "discovery_tokens")


class Faulty(ValueError):
    """Says in few words why a line is not taken."""


class File(NamedTuple):
    """A file in which records of a session stood. n: how record lines name it. first: epoch milliseconds."""

    n: int
    path: str
    folder: str
    session: str | None
    agent: str | None
    first: int | None


class SessionLine(NamedTuple):
    """What an export says of a session. key: of its project; "" if the session's folder is to decide."""

    session: str
    platform: str
    project: str
    key: str
    source: str
    cwd: str | None
    branch: str | None
    version: str | None
    forked_from: str | None
    custom_title: str | None
    ai_title: str | None
    started: int | None
    last: int | None
    files: tuple[File, ...]
    agents: tuple[tuple[str, str | None, str | None, str | None], ...]
    titles: tuple[tuple[str, str], ...]


class Call(NamedTuple):
    """A tool call. input: JSON text, perhaps cut; the hashes are of the whole, None if not known."""

    identity: str
    id: str
    name: str
    file: str | None
    input: str
    input_hash: str | None
    content_hash: str | None


class Answer(NamedTuple):
    """An answer to a call. identity: of the call."""

    identity: str
    id: str
    text: str
    file: str | None
    error: bool | None
    side_file: str | None
    input_hash: str | None
    content_hash: str | None


class Said(NamedTuple):
    """A line of an assistant message. tokens: input, output, written to and read from the cache."""

    message: str
    text: str
    model: str | None
    tokens: tuple[int, int, int, int]


class Typed(NamedTuple):
    """What a person typed."""

    text: str
    kind: str
    private: bool
    queued: bool


class RecordLine(NamedTuple):
    """All that one record of a transcript came to."""

    session: str
    uuid: str
    file: int
    line: int
    time: int | None
    cwd: str | None
    agent: str | None
    sidechain: bool
    forked_from: str | None
    prompt: Typed | None
    texts: tuple[Said, ...]
    calls: tuple[Call, ...]
    results: tuple[Answer, ...]
    events: tuple[tuple[int, str, str], ...]
    device: str
    local: str


class MemoryLine(NamedTuple):
    """What was made of a session. kind: observation, summary, work. values: columns of its row."""

    kind: str
    session: str
    identity: str
    turn: str | None
    slot: str | None
    values: dict[str, Any]
    calls: tuple[str, ...]
    device: str
    local: str


Item: TypeAlias = SessionLine | RecordLine | MemoryLine


def check_header(line: object) -> str:
    """The device that an export comes from. Raises Faulty for what is no header, or one of a later format."""
    if not isinstance(line, dict) or line.get("format") != FORMAT:
        raise Faulty("not an export of transcript-indexer")
    version = line.get("version")
    if type(version) is not int or version != VERSION:
        raise Faulty("an export of another version of the format")
    return _name(line, "device")


def item(line: object) -> Item:
    """A line other than the header. Raises Faulty."""
    if not isinstance(line, dict):
        raise Faulty("not a JSON object")
    make = _MAKERS.get(str(line.get("kind")))
    if make is None:
        raise Faulty("of no known kind")
    return make(line)


# -- the kinds -----------------------------------------------------------------------------------------


def _session(line: Line) -> SessionLine:
    platform = _name(line, "platform", "claude")
    if not platform.isascii() or not all(c.isalnum() or c in "-_." for c in platform):
        raise Faulty("platform: no name of a client")
    source = _name(line, "project_source", "guess")
    return SessionLine(
        _name(line, "session"), platform, _text(line, "project", LONGEST_NAME) or "",
        _text(line, "project_key", LONGEST_PATH) or "",
        source if source in ("path", "git-remote", "environment", "guess") else "guess",
        _text(line, "cwd", LONGEST_PATH), _text(line, "branch", LONGEST_NAME), _text(line, "version", LONGEST_NAME),
        _maybe(line, "forked_from"), _text(line, "custom_title", LONGEST_TITLE), _text(line, "ai_title", LONGEST_TITLE),
        _time(line, "started"), _time(line, "last"), tuple(map(_file, _objects(line, "files"))),
        tuple(
            (_name(one, "agent"), _maybe(one, "call"), _text(one, "type", LONGEST_NAME), _text(one, "description"))
            for one in _objects(line, "agents")
        ),
        tuple((_name(one, "leaf"), _text(one, "title", LONGEST_TITLE) or "") for one in _objects(line, "titles")),
    )  # fmt: skip


def _file(line: Line) -> File:
    path = _text(line, "path", LONGEST_PATH)
    if not path:
        raise Faulty("path: missing")
    folder = _text(line, "folder", LONGEST_PATH) or ""
    return File(
        _whole(line, "n"),
        path,
        folder,
        _maybe(line, "session"),
        _maybe(line, "agent"),
        _time(line, "first"),
    )


def _record(line: Line) -> RecordLine:
    prompt = line.get("prompt")
    if prompt is not None and not isinstance(prompt, dict):
        raise Faulty("prompt: not an object")
    found = RecordLine(
        _name(line, "session"), _name(line, "uuid"), _whole(line, "file"), _whole(line, "line"), _time(line, "time"),
        _text(line, "cwd", LONGEST_PATH), _maybe(line, "agent"), _flag(line, "sidechain") is True,
        _maybe(line, "forked_from"), _typed(prompt) if prompt is not None else None,
        tuple(map(_said, _objects(line, "texts"))), tuple(map(_call, _objects(line, "calls"))),
        tuple(map(_answer, _objects(line, "results"))),
        tuple((_whole(one, "ordinal"), _name(one, "kind"), _json(one, "data")) for one in _objects(line, "events")),
        _name(line, "device", "unknown"), _name(line, "local", "unknown"),
    )  # fmt: skip
    if not (found.prompt or found.texts or found.calls or found.results or found.events):
        raise Faulty("a record that holds nothing")
    return found


def _typed(line: Line) -> Typed:
    kind = line.get("kind", "prompt")
    if kind not in _KINDS:
        raise Faulty("prompt: of no known kind")
    text = _text(line, "text")
    if text is None:
        raise Faulty("text: missing")
    return Typed(text, kind, _flag(line, "private") is True, _flag(line, "queued") is True)


def _said(line: Line) -> Said:
    tokens = line.get("tokens", [0, 0, 0, 0])
    if not isinstance(tokens, list) or len(tokens) != 4 or not all(type(n) is int and 0 <= n < 1 << 40 for n in tokens):
        raise Faulty("tokens: not four counts")
    return Said(
        _name(line, "message"), _text(line, "text") or "", _text(line, "model", LONGEST_NAME),
        (tokens[0], tokens[1], tokens[2], tokens[3]),
    )  # fmt: skip


def _call(line: Line) -> Call:
    return Call(
        _name(line, "identity"), _name(line, "id"), _text(line, "name", LONGEST_NAME) or "unknown",
        _text(line, "file", LONGEST_PATH), _text(line, "input") or "null", _hash(line, "input_hash"),
        _hash(line, "content_hash"),
    )  # fmt: skip


def _answer(line: Line) -> Answer:
    identity = _name(line, "identity")
    return Answer(
        identity, _name(line, "id", identity.rpartition(":")[2] or identity), _text(line, "text") or "",
        _text(line, "file", LONGEST_PATH), _flag(line, "error"), _text(line, "side_file", LONGEST_PATH),
        _hash(line, "input_hash"), _hash(line, "content_hash"),
    )  # fmt: skip


def _memory(line: Line) -> MemoryLine:
    values = line.get("values")
    if not isinstance(values, dict):
        raise Faulty("values: not an object")
    calls = line.get("calls") or []
    if not isinstance(calls, list) or len(calls) > MOST or not all(map(_is_name, calls)):
        raise Faulty("calls: not a list of ids")
    kind = str(line["kind"])
    return MemoryLine(
        kind, _name(line, "session"), _name(line, "identity"), _maybe(line, "turn"), _maybe(line, "slot"),
        _values(kind, values), tuple(calls), _name(line, "device", "unknown"), _name(line, "local", "unknown"),
    )  # fmt: skip


def _values(kind: str, values: Line) -> dict[str, Any]:
    found: dict[str, Any] = {name: _text(values, name) for name in _TEXTS}
    found |= {name: _strings(values, name) for name in _LISTS}
    found |= {name: _number(values, name) for name in _NUMBERS}
    found["created_at_epoch"] = _time(values, "created_at_epoch")
    for name in ("fields", "metadata"):
        if found[name] is not None:
            _json(values, name)
    required = {"observation": ("type",), "summary": (), "work": ("list_name", "fields")}[kind]
    if missing := [name for name in required if not found[name]]:
        raise Faulty(f"{missing[0]}: missing")
    said = ("title", "narrative", "text", "facts") if kind == "observation" else _TEXTS[10:16]
    if kind != "work" and not any(found[name] for name in said):
        raise Faulty("a memory that says nothing")
    return {name: value for name, value in found.items() if value is not None}


# -- fields --------------------------------------------------------------------------------------------


def _text(line: Line, name: str, longest: int | None = None) -> str | None:
    value = line.get(name)
    if value is None:
        return None
    if type(value) is not str:
        raise Faulty(f"{name}: not a text")
    if longest is not None and len(value) > longest:
        raise Faulty(f"{name}: longer than {longest} characters")
    return clean(value)


def _is_name(value: object) -> bool:
    return type(value) is str and 0 < len(value) <= LONGEST_NAME and value.isprintable()


def _name(line: Line, name: str, default: str | None = None) -> str:
    value = line.get(name, default)
    if value is None or not _is_name(value):
        raise Faulty(f"{name}: {'missing' if value is None else 'no name'}")
    return str(value)


def _maybe(line: Line, name: str) -> str | None:
    return None if line.get(name) is None else _name(line, name)


def _number(line: Line, name: str) -> int | None:
    value = line.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 1 << 40:
        raise Faulty(f"{name}: not a count")
    return value


def _whole(line: Line, name: str) -> int:
    value = line.get(name)
    if type(value) is not int or abs(value) > 1 << 41:
        raise Faulty(f"{name}: not a whole number")
    return value


def _time(line: Line, name: str) -> int | None:
    value = line.get(name)
    if value is None:
        return None
    if type(value) is not int or not 0 <= value <= _LATEST:
        raise Faulty(f"{name}: not a time")
    return value


def _flag(line: Line, name: str) -> bool | None:
    value = line.get(name)
    if value is not None and type(value) is not bool:
        raise Faulty(f"{name}: neither true nor false")
    return value


def _hash(line: Line, name: str) -> str | None:
    value = line.get(name)
    if value is None:
        return None
    if type(value) is not str or len(value) != 16 or not all(c in "0123456789abcdef" for c in value):
        raise Faulty(f"{name}: no hash")
    return value


def _objects(line: Line, name: str) -> list[Line]:
    value = line.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > MOST or not all(isinstance(one, dict) for one in value):
        raise Faulty(f"{name}: not a list of objects")
    return value


def _strings(line: Line, name: str) -> str | None:
    """A JSON array of texts, as text."""
    text = _text(line, name)
    if text is None:
        return None
    value = _loaded(text, name)
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise Faulty(f"{name}: not a list of texts")
    return json.dumps([clean(one) for one in value], ensure_ascii=False)


def _json(line: Line, name: str) -> str:
    """A JSON object, as text. Of an event it may have been cut: then it is kept as it is."""
    text = _text(line, name)
    if text is None:
        raise Faulty(f"{name}: missing")
    if text.endswith(" bytes]"):
        return text
    if not isinstance(_loaded(text, name), dict):
        raise Faulty(f"{name}: not an object")
    return text


def _loaded(text: str, name: str) -> object:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise Faulty(f"{name}: not JSON") from None
    if too_deep(value):
        raise Faulty(f"{name}: nested too deep")
    return value


def too_deep(value: object, deepest: int = DEEPEST) -> bool:
    """Whether lists and objects are nested deeper than anything we write."""
    level = [value]
    for _ in range(deepest + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


_MAKERS: dict[str, Callable[[Line], Item]] = {
    "session": _session, "record": _record, "observation": _memory, "summary": _memory, "work": _memory,
}  # fmt: skip
