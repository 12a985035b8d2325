"""A session: the conversation as one reads it, with its sub-agents, what it cost, and how to take it up again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from indexer import scope
from indexer.config import Config
from indexer.resume import resume
from indexer.store import browse, recall, story
from indexer.store.connection import Connection
from indexer.store.items import Step, course
from indexer.store.story import Agent, Call
from indexer.text import glance
from indexer.web import calls, threads
from indexer.web.kept import Kept, stamp
from indexer.web.layout import Page, aside, empty, lasting, many, when
from indexer.web.markdown import rendered
from indexer.web.markup import Html, join, tag
from indexer.web.search_page import KINDS, anchor

LARGEST = 170_000
"""Bytes of a page's steps: what does not fit is a link to itself."""
_WHO = {"prompt": "You", "command": "You (command)", "shell": "You (shell)", "assistant": "Claude"}
_TOLD = ("compaction", "interruption", "error", "commit", "pr", "duration")
_SHOWN = 30
"""Observations, forks and sub-agents that are listed."""


KEPT = Kept[threads.Threads](4)


@dataclass(frozen=True)
class _Story:
    """What all parts of the page are made from. thread: the sub-agent whose page it is, "" for the session's."""

    session: browse.Session
    apart: threads.Threads
    agents: dict[int, list[Agent]]
    calls: dict[int, Call]
    copied: dict[str, int]
    thread: str


def view(conn: Connection, settings: Config, given: Mapping[str, str]) -> Page:
    """The page that the address names: `id`, and `at` (an entry), `page` or `agent`. Raises NotFound, UsageError."""
    session = scope.one_session(conn, given.get("id", ""))
    found = KEPT.get(session.row_id, stamp(settings), partial(_apart, conn, session.row_id))
    at = given.get("at", "")
    agent = given.get("agent", "") or _agent_of(found, at)
    steps = found.agents.get(agent, []) if agent else found.main
    starts = threads.pages(steps)
    number = threads.page_of(steps, starts, at) if at else min(max(1, _number(given.get("page", ""))), len(starts))
    shown = steps[starts[number - 1] : starts[number] if number < len(starts) else None]
    told = _tell(conn, session, found, shown, agent)
    title = glance(session.title or "untitled", 160)
    turn = partial(_turning, session, agent, number, len(starts))
    head = _sub_head(told) if agent else _head(conn, told) if number == 1 else _short_head(session)
    listed = tag("section", _steps(told, shown), aria_label="Conversation")
    body = join(head, turn("above"), listed if shown else empty("Nothing was said in it."), turn("below"))
    return Page(title, body, "", "session.js")


def _apart(conn: Connection, session: int) -> threads.Threads:
    return threads.apart(course(conn, session), story.agent_files(conn, session))


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def _agent_of(found: threads.Threads, at: str) -> str:
    """The sub-agent whose thread holds the entry; "" for the main thread."""
    return next((agent for agent, steps in found.agents.items() if at and any(s.id == at for s in steps)), "")


def _tell(
    conn: Connection, session: browse.Session, found: threads.Threads, shown: Sequence[Step], agent: str
) -> _Story:
    called: dict[int, list[Agent]] = {}
    for one in story.agents(conn, session.row_id):
        called.setdefault(one.call or 0, []).append(one)
    ids = [int(step.id.rpartition(":")[2]) for step in shown if step.kind == "tool_use"]
    whole = story.calls(conn, ids, calls.LONGEST + 1)
    copied = story.copied(conn, session.row_id) if session.forked_from else {}
    return _Story(session, found, called, whole, copied, agent)


# --- above the conversation


def link(session: str, **more: str | int) -> str:
    """The address of a session's page."""
    return f"/session?{urlencode({'id': session, **more})}"


