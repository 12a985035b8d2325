"""`mcp`: the memory as tools for Claude and other MCP clients, over standard input and output.

Standard output belongs to the protocol from the first moment: while the SDK and what it needs are imported,
whatever they print goes to standard error.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from indexer import config
from indexer.cli.output import Output
from indexer.errors import IndexerError


def mcp(args: Namespace, out: Output) -> int:
    """Serve until the client goes. Raises IndexerError where the SDK is not installed."""
    settings = config.load(args.home, args.roots)
    if sys.stdin.isatty():
        out.note("this speaks MCP on standard input and output; `claude mcp add` starts it for you")
    with wire_kept():
        try:
            server = import_module("indexer.mcp_server")
        except ModuleNotFoundError as error:
            raise IndexerError(
                f"{error.name} is not installed", "`pip install 'mcp>=2'` beside this program"
            ) from error
    server.serve(settings)
    return 0


@contextmanager
def wire_kept() -> Iterator[None]:
    """Within it, what is written to standard output goes to standard error, also by code in C."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)
