"""`config show | path | init`: see the settings, and begin a file of one's own."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path

from indexer import config
from indexer.cli.output import Output
from indexer.cli.render import columns, one_line, pad
from indexer.errors import IndexerError, UsageError


def show(args: Namespace, out: Output) -> int:
    """Print every setting with its value and where that came from."""
    shown = list(config.load(args.home, args.roots).shown())
    if out.as_json:
        out.data({"settings": [{"key": key, "value": value, "origin": origin} for key, value, origin in shown]})
        return 0
    rows = [(f"{key} = {one_line(json.dumps(value, ensure_ascii=False))}", origin) for key, value, origin in shown]
    width = min(max(columns(setting) for setting, _ in rows), out.width // 2)
    out.lines(f"{pad(setting, width)}  {out.style.dim(one_line(origin))}" for setting, origin in rows)
    return 0


def path(_: Namespace, out: Output) -> int:
    """Print where the user's settings file is looked for, whether or not it is there."""
    file = config.user_file()
    if out.as_json:
        out.data({"path": str(file), "exists": file.exists()})
    else:
        out.lines([one_line(file)])
    return 0


def init(_: Namespace, out: Output) -> int:
    """Write the commented default settings for the user to edit, readable by nobody else.

    Raises UsageError if there is a file already: it is never written over.
    """
    file = config.user_file()
    try:
        _write_new(file, config.initial_text())
    except OSError as error:
        if isinstance(error, FileExistsError) and os.path.lexists(file):
            raise UsageError(f"{file} exists already", "edit it, or move it away first") from None
        raise IndexerError(
            f"{file} cannot be written: {error.strerror}", "check its folder and the permissions there"
        ) from error
    if out.as_json:
        out.data({"path": str(file), "created": True})
    else:
        out.lines([f"wrote {one_line(file)}: every setting is there, commented out, with its default"])
    return 0


def _write_new(file: Path, text: str) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as stream:
        stream.write(text)
