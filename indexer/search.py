"""The way out: a Query becomes hits in ranked order, each with a title, a snippet and where it stands.

What answered is said in `via` and what was missing in `notes`; a search fails for nothing behind it but
the database itself. Hits keep the order of their ranking through everything that is looked up for them:
sorting again by date afterwards is how a best hit gets lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

from indexer.query import Query
from indexer.store.hydrate import Shown, hydrate
from indexer.store.items import Place
from indexer.store.lexical import match
from indexer.store.reads import Connection
from indexer.text import glance, snippet


class Hit(NamedTuple):
    """One thing found.

    kind, id: as `prompt` and `prompt:12`. project: display name; project_key: what filters use.
    session, platform, cwd: of the session that owns it. time: epoch milliseconds, None if undated.
    title: on one line; of its own, else its session's. snippet: one line around the words, a short text
    whole. score: higher is better, 0.0 where nothing was ranked. source: file and line, None if it was
    not read from a file.
    """

    kind: str
    id: str
    project: str
    project_key: str
    session: str
    platform: str
    cwd: str | None
    time: int | None
    title: str
    session_title: str
    snippet: str
    score: float
    source: Place | None


class Results(NamedTuple):
    """The answer to one query. via: what answered (`lexical`, `newest`, `scan`); notes: for people; more:
    whether there are hits beyond the limit."""

    hits: tuple[Hit, ...]
    via: tuple[str, ...]
    notes: tuple[str, ...]
    more: bool = False


def search(conn: Connection, query: Query) -> Results:
    """The hits of `query` within its filters' limit and offset, the best first.

    Raises sqlite3.DatabaseError only when the tables themselves cannot be read.
    """
    found = match(conn, query, query.filters.limit, query.filters.offset)
    rows = hydrate(conn, [row.id for row in found.matches])
    hits = tuple(_hit(rows[row.id], row.score, query.words) for row in found.matches if row.id in rows)
    return Results(hits, (found.via,), (*query.notes, *found.notes), found.more)


def _hit(row: Shown, score: float, words: tuple[str, ...]) -> Hit:
    session_title = glance(row.name.strip().partition("\n")[0])
    title = glance(row.title) if row.title else session_title
    text = "\n".join(piece for stored in row.texts for piece in _plain(stored))
    return Hit(
        row.kind,
        row.id,
        row.project or row.project_key,
        row.project_key,
        row.session,
        row.platform,
        row.cwd,
        row.time,
        title,
        session_title,
        snippet(text, words),
        score,
        row.place,
    )


def _plain(stored: str) -> Iterator[str]:
    """A stored text as one reads it: of JSON (tool inputs, facts) the strings it holds."""
    if stored[0] in "[{":
        try:
            yield from _strings(json.loads(stored))
        except (ValueError, RecursionError):
            yield stored  # cut at 64 KiB, or text that only looks like JSON
    else:
        yield stored


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
