"""Today: the newest entries and the state."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from pages import Browser, memory

from indexer.store.connection import open_writer
from indexer.store.migrations import migrate
from indexer.web.today_page import SHOWN


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(memory(tmp_path / "memory"))


def feed(page: str) -> str:
    return page.split('id="feed"')[1].split("</ol>")[0]


def test_the_newest_comes_first_with_its_kind_project_and_place(browser: Browser) -> None:
    first = feed(browser.page("/")).split("<li")[1]
    assert "at=prompt%3A6#prompt-6" in first
    assert ">prompt</span>" in first
    assert ">Notes</a>" in first


def test_every_kind_stands_in_it(browser: Browser) -> None:
    kinds = set(re.findall(r'class="kind">([a-z ]+)<', feed(browser.page("/"))))
    assert {"prompt", "answer", "tool call", "observation"} <= kinds


def test_it_says_how_far_it_goes(browser: Browser) -> None:
    assert 'data-after="p7a2t4o2s1"' in browser.page("/")


def test_the_last_sessions_are_listed(browser: Browser) -> None:
    assert browser.page("/").count("/session?id=") > 7


def test_without_a_service_it_says_what_to_do(browser: Browser) -> None:
    page = browser.page("/")
    assert "not running" in page
    assert "<code>transcript-indexer service install</code>" in page


def test_escapes_of_the_recorded_are_gone(browser: Browser) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", browser.page("/"))


def test_an_empty_memory_says_how_to_fill_it(tmp_path: Path) -> None:
    conn = open_writer(tmp_path / "new")
    migrate(conn)
    conn.close()
    page = Browser(tmp_path / "new").page("/")
    assert "Nothing is remembered yet." in page
    assert "No session yet." in page


def test_only_so_many_are_shown(tmp_path: Path) -> None:
    home = memory(tmp_path / "memory")
    conn = open_writer(home)
    for number in range(100, 200):
        conn.execute(
            "INSERT INTO user_prompts (id, session_db_id, content_session_id, project_key, prompt_text,"
            " native_prompt_id, native_prompt_hash, created_at_epoch)"
            " VALUES (?, 3, 'x', '/home/dev/notes', 'again', ?, 'h', ?)",
            (number, f"n{number}", 1_795_255_200_000 + number),
        )
        conn.execute(
            "INSERT INTO search_texts (id, kind, session_db_id, project_key, created_at_epoch, body)"
            " VALUES (?, 'prompt', 3, '/home/dev/notes', ?, 'again')",
            (number * 8, 1_795_255_200_000 + number),
        )
    conn.close()
    assert feed(Browser(home).page("/")).count("<li") == SHOWN
