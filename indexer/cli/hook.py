"""`hook session-start`: what the optional plugin prints when a session begins.

A hook must never be in the way: it ends with exit code 0 whatever happens, prints either a whole answer or
nothing, and does not wait for anything: not for its input, which the client writes at once, nor for a
database that is held up (GIVE_UP).
"""

from __future__ import annotations

import json
import os
import secrets
import select
import sys
import threading
from argparse import Namespace
from pathlib import Path
from typing import Any

from indexer import config, guard
from indexer.cli.output import Output
from indexer.recall import digest
from indexer.store.reads import reading

GIVE_UP = 2.0
"""Seconds. It takes a tenth of one; whoever waits longer has a broken disk, and wants to work."""
_LONGEST = 1 << 20


def session_start(args: Namespace, _: Output) -> int:
    """Print the answer to a SessionStart hook, or nothing; always 0."""
    patience = threading.Timer(GIVE_UP, os._exit, (0,))
    patience.daemon = True
    patience.start()
    try:
        _answer(args)
    except Exception:  # noqa: BLE001 - a session must begin whatever is wrong here
        return 0
    finally:
        patience.cancel()
    return 0


def _answer(args: Namespace) -> None:
    if guard.is_set(os.environ):
        return
    given = _given()
    settings = config.load(args.home, args.roots)
    with reading(settings.home) as conn:
        text = digest.session_start(
            conn, settings, str(given.get("cwd") or Path.cwd()), str(given.get("session_id", "")), secrets.token_hex(4)
        )
    if text:
        answer = {"hookEventName": "SessionStart", "additionalContext": text}
        sys.stdout.write(json.dumps({"hookSpecificOutput": answer}) + "\n")
        sys.stdout.flush()


def _given() -> dict[str, Any]:
    """What the client says of the session; nothing if nothing sensible comes."""
    if sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0.2)[0]:
        return {}
    try:
        found = json.loads(sys.stdin.read(_LONGEST))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
