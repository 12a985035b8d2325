"""What every page has, and what it says when there is nothing to show."""

from __future__ import annotations

import pytest

from indexer.errors import Busy
from indexer.web import layout
from indexer.web.layout import PLACES, Page, document, empty, failed, refused
from indexer.web.markup import tag

PAGE = document(Page("A <title>", tag("p", "body"), "/search", "search.js")).decode()


def test_a_page_is_whole() -> None:
    assert PAGE.startswith('<!doctype html>\n<html lang="en">')
    assert '<main id="main" tabindex="-1"><h1>A &lt;title&gt;</h1><p>body</p></main>' in PAGE


@pytest.mark.parametrize("landmark", ["<header>", '<nav aria-label="Pages">', "<main ", "<footer>", 'class="skip"'])
def test_it_has_its_landmarks(landmark: str) -> None:
    assert PAGE.count(landmark) == 1


def test_it_scales_and_may_be_zoomed() -> None:
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in PAGE


@pytest.mark.parametrize(("to", "name"), PLACES)
def test_every_place_is_in_the_navigation(to: str, name: str) -> None:
    here = ' aria-current="page"' if to == "/search" else ""
    assert f'<a href="{to}"{here}>{name}</a>' in PAGE


def test_scripts_are_our_own_files() -> None:
    assert '<script type="module" src="/static/app.js"></script>' in PAGE
    assert '<script type="module" src="/static/search.js"></script>' in PAGE


def test_the_box_stands_on_every_page_once() -> None:
    assert document(Page("x", tag("p"), asked='a "b"')).decode().count('value="a &quot;b&quot;"') == 1
    assert 'class="box"' not in PAGE


def test_the_zone_is_named() -> None:
    assert "Times are in UTC." in PAGE


def test_a_lone_surrogate_does_not_break_the_page() -> None:
    assert "a\ufffdb".encode() in document(Page("a\ud800b", tag("p")))


def test_nothing_and_a_failure_look_different() -> None:
    assert empty("Nothing.", "Do this.") == '<div class="state"><p>Nothing.</p><p>Do this.</p></div>'
    assert 'role="alert"' in failed(Busy("held", "wait"))
    assert "<p>wait</p>" in failed(Busy("held", "wait"))


def test_who_is_refused_reads_why_and_nothing_else() -> None:
    told = refused(401, "no <token>", "do").decode()
    assert "<h1>401: no &lt;token&gt;</h1><p>do</p>" in told
    assert "<script" not in told


def test_times_are_local_and_say_their_moment() -> None:
    told = '<time datetime="2026-11-20T10:00:00.000Z">2026-11-20 10:00</time>'
    assert layout.when(1_795_168_800_000) == told
    assert layout.spoken(1_795_168_800_000) == "2026-11-20 10:00 UTC"


@pytest.mark.parametrize("time", [None, 1 << 61])
def test_what_has_no_time_is_undated(time: int | None) -> None:
    assert "undated" in layout.when(time)
    assert layout.spoken(time) == "undated"


@pytest.mark.parametrize(
    ("ms", "told"), [(None, ""), (999, "0 s"), (42_000, "42 s"), (420_000, "7 min"), (11_100_000, "3 h 05 min")]
)
def test_spans_are_short(ms: int | None, told: str) -> None:
    assert layout.lasting(ms) == told


@pytest.mark.parametrize(
    ("number", "told"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (123_456, "123 kB"), (2_500_000_000, "2.5 GB")]
)
def test_sizes_are_decimal(number: int, told: str) -> None:
    assert layout.size(number) == told


def test_words_have_their_number() -> None:
    assert [layout.many(1, "file"), layout.many(1200, "file")] == ["1 file", "1,200 files"]


def test_what_is_empty_has_no_dot() -> None:
    assert layout.aside("a", "", None, "<") == "a · &lt;"