def _head(conn: Connection, told: _Story) -> Html:
    session = told.session
    spent = story.tokens(conn, session.row_id)
    rows: list[tuple[str, Html | str | None]] = [
        (
            "Project",
            tag("a", session.project or session.project_key, href=_project(session)) if session.project_key else None,
        ),
        ("Time", join(when(session.started), " to ", when(session.last), _span(session))),
        ("Holds", aside(many(session.prompts, "prompt"), many(session.tool_uses, "tool call"), session.status)),
        ("Models", aside(*[one.model or "unknown" for one in spent])),
        ("Tokens", _tokens(spent)),
        ("Branch", session.git_branch),
        ("Folder", tag("code", session.cwd) if session.cwd else None),
        ("Copied from", tag("a", session.forked_from, href=link(session.forked_from)) if session.forked_from else None),
        ("Copies", _forks(conn, session)),
        ("Id", tag("code", session.session)),
    ]
    facts = [join(tag("dt", name), tag("dd", value)) for name, value in rows if value]
    return join(tag("dl", facts, class_="facts"), _take_up(session), _summaries(conn, session), _made(told))


def _project(session: browse.Session) -> str:
    return f"/project?{urlencode({'key': session.project_key})}"


def _span(session: browse.Session) -> str:
    if session.started is None or session.last is None:
        return ""
    return f" ({lasting(session.last - session.started)})"


def _tokens(spent: Sequence[story.Tokens]) -> str:
    """What it cost, in what does not change with the price list."""
    sums = [sum(column) for column in zip(*(one[2:] for one in spent), strict=True)] or [0, 0, 0, 0]
    names = ("in", "out", "written to the cache", "read from the cache")
    return ", ".join(f"{number:,} {name}" for number, name in zip(sums, names, strict=True)) if any(sums) else ""


def _forks(conn: Connection, session: browse.Session) -> Html | None:
    found = story.forks(conn, session.session)[:_SHOWN]
    return aside(*[tag("a", glance(title or name, 60), href=link(name)) for name, title in found]) if found else None


def _take_up(session: browse.Session) -> Html:
    line = resume(session.platform, session.session, session.cwd)
    copy = (
        [tag("code", line), " ", tag("button", "Copy", type="button", data_copy=line, class_="js-only")] if line else []
    )
    ways = [
        tag("a", name, href=f"/export?{urlencode({'id': session.session, 'format': kind})}", download=True)
        for kind, name in (("markdown", "Markdown"), ("html", "HTML"))
    ]
    again = tag("p", "Take it up again: ", copy) if copy else None
    forget = tag("button", "Forget this session …", type="button", data_forget=session.session)
    gone = tag("p", forget, " ", tag("span", id="forgotten", role="status"), class_="js-only")
    return join(again, tag("p", "Export: ", aside(*ways), class_="meta"), gone)


def _short_head(session: browse.Session) -> Html:
    return tag(
        "p", aside(tag("a", "About this session", href=link(session.session)), when(session.started)), class_="meta"
    )


def _sub_head(told: _Story) -> Html:
    known = {one.id: one for group in told.agents.values() for one in group}.get(told.thread)
    said = aside("sub-agent", known.type if known else "", known.description if known else told.thread)
    back = link(told.session.session, **({"at": f"tool_use:{known.call}"} if known and known.call else {}))
    return tag("p", said, " · ", tag("a", "back to the session", href=back), class_="meta")


def _summaries(conn: Connection, session: browse.Session) -> Html:
    """What the session came to, by its parts."""
    found = recall.summaries(conn, session.row_id)[:6]
    fields = ("request", "investigated", "learned", "completed", "next_steps", "notes")
    parts = [
        tag(
            "dl",
            [
                [tag("dt", name.replace("_", " ").capitalize()), tag("dd", calls.cut(str(value)))]
                for name in fields
                if (value := getattr(one, name))
            ],
            class_="facts",
        )
        for one in found
    ]
    return tag("details", tag("summary", "Summary"), parts) if parts else Html("")


def _made(told: _Story) -> Html:
    found = [step for step in told.apart.made if step.kind == "observation"]
    rows = [
        tag("li", tag("a", glance(step.text, 160) or step.id, href=f"/entry?{urlencode({'id': step.id})}"))
        for step in found[:_SHOWN]
    ]
    return tag("details", tag("summary", many(len(found), "observation")), tag("ul", rows)) if rows else Html("")


def _turning(session: browse.Session, agent: str, number: int, last: int, where: str) -> Html:
    if last < 2:
        return Html("")
    more = {"agent": agent} if agent else {}

    def to(page: int, name: str, rel: str | None = None) -> Html:
        return tag("a", name, href=link(session.session, **more, page=page), rel=rel)

    return tag(
        "nav",
        [to(1, "First"), to(number - 1, "Previous page", "prev")] if number > 1 else None,
        tag("span", f"page {number:,} of {last:,}"),
        [to(number + 1, "Next page", "next"), to(last, "Last")] if number < last else None,
        class_="pages", aria_label=f"Pages of the session, {where}",
    )  # fmt: skip


