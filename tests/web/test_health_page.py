"""Health: state, findings with remedies, what could not be read, settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("markdown_it")

from pages import Browser, memory, parsed

from indexer import config
from indexer.finding import NOTE, OK, PROBLEM, Finding
from indexer.web.health_page import findings


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(memory(tmp_path / "memory"))


def test_problems_come_first_each_with_its_remedy() -> None:
    page = findings([Finding("fine", OK, "well"), Finding("odd", NOTE, "so"), Finding("bad", PROBLEM, "x", "run `y`")])
    assert re.findall(r"<code>(fine|odd|bad)</code>", page) == ["bad", "odd", "fine"]
    assert "<strong>What to do: </strong>run <code>y</code>" in page
    assert "1 problem found" in page


def test_no_problem_is_said() -> None:
    assert "No problem found." in findings([Finding("fine", OK, "well")])


def test_a_finding_is_text() -> None:
    assert "<b>" not in findings([Finding("<b>", PROBLEM, "<b>", "`<b>`")])


def test_the_page_does_not_wait_for_doctor(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("doctor was asked")

    monkeypatch.setattr("indexer.app.doctor", never)
    page = browser.page("/health")
    assert "data-ask" in page
    assert '<a href="/health?doctor=1">' in page


def test_without_a_script_it_is_asked_by_a_link(browser: Browser) -> None:
    page = browser.page("/health?doctor=1")
    assert "data-ask" not in page
    assert "<code>no-watcher</code>" in page


def test_the_script_asks_for_the_findings_alone(browser: Browser) -> None:
    part = browser.get("/health?part=doctor").body
    assert "<html" not in part
    assert parsed(part).faults == []


def test_what_could_not_be_read_is_listed(browser: Browser) -> None:
    page = browser.page("/health")
    assert "Permission denied" in page
    assert "1.jsonl:6</code>: NUL bytes, 12 bytes" in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", page)


def test_the_memory_is_counted(browser: Browser) -> None:
    page = browser.page("/health")
    assert "7 sessions" in page
    assert "2 observations · 1 summaries" in page
    assert "1 gone since" in page
    assert "switched off" in page


@pytest.mark.parametrize("key", [key for key, _, _ in config.load(env={}).shown()])
def test_every_setting_stands_with_its_origin(browser: Browser, key: str) -> None:
    assert f"<code>{key}</code>" in browser.page("/health")


def test_an_origin_is_named(browser: Browser) -> None:
    assert "<td>TRANSCRIPT_INDEXER_VECTORS</td>" in browser.page("/health")
