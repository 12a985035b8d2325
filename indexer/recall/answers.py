"""The tools' answers: plain dicts made of searches and reads, for the MCP server and anyone else.

The layers are cheap to dear: `search`, `recent` and `work` give a line or two each, `timeline` what was around
one of them, `get_observations` and `get_tool_uses` the whole. An answer says what it costs (`token_estimate`)
and never passes BUDGET: the client cuts tool output at 25,000 tokens, in the middle of the JSON. What does not
fit comes with the cursor.

Texts are what was recorded; that they are data and no instructions is for the server's instructions to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from indexer import scope
from indexer.config import Config
from indexer.errors import NotFound, UsageError
from indexer.query import Filters, parse
from indexer.recall import inputs
from indexer.search import Hit
from indexer.search import search as find
from indexer.store import browse, recall
from indexer.store.connection import Connection
from indexer.store.items import CODES, Item, Step, course, item, reaction
from indexer.text import glance, iso, token_estimate

Answer = dict[str, Any]

BUDGET = 15_000
"""Tokens of one answer: the estimate is rough, and the client's own limit is 25,000."""
_GIST = 240
"""Characters of a line in a list."""
_MEMORIES = ("observation", "summary", "prompt", "command", "shell", "assistant")
_JSON_COLUMNS = (
    *("facts", "concepts", "files_read", "files_modified", "files_edited", "reinforcement_dates", "tool_uses"),
)


def search(conn: Connection, config: Config, args: Mapping[str, Any]) -> Answer:
    """The hits of a query, the best first. Raises UsageError, NotFound, AmbiguousProject."""
    return _found(conn, config, args, args["query"])


def recent(conn: Connection, config: Config, args: Mapping[str, Any]) -> Answer:
    """The newest sessions, or the newest entries of one kind. Raises UsageError, NotFound."""
    if args["kind"] != "session":
        return _found(conn, config, dict(args, kind=[args["kind"]]), "")
    keys, start = scope.project_keys(conn, config, args["project"]), inputs.offset(args)
    since, until = scope.span(args["since"], args["until"])
    sessions = browse.sessions(conn, keys, since, until, args["limit"] + 1, start)
    return _page([_session(one) for one in sessions], args, start)


def work(conn: Connection, config: Config, args: Mapping[str, Any]) -> Answer:
    """To-dos in their last state. Raises UsageError, NotFound."""
    start = inputs.offset(args)
    keys = scope.project_keys(conn, config, args["project"])
    found = recall.work(conn, keys, closed=args["status"] != "open")
    rows = [
        _filled({"project": one.project, "session": one.session, "time": iso(one.time)}) | {"fields": one.fields}
        for one in found[start : start + args["limit"] + 1]
    ]
    return _page(rows, args, start)


def timeline(conn: Connection, config: Config, args: Mapping[str, Any]) -> Answer:
    """What happened before and after an entry of its session, or a session from its start.

    Raises NotFound, UsageError.
    """
    session, anchor = _anchor(conn, args["id"])
    steps = [step for step in course(conn, session.row_id) if step.kind != "event"]
    at = next((index for index, step in enumerate(steps) if step.id == anchor), 0)
    shown = [step for step in steps if not step.sidechain or steps[at].sidechain]
    at = next((index for index, step in enumerate(shown) if step.id == anchor), 0)
    first = max(0, at - args["before"]) if anchor else 0
    start = inputs.offset(args) or first
    end = start + args["before"] + args["after"] + 1 if args["cursor"] else at + args["after"] + 1
    page = _page([_step(step) for step in shown[start:end]], {**args, "limit": max(1, end - start)}, start)
    seen = start + len(page["results"])
    page.pop("next_cursor", None)
    if seen < len(shown):
        page["next_cursor"] = inputs.cursor(args, seen)
    return _measured(page | _filled({"session": _session(session), "anchor": anchor}) | {"total": len(shown)})


