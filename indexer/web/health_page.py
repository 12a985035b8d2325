"""Health: how far the memory has come, what is wrong with it and what to do, and the settings in force."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from indexer import app
from indexer.config import Config
from indexer.finding import OK, PROBLEM, Finding
from indexer.store import archive, health, recall
from indexer.store.connection import Connection, database_path
from indexer.store.reads import counts
from indexer.text import glance
from indexer.web import state
from indexer.web.layout import Page, aside, empty, many, scrolled, size
from indexer.web.markup import Html, coded, join, tag

LETTERS, FAILED = 20, 20
_CLASSES = {PROBLEM: "failed", OK: "good"}


def view(conn: Connection, settings: Config, given: Mapping[str, str]) -> Page | Html:
    """The page; doctor looks at every transcript, so it is asked for by itself (`part=doctor`), or with
    `doctor=1` by who has no script."""
    if given.get("part") == "doctor":
        return findings(app.doctor(settings, os.environ))
    asked = given.get("doctor") == "1"
    looked = findings(app.doctor(settings, os.environ)) if asked else _invitation()
    known = health.files(conn)
    sections = (
        ("State", state.panel(state.look(conn, settings))),
        ("Findings", tag("div", looked, id="doctor", data_ask=not asked, aria_live="polite")),
        ("The memory", _memory(conn, settings, known)),
        ("What could not be read", _unread(conn, known)),
        ("Settings", _settings(settings)),
    )
    body = join([tag("section", tag("h2", title), inside, aria_label=title) for title, inside in sections])
    return Page("Health", body, "/health", "health.js")


def _invitation() -> Html:
    return tag("p", tag("a", "Look for what keeps the memory from being whole", href="/health?doctor=1"))


def findings(found: list[Finding]) -> Html:
    """What doctor found, problems first, each with its remedy."""
    order = sorted(found, key=lambda one: (one.level != PROBLEM, one.level == OK))
    rows = [tag("li", _finding(one), data_item=True) for one in order]
    problems = sum(one.level == PROBLEM for one in found)
    said = f"{many(problems, 'problem')} found" if problems else "No problem found."
    return join(tag("p", tag("strong", said)), tag("ul", rows, class_="list"))


def _finding(one: Finding) -> Html:
    level = tag("span", one.level, class_=_CLASSES.get(one.level, "kind"))
    remedy = tag("p", tag("strong", "What to do: "), coded(one.remedy)) if one.remedy else None
    return join(tag("p", aside(level, tag("code", one.kind)), class_="meta"), tag("p", coded(one.message)), remedy)


def _memory(conn: Connection, settings: Config, known: list[health.File]) -> Html:
    held, made = counts(conn), recall.counts(conn)
    late = state.behind(known)
    archived = archive.total(conn) if archive.present(conn) else 0
    rows = [
        ("Database", aside(tag("code", str(database_path(settings.home))), size(_size(settings)))),
        ("Archive", size(archived) if archived else "empty"),
        ("Holds", aside(many(held.sessions, "session"), many(held.prompts, "prompt"), many(held.tool_uses, "tool call"),
                        many(held.assistant_messages, "answer"), many(held.projects, "project"))),
        ("Remembers", aside(many(made.observations, "observation"), f"{made.summaries:,} summaries")),
        ("Transcripts", _files(known)),
        ("Unread", aside(size(sum(late.values())), many(len(late), "file")) if late else "nothing"),
        ("Vectors", _vectors(settings)),
    ]  # fmt: skip
    return tag("dl", [join(tag("dt", name), tag("dd", value)) for name, value in rows], class_="facts")


def _files(known: list[health.File]) -> Html:
    gone = sum(file.status == "gone" for file in known)
    return aside(many(len(known), "file"), f"{gone:,} gone since" if gone else "")


def _size(settings: Config) -> int:
    try:
        return database_path(settings.home).stat().st_size
    except OSError:
        return 0


def _vectors(settings: Config) -> str:
    if settings.vectors_store == "none":
        return "switched off"
    found = app.vector_state(settings)
    shares = [f"{one['arm']} {one['vectors']:,} of {one['documents']:,}" for one in found["arms"]]
    return " · ".join(shares) or "none yet"


def _unread(conn: Connection, known: list[health.File]) -> Html:
    rows = [tag("li", tag("code", f.path), f": {f.error or 'unreadable'}") for f in known if f.status == "unreadable"]
    rows += [
        tag("li", tag("code", f"{one.file}:{one.line}"), f": {one.reason}, {many(one.length, 'byte')}")
        for one in health.dead_letters(conn, LETTERS)
    ]
    rows += [tag("li", tag("code", name), f": not compressed, {error}") for name, error in recall.failed(conn, FAILED)]
    return tag("ul", rows[:60]) if rows else empty("All of it could be read.")


def _settings(settings: Config) -> Html:
    rows = [
        tag(
            "tr",
            tag("td", tag("code", key)),
            tag("td", glance(json.dumps(value, ensure_ascii=False), 300)),
            tag("td", origin),
        )
        for key, value, origin in settings.shown()
    ]
    head = tag("tr", [tag("th", name, scope="col") for name in ("Setting", "Value", "From")])
    return scrolled(tag("table", tag("thead", head), tag("tbody", rows)), "Settings, where they are from")
