"""Addresses to views, behind the guard. The only module that knows Starlette.

A view is a plain function of a read-only connection, the settings and the parameters; it runs in a thread of
the server's pool, on a connection of its own, and what it raises on purpose becomes a page that says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from indexer.config import Config
from indexer.errors import IndexerError, NoDatabase, NotFound, UsageError
from indexer.store.connection import Connection
from indexer.store.reads import reading
from indexer.web import asking, search_page
from indexer.web.guard import App, Door, Refusal, guarded
from indexer.web.keys import Keys
from indexer.web.layout import Page, document, failed, refused
from indexer.web.markup import Html

View: TypeAlias = Callable[[Connection, Config, Mapping[str, str]], "Page | Html"]

STATIC = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_HTML = "text/html; charset=utf-8"


def make(settings: Config, door: Door, keys: Keys) -> App:
    """The application of this memory, connected to nothing yet."""
    files = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.suffix in _TYPES}
    routes = [
        Route("/search", _page(settings, _search)),
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
                made = view(conn, settings, request.query_params)
        except IndexerError as error:
            made = Page(_headline(error), failed(error), status=_status(error))
        return Response(str(made), media_type=_HTML) if isinstance(made, Html) else _html(made)

    return answer


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
