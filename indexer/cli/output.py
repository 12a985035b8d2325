"""Where a command's words go: data to standard output, talk to standard error, JSON or lines for people.

Everything for people passes `text.sanitize`, here and nowhere else, so that no command can forget it: a
transcript may hold escape sequences that would repaint the terminal. Styles are laid on afterwards, by
`Style`. JSON is left as it is.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TextIO

from indexer.cli.render import Style
from indexer.errors import IndexerError
from indexer.text import sanitize

SCHEMA_VERSION = 1
"""Of every JSON answer. Fields may be added; raised when one changes its meaning or goes."""
NARROWEST, PIPE, UNWRAPPED = 40, 120, 1 << 30


class Output(NamedTuple):
    """How one call answers. width: columns to fill, of a pipe a moderate guess. page: columns of running
    text, which is left as it is for a pipe."""

    as_json: bool
    style: Style
    width: int
    page: int

    @staticmethod
    def plain(as_json: bool) -> Output:
        """Before the arguments are understood: no colour."""
        return Output(as_json, Style(False), PIPE, UNWRAPPED)

    @staticmethod
    def of(args: Namespace) -> Output:
        """As `--json` and `--color` say, and what is at the other end."""
        if not sys.stdout.isatty():
            return Output(args.json, Style(wants_color(args.color, sys.stdout)), PIPE, UNWRAPPED)
        columns = max(NARROWEST, shutil.get_terminal_size().columns)
        return Output(args.json, Style(wants_color(args.color, sys.stdout)), columns, columns)

    def data(self, answer: Mapping[str, object]) -> None:
        """Print an answer as JSON: one line for programs, indented on a terminal."""
        plain = {"schema_version": SCHEMA_VERSION} | dict(answer)
        # Escapes only where the other end could not take the characters: agents pay for each of them.
        ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
        indent = 2 if sys.stdout.isatty() else None
        _write(sys.stdout, json.dumps(plain, ensure_ascii=ascii_only, indent=indent))

    def lines(self, lines: Iterable[str]) -> None:
        """Print lines for people. They are clean already: made by `render`, which sanitises."""
        for line in lines:
            _write(sys.stdout, line)

    def note(self, text: str) -> None:
        """Talk to whoever watches, on standard error."""
        _write(sys.stderr, sanitize(text))

    def error(self, error: IndexerError) -> None:
        """Say what went wrong and what to do: as JSON on standard output, else on standard error."""
        if self.as_json:
            about = {"kind": error.kind, "message": error.message, "hint": error.hint}
            self.data({"error": about | {"retryable": error.retryable}})
            return
        style = Style(wants_color(None, sys.stderr))
        _write(sys.stderr, f"{style.bad('error:')} {sanitize(error.message)}")
        if error.hint:
            _write(sys.stderr, f"{style.dim('hint:')} {sanitize(error.hint)}")


def wants_color(choice: str | None, stream: TextIO, env: Mapping[str, str] = os.environ) -> bool:
    """Whether to style: `--color`, then NO_COLOR, FORCE_COLOR, TERM=dumb, then whether it is a terminal."""
    if choice in ("always", "never"):
        return choice == "always"
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR"):
        return True
    return env.get("TERM") != "dumb" and stream.isatty()


def discard_stdout() -> None:
    """Let what is still buffered go nowhere: Python flushes at exit and would complain of the closed pipe."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _write(stream: TextIO, line: str) -> None:
    try:
        stream.write(line + "\n")
    except UnicodeEncodeError:
        encoding: Any = stream.encoding or "ascii"
        stream.write(line.encode(encoding, "replace").decode(encoding) + "\n")
