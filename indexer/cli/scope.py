"""What a list or a search is narrowed to, by the options of the command line; scope.py has the rest."""

from __future__ import annotations

from argparse import Namespace

from indexer.scope import LocalZone, one_session, project_keys, resolver, span

__all__ = ["LocalZone", "one_session", "project_keys", "resolver", "window"]


def window(args: Namespace) -> tuple[int | None, int | None]:
    """`--since` and `--until` in epoch milliseconds, None where not given. Raises UsageError."""
    return span(args.since, args.until)
