"""A session as something to read: what was typed, answered and done, in order, each in whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from indexer.store import story
from indexer.store.browse import Session
from indexer.store.connection import Connection
from indexer.store.items import Step, course, item
from indexer.text import sanitize

When: TypeAlias = Callable[[int | None], str]
"""Epoch milliseconds to a time with its zone."""
WHO = {
    "prompt": "You",
    "command": "You (command)",
    "shell": "You (shell)",
    "assistant": "Claude",
    "tool_use": "Tool",
    "observation": "Observation",
    "summary": "Summary",
}
_MADE = ("title", "subtitle", "text", "narrative", "request", "investigated", "learned", "completed", "next_steps")


_AT_A_TIME, _UNCUT = 100, 1 << 20


class Part(NamedTuple):
    """One thing that happened. time: epoch milliseconds. text: what was said, or a tool's output.

    tool, given: of a tool call, its name and its input. agent: a sub-agent's. failed: the tool said so.
    All texts are free of control characters; nothing else has been done to them.
    """

    kind: str
    id: str
    time: int | None
    text: str
    tool: str = ""
    given: str = ""
    agent: bool = False
    failed: bool = False


def parts(conn: Connection, session: Session) -> Iterator[Part]:
    """All that the session shows, in record order; bookkeeping events and empty texts are left out."""
    steps = course(conn, session.row_id)
    calls = _calls(conn, steps)
    for step in steps:
        if step.kind == "tool_use":
            call = next(calls, None)
            if call is not None:
                yield call._replace(id=step.id, time=step.time, agent=step.sidechain)
        elif step.kind in ("prompt", "command", "shell", "assistant"):
            if step.text.strip():
                yield Part(step.kind, step.id, step.time, sanitize(step.text), agent=step.sidechain)
        elif step.kind != "event" and (found := _whole(conn, step.kind, step.id)):
            yield found._replace(time=step.time, agent=step.sidechain)


def _calls(conn: Connection, steps: Sequence[Step]) -> Iterator[Part | None]:
    """The tool calls among the steps in whole, in their order, some at a time: looking each up with all that
    surrounds it took 10 s for 900 of them, in a session of 2,000 steps."""
    ids = [int(step.id.rpartition(":")[2]) for step in steps if step.kind == "tool_use"]
    for start in range(0, len(ids), _AT_A_TIME):
        found = story.calls(conn, ids[start : start + _AT_A_TIME], _UNCUT)
        for row_id in ids[start : start + _AT_A_TIME]:
            yield _call(found[row_id]) if row_id in found else None


def _call(call: story.Call) -> Part:
    answer, name, given = map(sanitize, (call.answer, call.name, call.given))
    return Part("tool_use", "", None, answer, name, given, failed=call.failed)


def _whole(conn: Connection, kind: str, name: str) -> Part | None:
    found = item(conn, kind, int(name.rpartition(":")[2]))
    if found is None:
        return None
    content = {key: sanitize(value) for key, value in found.content.items() if isinstance(value, str)}
    return Part(kind, name, None, "\n\n".join(content[key] for key in _MADE if content.get(key)))
