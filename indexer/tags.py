"""Elements that programs and people wrap into text: where they begin and end, and what `<private>` hides.

An element nested in one of its own name ends with its own tag. `private` is the user's own mark: left
unclosed it reaches to the end of its text, since a forgotten tag must not publish what follows; unclosed
inside a program's wrapper it reaches to the end of that. An unclosed tag of the others is text: people ask
about `<system-reminder>`; so is an unclosed `<private>` in backticks, which is talked about.
"""

from __future__ import annotations

import re
from typing import NamedTuple

PRIVATE = "private"
TAG = re.compile(
    r"<(/?)(ide_opened_file|ide_selection|ide_diagnostics|system-reminder|claude-mem-context|indexer-memory"
    r"|system_instruction|system-instruction|persisted-output|private)(?=[\s/>])[^<>]*>",
    re.IGNORECASE,
)
HIDDEN = "<private></private>"
"""What stands where a private part was: so that a reader can tell, and a second look finds nothing."""


class Closing(NamedTuple):
    """Where a closing tag begins and ends."""

    start: int
    end: int


def closings(tags: list[re.Match[str]]) -> dict[int, Closing]:
    """The closing tag of each opening one, by the latter's start; unclosed ones are absent."""
    found: dict[int, Closing] = {}
    opened: dict[str, list[int]] = {}
    for tag in tags:
        stack = opened.setdefault(tag[2].lower(), [])
        if tag[0].endswith("/>"):
            found[tag.start()] = Closing(tag.end(), tag.end())
        elif not tag[1]:
            stack.append(tag.start())
        elif stack:
            found[stack.pop()] = Closing(tag.start(), tag.end())
    return found


def hide_private(text: str) -> str:
    """`text` with every private part emptied."""
    tags = list(TAG.finditer(text))
    closed = closings(tags)
    kept: list[str] = []
    at = wrapped = 0
    for tag in tags:
        start = tag.start()
        close = closed.get(start)
        if tag[2].lower() != PRIVATE:
            wrapped = max(wrapped, close.start if close else 0)
            continue
        if start < at or tag[1] or (close is None and text[start - 1 : start] == "`"):
            continue
        kept += text[at:start], HIDDEN
        at = close.end if close else wrapped if wrapped > start else len(text)
    kept.append(text[at:])
    return "".join(kept)
