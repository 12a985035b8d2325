"""Numbers of a year, in the local zone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from freezegun import freeze_time

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from pages import Browser, check, memory

from indexer import config
from indexer.store import statistics
from indexer.store.connection import open_writer
from indexer.store.reads import reading
from indexer.web import numbers_page
from indexer.web.kept import Kept
from indexer.web.numbers_page import Counts

NOW = "2026-12-01T12:00:00Z"


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(memory(tmp_path / "memory"))


def page(browser: Browser, path: str = "/numbers", now: str = NOW) -> str:
    """Seen at this time. The view itself is asked: in the server's thread no clock is frozen."""
    settings = config.load(browser.home, (), {})
    with freeze_time(now), reading(browser.home) as conn:
        made = numbers_page.view(conn, settings, dict(parse_qsl(path.partition("?")[2])))
    check(made.body)
    return made.body


def test_it_is_a_page_of_the_site(browser: Browser) -> None:
    assert "<h1>Numbers</h1>" in browser.page("/numbers")


FIGURES = (
    "Prompts and tool calls a day", "Tokens a day, of the last 90 days that have any", "Tools",
    "Prompts by hour of the day", "Projects", "Models, by output tokens",
)  # fmt: skip


def test_every_figure_has_a_picture_and_a_table(browser: Browser) -> None:
    found = page(browser)
    for title in FIGURES:
        part = found[found.index(f"<figcaption>{title}</figcaption>") :].partition("</figure>")[0]
        assert 'role="img"' in part
        assert "<table>" in part


def test_days_are_counted(browser: Browser) -> None:
    found = page(browser)
    assert "<title>2026-11-20: 6 prompts and calls</title>" in found
    assert '<th scope="row">2026-11-20</th><td class="n">6</td>' in found


def test_tools_say_how_many_failed(browser: Browser) -> None:
    assert '<th scope="row">Bash</th><td class="n">2</td><td class="n">1</td>' in page(browser)


def test_tokens_are_told_by_kind(browser: Browser) -> None:
    assert '<th scope="row">2026-11-20</th><td class="n">1,010</td><td class="n">50</td>' in page(browser)


def test_hours_are_all_there(browser: Browser) -> None:
    found = page(browser)
    assert '<th scope="row">10</th><td class="n">3</td>' in found
    assert '<th scope="row">23</th><td class="n">0</td>' in found


def test_the_zone_is_named_and_days_are_its(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    found = page(browser)
    assert "time zone NZDT" in found
    assert '<th scope="row">2026-11-21</th>' in found


def test_one_project_alone(browser: Browser) -> None:
    found = page(browser, "/numbers?project=notes")
    assert "in notes" in found
    assert ">Bash<" not in found


def test_a_project_that_is_not_there_is_said(browser: Browser) -> None:
    assert browser.get("/numbers?project=nobody").status == 404


def test_a_year_without_anything_says_so(browser: Browser) -> None:
    assert "Nothing has been counted" in page(browser, now="2031-01-01")


def test_what_is_known_is_not_counted_again(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = counting(monkeypatch)
    first, second = page(browser), page(browser)
    assert (first == second, len(counted)) == (True, 1)


def test_a_change_of_the_memory_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = memory(tmp_path / "memory")
    counted = counting(monkeypatch)
    page(Browser(home))
    conn = open_writer(home)
    conn.execute("UPDATE tool_uses SET tool_name = 'Newer' WHERE id = 1")
    conn.close()
    assert "Newer" in page(Browser(home))
    assert len(counted) == 2


def counting(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Filled at each count of prompts."""
    counted: list[object] = []
    real = statistics.prompts

    def noted(*given: Any) -> object:
        counted.append(given)
        return real(*given)

    monkeypatch.setattr(numbers_page, "KEPT", Kept[Counts](8))
    monkeypatch.setattr("indexer.store.statistics.prompts", noted)
    return counted
