"""A session as Markdown: headings for who spoke, fences around what tools were given and said.

A fence is longer than any run of its character within, so that no output can end it. What people and Claude
wrote stays the Markdown that it mostly is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from indexer.export.parts import WHO, Part, When
from indexer.store.browse import Session
from indexer.text import glance, sanitize


def markdown(session: Session, parts: Iterable[Part], when: When) -> Iterator[str]:
    """The lines of the document."""
    yield f"# {_plain(session.title or 'untitled')}"
    yield ""
    yield f"* session `{_plain(session.session)}`"
    yield f"* project {_plain(session.project or session.project_key or 'unknown')}"
    yield f"* {when(session.started)} to {when(session.last)}"
    for part in parts:
        yield ""
        yield from _part(part, when)


def _part(part: Part, when: When) -> Iterator[str]:
    agent = " (sub-agent)" if part.agent else ""
    if part.kind != "tool_use":
        yield f"## {WHO[part.kind]}{agent} · {when(part.time)}"
        yield ""
        yield from part.text.splitlines()
        return
    yield f"### {_plain(part.tool)}{agent}{' · failed' if part.failed else ''} · {when(part.time)}"
    for text in (part.given, part.text):
        if text:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
            yield ""
            yield fence
            yield from text.splitlines()
            yield fence


def _plain(text: str) -> str:
    """One line that is no markup."""
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", glance(sanitize(text), 200))
