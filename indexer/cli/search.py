"""`search` and its relatives `similar`, `by-file`, `by-type` and `by-concept`: what was typed becomes a
query, and its hits are printed.

`--group session` gathers hits under each session that shows them, and counts sessions: a fork shows the
history it was copied from, so a hit may stand in two groups.
"""

from __future__ import annotations

import difflib
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace

from indexer import config
from indexer.cli import hits, scope
from indexer.cli.commands import KINDS
from indexer.cli.output import Output
from indexer.config import Config
from indexer.errors import UsageError
from indexer.query import Filters, Query, parse
from indexer.ranking import Meaning
from indexer.search import by_file as find_by_file
from indexer.search import search as find
from indexer.search import search_sessions
from indexer.search import similar as find_similar
from indexer.store import browse
from indexer.store.connection import Connection
from indexer.store.reads import reading


def search(args: Namespace, out: Output) -> int:
    """Print the hits of a search, the best first. Finding nothing is no error.

    Raises UsageError for filters that make no sense, NotFound for a session or project that is not there.
    """
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        query = _query(conn, settings, args)
        meaning = scope.meaning(settings, args.mode)
        if args.group:
            _by_session(conn, out, query, meaning, args.mode)
        else:
            hits.show(out, query, find(conn, query, meaning, args.mode))
    return 0


def by_type(args: Namespace, out: Output) -> int:
    """Print observations of one type, the best first or, without words, the newest. Raises as `search`."""
    args.type, args.mode, args.group = args.of, "hybrid", None
    return search(args, out)


def by_concept(args: Namespace, out: Output) -> int:
    """The same of one concept."""
    args.concept, args.mode, args.group = args.of, "hybrid", None
    return search(args, out)


def by_file(args: Namespace, out: Output) -> int:
    """Print what touched a file: what answers the words first, then the rest, the newest first."""
    settings = config.load(args.home, args.roots)
    args.file = args.of
    with reading(settings.home) as conn:
        query = _query(conn, settings, args)
        hits.show(out, query, find_by_file(conn, query, scope.meaning(settings, "hybrid")))
    return 0


def similar(args: Namespace, out: Output) -> int:
    """Print what is like one result, itself left out. Raises NotFound."""
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        row_id = scope.row_id(conn, args.id)
        query = replace(_query(conn, settings, args), text=args.id)
        hits.show(out, query, find_similar(conn, row_id, query.filters, scope.meaning(settings, "semantic")))
    return 0


def _by_session(conn: Connection, out: Output, query: Query, meaning: Meaning | None, mode: str) -> None:
    results, groups = search_sessions(conn, query, meaning, mode)
    by_id = {hit.id: hit for hit in results.hits}
    found = [(browse.session(conn, group.row_id), group) for group in groups]
    shown = [hits.Group(row, tuple(by_id[name] for name in group.hits), group.total) for row, group in found if row]
    hits.show(out, query, results, shown)


def _query(conn: Connection, settings: Config, args: Namespace) -> Query:
    return parse(" ".join(args.words), filters(conn, settings, args))


def filters(conn: Connection, settings: Config, args: Namespace) -> Filters:
    """The options that narrow a search, where the command has them. Raises as `search`."""
    since, until = scope.window(args)
    given = vars(args)
    session = given.get("session")
    return Filters(
        project=scope.project_keys(conn, settings, args.project),
        session=session and scope.one_session(conn, session).session,
        kinds=_kinds(given.get("kind") or ()),
        since=since,
        until=until,
        tool=given.get("tool"),
        file=given.get("file"),
        type=given.get("type"),
        concept=given.get("concept"),
        agent=given.get("agent"),
        platform=given.get("platform"),
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
