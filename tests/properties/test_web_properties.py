"""Whatever was recorded, its page is sound markup that can do nothing."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from hypothesis import given
from hypothesis import strategies as st
from pages import check

from indexer.errors import Busy
from indexer.query import parse
from indexer.search import Hit
from indexer.store.hydrate import Shown
from indexer.store.items import Place, Step
from indexer.store.story import Call
from indexer.web import calls, charts, session_page, today_page
from indexer.web.asking import Asked, address, read
from indexer.web.layout import Page, document, failed
from indexer.web.markdown import rendered
from indexer.web.markup import tag
from indexer.web.search_page import _hit

PIECES = (
    "<script>",
    "</script>",
    '"',
    "'",
    "<img src=x onerror=a>",
    "&lt;",
    "\x1b[31m",
    "\u202e",
    "](",
    "![",
    "```",
    "|",
    "\n",
    "-->",
)
TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=8).map("".join)
NAMES = st.sampled_from(
    ("command", "file_path", "old_string", "new_string", "content", "edits", "todos", "status", "x")
)
VALUES = st.recursive(
    st.one_of(TEXTS, st.none(), st.booleans(), st.integers()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.one_of(NAMES, TEXTS), inner, max_size=4)),
    max_leaves=12,
)


@given(TEXTS)
def test_an_answer(text: str) -> None:
    check(rendered(text))


@given(st.one_of(VALUES.map(json.dumps), TEXTS), TEXTS, TEXTS, st.booleans(), st.booleans())
def test_a_call(given: str, answer: str, name: str, failed: bool, answered: bool) -> None:
    call = Call(1, name, name, given, answer, len(answer), failed, answered, None)
    check(calls.folded(call, "/entry?id=tool_use%3A1"))


@given(st.dictionaries(st.one_of(NAMES, TEXTS), VALUES, max_size=5), st.sampled_from(session_page._TOLD))
def test_an_event(fields: dict[str, object], kind: str) -> None:
    step = Step("event", "", None, f"{kind} {json.dumps(fields)}", Place("/a", 1), False)
    check(session_page._event(step))


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_an_entry_of_the_feed(title: str, text: str, session: str, project: str) -> None:
    row = Shown("prompt", "prompt:1", project, project, "claude", session, None, "", 0, title, (text,), None)
    check(today_page.entry(row))


@given(TEXTS, TEXTS, st.floats(0, 1))
def test_a_hit(title: str, text: str, score: float) -> None:
    hit = Hit("prompt", "prompt:1", title, title, title, "claude", None, None, title, title, text, score, None)
    check(_hit(hit, parse(text), Asked(q=text)))


@given(st.lists(st.tuples(TEXTS, st.integers(0, 10**12)), max_size=6))
def test_a_picture(rows: list[tuple[str, int]]) -> None:
    check(charts.bars(rows, "calls"))
    check(charts.columns(rows, "calls"))
    check(charts.table(("Name", "Number"), rows))
    check(charts.stacked(("a",), [(name, (number,)) for name, number in rows], "calls"))


@given(TEXTS, TEXTS)
def test_a_page(title: str, asked: str) -> None:
    check(document(Page(title, failed(Busy(title, asked)), asked=asked)).decode("utf-8", "replace"))


@given(TEXTS, TEXTS, st.integers(1, 9999))
def test_an_address_leads_back_to_what_it_was_made_from(text: str, project: str, page: int) -> None:
    asked = read({"q": text, "project": project, "page": str(page)})
    to = address(asked, page=asked.page)
    assert read(dict(parse_qsl(to.partition("?")[2]))) == asked
    check(tag("a", "x", href=to))