def get_observations(conn: Connection, config: Config, args: Mapping[str, Any]) -> Answer:
    """Observations and summaries, prompts and answers in whole. Raises UsageError for ids of no such kind."""
    names = [_named(text, "observation") for text in args["ids"]]
    for kind, number in names:
        if kind not in _MEMORIES:
            raise UsageError(f"{kind}:{number} is no observation", "get_tool_uses has tool calls")
    found = [(name, item(conn, *name)) for name in dict.fromkeys(names)]
    whole = [_memory(one, args["max_chars"]) for _, one in found if one is not None]
    return _several(whole, [f"{kind}:{number}" for (kind, number), one in found if one is None])


def get_tool_uses(conn: Connection, config: Config, args: Mapping[str, Any]) -> Answer:
    """Tool calls with input and output; those behind an observation, or of a prompt's turn, by its id.

    Raises UsageError for ids that lead to no calls.
    """
    names: list[tuple[str, int]] = []
    missing: list[str] = []
    for text in args["ids"]:
        kind, number = _named(text, "tool_use")
        calls = _calls(conn, kind, number)
        names += calls
        missing += [] if calls else [f"{kind}:{number}"]
    kept = list(dict.fromkeys(names))
    found = [one for name in kept[: args["limit"]] if (one := item(conn, *name)) is not None]
    answer = _several([_tool_use(one, args["from_char"], args["max_chars"]) for one in found], missing)
    if left := [f"{kind}:{number}" for kind, number in kept[args["limit"] :]]:
        answer["left"] = [*answer.get("left", ()), *left]
    return _measured(answer)


def memory(conn: Connection, name: str) -> Answer:
    """One entry in whole, as a resource. Raises NotFound."""
    kind, number = _named(name, "observation")
    found = item(conn, kind, number)
    if found is None:
        raise NotFound(f"there is no {kind}:{number}", "search shows ids that are there")
    return _tool_use(found, 0, 1 << 20) if kind == "tool_use" else _memory(found, 1 << 20)


def nothing(note: str) -> Answer:
    """The answer while there is no memory."""
    return _measured({"results": [], "notes": [note]})


# --- lists ------------------------------------------------------------------------------------------


def _found(conn: Connection, config: Config, args: Mapping[str, Any], query: str) -> Answer:
    start = inputs.offset(args)
    session = args.get("session")
    since, until = scope.span(args["since"], args["until"])
    filters = Filters(
        project=scope.project_keys(conn, config, args["project"]),
        session=scope.one_session(conn, session).session if session else None,
        kinds=tuple(args["kind"]) if args.get("kind") else None,
        since=since,
        until=until,
        limit=args["limit"],
        offset=start,
        **{name: args.get(name) for name in ("tool", "file", "type", "concept", "agent", "platform")},
    )
    mode = args.get("mode") or "hybrid"
    results = find(conn, parse(query, filters), scope.meaning(config, mode), mode)
    page = _page([_hit(hit) for hit in results.hits], args, start, more=results.more)
    return _measured(page | _filled({"via": list(results.via), "notes": list(results.notes)}))


def _hit(hit: Hit) -> Answer:
    snippet = "" if hit.snippet == hit.title else hit.snippet
    about = {"id": hit.id, "title": hit.title, "snippet": snippet, "time": iso(hit.time)}
    return _filled(about | {"project": hit.project, "session": hit.session})


def _session(one: browse.Session) -> Answer:
    return _filled(
        {
            "id": f"session:{one.session}",
            "title": glance(one.title or "", 120),
            "project": one.project,
            "time": iso(one.started),
            "last": iso(one.last),
            "prompts": one.prompts,
            "tool_uses": one.tool_uses,
            "forked_from": one.forked_from,
        }
    )


def _step(step: Step) -> Answer:
    return _filled({"id": step.id, "time": iso(step.time), "text": glance(_gist(step), _GIST), "agent": step.sidechain})


def _gist(step: Step) -> str:
    """Of a tool call its name and the first thing it was given: that is what tells calls apart."""
    if step.kind != "tool_use":
        return step.text
    name, _, given = step.text.partition(" ")
    try:
        values = list(json.loads(given).values())
    except (ValueError, AttributeError, RecursionError):
        return step.text
    return f"{name} {values[0]}" if values else name


def _page(rows: list[Answer], args: Mapping[str, Any], start: int, *, more: bool = False) -> Answer:
    """As many rows as the limit and the budget allow, and the cursor for the rest."""
    kept = rows[: _fitting(rows[: args["limit"]])]
    answer: Answer = {"results": kept}
    if more or len(kept) < len(rows):
        answer["next_cursor"] = inputs.cursor(args, start + len(kept))
    return _measured(answer)


