"""The search page over the small memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer import config
from indexer.errors import NotFound
from indexer.store.connection import Connection, open_writer
from indexer.store.migrations import migrate
from indexer.web.asking import Asked
from indexer.web.search_page import TABS, results, row_of, view

FIXTURE = Path(__file__).parent.parent / "fixtures" / "memory.sql"
SETTINGS = config.load(env={"TRANSCRIPT_INDEXER_VECTORS": "none"})


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Connection]:
    conn = open_writer(tmp_path)
    migrate(conn)
    conn.executescript(FIXTURE.read_text(encoding="utf-8"))
    yield conn
    conn.close()


def shown(conn: Connection, **asked: str) -> str:
    return results(conn, SETTINGS, Asked(**asked))  # type: ignore[arg-type]


def test_hits_are_marked_and_lead_to_their_place(conn: Connection) -> None:
    page = shown(conn, q="timeout")
    assert "<mark>timeout</mark>" in page.lower()
    assert re.search(r'href="/session\?id=[\w-]+&amp;at=tool_use%3A3#tool_use-3"', page)


def test_what_was_made_of_a_session_stands_by_itself(conn: Connection) -> None:
    page = shown(conn, q="timeout", kind="observation")
    assert '<h2><a href="/entry?id=observation%3A1">' in page


def test_it_says_what_answered(conn: Connection) -> None:
    assert "by words" in shown(conn, q="timeout")
    assert "the newest" in shown(conn)


def test_it_says_why_a_hit_is_one(conn: Connection) -> None:
    assert re.search(r"has “timeout”(; score \d\.\d\d)?<", shown(conn, q="timeout"))


@pytest.mark.parametrize("typed", ["timeo", "auth timeo", "TIMEO"])
def test_while_typing_an_unfinished_word_finds(conn: Connection, typed: str) -> None:
    assert "tool_use-3" in results(conn, SETTINGS, Asked(q=typed), typing=True)
    assert "as you type" in results(conn, SETTINGS, Asked(q=typed), typing=True)


def test_an_unfinished_word_finds_nothing_else(conn: Connection) -> None:
    assert "Nothing matches." in shown(conn, q="timeo")


def test_nothing_with_filters_offers_to_take_them_off(conn: Connection) -> None:
    page = shown(conn, q="timeout", tool="Nobody")
    assert '<a href="/search?q=timeout">Search without them</a>' in page


def test_an_empty_memory_says_how_to_fill_it(tmp_path: Path) -> None:
    conn = open_writer(tmp_path / "new")
    migrate(conn)
    assert "rescan" in results(conn, SETTINGS, Asked())
    conn.close()


def test_a_mistake_is_said_in_the_place_of_results(conn: Connection) -> None:
    page = shown(conn, project="shop-apy")
    assert 'role="alert"' in page
    assert "did you mean shop-api" in page


@pytest.mark.parametrize(("kind", "label"), TABS)
def test_every_kind_has_its_tab(conn: Connection, kind: str, label: str) -> None:
    page = view(conn, SETTINGS, Asked(q="x", kind=kind)).body
    assert re.search(rf'<a href="[^"]*" aria-current="page">{label}</a>', page)


def test_filters_are_chips_that_come_off(conn: Connection) -> None:
    page = view(conn, SETTINGS, Asked(q="x", tool="Bash", kind="tool_use")).body
    assert '<a href="/search?q=x&amp;kind=tool_use" aria-label="take off the filter tool Bash">' in page


def test_the_form_keeps_what_it_does_not_show(conn: Connection) -> None:
    page = view(conn, SETTINGS, Asked(q="x", kind="prompt", session="8c1f")).body
    assert '<input type="hidden" name="kind" value="prompt">' in page
    assert '<input type="hidden" name="session" value="8c1f">' in page


def test_a_question_cannot_leave_its_box(conn: Connection) -> None:
    page = view(conn, SETTINGS, Asked(q='"><script>alert(1)</script>')).body
    assert "<script>" not in page
    assert "&quot;&gt;&lt;script&gt;" in page


def test_escapes_and_overrides_of_the_recorded_are_gone(conn: Connection) -> None:
    page = shown(conn, project="notes")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)


def test_what_is_like_a_hit_is_found(conn: Connection) -> None:
    page = shown(conn, like="prompt:1")
    assert "like prompt:1" in page
    assert "#prompt-1" not in page


def test_pages_lead_on_and_back(conn: Connection) -> None:
    settings = config.load(env={"TRANSCRIPT_INDEXER_SEARCH_LIMIT": "2", "TRANSCRIPT_INDEXER_VECTORS": "none"})
    page = results(conn, settings, Asked(page=2))
    assert 'rel="prev"' in page
    assert '<a href="/search?page=3" rel="next">' in page
    assert '<ol class="hits" start="3">' in page


@pytest.mark.parametrize(
    "name", ["", "x", "prompt", "prompt:", "prompt:x", "nobody:1", "prompt:1:2", "prompt:-1", "prompt:²"]
)
def test_what_is_no_id_is_said(name: str) -> None:
    with pytest.raises(NotFound):
        row_of(name)


def test_an_id_is_a_row_of_the_index() -> None:
    assert (row_of("prompt:3"), row_of("tool_use:3")) == (24, 26)
