"""`mcp`: the memory as tools for Claude and other MCP clients, over standard input and output.

Standard output belongs to the protocol from the first moment to the last: whatever is printed meanwhile, while the
SDK is imported, while the event loop loads what it needs, by a search, goes to standard error.
"""

from __future__ import annotations

import os
import secrets
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from indexer import config
from indexer.cli.output import Output
from indexer.errors import IndexerError
from indexer.store.connection import prepare_home

KEY_FILE = "mcp.token"
_SHORTEST = 32


def mcp(args: Namespace, out: Output) -> int:
    """Serve until the client goes, or with --http until interrupted. Raises IndexerError without the SDK."""
    settings = config.load(args.home, args.roots)
    if args.http is None and sys.stdin.isatty():
        out.note("this speaks MCP on standard input and output; `claude mcp add` starts it for you")
    with wire_kept() as wire:
        try:
            server = import_module("indexer.mcp_server")
        except ModuleNotFoundError as error:
            raise IndexerError(
                f"{error.name} is not installed", "`pip install 'mcp>=2'` beside this program"
            ) from error
        if args.http is None:
            server.serve(settings, wire)
            return 0
    token = _token(settings.home)
    out.note(f"listening on http://127.0.0.1:{args.http}/mcp; the token is in {settings.home / KEY_FILE}")
    server.serve_http(settings, args.http, token)
    return 0


def _token(home: Path) -> str:
    """The token of this memory, made when first wanted; nobody else can read it."""
    prepare_home(home)
    try:
        fd = os.open(home / KEY_FILE, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        found = (home / KEY_FILE).read_text(encoding="ascii", errors="replace").strip()
        if len(found) < _SHORTEST:
            raise IndexerError(f"{home / KEY_FILE} holds no token", "delete it; a new one is made then") from None
        return found
    token = secrets.token_urlsafe(32)
    with os.fdopen(fd, "w", encoding="ascii") as stream:
        stream.write(token + "\n")
    return token


@contextmanager
def wire_kept() -> Iterator[int]:
    """Within it, what is written to standard output goes to standard error, also by code in C; the descriptor it
    gives leads to where standard output did."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield wire
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)
