"""What can be changed from the page, and by whom alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from pages import TOKEN, Browser, memory
from scenery import scenery
from transcripts import uid

from indexer.errors import UsageError
from indexer.store.connection import WriterLock, open_writer
from indexer.store.reads import reading
from indexer.web.changes import LONGEST, asked

NAME = uid("session", "hostile")
PAIR = (
    "INSERT INTO observation_origins (observation_id, session_db_id, turn_id, slot) VALUES (2, 3, 'p6', 'x');"
    "INSERT INTO observation_dedup_candidates (first_id, second_id, score) VALUES (1, 2, 0.9)"
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = memory(tmp_path / "memory")
    conn = open_writer(home)
    conn.executescript(PAIR)
    conn.close()
    return home


@pytest.fixture
def browser(home: Path) -> Browser:
    return Browser(home)


def count(home: Path, sql: str) -> Any:
    with reading(home) as conn:
        return conn.execute(sql).fetchone()[0]


def ask(browser: Browser, path: str, given: Any, **headers: str | None) -> tuple[int, dict[str, Any]]:
    answer = browser.post(path, given, **headers)
    return answer.status, json.loads(answer.body)


# --- forgetting


def test_first_it_is_said_what_would_go(browser: Browser, home: Path) -> None:
    status, said = ask(browser, "/api/forget", {"session": "8c1f0a52-0000-4000-8000-000000000001"})
    assert (status, said["done"], said["would_go"]["sessions"]) == (200, False, 1)
    assert count(home, "SELECT count(*) FROM sdk_sessions") == 7


def test_then_it_goes_for_good(tmp_path: Path) -> None:
    home = scenery(tmp_path)
    browser = Browser(home)
    status, said = ask(browser, "/api/forget", {"session": NAME, "yes": True})
    assert (status, said["done"], said["finished"]) == (200, True, True)
    assert b"document.cookie" not in (home / "index.db").read_bytes()
    assert browser.get(f"/session?id={NAME}").status == 404


def test_a_single_entry_goes_too(tmp_path: Path) -> None:
    home = scenery(tmp_path)
    status, said = ask(Browser(home), "/api/forget", {"id": "prompt:1", "yes": True})
    assert (status, said["done"], said["would_go"]["prompts"]) == (200, True, 1)
    assert count(home, "SELECT count(*) FROM user_prompts WHERE id = 1") == 0


@pytest.mark.parametrize("yes", ["true", 1, "yes", None, [True]])
def test_only_a_plain_yes_is_one(browser: Browser, home: Path, yes: object) -> None:
    ask(browser, "/api/forget", {"id": "prompt:6", "yes": yes})
    assert count(home, "SELECT count(*) FROM user_prompts WHERE id = 6") == 1


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"session": ""},
        {"session": 1},
        {"session": "a", "id": "prompt:1"},
        {"session": None},
        {"yes": True},
        {"project": "x"},
    ],
)
def test_what_to_forget_must_be_plain(browser: Browser, given: Any) -> None:
    status, said = ask(browser, "/api/forget", {"yes": True, **given})
    assert (status, said["error"]["kind"]) == (400, "usage")


@pytest.mark.parametrize("name", ["8c1f", "session:8c1f0a52-0000-4000-8000-000000000001", "zzz"])
def test_the_start_of_an_id_forgets_nothing(browser: Browser, home: Path, name: str) -> None:
    assert ask(browser, "/api/forget", {"session": name, "yes": True})[0] in (400, 404)
    assert count(home, "SELECT count(*) FROM sdk_sessions") == 7


def test_while_another_writes_it_is_said(browser: Browser, home: Path) -> None:
    lock = WriterLock(home)
    try:
        status, said = ask(browser, "/api/forget", {"id": "prompt:6", "yes": True})
    finally:
        lock.release()
    assert (status, said["error"]["kind"], said["error"]["retryable"]) == (503, "busy", True)


# --- deciding


@pytest.mark.parametrize(("decision", "stored"), [("accept", "merged"), ("dismiss", "dismissed")])
def test_a_decision_is_kept(browser: Browser, home: Path, decision: str, stored: str) -> None:
    assert ask(browser, "/api/dedup", {"first": 1, "second": 2, "decision": decision}) == (200, {"done": True})
    assert count(home, "SELECT status FROM observation_dedup_candidates") == stored


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"first": "1"},
        {"first": True},
        {"first": 0},
        {"second": 1 << 70},
        {"decision": "merge"},
        {"decision": None},
        {"second": None},
    ],
)
def test_a_decision_must_be_plain(browser: Browser, given: Any) -> None:
    given = {"first": 1, "second": 2, "decision": "accept", **given} if given else given
    assert ask(browser, "/api/dedup", given)[0] == 400


def test_a_pair_that_is_none_is_said(browser: Browser) -> None:
    assert ask(browser, "/api/dedup", {"first": 1, "second": 3, "decision": "accept"})[0] == 404


# --- by whom

ADDRESSES = ["/api/forget", "/api/dedup"]
FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"cookie": None}, 401),
        ({"origin": None}, 403),
        ({"origin": "http://localhost.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"host": "evil.example:8385"}, 421),
        ({"content_type": FORM}, 415),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": None}, 415),
    ],
)
def test_another_site_changes_nothing(
    browser: Browser, home: Path, path: str, headers: dict[str, str | None], status: int
) -> None:
    given = {"id": "prompt:6", "yes": True, "first": 1, "second": 2, "decision": "accept"}
    assert browser.post(path, given, **headers).status == status
    assert count(home, "SELECT count(*) FROM user_prompts WHERE id = 6") == 1
    assert count(home, "SELECT status FROM observation_dedup_candidates") == "pending"


@pytest.mark.parametrize("path", ADDRESSES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_get_changes_nothing(browser: Browser, path: str, method: str) -> None:
    assert browser.ask(method, f"{path}?id=prompt:6&yes=true", {}).status == 405


def test_a_script_with_the_token_may(browser: Browser) -> None:
    headers = {"cookie": None, "origin": None, "sec_fetch_site": None, "authorization": f"Bearer {TOKEN}"}
    assert browser.post("/api/forget", {"id": "prompt:6"}, **headers).status == 200


@pytest.mark.parametrize(
    "body", [b"", b"x", b"[]", b"1", b"null", b'"x"', b"{", b"\xff", b"[" * 60_000, b"{}" + b" " * LONGEST]
)
def test_a_body_that_is_no_object_is_refused(browser: Browser, body: bytes) -> None:
    assert browser.post("/api/forget", body).status == 400


def test_an_object_is_read() -> None:
    assert asked(b'{"a": 1}') == {"a": 1}
    with pytest.raises(UsageError):
        asked(b"[]")
