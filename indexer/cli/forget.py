"""`forget`: what would go, first; then, with `--yes`, it goes and does not come back.

The dry run only reads. What it names is then forgotten by the running service, or by this process when
none runs. Sessions that come later are none of its business: for those there is `exclude.projects`.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from indexer import app, config
from indexer.cli.output import Output
from indexer.cli.render import aside, many, one_line, size
from indexer.cli.scope import LocalZone, one_session, project_keys
from indexer.config import Config
from indexer.exclude import Exclusion
from indexer.query import parse_when
from indexer.store import doom, exclusions
from indexer.store.connection import Connection
from indexer.store.doom import Doom
from indexer.store.reads import reading

NAMED = 10
"""Sessions that are named one by one."""
LATER = "bytes of it are still in the files: they go at the next idle moment, when nobody reads"


class _Done(NamedTuple):
    """yes: it was carried out. finished: no byte of it is left in any file."""

    yes: bool
    finished: bool


def forget(args: Namespace, out: Output) -> int:
    """Say what would be forgotten, or forget it. Raises NoDatabase, NotFound, UsageError, Busy."""
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        found = _chosen(conn, settings, args)
    done = _Done(False, False)
    if args.yes and (found.sessions or found.records):
        done = _Done(True, app.forget(settings, found.sessions, found.records))
    if out.as_json:
        out.data({"forget": _json(found), "done": done.yes, "finished": done.finished})
    else:
        out.lines(_lines(found, done))
    return 0


def _chosen(conn: Connection, settings: Config, args: Namespace) -> Doom:
    if args.session is not None:
        return doom.weigh(conn, [one_session(conn, args.session).session])
    if args.id is not None:
        return doom.weigh(conn, [], doom.of_item(conn, args.id))
    if args.before is not None:
        return doom.weigh(conn, doom.before(conn, parse_when(args.before, int(time.time() * 1000), LocalZone())))
    if args.excluded:
        return doom.weigh(conn, exclusions.stored(conn, Exclusion(settings.excluded, str(Path.home()))))
    return doom.weigh(conn, doom.of_project(conn, project_keys(conn, settings, args.project) or ()))


def _json(found: Doom) -> dict[str, object]:
    return {
        "sessions": list(found.sessions),
        "records": len(found.records),
        "prompts": found.prompts,
        "tool_uses": found.tool_uses,
        "messages": found.messages,
        "bytes": found.size,
        "stays": {"records": found.stays, "sessions": list(found.kept_for)},
    }


def _lines(found: Doom, done: _Done) -> Iterator[str]:
    if not found.sessions and not found.records:
        yield "nothing to forget"
        return
    yield ("forgotten: " if done.yes else "would be forgotten: ") + aside(
        many(len(found.sessions), "session") if found.sessions else many(len(found.records), "record"),
        many(found.prompts, "prompt"),
        many(found.tool_uses, "tool use"),
        many(found.messages, "answer"),
        f"{size(found.size)} of text",
    )
    for name in found.sessions[:NAMED]:
        yield f"  session {one_line(name)}"
    if len(found.sessions) > NAMED:
        yield f"  and {len(found.sessions) - NAMED:,} more (--json names them)"
    if found.stays:
        others = ", ".join(one_line(name) for name in found.kept_for[:NAMED])
        yield f"kept: {many(found.stays, 'record')} that other sessions show too: {others}"
    if not done.yes:
        yield "nothing was changed; with --yes it goes, for good"
    elif not done.finished:
        yield LATER