# --- the conversation


def _steps(told: _Story, shown: Sequence[Step]) -> Iterator[Html]:
    """The steps, as many in whole as fit on a page."""
    left = LARGEST
    for step in shown:
        made = join(_boundary(told, step), _part(told, step))
        size = len(made.encode("utf-8", "replace"))
        if size > left:
            made = _stub(step)
        left -= min(size, left)
        yield made


def _boundary(told: _Story, step: Step) -> Html | None:
    """Where what a fork copied ends, below this step's line."""
    if step.place and step.place.line and told.copied.get(step.place.file) == step.place.line:
        return tag("p", "copied up to here; what follows is this session's own", class_="part mark")
    return None


def _part(told: _Story, step: Step) -> Html:
    if step.kind == "event":
        return _event(step)
    inside = _tool(told, step) if step.kind == "tool_use" else _said(step)
    names = ["part", step.kind, "agent" if step.sidechain and not told.thread else ""]
    fold = "fold" if step.kind == "tool_use" else True
    return tag("article", inside, id=anchor(step.id), class_=" ".join(filter(None, names)), data_item=fold)


def _said(step: Step) -> Html:
    level = "h3" if step.kind == "assistant" else "h2"
    by = f"{_WHO[step.kind]}{' (sub-agent)' if step.sidechain else ''}"
    text = step.text[: threads.LONGEST]
    body = rendered(text) if step.kind == "assistant" else tag("pre", text, class_="said")
    rest = _whole(step, f"all of it ({len(step.text):,} characters)") if len(step.text) > len(text) else None
    return join(tag(level, by, " ", when(step.time)), body, rest)


def _whole(step: Step, name: str) -> Html:
    return tag("p", tag("a", name, href=f"/entry?{urlencode({'id': step.id})}"), class_="meta")


def _stub(step: Step) -> Html:
    name = f"{KINDS.get(step.kind, step.kind)}, too long for this page"
    return tag("article", _whole(step, name), id=anchor(step.id), class_="part", data_item=True)


def _tool(told: _Story, step: Step) -> Html:
    call = told.calls.get(int(step.id.rpartition(":")[2]))
    if call is None:
        return tag("p", glance(step.text, 200))
    nested = join([_nested(told, one) for one in told.agents.get(call.id, ())])
    return join(calls.folded(call, f"/entry?{urlencode({'id': step.id})}"), nested)


def _nested(told: _Story, agent: Agent) -> Html:
    """A sub-agent below the call that called it: what it did in a line each, and the way to all of it."""
    steps = told.apart.agents.get(agent.id, [])
    said = aside("sub-agent", agent.type, glance(agent.description, 100), many(len(steps), "step"))
    if not steps:  # a fork shows the call, but not what another session's file holds
        return tag("p", said, class_="meta")
    rows = [tag("li", glance(step.text, 120)) for step in steps[:12] if step.kind != "event"]
    to = tag("a", "read it whole", href=link(told.session.session, agent=agent.id))
    return tag("details", tag("summary", said), tag("ol", rows), tag("p", to), class_="nested")


def _event(step: Step) -> Html:
    kind, _, data = step.text.partition(" ")
    fields = calls.read(data)
    if kind not in _TOLD or not isinstance(fields, dict):
        return Html("")
    return tag("p", _told(kind, fields), class_=f"part mark {kind}")


def _told(kind: str, fields: Mapping[str, Any]) -> str:
    if kind == "compaction":
        return "the conversation was compacted here"
    if kind == "interruption":
        return "interrupted by you"
    if kind == "duration":
        ms = fields.get("ms")
        return f"took {lasting(ms)}" if isinstance(ms, int) else "finished"
    if kind == "commit":
        return f"commit {str(fields.get('sha') or '')[:12]} {glance(str(fields.get('subject') or ''), 120)}"
    if kind == "pr":
        return glance(f"pull request {fields.get('url') or fields.get('number') or json.dumps(dict(fields))}", 200)
    return glance(f"error: {fields.get('text') or ''}", 200)
