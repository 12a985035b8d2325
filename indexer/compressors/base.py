"""The seam to whatever turns a turn into memory, and the vocabulary that its two sides share.

A turn is what a prompt set going: its calls, answers and events, from stored rows alone, since the
transcript may be gone. A compressor is a pure function of turns: it knows neither the clock nor the
store, so the same history gives the same memory whenever and in whatever order it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias


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
    model: str | None = None
    """What made it, where that is not the compressor in charge."""


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


# --- models ---------------------------------------------------------------------------------------------


class Ask(NamedTuple):
    """One question to a model: stateless, redacted, capped. instructions: the same for all turns, sent first.

    output: tokens that the answer may take. most: tokens that the whole call can cost at the very most.
    """

    instructions: str
    text: str
    output: int
    most: int


class Told(NamedTuple):
    """What a model answered. tokens: what it cost, None where it was not said."""

    text: str
    tokens: int | None


class Failure(NamedTuple):
    """Why there is no answer.

    kind: `busy` (later, for all turns), `lost` (no answer came, or half of one), `rejected` (this turn is not
    taken), `auth`, `quota` and `setup` (nothing will be answered until somebody does something).
    after: seconds to wait that the provider named. tokens: what it cost all the same; None: not known.
    """

    kind: str
    message: str
    after: float | None = None
    tokens: int | None = 0


Answer: TypeAlias = Told | Failure


class Finding(NamedTuple):
    """An observation as a model words it. Files that were changed, calls and tokens are evidence: not its to say."""

    type: str
    title: str
    subtitle: str
    narrative: str
    facts: tuple[str, ...]
    concepts: tuple[str, ...]
    files_read: tuple[str, ...]

    @classmethod
    def of(cls, row: Sequence[Any]) -> Finding:
        """From what JSON made of one."""
        kind, title, subtitle, narrative, facts, concepts, files_read = row
        return cls(kind, title, subtitle, narrative, tuple(facts), tuple(concepts), tuple(files_read))


class Reply(NamedTuple):
    """A model's answer, understood. skip: it says that there is nothing to record."""

    findings: tuple[Finding, ...]
    skip: bool = False


class Unusable(Exception):
    """An answer that is none: what is wrong with it, in words that may be told to the model."""


class Model(Protocol):
    """A provider of answers. name: as `anthropic/claude-haiku-4-5`. overhead: tokens that a call costs beside
    its texts. Never raises for what a provider may do: that is a Failure."""

    @property
    def name(self) -> str: ...

    @property
    def overhead(self) -> int: ...

    def ask(self, ask: Ask) -> Answer:
        """Have a question answered, within the time that the provider may take."""
        ...


class Wording(Protocol):
    """How a turn is put to a model, and how its answer is read. Pure."""

    def worth(self, turn: Turn) -> bool:
        """Whether there is anything in a turn that a model could add to what rules observe."""
        ...

    def prepare(self, turn: Turn, bodies: Mapping[int, tuple[str, str]], *, overhead: int, amiss: str = "") -> Ask:
        """The question about a turn. bodies: input and result by call. amiss: what was wrong with the last answer."""
        ...

    def read(self, text: str) -> Reply:
        """An answer, understood. Raises Unusable."""
        ...
