"""Search: the box, tabs and chips, and hits with what makes them hits.

The part that changes while somebody types (`results`) is answered alone too, so that a page and a keystroke
show the same thing. While typing, words alone are asked, since they answer in milliseconds; the page itself
asks for meaning too.
"""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

from indexer import scope
from indexer.config import Config
from indexer.errors import IndexerError, NotFound
from indexer.query import Query, parse
from indexer.search import Hit, Results, search, similar
from indexer.store.connection import Connection
from indexer.store.items import CODES
from indexer.text import sanitize
from indexer.web import asking
from indexer.web.asking import Asked, address
from indexer.web.layout import Page, aside, empty, failed, when
from indexer.web.markup import Html, join, marked, tag

TABS = (
    ("", "All"), ("prompt", "Prompts"), ("assistant", "Answers"), ("tool_use", "Tool calls"),
    ("observation", "Observations"), ("summary", "Summaries"),
)  # fmt: skip
KINDS = {
    "prompt": "prompt", "command": "command", "shell": "shell input", "assistant": "answer",
    "tool_use": "tool call", "observation": "observation", "summary": "summary",
}  # fmt: skip
_LEAST = 0.005
"""A score that is shown."""
_FIELDS = (
    ("project", "Project", "name, key or folder"), ("since", "Since", "7d or 2026-11-20"), ("until", "Until", ""),
    ("tool", "Tool", "Bash"), ("file", "File", "the end of a path"),
)  # fmt: skip


def view(conn: Connection, settings: Config, asked: Asked) -> Page:
    """The page of a search. What cannot be asked is said in the place of the results."""
    body = join(
        _form(asked),
        _tabs(asked),
        _chips(asked),
        tag("p", id="told", role="status", class_="unseen"),
        tag("section", results(conn, settings, asked), id="results", aria_label="Results"),
    )
    return Page("Search", body, "/search", "search.js", asked.q)


def results(conn: Connection, settings: Config, asked: Asked, *, typing: bool = False) -> Html:
    """The hits, or why there are none. typing: the last word may be unfinished."""
    try:
        found, query = _find(conn, settings, asked, typing)
    except IndexerError as error:
        return failed(error)
    notes = [tag("p", note, class_="note") for note in found.notes]
    if not found.hits:
        return join(_nothing(asked), notes)
    listed = tag(
        "ol", [_hit(hit, query, asked) for hit in found.hits], class_="hits", start=_first(found, asked, settings)
    )
    return join(tag("p", _said(found, asked, typing), class_="via"), notes, listed, _pages(asked, found.more))


def _first(found: Results, asked: Asked, settings: Config) -> int:
    return (asked.page - 1) * min(settings.search_limit, asking.MOST) + 1


def _find(conn: Connection, settings: Config, asked: Asked, typing: bool) -> tuple[Results, Query]:
    narrowed = asking.filters(conn, settings, asked)
    mode = "lexical" if typing else asked.mode if asked.mode in asking.MODES else "hybrid"
    if asked.like:
        return similar(conn, row_of(asked.like), narrowed, scope.meaning(settings, mode)), parse("", narrowed)
    query = asking.unfinished(asked.q, narrowed) if typing else parse(asked.q, narrowed)
    return search(conn, query, scope.meaning(settings, mode), mode), query


def row_of(name: str) -> int:
    """The id in search_texts of `prompt:12`. Raises NotFound."""
    kind, _, number = name.partition(":")
    if kind not in CODES or not number.isascii() or not number.isdigit() or len(number) > 17:
        raise NotFound(f"nothing has the id {name[:60]!r}", "ids are as prompt:12")
    return int(number) * 8 + CODES[kind]


# --- what narrows


def _form(asked: Asked) -> Html:
    box = tag(
        "input", type="search", name="q", id="q", value=asked.q, autocomplete="off", maxlength=asking.LONGEST,
        placeholder="words, a question, \"a phrase\", -without", aria_label="Search the memory",
        autofocus=not asked.q and not asked.like,
    )  # fmt: skip
    inputs = [_field(asked, *one) for one in _FIELDS]
    kept = [
        tag("input", type="hidden", name=name, value=value)
        for name, value in (("kind", asked.kind), ("session", asked.session), ("mode", asked.mode))
        if value
    ]
    opened = any(getattr(asked, name) for name, _, _ in _FIELDS)
    more = tag("details", tag("summary", "Filters"), tag("div", inputs, class_="fields"), open=opened)
    return tag(
        "form", tag("div", box, tag("button", "Search"), class_="row"), kept, more,
        role="search", action="/search", method="get", id="search",
    )  # fmt: skip


