"""`export`: a session to keep or to pass on, as Markdown or as one HTML file; or memory for another machine."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from indexer import config
from indexer.cli import scope
from indexer.cli.output import Output
from indexer.cli.render import one_line, when
from indexer.config import Config
from indexer.errors import UsageError
from indexer.export.html import html
from indexer.export.markdown import markdown
from indexer.export.parts import parts
from indexer.store import exports
from indexer.store.connection import Connection
from indexer.store.reads import reading

_FORMATS = {"markdown": markdown, "html": html}
JSONL = "jsonl"


def export(args: Namespace, out: Output) -> int:
    """Print what is asked for, or write it to --output. Raises NotFound, UsageError when that file exists."""
    target = config.absolute(args.output) if args.output else None
    args.session = args.session or args.id
    args.format = args.format or ("markdown" if args.id else JSONL)
    if out.as_json and target is None:
        raise UsageError("--json needs --output here", "for a session as JSON: `transcript-indexer show ID --json`")
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        name, lines = _jsonl(conn, settings, args) if args.format == JSONL else _document(conn, args)
        first = next(lines)  # what cannot be read is found before anything is written
        if target is None:
            out.lines(chain([first], lines))
            return 0
        size = _write(target, chain([first], lines))
    if out.as_json:
        out.data({"file": str(target), "format": args.format, "session": name, "size_bytes": size})
    else:
        out.note(f"wrote {one_line(target)}")
    return 0


def _document(conn: Connection, args: Namespace) -> tuple[str, Iterator[str]]:
    if args.session is None or args.project is not None:
        raise UsageError(f"{args.format} is of one session", "name it; `--format jsonl` takes a project, or all")
    session = scope.one_session(conn, args.session)
    return session.session, iter(_FORMATS[args.format](session, parts(conn, session), when))


def _jsonl(conn: Connection, settings: Config, args: Namespace) -> tuple[str | None, Iterator[str]]:
    """The lines of a session, a project or the whole memory, as they were when the first one was read."""
    conn.execute("BEGIN")
    if args.session is not None:
        session = scope.one_session(conn, args.session)
        return session.session, map(exports.text_of, exports.lines(conn, [session.row_id]))
    keys = scope.project_keys(conn, settings, args.project)
    chosen = None if keys is None else exports.of_projects(conn, keys)
    return None, map(exports.text_of, exports.lines(conn, chosen))


def _write(target: Path, lines: Iterator[str]) -> int:
    """For its owner alone, and never over something that is there: a half-written file is taken away."""
    try:
        fd = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise UsageError(f"{target} exists already", "give another name, or move it away first") from None
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as stream:
            stream.writelines(f"{line}\n" for line in lines)
    except BaseException:
        target.unlink()
        raise
    return target.stat().st_size
