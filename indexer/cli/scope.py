"""What a list or a search is narrowed to, by the options of the command line; scope.py has the rest."""

from __future__ import annotations

from argparse import Namespace

from indexer.config import Config
from indexer.errors import NotFound
from indexer.scope import LocalZone, meaning, one_session, project_keys, resolver, span
from indexer.store.around import anchor
from indexer.store.connection import Connection
from indexer.store.items import CODES, item
from indexer.store.reads import aliases

__all__ = ["LocalZone", "meaning", "one_session", "project_keys", "resolver", "window"]


def row_id(conn: Connection, name: str) -> int:
    """The row of search_texts behind an id as `search` shows it (`prompt:12`). Raises NotFound."""
    kind, _, number = name.rpartition(":")
    # 18 digits: what SQLite's row ids hold for certain.
    usable = kind in CODES and number.isascii() and number.isdigit() and len(number) <= 18
    if not usable or item(conn, kind, int(number)) is None:
        raise NotFound(f"there is no {name!r}", "`transcript-indexer search` shows ids that are there")
    return int(number) * 8 + CODES[kind]


def project_of(conn: Connection, settings: Config, row_id: int) -> tuple[str, ...]:
    """The keys that are read as one with the project of this row of search_texts."""
    found = anchor(conn, row_id)
    key = found.project_key if found else ""
    merged = aliases(conn, settings.aliases)
    own = merged.get(key, key)
    return tuple(dict.fromkeys([key, own, *(old for old, new in merged.items() if new == own)]))


def window(args: Namespace) -> tuple[int | None, int | None]:
    """`--since` and `--until` in epoch milliseconds, None where not given. Raises UsageError."""
    return span(args.since, args.until)
