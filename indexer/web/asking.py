"""The address of a search: what is asked and by what it is narrowed, read and written. A search can be shared
by its address, and going back in the browser undoes a filter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from indexer import scope
from indexer.config import Config
from indexer.errors import UsageError
from indexer.query import Filters, Query, parse
from indexer.store.connection import Connection
from indexer.store.filters import Term
from indexer.store.items import CODES

LONGEST = 4096
MOST = 50
"""Hits on a page: it must stay small."""
NARROWING = ("project", "session", "since", "until", "tool", "file", "type", "concept", "agent")
MODES = ("hybrid", "lexical", "semantic")
_UNFINISHED = re.compile(r"[A-Za-z0-9]{3,}\Z")


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as its address has it; "" for what is not given. kind: one of items.CODES. like: the entry
    whose like is looked for, as `prompt:12`. page: from 1."""

    q: str = ""
    kind: str = ""
    project: str = ""
    session: str = ""
    since: str = ""
    until: str = ""
    tool: str = ""
    file: str = ""
    type: str = ""
    concept: str = ""
    agent: str = ""
    mode: str = ""
    like: str = ""
    page: int = 1

    @property
    def narrowed(self) -> list[tuple[str, str]]:
        """Filters in force, each with its value."""
        return [(name, value) for name in NARROWING if (value := getattr(self, name))]


def read(given: Mapping[str, str]) -> Asked:
    """A search from the parameters of an address; what is not understood is left out."""
    found = {one.name: given[one.name][:LONGEST].strip() for one in fields(Asked) if given.get(one.name)}
    page = found.pop("page", "1")
    number = int(page) if page.isascii() and page.isdigit() and len(page) < 6 else 1
    return Asked(page=max(1, number), **found)


def address(asked: Asked, **changed: str | int) -> str:
    """The address of this search with some of it changed; a new search begins at its first page."""
    new = replace(asked, **({"page": 1} | changed))  # type: ignore[arg-type]  # names are Asked's own
    pairs = [(one.name, getattr(new, one.name)) for one in fields(Asked)]
    kept = [(name, value) for name, value in pairs if value not in ("", 1)]
    return "/search" + (f"?{urlencode(kept)}" if kept else "")


def filters(conn: Connection, settings: Config, asked: Asked) -> Filters:
    """What hits must be. Raises UsageError, NotFound, AmbiguousProject."""
    since, until = scope.span(asked.since or None, asked.until or None)
    limit = min(settings.search_limit, MOST)
    if asked.kind and asked.kind not in CODES:
        raise UsageError(f"there is no kind {asked.kind[:60]!r}", f"kinds are {', '.join(CODES)}")
    return Filters(
        project=scope.project_keys(conn, settings, asked.project or None),
        session=scope.one_session(conn, asked.session).session if asked.session else None,
        kinds=(asked.kind,) if asked.kind else None,
        since=since,
        until=until,
        limit=limit,
        offset=(asked.page - 1) * limit,
        **{name: getattr(asked, name) or None for name in ("tool", "file", "type", "concept", "agent")},
    )


def unfinished(text: str, narrowed: Filters) -> Query:
    """A question somebody is still typing: its last word may be the beginning of one. From three letters on:
    the index would be walked for a shorter one."""
    query = parse(text, narrowed)
    last = _UNFINISHED.search(text)
    if last is None or not query.terms or query.terms[-1].required or text.count('"') % 2:
        return query
    *before, term = query.terms
    begun = f'"{last[0].lower()}" *'
    widened = Term(f"{term.match} OR {begun}", tuple(dict.fromkeys((*term.loose, begun))), False, term.needles)
    return replace(query, terms=(*before, widened))
