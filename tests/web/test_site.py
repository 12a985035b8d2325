"""Pages behind the guard, asked as a browser asks."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("anyio")

from pages import Browser, memory, parsed

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
