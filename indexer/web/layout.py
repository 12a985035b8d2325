"""What every page has: head, navigation, the search box, keys and their help, times with their zone; and the
states a page can be in when there is nothing to show.

Landmarks, one h1, labels and a way past the navigation are here, so that no page can forget them.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from indexer.errors import IndexerError
from indexer.text import iso
from indexer.web.markup import Child, Html, coded, join, tag, text

PLACES = (
    ("/", "Today"),
    ("/search", "Search"),
    ("/projects", "Projects"),
    ("/numbers", "Numbers"),
    ("/health", "Health"),
)
_KEYS = (
    ("/", "go to the search box"),
    ("j, k", "next, previous entry"),
    ("Enter", "open the entry"),
    ("?", "these keys"),
    ("Esc", "leave the box or this help"),
)


class Page(NamedTuple):
    """A page as a view makes it. here: its place in the navigation. script: its own module, as `search.js`.
    asked: what stands in the search box. status: of HTTP."""

    title: str
    body: Html
    here: str = ""
    script: str = ""
    asked: str = ""
    status: int = 200


def document(page: Page) -> bytes:
    """The whole page as bytes of UTF-8."""
    scripts = [name for name in ("app.js", page.script) if name]
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{page.title} · transcript-indexer"),
        tag("link", rel="icon", href="/static/icon.svg", type="image/svg+xml"),
        tag("link", rel="stylesheet", href="/static/page.css"),
        [tag("script", type="module", src=f"/static/{name}") for name in scripts],
    )
    main = tag("main", tag("h1", page.title), page.body, id="main", tabindex="-1")
    skip = tag("a", "Skip to the content", href="#main", class_="skip")
    body = tag("body", skip, _header(page), main, _footer(), _help())
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n".encode("utf-8", "replace")


def _header(page: Page) -> Html:
    links = [
        tag("li", tag("a", name, href=to, aria_current="page" if to == page.here else None)) for to, name in PLACES
    ]
    return tag("header", tag("nav", tag("ul", links), aria_label="Pages"), "" if page.here == "/search" else _box(page))


def _box(page: Page) -> Html:
    field = tag(
        "input", type="search", name="q", value=page.asked, placeholder="Search", aria_label="Search the memory",
        id="q", autocomplete="off", maxlength="4096",
    )  # fmt: skip
    return tag("form", field, role="search", action="/search", method="get", class_="box")


def _footer() -> Html:
    return tag(
        "footer",
        tag("p", f"Times are in {zone()}. Everything here is read from this machine, and stays on it. "),
        tag("p", "Press ", tag("kbd", "?"), " for the keys."),
    )


def _help() -> Html:
    rows = [tag("div", tag("dt", tag("kbd", key)), tag("dd", what)) for key, what in _KEYS]
    close = tag("form", tag("button", "Close"), method="dialog")
    return tag("dialog", tag("h2", "Keys", id="keys"), tag("dl", rows), close, id="help", aria_labelledby="keys")


# --- states


def empty(what: str, hint: Child = None) -> Html:
    """There is nothing, and that is no error."""
    said = coded(hint) if type(hint) is str else hint
    return tag("div", tag("p", what), tag("p", said) if said else None, class_="state")


def failed(error: IndexerError) -> Html:
    """What went wrong, and what to do."""
    hint = tag("p", coded(error.hint)) if error.hint else None
    return tag("div", tag("p", tag("strong", coded(error.message))), hint, class_="state bad", role="alert")


def refused(status: int, reason: str, hint: str) -> bytes:
    """The page for who is not let in: no navigation, nothing of the memory, no file to load."""
    head = tag("head", tag("meta", charset="utf-8"), tag("title", f"{status} · transcript-indexer"))
    body = tag("body", tag("main", tag("h1", f"{status}: {reason}"), tag("p", coded(hint)) if hint else None))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n".encode()


def scrolled(inside: Html, name: str) -> Html:
    """What may be wider than the page: a region that is scrolled sideways, by keys too."""
    return tag("div", inside, class_="wide", tabindex="0", role="region", aria_label=name)


# --- times


def when(ms: int | None) -> Html:
    """A time in the local zone, whose name stands at the foot of each page."""
    stamp = iso(ms)
    if ms is None or stamp is None:
        return tag("span", "undated", class_="when")
    return tag("time", time.strftime("%Y-%m-%d %H:%M", time.localtime(ms / 1000)), datetime=stamp)


def spoken(ms: int | None) -> str:
    """As `when`, with the zone, for a text that leaves this page."""
    if ms is None or iso(ms) is None:
        return "undated"
    local = time.localtime(ms / 1000)
    return f"{time.strftime('%Y-%m-%d %H:%M', local)} {_zone(local)}"


def zone() -> str:
    """The name of the local zone now, or its offset."""
    return _zone(time.localtime(time.time()))


def _zone(local: time.struct_time) -> str:
    if local.tm_zone.isalpha():
        return local.tm_zone
    minutes = abs(local.tm_gmtoff) // 60
    return f"{'-' if local.tm_gmtoff < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"


def lasting(ms: int | None) -> str:
    """`42 s`, `7 min`, `3 h 05 min`; "" if unknown."""
    if ms is None:
        return ""
    seconds = ms // 1000
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h {seconds // 60 % 60:02} min"


def size(number: int) -> str:
    """`12 kB`, `3.4 MB`; decimal."""
    amount = float(number)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" or amount >= 100 else f"{amount:.3g} {unit}"
        amount /= 1000
    return f"{amount:.3g} GB"


def many(number: int, word: str) -> str:
    """`1 file`, `1,200 files`."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def aside(*parts: Child) -> Html:
    """Pieces with dots between, without the empty ones."""
    kept = [text(part) if isinstance(part, str | int) else join(part) for part in parts if part not in (None, "")]
    return Html(" · ".join(kept))
