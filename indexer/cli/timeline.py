"""`timeline ANCHOR|QUERY`: one result, and what stood before and after it in its project."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from indexer import config
from indexer.cli import hits, scope, views
from indexer.cli.output import Output
from indexer.cli.render import GLYPHS, fit, many, one_line, when
from indexer.cli.search import filters
from indexer.config import Config
from indexer.query import Filters, parse
from indexer.search import Hit, Results, search
from indexer.search import timeline as find
from indexer.store import imports
from indexer.store.connection import Connection
from indexer.store.imports import Origin
from indexer.store.items import CODES
from indexer.store.reads import reading

Origins: TypeAlias = dict[str, Origin]
"""Where imported results come from, by id."""


def timeline(args: Namespace, out: Output) -> int:
    """Print what stood around an id, or around the best hit of a search.

    Raises NotFound for an id that is not there, UsageError for filters that make no sense.
    """
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        wanted = filters(conn, settings, args)
        name, notes = _anchor(conn, settings, wanted, args.words)
        found = Results((), (), ()) if name is None else _around(conn, settings, wanted, name, args)
        origins = {hit.id: origin for hit in found.hits if (origin := imports.origin(conn, hit.id))}
    found = found._replace(notes=(*notes, *found.notes))
    if out.as_json:
        out.data(_answer(found, name, args, origins))
    else:
        _print(out, found, name, origins)
    return 0


def _anchor(
    conn: Connection, settings: Config, wanted: Filters, words: list[str]
) -> tuple[str | None, tuple[str, ...]]:
    """The id in the middle, None when the words find nothing; and what the search had to say."""
    if len(words) == 1 and words[0].rpartition(":")[0] in CODES:
        return words[0], ()
    query = parse(" ".join(words), replace(wanted, limit=1, offset=0))
    results = search(conn, query, scope.meaning(settings, "hybrid"))
    return (results.hits[0].id if results.hits else None), results.notes


def _around(conn: Connection, settings: Config, wanted: Filters, name: str, args: Namespace) -> Results:
    row_id = scope.row_id(conn, name)
    if wanted.project is None and wanted.session is None:
        wanted = replace(wanted, project=scope.project_of(conn, settings, row_id))
    return find(conn, row_id, wanted, args.before, args.after)


def _answer(found: Results, name: str | None, args: Namespace, origins: Origins) -> dict[str, object]:
    return {
        "query": " ".join(args.words),
        "anchor": name,
        "before": args.before,
        "after": args.after,
        "results": [hits.hit_json(hit) | {"origin": views.origin_json(origins.get(hit.id))} for hit in found.hits],
        "via": list(found.via),
        "notes": list(found.notes),
    }


def _print(out: Output, found: Results, name: str | None, origins: Origins) -> None:
    names = views.project_names((hit.project, hit.project_key) for hit in found.hits)
    for hit in found.hits:
        origin = origins.get(hit.id)
        out.lines(_marked(hit, out, names, origin) if hit.id == name else [_line(hit, out, origin)])
    for note in found.notes:
        out.note(f"note: {note}")
    out.note(many(len(found.hits), "result") if found.hits else "nothing found")


def _marked(hit: Hit, out: Output, names: views.Names, origin: Origin | None) -> Iterator[str]:
    yield ""
    yield from hits.hit_lines(hit, (), out, names)
    if origin is not None:
        yield out.style.dim(f"  imported from {views.origin_text(origin)}")
    yield ""


def _line(hit: Hit, out: Output, origin: Origin | None) -> str:
    """A neighbour on one line: when, what, its id, from where if it was imported, how it begins."""
    whence = f" ({one_line(origin.device)})" if origin is not None else ""
    head = f"{when(hit.time)}  {GLYPHS.get(hit.kind, '·')} {hit.id}{whence}"
    text = hit.snippet if hit.kind in ("prompt", "command", "shell", "assistant") else hit.title
    gist = fit(one_line(text), max(10, out.width - len(head) - 2))
    start = f"{out.style.dim(when(hit.time))}  {GLYPHS.get(hit.kind, '·')}"
    return f"{start} {out.style.name(hit.id)}{whence}  {gist}".rstrip()
