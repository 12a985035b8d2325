"""Pictures and their tables."""

from __future__ import annotations

import re
from datetime import date

import pytest

from indexer.web import charts
from indexer.web.markup import tag

TUESDAY = date(2026, 12, 1)


def test_a_year_ends_today_and_begins_on_a_monday() -> None:
    drawn = charts.heatmap({TUESDAY: 4, date(2026, 11, 30): 1}, TUESDAY, "calls")
    days = re.findall(r"<title>([\d-]+): ", drawn)
    assert (days[0], days[-1], len(days)) == ("2025-12-01", "2026-12-01", 52 * 7 + 2)
    assert date.fromisoformat(days[0]).weekday() == 0


@pytest.mark.parametrize(("number", "level"), [(0, 0), (1, 1), (25, 1), (26, 2), (75, 3), (76, 4), (100, 4)])
def test_levels_are_quarters_of_the_busiest_day(number: int, level: int) -> None:
    drawn = charts.heatmap({TUESDAY: 100, date(2026, 11, 30): number}, TUESDAY, "calls")
    assert f'class="h{level}"><title>2026-11-30: {number} calls</title>' in drawn


def test_months_are_named_in_order() -> None:
    names = re.findall(r">(Jan|Feb|Jun|Nov|Dec)<", charts.heatmap({}, TUESDAY, "x"))
    assert names == ["Jan", "Feb", "Jun", "Nov"]


def test_a_picture_says_what_it_is() -> None:
    assert 'role="img" aria-label="calls a day from 2025-12-01 to 2026-12-01; at most 9"' not in charts.heatmap(
        {}, TUESDAY, "calls"
    )
    drawn = charts.heatmap({TUESDAY: 9}, TUESDAY, "calls")
    assert 'aria-label="calls a day from 2025-12-01 to 2026-12-01; at most 9" ' not in drawn
    assert "calls a day from 2025-12-01 to 2026-12-01; at most 9" in drawn


def test_a_stack_stands_on_its_line_in_the_order_of_its_legend() -> None:
    drawn = charts.stacked(("in", "out"), [("a", (3, 1))], "tokens")
    (low, first), (high, second) = re.findall(r'y="([\d.]+)" width="[\d.]+" height="([\d.]+)" class="c[12]"', drawn)[
        -2:
    ]
    assert (float(low) + float(first), float(high) + float(second)) == (160, float(low))
    assert "<title>a: 3 in</title>" in drawn
    assert drawn.index("> in<") < drawn.index("> out<")


def test_columns_and_bars_name_all_their_rows() -> None:
    rows = [("one", 4), ("two", 0), ("three", 2)]
    for drawn in (charts.columns(rows, "calls"), charts.bars(rows, "calls")):
        assert all(f">{name}</text>" in drawn for name, _ in rows)
        assert "<title>one: 4 calls</title>" in drawn


def test_a_long_name_is_cut_in_the_picture_alone() -> None:
    assert "…</text>" in charts.bars([("x" * 60, 1)], "calls")
    assert "x" * 60 in charts.table(("A", "B"), [("x" * 60, 1)])


NOTHING = [
    charts.stacked((), [], "x"),
    charts.stacked(("a",), [("d", (0,))], "x"),
    charts.columns([], "x"),
    charts.bars([], "x"),
    charts.bars([("a", 0)], "x"),
]


@pytest.mark.parametrize("drawn", NOTHING)
def test_nothing_is_drawn_of_nothing(drawn: str) -> None:
    assert 'height="-' not in drawn
    assert "nan" not in drawn


def test_a_table_has_headings_for_rows_and_columns() -> None:
    made = charts.table(("Tool", "Calls"), [("Bash", 1200)])
    assert '<th scope="col">Tool</th><th scope="col" class="n">Calls</th>' in made
    assert '<tr><th scope="row">Bash</th><td class="n">1,200</td></tr>' in made


def test_a_figure_has_its_name_drawing_note_and_table() -> None:
    made = charts.figure("Title", tag("svg"), tag("table"), "note")
    assert re.sub("<[^>]+>", "|", made).split("|")[2] == "Title"
    assert "<summary>As a table</summary><table>" in made
    assert '<p class="note">note</p>' in made


def test_what_a_transcript_named_is_text() -> None:
    evil = "<script>x</script>"
    for made in (charts.bars([(evil, 1)], evil), charts.columns([(evil, 1)], evil), charts.table((evil,), [(evil,)]),
                 charts.stacked((evil,), [(evil, (1,))], evil)):  # fmt: skip
        assert "<script" not in made
