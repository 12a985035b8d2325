"""The vocabulary between sources, ingest and the store: immutable values, no behaviour.

A `Line` is what the tail cuts from a file. A source turns it into `Entry` values: one JSON object
with its envelope (who, when, where) and the `Record`s it holds. NamedTuples rather than frozen
dataclasses: they are immutable too and are made three times as fast, once a line of every transcript.

Texts are whole and unredacted here; capping, redaction and hashing happen on the way to the store.
Times are integers, milliseconds since 1970 UTC, and are always the record's own: never "now".
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

PromptKind: TypeAlias = Literal["prompt", "command", "shell"]


class Line(NamedTuple):
    """One line of a file: its bytes without the newline, where it starts and ends, its 1-based number.

    `end` is the offset just after the newline: the offset a checkpoint may be moved to.
    """

    data: bytes
    start: int
    end: int
    number: int


class SourceFile(NamedTuple):
    """What a source reads from a transcript's path alone.

    session_id: the session named by the path (parent session for a sub-agent file), or None.
    agent_id:   set for a sub-agent's own file, without the `agent-` prefix.
    folder:     name of the project folder under the root ("" when there is none).
    """

    path: str
    folder: str
    session_id: str | None
    agent_id: str | None


class Prompt(NamedTuple):
    """What a person typed. Identity: the entry's uuid.

    kind: `prompt`, `command` (slash) or `shell` (`!`). text is "" when `private`.
    queued: written while a turn was running (`attachment/queued_command`).
    """

    text: str
    kind: PromptKind = "prompt"
    private: bool = False
    queued: bool = False


class AssistantText(NamedTuple):
    """One assistant line: its visible text ("" if it holds none) and the usage of its API message.

    One API message is written as several lines; `message_key` joins them (never null).
    Token counts repeat on every line of a message: the store keeps the largest of each.
    """

    message_key: str
    text: str
    model: str | None
    input_tokens: int
    output_tokens: int
    cache_creation_tokens: int
    cache_read_tokens: int


class ToolUse(NamedTuple):
    """One tool call. `identity` is unique over the store (a weak id is scoped by the record's uuid).

    input: the decoded JSON value, whatever it is. file_path: the file it is about, if it names one.
    """

    identity: str
    tool_use_id: str
    name: str
    input: object
    file_path: str | None


class ToolResult(NamedTuple):
    """The answer to a tool call.

    identity: that of the use when the id is strong; for a weak id the best guess
    (`<uuid of the assistant record>:<id>`), or None when the record names no such record.
    text: the result as text. side_file: path of a persisted large output, as the client wrote it.
    """

    identity: str | None
    tool_use_id: str
    text: str
    is_error: bool | None
    side_file: str | None


class TurnEvent(NamedTuple):
    """A fact the compressor will need when the transcript is gone.

    kind: exit, patch, plan, answer, task, duration, compaction, commit, error, interruption.
    data: small JSON object.
    """

    kind: str
    data: dict[str, object]


class Title(NamedTuple):
    """A session's name. kind: `custom` (given by the user) beats `ai`; `summary` belongs to the
    session that holds the record `leaf_uuid`, whatever file it stands in."""

    kind: Literal["custom", "ai", "summary"]
    text: str
    leaf_uuid: str | None = None


class AgentLink(NamedTuple):
    """A sub-agent of this session: which tool call spawned it, and of what type it is."""

    agent_id: str
    tool_use_id: str | None
    agent_type: str | None
    description: str | None


class QueueOperation(NamedTuple):
    """A line of the prompt queue. operation: enqueue, dequeue, remove, popAll. text: of an enqueue."""

    operation: str
    text: str | None


class Ignored(NamedTuple):
    """A record we know to hold nothing for a memory, or do not know at all: counted, never silent."""

    kind: str


class Unreadable(NamedTuple):
    """Bytes that are no record. offset: from the start of the line. The bytes themselves are not kept."""

    reason: str
    offset: int
    length: int


Record: TypeAlias = (
    Prompt
    | AssistantText
    | ToolUse
    | ToolResult
    | TurnEvent
    | Title
    | AgentLink
    | QueueOperation
    | Ignored
    | Unreadable
)


class Entry(NamedTuple):
    """One JSON object of a transcript: its envelope and what it holds.

    session_id: the record's own sessionId, None when it has none.
    forked_from: the session this record was copied from, when the record says so.
    sidechain: written by a sub-agent (or a copy of the main thread made for one).
    """

    uuid: str | None
    session_id: str | None
    time: int | None
    cwd: str | None
    version: str | None
    git_branch: str | None
    sidechain: bool
    agent_id: str | None
    forked_from: str | None
    records: tuple[Record, ...]
