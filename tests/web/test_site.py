"""Pages behind the guard, asked as a browser asks."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

pytest.importorskip("starlette")
pytest.importorskip("anyio")

from pages import Browser, memory, parsed

from indexer.store.connection import open_writer
from indexer.store.lexical import Match
from indexer.web.guard import HEADERS


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(memory(tmp_path / "memory"))


PAGES = ["/search", "/search?q=timeout", "/search?q=timeout&kind=tool_use&tool=Bash", "/search?like=prompt:1"]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_sound(browser: Browser, path: str) -> None:
    page = browser.page(path)
    assert page.count("<h1>") == 1


@pytest.mark.parametrize("path", [*PAGES, "/static/app.js", "/nowhere"])
def test_every_answer_has_every_header(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    assert {name: headers[name.decode()] for name, _ in HEADERS} == {name: value.decode() for name, value in HEADERS}


@pytest.mark.parametrize("path", [*PAGES, "/static/app.js", "/", "/nowhere"])
def test_nothing_is_shown_without_the_token(browser: Browser, path: str) -> None:
    answer = browser.get(path, cookie=None)
    assert answer.status == 401
    assert "--open" in answer.body
    assert "timeout" not in answer.body


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "http://localhost.example"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
    ],
)
def test_nothing_is_shown_to_another_site(browser: Browser, path: str, changed: dict[str, str], status: int) -> None:
    answer = browser.get(path, **changed)
    assert (answer.status, "timeout" in answer.body) == (status, False)


def test_what_is_asked_while_typing_is_a_part_of_the_page(browser: Browser) -> None:
    part = browser.get("/search?q=timeo&part=results&typing=1").body
    assert "<html" not in part
    assert any(name == "mark" for name, _ in parsed(part).found)


@pytest.mark.parametrize(
    ("name", "kind"), [("app.js", "text/javascript"), ("page.css", "text/css"), ("icon.svg", "image/svg+xml")]
)
def test_our_own_files_are_of_their_types(browser: Browser, name: str, kind: str) -> None:
    answer = browser.get(f"/static/{name}")
    assert (answer.status, answer.headers["content-type"].partition(";")[0]) == (200, kind)


@pytest.mark.parametrize("name", ["..%2fsite.py", "../site.py", "site.py", "", "__init__.py"])
def test_no_other_file_is_given(browser: Browser, name: str) -> None:
    assert browser.get(f"/static/{name}").status == 404


def test_a_page_that_is_not_there_says_so(browser: Browser) -> None:
    answer = browser.get("/nowhere")
    assert (answer.status, "there is no such page" in answer.body) == (404, True)


def test_a_page_that_only_reads_takes_no_change(browser: Browser) -> None:
    assert browser.post("/search", {}).status == 405


def test_without_a_memory_the_page_says_what_to_do(tmp_path: Path) -> None:
    answer = Browser(tmp_path / "none").get("/search")
    assert answer.status == 503
    assert "run <code>transcript-indexer rescan</code> first" in answer.body


def test_a_damaged_memory_is_told_of(tmp_path: Path) -> None:
    home = memory(tmp_path / "memory")
    (home / "index.db").write_bytes(b"x" * 8192)
    answer = Browser(home).get("/search")
    assert (answer.status, 'role="alert"' in answer.body) == (503, True)


def test_a_head_is_answered_like_a_get(browser: Browser) -> None:
    assert browser.ask("HEAD", "/search", {}).status == 200


ELSEWHERE = [
    "/",
    "/projects",
    "/project?key=notes",
    "/numbers",
    "/health",
    "/entry?id=prompt:1",
    "/session?id=33333333",
]


@pytest.mark.parametrize("path", ELSEWHERE)
def test_every_other_page_is_sound_too(browser: Browser, path: str) -> None:
    page = browser.page(path)
    assert page.count("<h1>") == 1
    assert 'role="search"' in page


@pytest.mark.parametrize("path", [*ELSEWHERE, "/export?id=33333333", "/feed", "/api/forget", "/api/dedup"])
def test_no_other_address_answers_without_the_token(browser: Browser, path: str) -> None:
    assert browser.get(path, cookie=None).status == 401


@pytest.mark.parametrize("path", ["/feed", "/export?id=33333333", "/api/forget"])
def test_streams_files_and_changes_have_every_header(browser: Browser, path: str) -> None:
    headers = browser.get(path).headers
    assert {name.decode() for name, _ in HEADERS} <= headers.keys()
    assert headers["cache-control"] == "no-store"


def test_a_memory_that_was_rebuilt_is_the_one_that_is_shown(tmp_path: Path) -> None:
    """A rebuild puts another file in the place of the old one: each page opens what is there."""
    browser = Browser(memory(tmp_path / "memory"))
    assert "shop-api" in browser.page("/projects")
    other = memory(tmp_path / "other")
    conn = open_writer(other)
    conn.execute("UPDATE projects SET display = 'renamed' WHERE id = 1")
    conn.close()
    (other / "index.db").replace(tmp_path / "memory" / "index.db")
    assert "renamed" in browser.page("/projects")


def test_a_memory_of_a_newer_version_is_said(tmp_path: Path) -> None:
    home = memory(tmp_path / "memory")
    conn = open_writer(home)
    conn.execute("INSERT INTO schema_versions VALUES (9999, 'later', '2030-01-01')")
    conn.close()
    answer = Browser(home).get("/")
    assert (answer.status, 'role="alert"' in answer.body) == (503, True)


class Near:
    """Somebody who knows one row that is near in meaning."""

    arms: ClassVar[dict[str, list[Match]]] = {"use": [Match(40, 0.9)]}
    via = ("exact",)
    notes = ("MiniLM is still loading",)


def test_what_was_found_by_meaning_says_so(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "indexer.scope.meaning", lambda settings, mode: None if mode == "lexical" else lambda *a, **k: Near()
    )
    page = browser.page("/search?q=timeout")
    assert "by words and meaning (use)" in page
    assert "MiniLM is still loading" in page
    assert "near in meaning, or further inside" in page
    assert "meaning (use)" not in browser.get("/search?q=timeout&part=results&typing=1").body
