"""Claude Code's transcripts: one line of bytes to entries. The envelope, and who reads which type.

Dispatch is on the top-level `type` alone. What one type holds is read next door: `prompts` and `results`
(user), `replies` (assistant), `turn_events`; where files lie is `layout`; lines that are no JSON go down
the ladder of `salvage`.

This runs once for every line of gigabytes. Its floor is orjson.loads, which takes every line whole (a
`bench/gen.py` tree: 5.4 µs a line); all that is done on top costs as much again. Hence `type(x) is str`
(orjson makes exact types), tuples made without NamedTuple's own `__new__`, shared constants for what is
ignored, and `progress` lines (17 % of the lines of 2.1.9 .. 2.1.83, copies of what agent files hold) told
by their bytes: where the first inner object of a line is preceded by `"type":"progress","data":`, that is a
top-level key, since no JSON string holds unescaped quotes. A record glued on behind a torn progress line
would show its `{"parentUuid"`, which a progress record has at its start only. A progress line in another
order of keys is merely parsed before it is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter

import orjson

from indexer.records import Entry, Ignored, Prompt, QueueOperation, Record, SourceFile, Title, Unreadable
from indexer.sources import layout, prompts, replies, results, salvage, turn_events
from indexer.sources.fields import NAME_MOST, PATH_MOST, VERSION_MOST, Fields, identifier, ignored
from indexer.text import clean, parse_time

_SECONDS_BELOW = 100_000_000_000
_TIME_MOST = 253_402_300_800_000
_PROGRESS_HEAD = 1024
_PROGRESS_MARK = b'"type":"progress","data":'
_LONG = 8 << 20
_GLUED = b'{"parentUuid"'
_ENVELOPE = ("uuid", "sessionId", "isSidechain", "timestamp", "cwd", "version", "gitBranch")
_envelope = itemgetter(*_ENVELOPE)
_new = tuple.__new__


def _alone(*records: Record) -> Entry:
    """An entry without an envelope."""
    return Entry(None, None, None, None, None, None, False, None, None, records)


_PROGRESS = _alone(Ignored("progress"))
_PROGRESS_LINE = (_PROGRESS,)
_FOREIGN = _alone(Ignored("foreign"))
_NOT_AN_OBJECT = _alone(Ignored("not-an-object"))
_SIDECHAIN_TEXT: tuple[Record, ...] = (Ignored("sidechain-text"),)
_META: tuple[Record, ...] = (Ignored("meta"),)
_NOT_HUMAN: tuple[Record, ...] = (Ignored("not-human"),)
_UNTYPED: tuple[Record, ...] = (Ignored("untyped"),)
_NATIVE_KEYS = ("isSidechain", "userType", "parentUuid")


class ClaudeCode:
    """The `Source` for Claude Code (versions 1.0.24 .. 2.1.240 seen)."""

    platform = "claude"
    parser_version = 1

    def describe(self, path: str, root: str) -> SourceFile | None:
        """See `layout.describe`."""
        return layout.describe(path, root)

    def parse(self, data: bytes, file: SourceFile) -> Sequence[Entry]:
        """The entries of one line; none for a blank line. Never raises."""
        brace = data.find(b"{", 1, _PROGRESS_HEAD)
        if data.startswith(_PROGRESS_MARK, brace - len(_PROGRESS_MARK)) and data.find(_GLUED, brace) < 0:
            return _PROGRESS_LINE
        if len(data) > _LONG and salvage.too_many_values(data):
            return (_alone(Unreadable("too-many-values", 0, len(data))),)
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError:
            return _salvaged(data, file)
        return (_entry(value, file) if type(value) is dict else _NOT_AN_OBJECT,)

    def side_entries(self, file: SourceFile) -> Sequence[Entry]:
        """The link of a sub-agent to its call, from the `.meta.json` beside its file. Never raises."""
        note = layout.agent_note(file)
        return (note,) if note else ()


def _salvaged(data: bytes, file: SourceFile) -> list[Entry]:
    entries: list[Entry] = []
    for value in salvage.decode(data):
        if type(value) is dict:
            entries.append(_entry(value, file))
        elif isinstance(value, Unreadable | Ignored):
            entries.append(_alone(value))
        else:
            entries.append(_NOT_AN_OBJECT)
    return entries


def _entry(record: Fields, file: SourceFile) -> Entry:
    get = record.get
    kind = get("type")
    try:
        uuid, session, side, time, cwd, version, branch = _envelope(record)
    except KeyError:
        uuid, session, side, time, cwd, version, branch = map(get, _ENVELOPE)
    uuid = identifier(uuid)
    if session != file.session_id:
        session = identifier(session)
    side = side is True or file.agent_id is not None
    records: Sequence[Record]
    if kind == "user" or kind == "assistant":
        message = get("message")
        if uuid is None or type(message) is not dict or (session is None and not _looks_native(record)):
            return _FOREIGN
        records = replies.read(record, message, uuid) if kind == "assistant" else _user(record, message, side)
    elif kind == "progress":
        return _PROGRESS
    elif type(kind) is str:
        reader = _READERS.get(kind)
        records = reader(record, uuid, side) if reader else (ignored(kind),)
    else:
        records = _UNTYPED
    return _new(
        Entry,
        (
            uuid,
            session,
            parse_time(time) if type(time) is str else _number_time(time),
            cwd if type(cwd) is str and len(cwd) <= PATH_MOST and "\0" not in cwd else None,
            version if type(version) is str and len(version) <= VERSION_MOST else None,
            branch[:NAME_MOST] if type(branch) is str else None,
            side,
            (identifier(get("agentId")) or file.agent_id) if side else None,
            _origin(record["forkedFrom"], session) if "forkedFrom" in record else None,
            tuple(records),
        ),
    )


def _looks_native(record: Fields) -> bool:
    """A record without a session id is ours if it has a key that only Claude Code writes; the session is
    then the file's (DECISIONS, Identity 5)."""
    return any(key in record for key in _NATIVE_KEYS)


