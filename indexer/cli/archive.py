"""`archive status`, `archive restore` and `archive prune`: the transcripts that outlive Claude Code's own."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from indexer import config
from indexer.archive import stock
from indexer.archive.keep import Archive
from indexer.archive.stock import Plan, Restored, Stock
from indexer.cli import scope
from indexer.cli.output import Output
from indexer.cli.render import Style, aside, facts, many, one_line, size, when
from indexer.config import Config
from indexer.errors import NotFound
from indexer.files.discover import default_roots
from indexer.store.archive import Held
from indexer.store.connection import WriterLock, open_writer
from indexer.store.migrations import migrate
from indexer.store.reads import reading
from indexer.text import iso

SHOWN = 20
"""Transcripts named before "and so many more"."""


def status(args: Namespace, out: Output) -> int:
    """Say what the archive holds. Raises NoDatabase when there is no memory."""
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        found = stock.stock(conn)
    if out.as_json:
        out.data({"archive": _stock_json(found, settings)})
    else:
        out.lines(_stock_lines(found, settings, out.style))
    return 0


def _cap(settings: Config) -> int:
    return settings.archive_max_mb * 1_000_000


def _full(found: Stock, settings: Config) -> bool:
    return 0 < _cap(settings) <= found.size


def _stock_json(found: Stock, settings: Config) -> dict[str, object]:
    return {
        "enabled": settings.archive_enabled,
        "folder": str(settings.home / "archive"),
        "files": found.files,
        "sessions": found.sessions,
        "transcript_bytes": found.raw,
        "size_bytes": found.size,
        "ratio": round(found.size / found.raw, 4) if found.raw else None,
        "oldest": iso(found.oldest),
        "newest": iso(found.newest),
        "max_bytes": _cap(settings) or None,
        "full": _full(found, settings),
        "keep_days": settings.archive_keep_days or None,
        "only_here": {"files": found.only_files, "transcript_bytes": found.only_raw},
        "behind_files": found.behind,
    }


def _stock_lines(found: Stock, settings: Config, style: Style) -> Iterator[str]:
    ratio = f"{100 * found.size / found.raw:.0f} % of {size(found.raw)}" if found.raw else ""
    limit = f"limit {size(_cap(settings))}" if _cap(settings) else "no limit"
    keeps = f"{many(settings.archive_keep_days, 'day')} kept" if settings.archive_keep_days else "kept for ever"
    only = aside(many(found.only_files, "transcript"), size(found.only_raw)) if found.only_files else "nothing"
    yield from facts(
        [
            ("archive", one_line(settings.home / "archive")),
            ("holds", aside(many(found.files, "transcript"), many(found.sessions, "session"))),
            ("size", aside(size(found.size), ratio)),
            ("from", aside(when(found.oldest), f"to {when(found.newest)}") if found.oldest else ""),
            ("rules", aside(limit, keeps)),
            ("only here", only),
            ("not yet archived", many(found.behind, "transcript") if found.behind else ""),
        ],
        style,
        indent="",
    )
    if not settings.archive_enabled:
        yield "archiving is switched off (archive.enabled)"
    elif _full(found, settings):
        yield style.bad("the archive is full") + ": nothing more is archived until archive.max_mb is raised or"
        yield "`transcript-indexer archive prune` makes room"


def restore(args: Namespace, out: Output) -> int:
    """Write archived transcripts into a folder. Returns 1 if some could not be had back.

    Raises UsageError for a folder of the client's, NotFound when there is nothing to restore."""
    settings = config.load(args.home, args.roots)
    to = config.absolute(os.path.expanduser(args.to))  # noqa: PTH111 - Path's may raise
    roots = (*settings.roots, *default_roots(dict(os.environ)))
    stock.refuse_clients_folders(to, (*roots, *(str(Path(root).parent) for root in default_roots(dict(os.environ)))))
    with reading(settings.home) as conn:
        session = scope.one_session(conn, args.session).session if args.session else None
        keys = scope.project_keys(conn, settings, args.project)
        chosen = stock.choose(conn, session, keys)
        if not chosen:
            raise NotFound(
                "the archive holds nothing of that", "`transcript-indexer archive status` says what it holds"
            )
        done = stock.restore(conn, Archive(conn, settings.home), chosen, to)
    if out.as_json:
        out.data({"restored": _restored_json(done)})
    else:
        out.lines(_restored_lines(done, to))
    return 1 if done.damaged else 0


def _restored_json(done: Restored) -> dict[str, object]:
    return {
        "files": [str(path) for path in done.files],
        "already_there": [str(path) for path in done.standing],
        "damaged": [{"file": path, "reason": reason} for path, reason in done.damaged],
    }


def _restored_lines(done: Restored, to: Path) -> Iterator[str]:
    yield f"restored {many(len(done.files), 'transcript')} to {one_line(to)}"
    if done.standing:
        yield f"left alone: {many(len(done.standing), 'file')} that stood there already"
    for path, reason in done.damaged:
        yield f"not restored: {one_line(path)}: {one_line(reason)}"


def prune(args: Namespace, out: Output) -> int:
    """Say what has outlived archive.keep_days or lies beyond archive.max_mb; with --yes, take it out.

    Raises Busy while another process writes."""
    settings = config.load(args.home, args.roots)
    with reading(settings.home):
        pass  # a memory that is not there is not made
    lock = WriterLock(settings.home)
    try:
        with closing(open_writer(settings.home)) as conn:
            migrate(conn)
            plan = stock.plan_pruning(
                conn, cap=_cap(settings), keep_days=settings.archive_keep_days, now_ms=int(time.time() * 1000)
            )
            freed = stock.prune(conn, Archive(conn, settings.home), plan) if args.yes and plan.files else 0
    finally:
        lock.release()
    if out.as_json:
        out.data({"pruned": _plan_json(plan, done=args.yes, freed=freed)})
    else:
        out.lines(_plan_lines(plan, done=args.yes, freed=freed))
    return 0


def _plan_json(plan: Plan, *, done: bool, freed: int) -> dict[str, object]:
    only = {each.file_id for each in plan.only}
    return {
        "done": done,
        "transcript_bytes": plan.raw,
        "freed_bytes": freed,
        "files": [
            {"file": each.path, "last": iso(each.last_epoch), "only_here": each.file_id in only} for each in plan.files
        ],
    }


def _plan_lines(plan: Plan, *, done: bool, freed: int) -> Iterator[str]:
    if not plan.files:
        yield "nothing to prune: all of it is within archive.keep_days and archive.max_mb"
        return
    verb = "took out" if done else "would take out"
    yield aside(f"{verb} {many(len(plan.files), 'transcript')}", size(plan.raw), f"{size(freed)} freed" if done else "")
    for each in plan.files[:SHOWN]:
        yield f"  {_when_and_where(each)}"
    if len(plan.files) > SHOWN:
        yield f"  and {len(plan.files) - SHOWN:,} more"
    if plan.only:
        verb = "stood" if done else "stand"
        yield f"{many(len(plan.only), 'transcript')} of these {verb} nowhere else; what the memory holds of them stays"
    if not done:
        yield "nothing was taken out yet: --yes does it"


def _when_and_where(each: Held) -> str:
    return aside(when(each.last_epoch) or "undated", one_line(each.path))
