"""The seam to whatever turns a turn into memory, and the vocabulary that its two sides share.

A turn is what a prompt set going: its calls, answers and events, from stored rows alone, since the
transcript may be gone. A compressor is a pure function of turns: it knows neither the clock nor the
store, so the same history gives the same memory whenever and in whatever order it is read.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol


class Event(NamedTuple):
    """A fact of a turn that is neither call nor text (records.TurnEvent). record: what names its record."""

    kind: str
    data: dict[str, Any]
    time: int | None
    record: str


class Call(NamedTuple):
    """One tool call, the main thread's or a sub-agent's.

    row: its row in tool_uses. id: the client's. given: its input, decoded; {} when that was cut or is no
    object. response: the result's text, of long ones the ends. failed: it ended in an error; denied calls
    are not among the calls at all. events: those that hang on this call.
    """

    row: int
    id: str
    name: str
    file: str | None
    given: dict[str, Any]
    response: str
    failed: bool
    agent_id: str | None
    agent_type: str | None
    time: int | None
    events: tuple[Event, ...] = ()


class Text(NamedTuple):
    """What was said. agent_id: None on the main thread."""

    text: str
    agent_id: str | None
    time: int | None


class Turn(NamedTuple):
    """A finished turn, in the order of its records.

    id: uuid of the prompt that opened it, or a name made of the session's where none did. uuid: that
    prompt's, None without one. part: compactions before it. tokens: spent in it, each counted once.
    """

    id: str
    uuid: str | None
    number: int
    part: int
    prompt: str
    cwd: str
    time: int | None
    calls: tuple[Call, ...]
    texts: tuple[Text, ...]
    events: tuple[Event, ...]
    tokens: int


class Observation(NamedTuple):
    """A thing worth remembering of a turn. slot: its name within the turn; with the turn's id its identity.

    calls: rows of tool_uses it came from. outside: its content came from the web or an MCP server alone.
    """

    slot: str
    type: str
    title: str
    subtitle: str
    narrative: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files_read: tuple[str, ...]
    files_modified: tuple[str, ...]
    tokens: int
    agent_type: str | None
    agent_id: str | None
    time: int | None
    calls: tuple[int, ...]
    outside: bool = False


class Summary(NamedTuple):
    """One compaction part of a session. Texts are "" where there is nothing to say."""

    part: int
    request: str
    investigated: str
    learned: str
    completed: str
    next_steps: str
    notes: str
    files_read: tuple[str, ...]
    files_edited: tuple[str, ...]
    number: int
    tokens: int
    time: int | None


class WorkItem(NamedTuple):
    """A to-do as a record left it. identity: the record's, so that it stands once. key: names the item
    within its list; its last state counts. status: pending, in_progress, completed or dropped."""

    identity: str
    key: str
    subject: str
    status: str
    time: int | None


class Compressor(Protocol):
    """Makes memory of turns. name: stored with what it made, as `rules/1`."""

    @property
    def name(self) -> str: ...

    def observe(self, turn: Turn) -> tuple[Observation, ...]:
        """What is worth remembering of a turn; nothing for most chatter."""
        ...

    def summarise(self, turns: tuple[Turn, ...], seen: tuple[Observation, ...]) -> Summary | None:
        """One part of a session, from its turns and what was observed in them; None when there is nothing."""
        ...

    def items(self, turns: tuple[Turn, ...]) -> tuple[WorkItem, ...]:
        """Every change to a session's to-do list, in order."""
        ...
