"""What can be changed from the page: a session or an entry is forgotten, a pair of observations decided on.

Both go the way the command line goes (`app`): through the running service's control socket, or under the writer
lock. Nothing is forgotten that was not first weighed: without `yes`, the answer says what would go.
Settings are shown and not changed here: they are a file with a person's own comments in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from indexer import app, scope
from indexer.config import Config
from indexer.errors import NotFound, UsageError
from indexer.store import doom
from indexer.store.reads import reading

LONGEST = 65_536
"""Bytes of a request."""


def asked(body: bytes) -> dict[str, Any]:
    """The JSON object of a request. Raises UsageError."""
    try:
        found = json.loads(body) if len(body) <= LONGEST else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("the request is no JSON object", "")
    return found


def forget(settings: Config, given: Mapping[str, Any]) -> dict[str, Any]:
    """`{"session": ID}` or `{"id": "prompt:12"}`, and `"yes": true` to do it. Raises UsageError, NotFound, Busy."""
    session, name = given.get("session"), given.get("id")
    if isinstance(session, str) == isinstance(name, str) or not (session or name):
        raise UsageError("say what to forget", 'as {"session": ID} or {"id": "prompt:12"}')
    with reading(settings.home) as conn:
        if isinstance(session, str):
            one = scope.one_session(conn, session)
            if one.session != session:
                raise NotFound(f"no session has the id {session[:60]!r}", "here a session is named by its whole id")
            found = doom.weigh(conn, [one.session])
        else:
            found = doom.weigh(conn, [], doom.of_item(conn, str(name)))
    done = given.get("yes") is True and bool(found.sessions or found.records)
    finished = app.forget(settings, found.sessions, found.records) if done else False
    what = {"sessions": len(found.sessions), "prompts": found.prompts, "tool_uses": found.tool_uses}
    return {"would_go": what | {"answers": found.messages, "stays": found.stays}, "done": done, "finished": finished}


def decide(settings: Config, given: Mapping[str, Any]) -> dict[str, Any]:
    """`{"first": 12, "second": 15, "decision": "accept" | "dismiss"}`. Raises UsageError, NotFound, Busy."""
    first, second, decision = (given.get(name) for name in ("first", "second", "decision"))
    if type(first) is not int or type(second) is not int or not 0 < min(first, second) <= max(first, second) < 1 << 60:
        raise UsageError("first and second are the numbers of observations", "")
    if decision not in ("accept", "dismiss"):
        raise UsageError("decision is accept or dismiss", "")
    if not app.decide(settings, first, second, merge=decision == "accept"):
        raise NotFound("these two are no candidates any more", "load the page again")
    return {"done": True}
