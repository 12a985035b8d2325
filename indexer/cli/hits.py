"""Hits as every command that finds some shows them: JSON for programs, a few lines each for people.

Every hit carries the command that takes its session up again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexer.cli import views
from indexer.cli.output import Output
from indexer.cli.render import GLYPHS, aside, columns, fit, highlight, many, one_line, when, wrap
from indexer.query import Query
from indexer.resume import resume
from indexer.search import Hit, Results
from indexer.store.browse import Session
from indexer.text import iso

_SNIPPET_LINES = 3


class Group(NamedTuple):
    """A session and its best hits. total: of its hits among all that were ranked."""

    session: Session
    hits: tuple[Hit, ...]
    total: int


def show(out: Output, query: Query, results: Results, groups: Sequence[Group] | None = None) -> None:
    """Print what was found: all of it, or by session."""
    if out.as_json:
        out.data(_answer(query, results, groups))
    else:
        _print(out, query, results, groups)


# --- for programs ------------------------------------------------------------------------------------


def _answer(query: Query, results: Results, groups: Sequence[Group] | None) -> dict[str, object]:
    answer: dict[str, object] = {
        "query": query.text,
        "limit": query.filters.limit,
        "offset": query.filters.offset,
        "results": [hit_json(hit) for hit in results.hits],
        "via": list(results.via),
        "notes": list(results.notes),
    }
    if groups is not None:
        answer["groups"] = [
            views.session_json(group.session) | {"results": [hit.id for hit in group.hits], "hits": group.total}
            for group in groups
        ]
    return answer


def hit_json(hit: Hit) -> dict[str, object]:
    """A hit in every JSON answer."""
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


def _print(out: Output, query: Query, results: Results, groups: Sequence[Group] | None) -> None:
    if groups is None:
        names = views.project_names((hit.project, hit.project_key) for hit in results.hits)
        blocks = [hit_lines(hit, query.words, out, names) for hit in results.hits]
    else:
        shown = [(group.session.project, group.session.project_key) for group in groups]
        names = views.project_names(shown + [(hit.project, hit.project_key) for hit in results.hits])
        blocks = [_group_lines(group, query, out, names) for group in groups]
    for number, block in enumerate(blocks):
        out.lines([""] if number else [])
        out.lines(block)
    for note in results.notes:
        out.note(f"note: {note}")
    out.note(_summary(query, results, groups))


def _summary(query: Query, results: Results, groups: Sequence[Group] | None) -> str:
    found, skipped = len(results.hits) if groups is None else len(groups), query.filters.offset
    if not found:
        return "nothing found" if not skipped else f"nothing more found after the first {skipped:,}"
    more = f"--offset {skipped + query.filters.limit} for more" if results.more else ""
    return aside(many(found, "result" if groups is None else "session"), more)


def _group_lines(group: Group, query: Query, out: Output, names: views.Names) -> Iterator[str]:
    session = group.session
    yield out.style.bold(fit(one_line(views.title(session)) or "(untitled)", out.width))
    project = names[session.project, session.project_key]
    about = aside(project, when(session.started), many(group.total, "hit"))
    yield out.style.dim(fit(about, out.width))
    yield out.style.name(views.resume_text(session) or one_line(session.session))
    for hit in group.hits:
        yield from ("  " + line for line in hit_lines(hit, query.words, out, names))


def hit_lines(hit: Hit, words: Sequence[str], out: Output, names: views.Names) -> Iterator[str]:
    """Its id and title; what was found, a few lines of it; where and when."""
    style = out.style
    name = f"{GLYPHS.get(hit.kind, '·')} {hit.id}"
    title = fit(one_line(hit.title), max(10, out.width - columns(name) - 4))
    yield f"{style.name(name)}  {style.bold(title)}".rstrip()
    for line in _snippet(hit, out.width - 4):
        yield "  " + highlight(line, words, style)
    yield "  " + style.dim(aside(names[hit.project, hit.project_key], when(hit.time), views.place_text(hit.source)))


def _snippet(hit: Hit, width: int) -> list[str]:
    """The snippet in a few lines; none when the title says the same."""
    if one_line(hit.snippet) == one_line(hit.title):
        return []
    lines = wrap(one_line(hit.snippet), width)
    if len(lines) > _SNIPPET_LINES:
        lines = [*lines[: _SNIPPET_LINES - 1], fit(lines[_SNIPPET_LINES - 1] + " …", width)]
    return [line for line in lines if line]
