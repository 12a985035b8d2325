"""Today: what is happening now, and what the indexer makes of it. The list goes on by itself (live.py)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlencode

from indexer.config import Config
from indexer.query import Filters
from indexer.store import browse, feed, listing
from indexer.store.connection import Connection
from indexer.store.filters import where
from indexer.store.hydrate import Shown, hydrate
from indexer.text import glance
from indexer.web import session_page, state
from indexer.web.layout import Page, aside, empty, many, when
from indexer.web.markup import Html, join, tag
from indexer.web.search_page import KINDS, place_of

SHOWN = 40
_SESSIONS = 8
_GIST = 240


def view(conn: Connection, settings: Config, _: Mapping[str, str]) -> Page:
    """The newest entries of all projects, and the state."""
    seen = feed.end(conn)
    ids = listing.newest(conn, Filters(), where(Filters()), SHOWN)
    entries = _entries(conn, ids)
    told = tag(
        "p", "Not live: this page shows what was there when it was loaded.", id="live", class_="meta", role="status"
    )
    listed = tag(
        "ol", entries, class_="list", id="feed", data_after=str(seen), aria_label="What happened, the newest first"
    )
    body = join(
        tag("section", tag("h2", "The indexer"), state.panel(state.look(conn, settings)), aria_label="State"),
        tag("section", tag("h2", "What happened"), told, listed, None if entries else _nothing(), aria_label="Feed"),
        tag(
            "section",
            tag("h2", "Last sessions"),
            sessions(browse.sessions(conn, limit=_SESSIONS)),
            aria_label="Sessions",
        ),
    )
    return Page("Today", body, "/", "today.js")


def _nothing() -> Html:
    return empty(
        "Nothing is remembered yet.", "`transcript-indexer rescan` reads your transcripts, `watch` follows them."
    )


def _entries(conn: Connection, ids: Sequence[int]) -> list[Html]:
    rows = hydrate(conn, ids)
    return [entry(rows[row_id]) for row_id in ids if row_id in rows]


def entry(row: Shown) -> Html:
    """One thing that happened, in two lines."""
    to = place_of(row.kind, row.id, row.session)
    gist = glance(row.title or " ".join(text[:_GIST] for text in row.texts[:1]) or "nothing to show", _GIST)
    project = row.project or row.project_key
    link = tag("a", project, href=f"/project?{urlencode({'key': row.project_key})}") if row.project_key else None
    about = aside(tag("span", KINDS[row.kind], class_="kind"), when(row.time), link)
    return tag(
        "li", tag("p", tag("a", gist, href=to), class_="snippet"), tag("p", about, class_="meta"), data_item=True
    )


def sessions(found: Iterable[browse.Session]) -> Html:
    """Sessions as a list of links."""
    rows = [
        tag(
            "li",
            tag("a", glance(one.title or "untitled", 120), href=session_page.link(one.session)),
            tag("p", _about(one), class_="meta"),
            data_item=True,
        )
        for one in found
    ]
    return tag("ol", rows, class_="list") if rows else empty("No session yet.")


def _about(one: browse.Session) -> Html:
    return aside(one.project, when(one.started), many(one.prompts, "prompt"), many(one.tool_uses, "tool call"))
