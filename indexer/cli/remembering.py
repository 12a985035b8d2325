"""`context`: what a session starts with; `dedup`: which observations say the same."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from datetime import UTC, datetime

from indexer import config, guard
from indexer.cli import scope
from indexer.cli.output import Output
from indexer.cli.render import many, one_line
from indexer.context import MOST, Context, Wanted, render
from indexer.errors import NoDatabase, NotFound, UsageError
from indexer.store import duplicates
from indexer.store.reads import reading
from indexer.store.recall import project_name


def context(args: Namespace, out: Output) -> int:
    """Print the session-start text of a project; nothing, and no error, where there is nothing to say.

    Raises NotFound, AmbiguousProject for a project that was named.
    """
    settings = config.load(args.home, args.roots)
    try:
        found = Context("", ()) if guard.is_set(os.environ) else _rendered(settings, args)
    except (NoDatabase, NotFound):
        if args.project is not None:
            raise
        found = Context("", ())
    if out.as_json:
        out.data({"context": found.text, "observations": [f"observation:{row}" for row in found.observations]})
    elif found.text:
        # It is for a model: as it is, and already clean.
        sys.stdout.write(found.text + "\n")
    return 0


def _rendered(settings: config.Config, args: Namespace) -> Context:
    with reading(settings.home) as conn:
        keys = scope.project_keys(conn, settings, args.project or ".") or ()
        name = project_name(conn, keys[0])
        budget = min(args.budget or settings.context_budget, MOST)
        wanted = Wanted(
            keys, name, budget, settings.context_observations, settings.ranking_alpha,
            datetime.now(UTC).date(),
        )  # fmt: skip
        return render(conn, wanted)


def candidates(args: Namespace, out: Output) -> int:
    """List pairs of observations whose titles are alike, the most alike first."""
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        found = duplicates.pending(conn, args.limit or settings.search_limit)
    if out.as_json:
        out.data({"candidates": [pair._asdict() for pair in found]})
        return 0
    for pair in found:
        out.lines([f"{pair.score:.2f}  observation:{pair.first}  {one_line(pair.first_title)}"])
        out.lines([f"      observation:{pair.second}  {one_line(pair.second_title)}"])
    if not found:
        out.note("no candidates; `transcript-indexer dedup scan` looks for them")
    return 0


def accept(args: Namespace, out: Output) -> int:
    """Merge a pair: the later points at the earlier. Raises NotFound, Busy."""
    return _decide(args, out, merge=True)


def dismiss(args: Namespace, out: Output) -> int:
    """Keep a pair apart for good. Raises NotFound, Busy."""
    return _decide(args, out, merge=False)


def _decide(args: Namespace, out: Output, *, merge: bool) -> int:
    from indexer import app  # noqa: PLC0415 - `context` needs no writer

    first, second = (_number(name) for name in (args.first, args.second))
    if not app.decide(config.load(args.home, args.roots), first, second, merge=merge):
        raise NotFound(f"{args.first} and {args.second} are no candidates", "`dedup candidates` lists them")
    word = "merged" if merge else "kept apart"
    if out.as_json:
        out.data({"first": first, "second": second, "status": "merged" if merge else "dismissed"})
    else:
        out.lines([f"{word}: observation:{first}, observation:{second}"])
    return 0


def _number(name: str) -> int:
    digits = name.removeprefix("observation:")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise UsageError(f"{name!r} is no observation", "give it as observation:12")
    return int(digits)


def scan(args: Namespace, out: Output) -> int:
    """Compare all titles of every project. Raises Busy while another process writes."""
    from indexer import app  # noqa: PLC0415

    pairs = app.scan(config.load(args.home, args.roots))
    if out.as_json:
        out.data({"candidates": pairs})
    else:
        pairs_text = many(pairs, "pair") + (" of titles that is alike" if pairs == 1 else " of titles that are alike")
        out.lines([f"{pairs_text}: `transcript-indexer dedup candidates`"])
    return 0
