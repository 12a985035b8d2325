"""HTML made of small typed pieces: whatever is not `Html` is text, and text is escaped. No template language.

There is one way from a text to a page (`text`): it drops what a terminal would obey or an eye cannot see
(`sanitize`: escape sequences, overrides of direction) and escapes the rest. Attributes go the same way and
always stand in double quotes. There is no attribute for a style or an event: the page's policy would refuse
them, and so does `tag`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from indexer.text import sanitize

_VOID = frozenset({"input", "link", "meta", "br", "hr"})
_NAME = re.compile(r"[a-z][a-zA-Z0-9]*(-[a-z0-9]+)*")
_LINK = ("/", "#", "?", "https://", "http://", "mailto:")
MOST_WORDS = 40
"""Words that are marked in one text."""


class Html(str):
    """Markup that is safe as it stands. Made by this module only."""

    __slots__ = ()


Child: TypeAlias = "str | int | Iterable[Child] | None"
Attribute: TypeAlias = "str | int | bool | None"


def text(value: object) -> Html:
    """A text as markup: nothing in it is obeyed."""
    return value if isinstance(value, Html) else Html(escape(sanitize(str(value))))


def join(*children: Child) -> Html:
    """Pieces one after the other; None is none."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        parts.append(text(child) if isinstance(child, str | int) else join(*child))
    return Html("".join(parts))


def tag(element: str, /, *children: Child, **attributes: Attribute) -> Html:
    """An element. `class_` and `for_` lose their dash, `aria_label` becomes `aria-label`; True is an attribute
    without value, None and False are none. Raises ValueError for a style, an event, or a link that a browser
    would run."""
    opened = "".join(["<", element, *(_attribute(*one) for one in attributes.items()), ">"])
    if element in _VOID:
        return Html(opened)
    return Html(f"{opened}{join(*children)}</{element}>")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    plain = name.rstrip("_").replace("_", "-")
    if not _NAME.fullmatch(plain) or plain == "style" or plain.startswith("on"):
        raise ValueError(f"an attribute {plain!r} cannot be")
    if value is True:
        return f" {plain}"
    if plain in ("href", "src", "action") and not str(value).startswith(_LINK):
        raise ValueError(f"{plain} cannot be {str(value)[:60]!r}")
    return f' {plain}="{escape(sanitize(str(value)))}"'


def coded(shown: str) -> Html:
    """A sentence of ours, in which commands stand between backticks."""
    pieces = shown.split("`")
    if len(pieces) % 2 == 0:
        return text(shown)
    return join([tag("code", piece) if place % 2 else piece for place, piece in enumerate(pieces)])


def marked(shown: str, words: Iterable[str]) -> Html:
    """A text with the places of these words marked, whatever their case."""
    found = sorted({word for word in words if word.strip()}, key=lambda word: (-len(word), word))[:MOST_WORDS]
    shown = sanitize(shown)
    if not found:
        return text(shown)
    pieces = re.split(f"({'|'.join(map(re.escape, found))})", shown, flags=re.IGNORECASE)
    return join([tag("mark", piece) if place % 2 else piece for place, piece in enumerate(pieces)])
