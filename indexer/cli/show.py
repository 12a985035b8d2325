"""`show ID`: one result in whole with what is around it, or the course of a whole session."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator

from indexer import config
from indexer.cli import scope, turns, views
from indexer.cli.output import Output
from indexer.cli.render import GLYPHS, Style, aside, facts, one_line, when, wrap
from indexer.errors import NotFound
from indexer.store import imports
from indexer.store.browse import Session
from indexer.store.connection import Connection
from indexer.store.imports import Origin
from indexer.store.items import CODES, Item, Reaction, Step, course, item, reaction
from indexer.store.reads import reading
from indexer.text import glance, iso

_JSON_COLUMNS = (
    *("facts", "concepts", "files_read", "files_modified", "files_edited"),
    *("reinforcement_dates", "tool_uses"),
)
_FLAGS = ("private", "queued", "answered", "is_error")
_TEXTS = ("text", "title", "subtitle", "narrative", "input", "response", "request", "investigated", "learned")
_BODY = (*_TEXTS, "completed", "next_steps", "notes", *_JSON_COLUMNS)
_QUIET_EVENTS = ("exit", "patch", "duration", "task")


def show(args: Namespace, out: Output) -> int:
    """Show what the id names. Raises NotFound, UsageError for the start of several ids."""
    with reading(config.load(args.home, args.roots).home) as conn:
        kind, _, number = args.id.rpartition(":")
        if kind in CODES:
            found = _item(conn, kind, number)
            _show_item(out, found, reaction(conn, found), imports.origin(conn, found.id))
        else:
            session = scope.one_session(conn, args.id)
            _show_session(out, session, course(conn, session.row_id))
    return 0


def _item(conn: Connection, kind: str, number: str) -> Item:
    # 18 digits: what SQLite's row ids hold for certain.
    usable = number.isascii() and number.isdigit() and len(number) <= 18
    found = item(conn, kind, int(number)) if usable else None
    if found is None:
        raise NotFound(f"there is no {kind}:{number}", "`transcript-indexer search` shows ids that are there")
    return found


# --- one item ----------------------------------------------------------------------------------------


def _show_item(out: Output, found: Item, followed: Reaction | None, origin: Origin | None) -> None:
    if out.as_json:
        out.data({"item": _item_json(found) | {"origin": views.origin_json(origin)} | turns.turn_json(followed)})
    else:
        out.lines(_item_lines(found, origin, out.style, out.page))
        out.lines(turns.turn_lines(followed, found.session.session, out.style, out.page))


def _item_json(found: Item) -> dict[str, object]:
    about = views.session_json(found.session)
    return {
        "id": found.id,
        "kind": found.kind,
        "time": iso(found.time),
        "project": found.session.project,
        "project_key": found.session.project_key,
        "session": found.session.session,
        "session_title": about["title"],
        "resume": about["resume"],
        "source": views.place_json(found.place),
        "prompt": found.turn and found.turn._asdict(),
        "content": {name: _json_value(name, value) for name, value in found.content.items()},
    }


def _json_value(name: str, value: object) -> object:
    """Columns that hold JSON come decoded; a tool's input too, unless it was cut and is JSON no longer."""
    if name in _FLAGS:
        return None if value is None else bool(value)
    if name == "result_time":
        return iso(value if isinstance(value, int) else None)
    if isinstance(value, str) and name in (*_JSON_COLUMNS, "input"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _item_lines(found: Item, origin: Origin | None, style: Style, width: int) -> Iterator[str]:
    yield f"{GLYPHS[found.kind]} {style.name(found.id)}"
    yield from facts(
        [
            (
                "session",
                aside(style.bold(one_line(views.title(found.session))), one_line(found.session.session)),
            ),
            ("project", views.project_text(found.session)),
            ("time", when(found.time)),
            ("source", views.place_text(found.place)),
            ("imported from", views.origin_text(origin)),
            ("turn", _turn(found)),
            *_small(found.content),
            ("resume", views.resume_text(found.session)),
        ],
        style,
    )
    for name, value in found.content.items():
        if name in _BODY and value:
            yield ""
            if name != "text":
                yield style.dim(f"{name.replace('_', ' ')}:")
            yield from wrap(_body(name, value), width)


def _turn(found: Item) -> str:
    """The prompt that opened the turn, unless it is the item itself."""
    if found.turn is None or found.turn.id == found.id:
        return ""
    return f"{found.turn.id}  {one_line(glance(found.turn.text, 100))}"


def _small(content: dict[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in content.items():
        if name not in (*_BODY, "answered") and value not in (None, "", 0):
            yield name.replace("_", " "), "yes" if name in _FLAGS else _plain(name, value)
    if content.get("answered") == 0:
        yield "answered", "not yet"
    if content.get("private"):
        yield "text", "private: not kept"


def _plain(name: str, value: object) -> str:
    if name == "result_time" and isinstance(value, int):
        return when(value)
    return f"{value:,}" if isinstance(value, int) else one_line(value)


def _body(name: str, value: object) -> str:
    found = _json_value(name, value)
    if name in _JSON_COLUMNS and isinstance(found, list):
        return "\n".join(f"- {entry}" for entry in found)
    if name == "input" and isinstance(found, dict):
        return "\n".join(f"{key}: {_input_value(part)}" for key, part in found.items())
    return str(value)


def _input_value(value: object) -> str:
    """One field of a tool's input: a text as it is, on lines of its own if it has several."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"\n{text}" if "\n" in text else text


# --- one session -------------------------------------------------------------------------------------


def _show_session(out: Output, session: Session, steps: list[Step]) -> None:
    if out.as_json:
        out.data({"session": views.session_json(session), "records": [_step_json(step) for step in steps]})
        return
    out.lines([out.style.bold(one_line(views.title(session)) or "(untitled)")])
    out.lines(views.session_facts(session, out.style))
    out.lines(line for step in steps if _loud(step) for line in _step_lines(step, out.style, out.page))


def _step_json(step: Step) -> dict[str, object]:
    return {
        "kind": step.kind,
        "id": step.id or None,
        "time": iso(step.time),
        "text": step.text,
        "sidechain": step.sidechain,
        "source": views.place_json(step.place),
    }


def _loud(step: Step) -> bool:
    return step.kind != "event" or step.text.partition(" ")[0] not in _QUIET_EVENTS


def _step_lines(step: Step, style: Style, width: int) -> Iterator[str]:
    """Prompts and answers whole; tool uses and events as one line."""
    indent = "    " if step.sidechain else ""
    head = f"{indent}{GLYPHS[step.kind]} "
    if step.kind in ("tool_use", "event"):
        yield head + aside(style.dim(one_line(glance(_gist(step.text), 100))), style.name(step.id))
        return
    yield ""
    yield head + aside(style.name(step.id), style.dim(when(step.time)))
    for line in wrap(step.text, width - len(indent) - 2):
        yield f"{indent}  {line}"


def _gist(text: str) -> str:
    """A tool's name and what it was given first: of `Bash {"command": "ls", …}` it is `Bash ls`."""
    name, _, given = text.partition(" ")
    return f"{name} {turns.first_of(given)}"
