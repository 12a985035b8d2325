"""One entry in whole, and a session to take away."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from pages import Browser, memory
from scenery import SCRIPT, scenery
from transcripts import uid

from indexer.web.entry_page import PIECE

SESSION = "8c1f0a52-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scenery(tmp_path_factory.mktemp("scenery"))


@pytest.fixture
def browser(home: Path) -> Browser:
    return Browser(home)


@pytest.fixture
def small(tmp_path: Path) -> Browser:
    return Browser(memory(tmp_path / "memory"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("prompt:1", "Why does the auth timeout fire early?"),
        ("assistant:1", "It counts in seconds."),
        ("tool_use:1", "const timeout = 30"),
        ("observation:1", "Read as ms."),
        ("summary:1", "Units matter"),
        ("shell:3", "ls -la"),
        ("command:2", "/compact"),
    ],
)
def test_every_kind_is_shown_in_whole(small: Browser, name: str, said: str) -> None:
    page = small.page(f"/entry?id={name}")
    assert said in page
    at = {"observation:1": "prompt:1", "summary:1": "summary:1"}.get(name, name)
    assert f'at={at.replace(":", "%3A")}#{at.replace(":", "-")}"' in page


def test_it_says_where_it_was_read(small: Browser) -> None:
    assert "<code>/home/dev/.claude/projects/shop/1.jsonl:1</code>" in small.page("/entry?id=prompt:1")


@pytest.mark.parametrize("name", ["prompt:99", "prompt:2", "nobody:1", "", "prompt", "prompt:9999999999999999999"])
def test_what_is_not_there_is_said(small: Browser, name: str) -> None:
    assert small.get(f"/entry?id={name}").status == 404


def longest(browser: Browser) -> str:
    """The id of the answer that is longer than a page."""
    page = browser.page(f"/session?id={uid('session', 'long')}")
    found: list[str] = re.findall(r'/entry\?id=(assistant%3A\d+)">all of it', page)
    return found[0]


def test_a_long_text_comes_in_pieces_that_lead_on(browser: Browser) -> None:
    page = browser.page(f"/entry?id={longest(browser)}")
    assert f"&amp;from={PIECE}" in page
    assert "Previous piece" not in page
    assert "Previous piece" in browser.page(f"/entry?id={longest(browser)}&from={PIECE}")


def test_all_pieces_are_the_whole(browser: Browser) -> None:
    name, start, found = longest(browser), 0, ""
    while start < 300_100:
        found += "".join(
            re.findall(r"<h2>Text</h2><pre>(.*?)</pre>", browser.page(f"/entry?id={name}&from={start}"), re.S)
        )
        start += PIECE
    assert found.count("&quot;quoted&quot;") == 20_000


@pytest.mark.parametrize("start", ["x", "-1", "99999999", "1e5", ""])
def test_a_place_that_cannot_be_breaks_nothing(browser: Browser, start: str) -> None:
    browser.page(f"/entry?id={longest(browser)}&from={start}")


def test_a_recorded_script_is_text(browser: Browser) -> None:
    page = browser.page("/entry?id=prompt:1") + browser.page("/entry?id=tool_use:1")
    assert SCRIPT not in page


# --- export


@pytest.mark.parametrize(
    ("kind", "name", "begins"), [("markdown", "md", "# Fix the auth timeout"), ("html", "html", "<!doctype html>")]
)
def test_a_session_is_saved_as_a_file(small: Browser, kind: str, name: str, begins: str) -> None:
    answer = small.get(f"/export?id={SESSION}&format={kind}")
    assert answer.body.startswith(begins)
    assert answer.headers["content-disposition"] == f'attachment; filename="{SESSION}.{name}"'


def test_a_name_cannot_leave_the_header(small: Browser) -> None:
    assert small.get("/export?id=--help").headers["content-disposition"] == 'attachment; filename="--help.md"'


def test_times_of_a_file_name_their_zone(small: Browser) -> None:
    assert "2026-11-20 10:00 UTC" in small.get(f"/export?id={SESSION}").body


def test_an_export_of_nothing_is_a_page_that_says_so(small: Browser) -> None:
    assert small.get("/export?id=zzz").status == 404
