from __future__ import annotations

import time

import pytest

from indexer.cli import render
from indexer.cli.render import Style

PLAIN, BRIGHT = Style(False), Style(True)
EVENING = 1795234080000  # 2026-11-21T04:08:00Z


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()


def test_one_line_is_clean_and_one_line() -> None:
    assert render.one_line("a\x1b[31m\nb\t\u202ec") == "a b c"
    assert render.one_line(None) == ""
    assert render.one_line(7) == "7"


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("", 0),
        ("abc", 3),
        ("项目", 4),
        ("設定を", 6),
        ("cafe\u0301", 4),
        ("ｆｕｌｌ", 8),
        ("é", 1),
        ("한글 x", 6),
    ],
)
def test_columns_are_what_a_terminal_shows(text: str, width: int) -> None:
    assert render.columns(text) == width


def test_fit_cuts_between_wide_characters() -> None:
    assert render.fit("修改了项目", 10) == "修改了项目"
    assert render.fit("修改了项目", 9) == "修改了项…"
    assert render.fit("修改了项目", 8) == "修改了…"
    assert render.fit("abc", 2) == "a…"


def test_pad_fills_up_by_columns() -> None:
    assert render.pad("项目", 6) == "项目  "
    assert render.pad("too long", 3) == "too long"


def test_wrap_breaks_at_spaces() -> None:
    assert render.wrap("one two three", 8) == ["one two", "three"]


def test_wrap_breaks_what_has_no_spaces() -> None:
    assert render.wrap("修改了项目配置", 6) == ["修改了", "项目配", "置"]
    assert render.wrap("x" * 7, 3) == ["xxx", "xxx", "x"]


def test_wrap_takes_a_line_of_megabytes() -> None:
    assert len(render.wrap("项目 " * 200_000, 50)) == 20_000


def test_wrap_fills_lines_to_the_last_column() -> None:
    assert render.wrap("one two three", 7) == ["one two", "three"]
    assert render.wrap("  indented words", 6) == ["  inde", "nted", "words"]


def test_wrap_keeps_line_breaks_and_indents() -> None:
    assert render.wrap("if x:\n    y\n\nz", 20) == ["if x:", "    y", "", "z"]


def test_wrap_takes_out_what_would_move_the_cursor() -> None:
    assert render.wrap("a\x1b[2Jb\rc", 20) == ["abc"]


def test_wrap_ends_even_when_nothing_fits() -> None:
    assert render.wrap("项目", 1) == ["项", "目"]


def test_highlight_marks_each_place_whatever_its_case() -> None:
    marked = render.highlight("Timeout of the timeouts", ["timeout"], BRIGHT)
    assert marked == "\x1b[1;33mTimeout\x1b[0m of the \x1b[1;33mtimeout\x1b[0ms"


def test_highlight_prefers_the_longer_word() -> None:
    assert render.highlight("auth.ts", ["auth", "auth.ts"], BRIGHT) == "\x1b[1;33mauth.ts\x1b[0m"


def test_highlight_takes_words_literally() -> None:
    assert render.highlight("C++ (x)", ["C++", "(x)"], BRIGHT).count("\x1b[1;33m") == 2
    assert render.highlight("text", ["", " ", "t"], BRIGHT) == "text"
    assert render.highlight("项目", ["项"], BRIGHT) == "\x1b[1;33m项\x1b[0m目"


def test_without_colour_nothing_is_laid_on() -> None:
    assert render.highlight("timeout", ["timeout"], PLAIN) == "timeout"
    assert PLAIN.bold("x") + PLAIN.dim("x") + PLAIN.name("x") + PLAIN.bad("x") == "xxxx"
    assert BRIGHT.bold("") == ""


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("PST8PDT", "2026-11-20 20:08 PST"),
        ("UTC", "2026-11-21 04:08 UTC"),
        ("Asia/Kathmandu", "2026-11-21 09:53 +05:45"),
        ("<-03>3", "2026-11-21 01:08 -03:00"),
    ],
    indirect=["zone"],
)
@pytest.mark.usefixtures("zone")
def test_every_time_names_its_zone(shown: str) -> None:
    assert render.when(EVENING) == shown


def test_times_that_no_calendar_has_are_still_shown() -> None:
    assert render.when(None) == "undated"
    assert render.when(-1) == "1969-12-31 23:59 UTC"
    assert render.when(10**18) == "undated"


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (None, ""),
        (0, "0 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (3_900_000, "1 h 05 min"),
        (187_200_000, "2 d 4 h"),
    ],
)
def test_durations(ms: int | None, shown: str) -> None:
    assert render.duration(ms) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (123_456, "123 kB"),
        (999_600, "1.0 MB"),
        (5e8, "500 MB"),
        (2e15, "2000.0 TB"),
    ],
)
def test_sizes(number: float, shown: str) -> None:
    assert render.size(number) == shown


def test_many() -> None:
    assert render.many(1, "session") == "1 session"
    assert render.many(1204, "session") == "1,204 sessions"
    assert render.many(2, "memory", "memories") == "2 memories"


def test_facts_are_aligned_and_empty_ones_left_out() -> None:
    assert render.facts([("a", "1"), ("long", "2"), ("b", "")], PLAIN) == ["  a     1", "  long  2"]
    assert render.facts([], PLAIN) == []


def test_aside_joins_what_is_there() -> None:
    assert render.aside("a", "", "b") == "a · b"
