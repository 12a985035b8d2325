"""A session as something to read: what was typed, answered and done, in order, each in whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from indexer.store.browse import Session
from indexer.store.connection import Connection
from indexer.store.items import course, item
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
    for step in course(conn, session.row_id):
        if step.kind in ("prompt", "command", "shell", "assistant"):
            if step.text.strip():
                yield Part(step.kind, step.id, step.time, sanitize(step.text), agent=step.sidechain)
        elif step.kind != "event" and (found := _whole(conn, step.kind, step.id)):
            yield found._replace(time=step.time, agent=step.sidechain)


def _whole(conn: Connection, kind: str, name: str) -> Part | None:
    found = item(conn, kind, int(name.rpartition(":")[2]))
    if found is None:
        return None
    content = {key: sanitize(value) for key, value in found.content.items() if isinstance(value, str)}
    if kind != "tool_use":
        return Part(kind, name, None, "\n\n".join(content[key] for key in _MADE if content.get(key)))
    failed = bool(found.content.get("is_error"))
    given = content.get("input", "")
    return Part(kind, name, None, content.get("response", ""), content.get("name", ""), given, failed=failed)
