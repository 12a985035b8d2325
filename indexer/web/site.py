"""Addresses to views, behind the guard. The only module that knows Starlette.

A view is a plain function of a read-only connection, the settings and the parameters; it runs in a thread of
the server's pool, on a connection of its own, and what it raises on purpose becomes a page that says so.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from indexer.config import Config
from indexer.errors import IndexerError, NoDatabase, NotFound, UsageError
from indexer.store import feed
from indexer.store.connection import Connection
from indexer.store.reads import reading
from indexer.web import (
    asking,
    changes,
    entry_page,
    health_page,
    live,
    numbers_page,
    project_page,
    search_page,
    session_page,
    today_page,
)
from indexer.web.entry_page import File
from indexer.web.guard import App, Door, Refusal, guarded
from indexer.web.keys import Keys
from indexer.web.layout import Page, document, failed, refused
from indexer.web.markup import Html

View: TypeAlias = Callable[[Connection, Config, Mapping[str, str]], "Page | Html | File"]

STATIC = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HTML = "text/html; charset=utf-8"


def make(settings: Config, door: Door, keys: Keys) -> App:
    """The application of this memory, connected to nothing yet."""
    files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in _TYPES}
    routes = [
        Route("/", _page(settings, today_page.view)),
        Route("/feed", _feed(settings)),
        Route("/search", _page(settings, _search)),
        Route("/session", _page(settings, session_page.view)),
        Route("/entry", _page(settings, entry_page.view)),
        Route("/export", _page(settings, entry_page.export)),
        Route("/projects", _page(settings, project_page.listed)),
        Route("/project", _page(settings, project_page.view)),
        Route("/numbers", _page(settings, numbers_page.view)),
        Route("/health", _page(settings, health_page.view)),
        Route("/api/forget", _change(settings, changes.forget), methods=["POST"]),
        Route("/api/dedup", _change(settings, changes.decide), methods=["POST"]),
        Route("/static/{name}", _file(files)),
    ]
    site = Starlette(routes=routes, exception_handlers={404: _missing, 405: _missing})
    return guarded(site, door, keys, _refusal)


def _refusal(refusal: Refusal) -> bytes:
    return refused(*refusal)


def _missing(_: Request, error: Any) -> Response:
    return _html(Page("Not here", failed(NotFound("there is no such page")), status=error.status_code))


# --- views


def _search(conn: Connection, settings: Config, given: Mapping[str, str]) -> Page | Html:
    asked = asking.read(given)
    if given.get("part") == "results":
        return search_page.results(conn, settings, asked, typing=given.get("typing") == "1")
    return search_page.view(conn, settings, asked)


# --- answers


def _page(settings: Config, view: View) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        try:
            with reading(settings.home) as conn:
                made: Page | Html | File = view(conn, settings, request.query_params)
        except IndexerError as error:
            made = Page(_headline(error), failed(error), status=_status(error))
        if isinstance(made, Page):
            return _html(made)
        return _saved(made) if isinstance(made, File) else Response(str(made), media_type=_HTML)

    return answer


def _change(settings: Config, change: Callable[[Config, dict[str, Any]], dict[str, Any]]) -> Any:
    """The guard has seen to it that this is asked in JSON, with the token, by a page of ours."""

    async def answer(request: Request) -> Response:
        body = b""
        async for block in request.stream():
            body += block
            if len(body) > changes.LONGEST:
                break
        return await run_in_threadpool(carry_out, body)

    def carry_out(body: bytes) -> Response:
        try:
            return _json(change(settings, changes.asked(body)), 200)
        except IndexerError as error:
            told = {"kind": error.kind, "message": error.message, "hint": error.hint, "retryable": error.retryable}
            return _json({"error": told}, _status(error))

    return answer


def _json(value: dict[str, Any], status: int) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")


def _feed(settings: Config) -> Any:
    """The live feed, to a few at once."""
    places = live.Places()

    async def answer(request: Request) -> Response:
        given = request.headers.get("last-event-id") or request.query_params.get("after", "")
        if not places.free:
            return Response("too many pages follow along", 503, media_type="text/plain", headers={"retry-after": "30"})

        async def stream() -> AsyncIterator[str]:
            with places:
                async for event in live.events(settings, feed.read(given)):
                    yield event

        return StreamingResponse(stream(), media_type="text/event-stream")

    return answer


def _saved(file: File) -> Response:
    """A file is never shown in the place of a page."""
    headers = {"content-disposition": f'attachment; filename="{file.name}"'}
    return Response(file.text.encode("utf-8", "replace"), media_type=file.kind, headers=headers)


def _html(page: Page) -> Response:
    return Response(document(page), page.status, media_type=_HTML)


def _headline(error: IndexerError) -> str:
    return "Nothing is remembered yet" if isinstance(error, NoDatabase) else "This cannot be shown"


def _status(error: IndexerError) -> int:
    if isinstance(error, NotFound):
        return 404
    return 400 if isinstance(error, UsageError) else 503


def _file(files: Mapping[str, bytes]) -> Callable[[Request], Response]:
    """Our own scripts and styles, which a browser asks for again only when they may have changed."""

    def answer(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            return Response("there is no such file", 404, media_type="text/plain")
        kind = _TYPES[Path(name).suffix]
        return Response(files[name], media_type=kind, headers={"cache-control": "private, max-age=300"})

    return answer
