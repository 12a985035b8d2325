"""The address of a search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer import config
from indexer.errors import NotFound, UsageError
from indexer.query import Filters, parse
from indexer.store.connection import Connection, open_writer
from indexer.store.migrations import migrate
from indexer.web.asking import LONGEST, MOST, Asked, address, filters, read, unfinished

FIXTURE = Path(__file__).parent.parent / "fixtures" / "memory.sql"


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[Connection]:
    conn = open_writer(tmp_path)
    migrate(conn)
    conn.executescript(FIXTURE.read_text(encoding="utf-8"))
    yield conn
    conn.close()


SETTINGS = config.load(env={})


def test_an_address_is_read_and_written_back() -> None:
    asked = read({"q": " a b ", "kind": "prompt", "project": "p/q", "page": "3", "t": "x", "nonsense": "y"})
    assert asked == Asked(q="a b", kind="prompt", project="p/q", page=3)
    assert address(asked, page=3) == "/search?q=a+b&kind=prompt&project=p%2Fq&page=3"


@pytest.mark.parametrize("page", ["", "0", "-1", "x", "1e3", "9999999", "²"])
def test_a_page_that_cannot_be_is_the_first(page: str) -> None:
    assert read({"page": page}).page == 1


def test_a_very_long_question_is_cut() -> None:
    assert len(read({"q": "x" * 99_999}).q) == LONGEST


def test_a_changed_search_begins_at_its_first_page() -> None:
    assert address(Asked(q="x", page=4), kind="prompt") == "/search?q=x&kind=prompt"


def test_a_filter_is_taken_off_by_an_empty_value() -> None:
    assert address(Asked(q="x", tool="Bash"), tool="") == "/search?q=x"


def test_a_search_for_nothing_has_the_shortest_address() -> None:
    assert address(Asked()) == "/search"


def test_what_narrows_is_listed() -> None:
    assert Asked(q="x", tool="Bash", since="7d").narrowed == [("since", "7d"), ("tool", "Bash")]


def test_all_filters_reach_the_search(conn: Connection) -> None:
    asked = Asked(
        kind="tool_use", project="notes", tool="Bash", file="a.py", since="2026-11-01", session="33333333", page=2
    )
    found = filters(conn, SETTINGS, asked)
    assert (found.project, found.kinds, found.tool, found.file) == (("/home/dev/notes",), ("tool_use",), "Bash", "a.py")
    assert (found.session, found.limit, found.offset) == ("33333333-0000-4000-8000-000000000003", 20, 20)


def test_a_page_stays_small_whatever_the_settings(conn: Connection) -> None:
    settings = config.load(env={"TRANSCRIPT_INDEXER_SEARCH_LIMIT": "10000"})
    assert filters(conn, settings, Asked()).limit == MOST


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        (Asked(kind="promt"), UsageError),
        (Asked(project="nobody"), NotFound),
        (Asked(since="soon"), UsageError),
        (Asked(since="2026-11-20", until="2026-11-19"), UsageError),
        (Asked(session="zzz"), NotFound),
    ],
)
def test_what_cannot_be_asked_is_an_error(conn: Connection, asked: Asked, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        filters(conn, SETTINGS, asked)


def test_the_last_word_may_be_the_beginning_of_one() -> None:
    *first, last = unfinished("auth timeo", Filters()).terms
    assert first == list(parse("auth", Filters()).terms)
    assert (last.match.endswith('OR "timeo" *'), last.loose[-1]) == (True, '"timeo" *')


@pytest.mark.parametrize(
    "text", ["ti", "auth ti", "timeo ", '"timeo', '"a timeo"', "title:timeo", "", "配置", "-timeo"]
)
def test_else_the_question_is_what_it_is(text: str) -> None:
    assert unfinished(text, Filters()) == parse(text, Filters())
