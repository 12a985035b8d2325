"""`export SESSION`: a session to keep or to pass on, as Markdown or as one HTML file."""

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
from indexer.errors import UsageError
from indexer.export.html import html
from indexer.export.markdown import markdown
from indexer.export.parts import parts
from indexer.store.reads import reading

_FORMATS = {"markdown": markdown, "html": html}


def export(args: Namespace, out: Output) -> int:
    """Print the session, or write it to --output. Raises NotFound, UsageError when that file exists."""
    target = config.absolute(args.output) if args.output else None
    if out.as_json and target is None:
        raise UsageError("--json needs --output here", "for a session as JSON: `transcript-indexer show ID --json`")
    with reading(config.load(args.home, args.roots).home) as conn:
        session = scope.one_session(conn, args.session)
        lines = _FORMATS[args.format](session, parts(conn, session), when)
        first = next(lines)  # what cannot be read is found before anything is written
        if target is None:
            out.lines(chain([first], lines))
            return 0
        size = _write(target, chain([first], lines))
    if out.as_json:
        out.data({"file": str(target), "format": args.format, "session": session.session, "size_bytes": size})
    else:
        out.note(f"wrote {one_line(target)}")
    return 0


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
