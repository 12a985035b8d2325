"""What is stored from now on, as server-sent events: entries as they come, the state when it changes.

The memory is asked twice a second on a connection that only reads; nothing is written, and the service does not
know of it. An event's id says how far the page has seen (store.feed.Cursor): a browser that comes back sends it as
Last-Event-ID and misses nothing, but for what is more than MOST of a kind.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple, TypeAlias

import anyio
import anyio.to_thread

from indexer.config import Config
from indexer.errors import IndexerError
from indexer.store import feed
from indexer.store.feed import Cursor
from indexer.store.hydrate import hydrate
from indexer.store.reads import reading
from indexer.web import state, today_page

EVERY = 0.5
"""Seconds."""
MOST = 40
"""Entries of a kind at a time: a rescan stores thousands a second."""
HEARTBEAT = 30
"""Looks without news after which a line is sent all the same: a connection that is gone is noticed by it."""
STREAMS = 8
"""At once. Each costs a look twice a second."""

Pause: TypeAlias = Callable[[float], Awaitable[None]]


class Places:
    """How many follow along; at most STREAMS may."""

    def __init__(self) -> None:
        self._taken = 0

    @property
    def free(self) -> bool:
        """Whether one more may."""
        return self._taken < STREAMS

    def __enter__(self) -> None:
        self._taken += 1

    def __exit__(self, *_: object) -> None:
        self._taken -= 1


class News(NamedTuple):
    """entries: markup, the oldest first. seen: how far that is. state: markup of the panel."""

    entries: list[str]
    seen: Cursor
    state: str


def look(settings: Config, seen: Cursor | None) -> News:
    """What is new since. Without `seen`, nothing: only how far it is. Raises IndexerError."""
    with reading(settings.home) as conn:
        ids, now = feed.since(conn, seen or feed.end(conn), MOST)
        rows = hydrate(conn, ids)
        order = sorted(rows, key=lambda row_id: (rows[row_id].time or 0, row_id))
        return News([today_page.entry(rows[row_id]) for row_id in order], now, state.panel(state.look(conn, settings)))


async def events(settings: Config, seen: Cursor | None, pause: Pause = anyio.sleep) -> AsyncIterator[str]:
    """The stream, without end. While there is no memory to read, it waits for one and says why."""
    yield "retry: 2000\n\n"
    last, quiet = "", 0
    while True:
        try:
            news = await anyio.to_thread.run_sync(look, settings, seen)
        except IndexerError as error:
            yield _event("trouble", error.message)
            await pause(EVERY * 10)
            continue
        for entry in news.entries:
            yield _event("entry", entry, str(news.seen))
        if seen is None:
            yield _event("start", "", str(news.seen))
        if news.state != last:
            yield _event("state", news.state, str(news.seen))
        quiet = quiet + 1 if not news.entries and news.state == last else 0
        if quiet >= HEARTBEAT:
            quiet = 0
            yield ": still here\n\n"
        seen, last = news.seen, news.state
        await pause(EVERY)


def _event(name: str, data: str, at: str = "") -> str:
    mark = f"id: {at}\n" if at else ""
    return f"{mark}event: {name}\ndata: {json.dumps(data)}\n\n"