def _number_time(time: object) -> int | None:
    """Epoch seconds or milliseconds, told apart by size, as milliseconds."""
    if type(time) is not int and type(time) is not float:
        return None
    if not 0 < time < _TIME_MOST:
        return None
    return int(time * 1000 if time < _SECONDS_BELOW else time)


def _origin(forked: object, session: str | None) -> str | None:
    origin = identifier(forked.get("sessionId")) if type(forked) is dict else None
    return origin if origin != session else None


def _user(record: Fields, message: Fields, side: bool) -> Sequence[Record]:
    """Rules 1 to 6 of what a human prompt is; `prompts` has the rest."""
    content = message.get("content")
    if type(content) is list:
        for block in content:
            if type(block) is dict and block.get("type") == "tool_result":
                return results.read(record, content)
    get = record.get
    if side:
        return _SIDECHAIN_TEXT
    if get("isCompactSummary") is True:
        return (turn_events.compaction(prompts.visible_text(content)),)
    if get("isMeta") is True or get("isVisibleInTranscriptOnly") is True:
        return _META
    if not _is_human(get("origin")) or get("promptSource") == "system":
        return _NOT_HUMAN
    return prompts.read(content)


def _is_human(origin: object) -> bool:
    kind = origin.get("kind") if type(origin) is dict else origin
    return kind is None or kind == "human"


def _attachment(record: Fields, uuid: str | None, side: bool) -> Sequence[Record]:
    """A prompt handed to a running turn is an attachment; all others are the client's own context."""
    held = record.get("attachment")
    if type(held) is not dict:
        return (ignored("attachment"),)
    if held.get("type") != "queued_command" or held.get("commandMode") != "prompt" or uuid is None:
        return (ignored(held.get("type"), "attachment/"),)
    if side:
        return _SIDECHAIN_TEXT
    if held.get("isMeta") is True or record.get("isMeta") is True:
        return _META
    if not _is_human(held.get("origin")) or not _is_human(record.get("origin")):
        return _NOT_HUMAN
    return prompts.read(held.get("prompt"), queued=True)


def _system(record: Fields, uuid: str | None, side: bool) -> Sequence[Record]:
    subtype = record.get("subtype")
    if subtype == "turn_duration":
        event = turn_events.duration(record)
        if event:
            return (event,)
    elif subtype == "compact_boundary":
        return (turn_events.compact_boundary(record),)
    elif subtype == "local_command" and not side and uuid and record.get("isMeta") is not True:
        return _local_command(record.get("content"))
    return (ignored(subtype, "system/"),)


def _local_command(content: object) -> Sequence[Record]:
    """A slash command that the client carried out itself stands in a system record only."""
    read = prompts.read(content)
    typed = [record for record in read if type(record) is Prompt and record.kind == "command"]
    return typed or (Ignored("system/local_command"),)


def _queue_operation(record: Fields, uuid: str | None, side: bool) -> Sequence[Record]:
    operation = identifier(record.get("operation"))
    if operation is None:
        return (Ignored("queue-operation"),)
    content = record.get("content")
    return (QueueOperation(operation, None if content is None else prompts.visible_text(content)),)


def _custom_title(record: Fields, uuid: str | None, side: bool) -> Sequence[Record]:
    title = _title(record.get("customTitle"))
    return (Title("custom", title) if title else Ignored("custom-title"),)


def _ai_title(record: Fields, uuid: str | None, side: bool) -> Sequence[Record]:
    title = _title(record.get("aiTitle"))
    return (Title("ai", title) if title else Ignored("ai-title"),)


def _summary(record: Fields, uuid: str | None, side: bool) -> Sequence[Record]:
    """The title of the session that holds the leaf record, mostly not of the file it stands in."""
    title, leaf = _title(record.get("summary")), identifier(record.get("leafUuid"))
    return (Title("summary", title, leaf) if title and leaf else Ignored("summary"),)


def _title(text: object) -> str:
    return clean(text.strip()) if type(text) is str else ""


def _pr_link(record: Fields, uuid: str | None, side: bool) -> Sequence[Record]:
    """Events are keyed by the record's uuid, which these have only if a later client gives them one."""
    return (turn_events.pull_request(record) if uuid else Ignored("pr-link"),)


_READERS: dict[str, Callable[[Fields, str | None, bool], Sequence[Record]]] = {
    "attachment": _attachment,
    "system": _system,
    "queue-operation": _queue_operation,
    "custom-title": _custom_title,
    "ai-title": _ai_title,
    "summary": _summary,
    "pr-link": _pr_link,
}
