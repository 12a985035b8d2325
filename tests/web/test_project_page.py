"""Projects: the list, and one."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from pages import Browser, memory

from indexer.store.connection import open_writer
from indexer.store.migrations import migrate

SHOP = "/project?key=github.com%2Fexample%2Fshop-api"
NO_ROWS = "DELETE FROM work_state_entries"


def changed(tmp_path: Path, *statements: str) -> Browser:
    home = memory(tmp_path / "memory")
    conn = open_writer(home)
    for sql in statements:
        conn.executescript(sql)
    conn.close()
    return Browser(home)


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return changed(tmp_path)


def test_all_projects_are_listed_the_last_active_first(browser: Browser) -> None:
    page = browser.page("/projects")
    assert page.index(">Notes</a>") < page.index(">shop-api</a>")
    assert "key=github.com%2Fexample%2Ftools" in page
    assert "key=github.com%2Fother%2Ftools" in page


def test_no_project_is_said(tmp_path: Path) -> None:
    conn = open_writer(tmp_path / "new")
    migrate(conn)
    conn.close()
    assert "No project yet." in Browser(tmp_path / "new").page("/projects")


def test_a_project_says_what_it_came_to(browser: Browser) -> None:
    page = browser.page(SHOP)
    assert "<h1>shop-api</h1>" in page
    assert ">Fix the timeout</a>" in page
    assert "<p>Units matter</p>" in page


def test_what_is_open_is_listed(browser: Browser) -> None:
    assert "Test the timeout" in browser.page(SHOP)


def test_nothing_open_is_said(tmp_path: Path) -> None:
    assert "Nothing was left open." in changed(tmp_path, NO_ROWS).page(SHOP)


def test_its_files_lead_to_what_touched_them(browser: Browser) -> None:
    page = browser.page(SHOP)
    assert "file=%2Fhome%2Fdev%2Fwork%2Fshop-api%2Fauth.ts" in page
    assert '>/home/dev/work/shop-api/auth.ts</a></td><td class="n">1</td>' in page


def test_it_says_why_it_is_one(browser: Browser) -> None:
    page = browser.page(SHOP)
    assert "git remote names" in page
    assert "<code>/home/dev/old-shop</code>" in page
    assert "Shop-API" in page
    assert "<code>/home/dev/work/shop-api</code>" in page


@pytest.mark.parametrize("name", ["shop-api", "old-shop", "%2Fhome%2Fdev%2Fold-shop"])
def test_any_of_its_names_is_understood(browser: Browser, name: str) -> None:
    assert "<h1>shop-api</h1>" in browser.page(f"/project?key={name}")


def test_without_a_key_there_is_no_project(browser: Browser) -> None:
    assert browser.get("/project?key=").status == 404


@pytest.mark.parametrize(("name", "status"), [("nobody", 404), ("tools", 400)])
def test_no_project_and_several_are_said(browser: Browser, name: str, status: int) -> None:
    assert browser.get(f"/project?key={name}").status == status


PAIR = (
    "INSERT INTO observation_origins (observation_id, session_db_id, turn_id, slot) VALUES (2, 3, 'p6', 'x');"
    "UPDATE observations SET project = 'shop-api', title = 'The timeout <b>' WHERE id = 2;"
    "INSERT INTO observation_dedup_candidates (first_id, second_id, score) VALUES (1, 2, 0.9)"
)


def test_pairs_that_are_alike_wait_for_a_decision(tmp_path: Path) -> None:
    page = changed(tmp_path, PAIR).page(SHOP)
    assert 'data-decision="accept" data-first="1" data-second="2"' in page
    assert "The timeout &lt;b&gt;" in page


def test_without_pairs_nothing_is_asked(browser: Browser) -> None:
    assert "data-decision" not in browser.page(SHOP)
