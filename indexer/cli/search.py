"""`search`: what was typed becomes a query, and its hits become JSON or lines for people.

Every hit carries the command that takes its session up again. `--group session` gathers hits under each
session that shows them: a fork shows the history it was copied from, so a hit may stand in two groups.
"""

from __future__ import annotations

import difflib
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexer import config
from indexer.cli import scope, views
from indexer.cli.output import Output
from indexer.cli.parser import KINDS
from indexer.cli.render import GLYPHS, aside, columns, fit, highlight, many, one_line, when, wrap
from indexer.cli.resume import resume
from indexer.config import Config
from indexer.errors import UsageError
from indexer.query import Filters, Query, parse
from indexer.search import Hit, Results
from indexer.search import search as find
from indexer.store import browse
from indexer.store.connection import Connection
from indexer.store.items import members
from indexer.store.reads import reading
from indexer.text import iso

_SNIPPET_LINES = 3


class _Group(NamedTuple):
    session: browse.Session
    hits: list[Hit]


def search(args: Namespace, out: Output) -> int:
    """Print the hits of a search, the best first. Finding nothing is no error.

    Raises UsageError for filters that make no sense, NotFound for a session or project that is not there.
    """
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        query = parse(" ".join(args.words), _filters(conn, settings, args))
        results = find(conn, query)
        groups = _grouped(conn, query, results.hits) if args.group else None
    if out.as_json:
        out.data(_answer(query, results, groups))
    else:
        _print(out, query, results, groups)
    return 0


def _filters(conn: Connection, settings: Config, args: Namespace) -> Filters:
    since, until = scope.window(args)
    return Filters(
        project=scope.project_keys(conn, settings, args.project),
        session=args.session and scope.one_session(conn, args.session).session,
        kinds=_kinds(args.kind),
        since=since,
        until=until,
        tool=args.tool,
        file=args.file,
        type=args.type,
        concept=args.concept,
        agent=args.agent,
        platform=args.platform,
        limit=args.limit or settings.search_limit,
        offset=args.offset,
    )


def _kinds(given: Sequence[str]) -> tuple[str, ...] | None:
    """Kinds of all `--kind`s, each of which may hold several. Raises UsageError for an unknown one."""
    names = [name.strip().lower().replace("-", "_") for text in given for name in text.split(",") if name.strip()]
    for name in names:
        if name not in KINDS:
            close = difflib.get_close_matches(name, KINDS, n=1)
            hint = f"did you mean {close[0]}?" if close else f"kinds are {', '.join(KINDS)}"
            raise UsageError(f"there is no kind {name!r}", hint)
    return tuple(dict.fromkeys(names)) or None


def _grouped(conn: Connection, query: Query, hits: Sequence[Hit]) -> list[_Group]:
    """The sessions that show the hits, in the order of their best ones; with `--session` that one alone."""
    groups: dict[int, _Group] = {}
    for hit in hits:
        for row_id in members(conn, hit.kind, int(hit.id.rpartition(":")[2])):
            if row_id not in groups and (session := browse.session(conn, row_id)):
                groups[row_id] = _Group(session, [])
            groups[row_id].hits.append(hit)
    only = query.filters.session
    return [group for group in groups.values() if only in (None, group.session.session)]


# --- for programs ------------------------------------------------------------------------------------


def _answer(query: Query, results: Results, groups: list[_Group] | None) -> dict[str, object]:
    answer: dict[str, object] = {
        "query": query.text,
        "limit": query.filters.limit,
        "offset": query.filters.offset,
        "results": [_hit_json(hit) for hit in results.hits],
        "via": list(results.via),
        "notes": list(results.notes),
    }
    if groups is not None:
        answer["groups"] = [
            views.session_json(group.session) | {"results": [hit.id for hit in group.hits]} for group in groups
        ]
    return answer


def _hit_json(hit: Hit) -> dict[str, object]:
    return {
        "kind": hit.kind,
        "id": hit.id,
        "project": hit.project,
        "project_key": hit.project_key,
        "session": hit.session,
        "session_title": hit.session_title or None,
        "time": iso(hit.time),
        "title": hit.title,
        "snippet": hit.snippet,
        "score": hit.score,
        "source": views.place_json(hit.source),
        "resume": resume(hit.platform, hit.session, hit.cwd),
    }


# --- for people --------------------------------------------------------------------------------------


def _print(out: Output, query: Query, results: Results, groups: list[_Group] | None) -> None:
    if groups is None:
        names = views.project_names((hit.project, hit.project_key) for hit in results.hits)
        blocks = [_hit_lines(hit, query, out, names) for hit in results.hits]
    else:
        shown = [(group.session.project, group.session.project_key) for group in groups]
        names = views.project_names(shown + [(hit.project, hit.project_key) for hit in results.hits])
        blocks = [_group_lines(group, query, out, names) for group in groups]
    for number, block in enumerate(blocks):
        out.lines([""] if number else [])
        out.lines(block)
    for note in results.notes:
        out.note(f"note: {note}")
    out.note(_summary(query, results))


def _summary(query: Query, results: Results) -> str:
    found, skipped = len(results.hits), query.filters.offset
    if not found:
        return "nothing found" if not skipped else f"nothing more found after the first {skipped:,}"
    more = f"--offset {skipped + query.filters.limit} for more" if results.more else ""
    return aside(many(found, "result"), more)


def _group_lines(group: _Group, query: Query, out: Output, names: views.Names) -> Iterator[str]:
    session = group.session
    yield out.style.bold(fit(one_line(views.title(session)) or "(untitled)", out.width))
    project = names[session.project, session.project_key]
    about = aside(project, when(session.started), many(len(group.hits), "hit"))
    yield out.style.dim(fit(about, out.width))
    yield out.style.name(views.resume_text(session) or one_line(session.session))
    for hit in group.hits:
        yield from ("  " + line for line in _hit_lines(hit, query, out, names))


def _hit_lines(hit: Hit, query: Query, out: Output, names: views.Names) -> Iterator[str]:
    """Its id and title; what was found, a few lines of it; where and when."""
    style = out.style
    name = f"{GLYPHS.get(hit.kind, '·')} {hit.id}"
    title = fit(one_line(hit.title), max(10, out.width - columns(name) - 4))
    yield f"{style.name(name)}  {style.bold(title)}".rstrip()
    for line in _snippet(hit, out.width - 4):
        yield "  " + highlight(line, query.words, style)
    yield "  " + style.dim(aside(names[hit.project, hit.project_key], when(hit.time), views.place_text(hit.source)))


def _snippet(hit: Hit, width: int) -> list[str]:
    """The snippet in a few lines; none when the title says the same."""
    if one_line(hit.snippet) == one_line(hit.title):
        return []
    lines = wrap(one_line(hit.snippet), width)
    if len(lines) > _SNIPPET_LINES:
        lines = [*lines[: _SNIPPET_LINES - 1], fit(lines[_SNIPPET_LINES - 1] + " …", width)]
    return [line for line in lines if line]
