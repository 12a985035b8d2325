"""`web`: the memory as a page in a browser, from this machine and for its owner alone."""

from __future__ import annotations

import signal
import webbrowser
from argparse import Namespace
from importlib import import_module
from pathlib import Path

from indexer import config
from indexer.cli.output import Output
from indexer.errors import IndexerError, UsageError
from indexer.store.connection import prepare_home


def web(args: Namespace, out: Output) -> int:
    """Serve until interrupted. Raises UsageError, Busy, IndexerError without the packages it needs."""
    settings = config.load(args.home, args.roots)
    path = Path(args.socket) if args.socket is not None else None
    if path is not None and args.open:
        raise UsageError("a browser cannot open a Unix socket", "leave out --open or --socket")
    try:
        server, keys = import_module("indexer.web.server"), import_module("indexer.web.keys")
    except ModuleNotFoundError as error:
        raise IndexerError(f"{error.name} is not installed", "`pip install 'mcp>=2'` beside this program") from error
    prepare_home(settings.home)
    known = keys.load(settings.home)
    signal.signal(signal.SIGTERM, _leave)
    if path is not None:
        with server.listening_at(config.absolute(path)) as (sock, door):
            out.note(f"listening at {path}; the token is in {settings.home / keys.NAME}")
            server.serve(settings, sock, door, known)
        return 0
    port = settings.web_port if args.port is None else args.port
    with server.listening(args.bind, port, remote=args.allow_remote) as (sock, door):
        url = f"http://{f'[{args.bind}]' if ':' in args.bind else args.bind}:{door.port}/"
        out.note(f"open {url}?t={known.ticket()} (good once; the lasting token is in {settings.home / keys.NAME})")
        if args.open:
            webbrowser.open(f"{url}?t={known.ticket()}")
        server.serve(settings, sock, door, known)
    return 0


def _leave(*_: object) -> None:
    """Ends like any other command, so that a socket is taken away; uvicorn ends its connections before."""
    raise SystemExit(0)
