"""One entry in whole, a piece at a time where it is long; and a session to take away."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

from indexer import scope
from indexer.config import Config
from indexer.errors import NotFound
from indexer.export.html import html
from indexer.export.markdown import markdown
from indexer.export.parts import parts
from indexer.store.connection import Connection
from indexer.store.items import Item, item
from indexer.text import glance, sanitize
from indexer.web.layout import Page, aside, spoken, when
from indexer.web.markup import Html, join, tag
from indexer.web.search_page import KINDS, anchor, row_of

PIECE = 24_000
"""Characters of a text on one page; each takes up to six bytes there."""
_LEFT_OUT = ("tool_use_id", "is_error", "answered", "private", "queued", "merged_into_project")


class File(NamedTuple):
    """A session to save. name: of the file."""

    name: str
    kind: str
    text: str


def view(conn: Connection, _: Config, given: Mapping[str, str]) -> Page:
    """The entry `id`, its texts from the character `from` on. Raises NotFound."""
    name = given.get("id", "")
    number = row_of(name) // 8
    found = item(conn, name.partition(":")[0], number)
    if found is None:
        raise NotFound(f"there is no {name}", "it may have been forgotten, or made anew under another id")
    start = _number(given.get("from", ""))
    texts = {key: str(value) for key, value in found.content.items() if value not in (None, "", "[]")}
    shown = [_text(key, text, start) for key, text in texts.items() if key not in _LEFT_OUT]
    body = join(_about(found), shown, _pages(found, texts, start))
    return Page(f"{KINDS[found.kind].capitalize()} {number}", body)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _about(found: Item) -> Html:
    made = found.kind in ("observation", "summary")
    at = found.turn.id if made and found.turn else found.id
    to = f"/session?{urlencode({'id': found.session.session, 'at': at})}#{anchor(at)}"
    place = found.place and f"{found.place.file}:{found.place.line or '?'}"
    rows = [
        ("Session", tag("a", glance(found.session.title or found.session.session, 120), href=to)),
        ("Time", when(found.time)),
        ("Project", found.session.project),
        ("Read from", tag("code", place) if place else None),
    ]
    facts = [join(tag("dt", name), tag("dd", value)) for name, value in rows if value]
    like = tag("a", "more like this", href=f"/search?{urlencode({'like': found.id})}")
    return join(tag("dl", facts, class_="facts"), tag("p", like, class_="meta"))


def _text(name: str, text: str, start: int) -> Html:
    """One text from `start` on. Short facts stand on their line; a text that ends before `start` is left out."""
    piece = sanitize(text[start : start + PIECE])
    if not piece:
        return Html("")
    label = name.replace("_", " ").capitalize()
    if len(text) <= 200 and "\n" not in text:
        return tag("p", tag("strong", f"{label}: "), piece)
    return join(tag("h2", label), tag("pre", piece))


def _pages(found: Item, texts: Mapping[str, str], start: int) -> Html:
    longest = max(map(len, texts.values()), default=0)

    def to(place: int, name: str) -> Html:
        return tag("a", name, href=f"/entry?{urlencode({'id': found.id, 'from': place})}")

    links = [
        to(max(0, start - PIECE), "Previous piece") if start else None,
        to(start + PIECE, f"Next piece ({longest - start - PIECE:,} characters left)")
        if start + PIECE < longest
        else None,
    ]
    return tag("nav", aside(*links), class_="pages", aria_label="Pieces") if any(links) else Html("")


def export(conn: Connection, _: Config, given: Mapping[str, str]) -> File:
    """A session as a file, as `export` writes it. Raises NotFound, UsageError."""
    session = scope.one_session(conn, given.get("id", ""))
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", session.session)[:64] or "session"
    if given.get("format") == "html":
        return File(f"{plain}.html", "text/html; charset=utf-8", "\n".join(html(session, parts(conn, session), spoken)))
    text = "\n".join(markdown(session, parts(conn, session), spoken))
    return File(f"{plain}.md", "text/markdown; charset=utf-8", text + "\n")