def _field(asked: Asked, name: str, label: str, hint: str) -> Html:
    field = tag("input", name=name, id=f"f-{name}", value=getattr(asked, name), placeholder=hint, maxlength=1024)
    return tag("div", tag("label", label, for_=f"f-{name}"), field)


def _tabs(asked: Asked) -> Html:
    links = [
        tag("li", tag("a", label, href=address(asked, kind=kind), aria_current="page" if kind == asked.kind else None))
        for kind, label in TABS
    ]
    return tag("nav", tag("ul", links), aria_label="Kinds", class_="tabs")


def _chips(asked: Asked) -> Html:
    """Each filter in force, with the way to take it off."""
    given = [*asked.narrowed, *([("like", asked.like)] if asked.like else [])]
    if not given:
        return tag("div", id="chips")
    chips = [
        tag(
            "li",
            tag("a", f"{name}: {value} ", tag("span", "×", aria_hidden="true"), href=address(asked, **{name: ""}),
                aria_label=f"take off the filter {name} {value}"),
        )
        for name, value in given
    ]  # fmt: skip
    return tag("div", tag("ul", chips, class_="chips", aria_label="Filters in force"), id="chips")


# --- what was found


def _said(found: Results, asked: Asked, typing: bool) -> str:
    if typing:
        return "by words, as you type; Enter asks for meaning too"
    if asked.like:
        return f"like {asked.like}, by {_via(found)}"
    return "the newest" if found.via == ("newest",) else f"by {_via(found)}"


def _via(found: Results) -> str:
    names = {"lexical": "words", "exact": "", "chroma": "", "newest": "time", "scan": "looking through the texts"}
    arms = [names.get(name, f"meaning ({name})") for name in found.via]
    return " and ".join(arm for arm in arms if arm) or "nothing"


def _nothing(asked: Asked) -> Html:
    if asked.narrowed or asked.kind:
        wider = address(Asked(q=asked.q))
        return empty("Nothing matches with these filters.", tag("a", "Search without them", href=wider))
    if not asked.q and not asked.like:
        return empty("Nothing is remembered yet.", "`transcript-indexer rescan` reads your transcripts.")
    return empty("Nothing matches.", "Try fewer words, or other ones: a piece from within a word is not found.")


def _hit(hit: Hit, query: Query, asked: Asked) -> Html:
    place = place_of(hit.kind, hit.id, hit.session)
    project = tag("a", hit.project, href=address(asked, project=hit.project_key)) if hit.project_key else None
    snippet = "" if hit.snippet == hit.title else hit.snippet
    links = aside(
        tag("a", "more like this", href=address(Asked(), like=hit.id)),
        tag("a", "whole", href=f"/entry?{urlencode({'id': hit.id})}"),
    )
    return tag(
        "li",
        tag(
            "article",
            tag("h2", tag("a", marked(hit.title or "untitled", query.words), href=place)),
            tag("p", aside(tag("span", KINDS[hit.kind], class_="kind"), when(hit.time), project), class_="meta"),
            tag("p", marked(snippet, query.words), class_="snippet") if snippet else None,
            tag("p", aside(join(tag("span", _why(hit, query), class_="why")), links), class_="meta"),
        ),
        data_item=True,
    )


def _why(hit: Hit, query: Query) -> str:
    """Which of the words are in what is shown of it, and how it was weighed."""
    weighed = f"score {hit.score:.2f}" if hit.score >= _LEAST else ""
    if not query.terms:
        return weighed
    held = list(_held(hit, query))
    reason = "has " + ", ".join(held) if held else "near in meaning, or further inside"
    return f"{reason}; {weighed}" if weighed else reason


def _held(hit: Hit, query: Query) -> Iterator[str]:
    seen = sanitize(f"{hit.title}\n{hit.snippet}").lower()
    for word in query.words[:12]:
        if word in seen:
            yield f"“{word}”"


def place_of(kind: str, name: str, session: str) -> str:
    """Where an entry stands: in its session, or by itself if it was made of one."""
    if kind in ("observation", "summary"):
        return f"/entry?{urlencode({'id': name})}"
    return f"/session?{urlencode({'id': session, 'at': name})}#{anchor(name)}"


def anchor(name: str) -> str:
    """An entry's place within a page."""
    return name.replace(":", "-")


def _pages(asked: Asked, more: bool) -> Html:
    links = [
        tag("a", "Previous page", href=address(asked, page=asked.page - 1), rel="prev") if asked.page > 1 else None,
        tag("a", "Next page", href=address(asked, page=asked.page + 1), rel="next") if more else None,
    ]
    return tag("nav", links, aria_label="More results", class_="pages") if any(links) else Html("")
