"""`observations`, `summary`, `work`: what was made of the transcripts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator

from indexer import config
from indexer.cli import scope, views
from indexer.cli.output import Output
from indexer.cli.render import Style, aside, many, one_line, when, wrap
from indexer.store import recall
from indexer.store.reads import reading
from indexer.text import iso

_PARTS = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "dropped": "[-]"}


def observations(args: Namespace, out: Output) -> int:
    """List the newest observations."""
    settings = config.load(args.home, args.roots)
    limit = args.limit or settings.search_limit
    with reading(settings.home) as conn:
        keys = scope.project_keys(conn, settings, args.project)
        kind = args.type.lower() if args.type else None
        found = recall.observations(conn, keys, args.offset + limit, kind)[args.offset :]
        links = {one.id: recall.linked(conn, one.id) for one in found} if out.as_json else {}
    if out.as_json:
        out.data({"observations": [_json(one) | {"tool_uses": links[one.id]} for one in found], "limit": limit})
        return 0
    names = views.project_names((one.project, one.project_key) for one in found)
    for one in found:
        out.lines(_lines(one, names[one.project, one.project_key], out.style, out.width))
    if not found:
        out.note("no observations")
    return 0


def _json(one: recall.Observation) -> dict[str, object]:
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in one._asdict().items()}
    return plain | {
        "id": f"observation:{one.id}",
        "time": iso(one.time),
        "canonical": one.canonical and f"observation:{one.canonical}",
    }


def _lines(one: recall.Observation, project: str, style: Style, width: int) -> Iterator[str]:
    yield f"{style.name(f'observation:{one.id}')}  {one.type}  {style.bold(one_line(one.title))}"
    again = (
        f"{one.occurrences} times" if one.occurrences > 1 else f"on {len(one.days)} days" if len(one.days) > 1 else ""
    )
    yield "    " + style.dim(
        aside(project, when(one.time), many(len(one.files_modified), "file") if one.files_modified else "", again)
    )
    for line in wrap(one_line(one.subtitle), width - 4) if one.subtitle else ():
        yield "    " + line


def summary(args: Namespace, out: Output) -> int:
    """Show the summary of a session, part by part. Raises NotFound, UsageError for the start of several ids."""
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        session = scope.one_session(conn, args.id)
        found = recall.summaries(conn, session.row_id)
    if out.as_json:
        out.data({"session": views.session_json(session), "parts": [_part_json(part) for part in found]})
        return 0
    out.lines([out.style.bold(one_line(views.title(session)) or "(untitled)")])
    for part in found:
        out.lines(_part_lines(part, out.style, out.page))
    if not found:
        out.note("there is no summary of this session: it is still going on, or nothing was done in it")
    return 0


def _part_json(part: recall.Summary) -> dict[str, object]:
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in part._asdict().items()}
    return plain | {"id": f"summary:{part.id}", "time": iso(part.time)}


def _part_lines(part: recall.Summary, style: Style, width: int) -> Iterator[str]:
    yield ""
    yield f"{style.name(f'summary:{part.id}')}  {style.dim(when(part.time))}"
    for name in _PARTS:
        text = getattr(part, name)
        if text:
            yield style.dim(f"{name.replace('_', ' ')}:")
            for line in text.splitlines():
                yield from ("  " + wrapped for wrapped in wrap(one_line(line), width - 2))


def work(args: Namespace, out: Output) -> int:
    """List what agents left open in their to-do lists."""
    settings = config.load(args.home, args.roots)
    limit = args.limit or settings.search_limit
    with reading(settings.home) as conn:
        keys = scope.project_keys(conn, settings, args.project)
        found = recall.work(conn, keys, closed=args.all)[:limit]
    if out.as_json:
        out.data({"items": [_item_json(item) for item in found], "limit": limit})
        return 0
    names = views.project_names((item.project, item.project_key) for item in found)
    for item in found:
        about = aside(names[item.project, item.project_key], when(item.time), item.session[:8])
        out.lines([f"{_MARKS.get(item.status, '[?]')} {one_line(item.subject)}", "    " + out.style.dim(about)])
    if not found:
        out.note("nothing is open" if not args.all else "no to-do lists")
    return 0


def _item_json(item: recall.Item) -> dict[str, object]:
    plain = item._asdict() | {"time": iso(item.time)}
    del plain["fields"]  # key, subject and status are named
    return plain
