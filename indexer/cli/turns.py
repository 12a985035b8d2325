"""What a prompt set going, as `show` gives it: answers and one line a tool call, bounded for people.

A turn may be hundreds of calls long: people get the first 40 lines and how to see the rest, programs
get all of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from indexer.cli.render import GLYPHS, Style, aside, many, one_line, wrap
from indexer.store.items import Act, Reaction
from indexer.text import glance, iso

LINES = 40
_TEXT_LINES = 10
"""Of one answer; a long one must not hide what was done after it."""


def turn_json(found: Reaction | None) -> dict[str, object]:
    """The fields of an item that tell its turn; none for what opens no turn."""
    if found is None:
        return {}
    agents = {"answers": found.agent_answers, "tool_uses": found.agent_tool_uses}
    return {"turn": [_act_json(act) for act in found.acts], "turn_agents": agents}


def _act_json(act: Act) -> dict[str, object]:
    about: dict[str, object] = {"kind": act.kind, "id": act.id, "time": iso(act.time)}
    if act.tool is None:
        return about | {"text": act.text}
    said = {"tool": act.tool, "file": act.file, "text": _given(act)}
    return about | said | {"is_error": act.is_error, "answered": act.answered}


def turn_lines(found: Reaction | None, session: str, style: Style, width: int) -> Iterator[str]:
    """The turn for people. session: its id, named where lines are left out."""
    if found is None or not any(found):
        return
    yield ""
    yield style.dim("what followed:")
    room, shown = LINES, 0
    for act in found.acts:
        lines = _act_lines(act, style, width)
        if len(lines) > room:
            break
        yield from lines
        room, shown = room - len(lines), shown + 1
    if left := len(found.acts) - shown:
        yield style.dim(f"and {left:,} more: show session:{one_line(session)}")
    if found.agent_answers or found.agent_tool_uses:
        did = (many(found.agent_answers, "answer"), many(found.agent_tool_uses, "tool use"))
        yield style.dim("sub-agents: " + aside(*did))


def _act_lines(act: Act, style: Style, width: int) -> list[str]:
    head = f"{GLYPHS[act.kind]} "
    if act.tool is not None:
        gist = one_line(glance(f"{act.tool} {_given(act)}".strip(), 100))
        mark = style.bad("error") if act.is_error else "" if act.answered else "no answer yet"
        return [head + aside(gist, mark, style.name(act.id))]
    lines = wrap(act.text, width - 2)
    cut = [*lines[:_TEXT_LINES], "…"] if len(lines) > _TEXT_LINES else lines
    return [head + style.name(act.id), *(f"  {line}" for line in cut)]


def _given(act: Act) -> str:
    """The file a call is about, else what it was given first."""
    return act.file or first_of(act.text)


def first_of(given: str) -> str:
    """The first value of a tool's input: of `{"command": "ls", …}` it is `ls`; else the text as it is,
    which may have been cut and be JSON no longer."""
    try:
        found = json.loads(given)
    except (ValueError, RecursionError):
        return given
    first = next(iter(found.values()), "") if isinstance(found, dict) else found
    return str(first)
