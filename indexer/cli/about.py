"""`--version`. Apart from the door because importlib.metadata costs 20 ms that no other call should pay."""

from __future__ import annotations

from argparse import Namespace
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from indexer.cli.commands import PROG
from indexer.cli.output import Output


def version(_: Namespace, out: Output) -> int:
    """Print the installed version; a checkout that was never installed has none."""
    try:
        number = installed(PROG)
    except PackageNotFoundError:
        number = "(not installed)"
    if out.as_json:
        out.data({"name": PROG, "version": number})
    else:
        out.lines([f"{PROG} {number}"])
    return 0