def _fitting(rows: Sequence[Answer]) -> int:
    """How many of the rows stay within the budget; one at least."""
    spent = 0
    for index, row in enumerate(rows):
        spent += _cost(row)
        if spent > BUDGET and index:
            return index
    return len(rows)


# --- whole entries ----------------------------------------------------------------------------------


def _anchor(conn: Connection, text: str) -> tuple[browse.Session, str]:
    """A session, and the entry of it to stand at: "" for the session itself. What was made of a turn
    stands where its prompt does."""
    kind, _, number = text.rpartition(":")
    if kind not in CODES or not _usable(number):
        return scope.one_session(conn, text), ""
    found = item(conn, kind, int(number))
    if found is None:
        raise NotFound(f"there is no {text}", "search shows ids that are there")
    made = kind in ("observation", "summary")
    return found.session, found.turn.id if made and found.turn else found.id


def _named(text: str, kind: str) -> tuple[str, int]:
    """`observation:12`, or `12` for the kind that is meant."""
    before, _, number = text.strip().rpartition(":")
    if (before and before not in CODES) or not _usable(number):
        raise UsageError(f"{text[:60]!r} is no id", f"give ids as search shows them, as {kind}:12")
    return before or kind, int(number)


def _usable(number: str) -> bool:
    # 18 digits: what SQLite's row ids hold for certain.
    return number.isascii() and number.isdigit() and len(number) <= 18


def _calls(conn: Connection, kind: str, number: int) -> list[tuple[str, int]]:
    if kind == "observation":
        return [("tool_use", call) for call in recall.calls_of(conn, number, 200)]
    found = item(conn, kind, number)
    if found is None:
        return []
    if kind == "tool_use":
        return [(kind, number)]
    followed = reaction(conn, found)
    acts = followed.acts if followed else ()
    return [("tool_use", int(act.id.rpartition(":")[2])) for act in acts if act.kind == "tool_use"]


def _several(whole: list[Answer], missing: list[str]) -> Answer:
    kept = _fitting(whole)
    left = [one["id"] for one in whole[kept:]]
    answer: Answer = {"results": whole[:kept]}
    return _measured(answer | _filled({"left": left, "missing": missing}))


def _about(found: Item) -> Answer:
    place = found.place and f"{found.place.file}:{found.place.line or 0}"
    about = {"id": found.id, "time": iso(found.time), "project": found.session.project}
    prompt = found.turn.id if found.turn and found.turn.id != found.id else None
    return about | {"session": found.session.session, "prompt": prompt, "source": place}


def _memory(found: Item, limit: int) -> Answer:
    content = {name: _content(name, value) for name, value in found.content.items()}
    cut = [name for name, value in content.items() if isinstance(value, str) and len(value) > limit]
    shown = {name: value[:limit] if isinstance(value, str) else value for name, value in content.items()}
    return _filled(_about(found) | shown | {"cut": cut})


def _content(name: str, value: object) -> object:
    if name in _JSON_COLUMNS and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _tool_use(found: Item, start: int, limit: int) -> Answer:
    content = found.content
    given, response = str(content["input"] or ""), str(content["response"] or "")
    about = _about(found) | {name: content[name] for name in ("name", "file_path", "agent_type", "side_file")}
    flags = {"is_error": bool(content["is_error"]), "unanswered": not content["answered"]}
    texts = {"input": given[start : start + limit], "response": response[start : start + limit]}
    longest = max(len(given), len(response))
    return _filled(about | flags | texts | {"next_char": start + limit if start + limit < longest else None})


# --- what an answer costs ---------------------------------------------------------------------------


def _filled(values: Mapping[str, Any]) -> Answer:
    """Without what says nothing: each name costs tokens too."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {}, False)}


def _measured(answer: Answer) -> Answer:
    plain = {name: value for name, value in answer.items() if name != "token_estimate"}
    return plain | {"token_estimate": _cost(plain)}


def _cost(value: object) -> int:
    return token_estimate(json.dumps(value, ensure_ascii=False))
