from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from indexer.export.html import html
from indexer.export.parts import parts

EMPTY = {"meta"}


class Reader(HTMLParser):
    """What a browser would see: tags, attributes and texts."""

    def __init__(self, lines: Any) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: dict[str, list[str | None]] = {}
        self.text = ""
        self.feed("\n".join(lines))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def when(ms: int | None) -> str:
    return f"at <{ms}>"


def test_a_session_as_a_page(memory: Any, session: Any) -> None:
    page = Reader(html(session(1), parts(memory, session(1)), when))
    assert page.open == []
    assert page.tags.count("article") == 10
    assert "Why does the auth timeout fire early?" in page.text
    assert "const timeout = 30" in page.text
    assert "at <1795168800000>" in page.text


def test_no_text_becomes_markup(session: Any, hostile: Any) -> None:
    page = Reader(html(session(1)._replace(title="</title><script>x", project='"><b>'), hostile, when))
    assert not {"script", "img"} & set(page.tags)
    assert "onerror" not in page.attributes
    assert page.text.count("<script>alert(1)</script>") == 4
    assert page.open == []


def test_the_page_needs_nothing_and_can_do_nothing(session: Any, hostile: Any) -> None:
    page = Reader(html(session(1), hostile, when))
    assert not {"src", "href", "action", "style", "onclick"} & set(page.attributes)
    assert any(value and value.startswith("default-src 'none'") for value in page.attributes["content"])


def test_failures_and_sub_agents_are_marked(session: Any, hostile: Any) -> None:
    page = Reader(html(session(1), hostile, when))
    assert {"prompt", "tool_use", "assistant agent", "failed"} == set(page.attributes["class"])
