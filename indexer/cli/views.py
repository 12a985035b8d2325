"""Sessions and places as several commands show them: for JSON, and as lines for people."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeAlias

from indexer.cli.render import Style, aside, duration, facts, many, one_line, when
from indexer.resume import resume
from indexer.store.browse import Session
from indexer.store.imports import Origin
from indexer.store.items import Place
from indexer.text import glance, iso

Names: TypeAlias = dict[tuple[str, str], str]
"""Display name and key of a project -> what to call it where others are shown too."""


def session_json(session: Session) -> dict[str, object]:
    """A session in every JSON answer. Times are ISO 8601 UTC, null when no record is dated."""
    return {
        "id": f"session:{session.session}",
        "session": session.session,
        "title": title(session) or None,
        "project": session.project,
        "project_key": session.project_key,
        "platform": session.platform,
        "started": iso(session.started),
        "last": iso(session.last),
        "duration_ms": _span(session),
        "prompts": session.prompts,
        "tool_uses": session.tool_uses,
        "model": session.model,
        "status": session.status,
        "cwd": session.cwd,
        "git_branch": session.git_branch,
        "forked_from": session.forked_from,
        "resume": resume(session.platform, session.session, session.cwd),
    }


def place_json(place: Place | None) -> dict[str, object] | None:
    """Where a record stands; line is null when the file no longer holds it."""
    return place and place._asdict()


def origin_json(origin: Origin | None) -> dict[str, object] | None:
    """Where an imported row comes from."""
    return origin and {"origin_device_id": origin.device, "origin_local_id": origin.local}


def origin_text(origin: Origin | None) -> str:
    """The same for people: `claude-mem (observation:12)`, `the memory 3f2ac01b… (prompt:7)`."""
    if origin is None:
        return ""
    whose = origin.device if origin.device == "claude-mem" else f"the memory {origin.device}"
    return one_line(f"{whose} ({origin.local})")


def title(session: Session) -> str:
    """A session's name on one line, "" when nothing names it."""
    return glance(session.title or "", 120)


def place_text(place: Place | None) -> str:
    """`file:line`, as editors and shells take it; `~` is the home folder."""
    if place is None:
        return ""
    home = os.path.expanduser("~").rstrip("/") + "/"  # noqa: PTH111 - Path's may raise
    file = "~/" + place.file.removeprefix(home) if home != "/" and place.file.startswith(home) else place.file
    return one_line(f"{file}:{place.line}" if place.line else file)


def session_facts(session: Session, style: Style) -> list[str]:
    """What is known about a session, a line a fact."""
    begun = when(session.started)
    return facts(
        [
            ("session", style.name(one_line(session.session))),
            ("project", project_text(session)),
            ("begun", aside(begun, duration(_span(session)))),
            ("holds", aside(many(session.prompts, "prompt"), many(session.tool_uses, "tool use"))),
            ("model", one_line(session.model)),
            ("branch", one_line(session.git_branch)),
            ("status", session.status),
            ("copied from", one_line(session.forked_from)),
            ("resume", resume_text(session)),
        ],
        style,
    )


def project_text(session: Session) -> str:
    """The project's display name, with its key where that says more."""
    name, key = one_line(session.project), one_line(session.project_key)
    return name if name.casefold() == key else f"{name} ({key})" if name and key else name or key


def project_names(shown: Iterable[tuple[str, str]]) -> Names:
    """What to call each project of one list, given as display names and keys: by its name, and where
    that stands for several keys by as many last parts of the key as tell them apart, two at least."""
    keys: dict[str, set[str]] = {}
    pairs = set(shown)
    for name, key in pairs:
        keys.setdefault(name.casefold(), set()).add(key)
    return {(name, key): one_line(_told_apart(name, key, keys[name.casefold()])) for name, key in pairs}


def _told_apart(name: str, key: str, keys: set[str]) -> str:
    if len(keys) == 1:
        return name
    for parts in range(2, key.count("/") + 1):
        tails = {"/".join(other.split("/")[-parts:]) for other in keys}
        if len(tails) == len(keys):
            return "/".join(key.split("/")[-parts:])
    return key or name


def resume_text(session: Session) -> str:
    """The resume command for people, "" when there is none."""
    return one_line(resume(session.platform, session.session, session.cwd))


def _span(session: Session) -> int | None:
    if session.started is None or session.last is None:
        return None
    return session.last - session.started
