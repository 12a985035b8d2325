"""What Claude wrote, as it meant it to look: Markdown to markup that can do nothing.

By markdown-it-py, which `rich`, and so chromadb, brings along: it follows CommonMark, bounds nesting, and is
kept (executablebooks, 2026-11). A subset of our own would be as long as this whole package, wrong at lists and
tables, and fresh ground for the one input that others write. What makes it safe is here:

* HTML in the text is text (`html: False`), and every piece of text is escaped by the renderer.
* A link leads to http, https or mail, else it is no link; it names no referrer and no opener.
* No image is loaded: it becomes a link that says it is one. The page's policy would refuse it too.
* A heading is none of the page's own: it begins at h4.
* What is longer than LONGEST characters is text: parsing takes 1 ms for 2 kB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from indexer.text import sanitize
from indexer.web.markup import Html, tag

LONGEST = 64_000
SCHEMES = ("http://", "https://", "mailto:")
_LOWEST = 6


def _leads(url: str) -> bool:
    return url.lower().startswith(SCHEMES)


def _link(self: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    tokens[place].attrSet("rel", "noreferrer noopener nofollow")
    rendered: str = self.renderToken(tokens, place, options, env)
    return rendered


def _image(_: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    one = tokens[place]
    said, to = f"[image: {one.content or 'without a word'}]", str(one.attrGet("src") or "")
    within = sum(before.nesting for before in tokens[:place] if before.type in ("link_open", "link_close"))
    if within:
        return tag("span", said)
    return tag("a", said, href=to, rel="noreferrer noopener nofollow")


def _heading(self: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    one = tokens[place]
    one.tag = f"h{min(_LOWEST, 3 + int(one.tag[1:]))}" if one.tag in ("h1", "h2", "h3") else one.tag
    rendered: str = self.renderToken(tokens, place, options, env)
    return rendered


def _fence(_: Any, tokens: Sequence[Token], place: int, options: Any, env: Any) -> str:
    return tag("pre", tag("code", tokens[place].content)) + "\n"


def _made() -> Any:
    parser: Any = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
    parser.validateLink = _leads  # its documented way to narrow links
    for name, rule in (
        ("link_open", _link),
        ("image", _image),
        ("heading_open", _heading),
        ("heading_close", _heading),
    ):
        parser.add_render_rule(name, rule)
    for name in ("fence", "code_block"):
        parser.add_render_rule(name, _fence)
    return parser


_PARSER = _made()
"""Keeps no state between texts; made once, since that takes 3 ms."""


def rendered(text: str) -> Html:
    """A text as safe markup, in a block of its own."""
    shown = sanitize(text)
    if len(shown) > LONGEST:
        return tag("pre", shown)
    return tag("div", Html(_PARSER.render(shown)), class_="md")
