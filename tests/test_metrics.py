"""The text format, read back by a reader of the test's own."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from indexer.metrics import Metric, gauge, labelled, text

SAMPLE = re.compile(r'([a-z_]+)(?:\{([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"\})? (\S+)')


def read(exposition: str) -> list[tuple[str, str, str, float]]:
    """Samples as Prometheus reads them: name, label, its value, number."""
    found = []
    for line in exposition.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            word = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), match[3] or "")
            found.append((match[1], match[2] or "", word, float(match[4])))
    return found


def test_a_family_has_its_help_and_type() -> None:
    assert text([gauge("up", "Whether it is.", 1.0)]) == (
        "# HELP transcript_indexer_up Whether it is.\n# TYPE transcript_indexer_up gauge\ntranscript_indexer_up 1\n"
    )


def test_what_is_not_known_is_left_out() -> None:
    assert text([gauge("up", "Whether it is.", None), labelled("x_total", "counter", "X.", "event", {})]) == ""


def test_numbers_keep_all_their_digits() -> None:
    assert read(text([gauge("bytes", "B.", 123_456_789_012_345)]))[0][3] == 123_456_789_012_345


def test_several_samples_stand_under_one_heading() -> None:
    told = text([labelled("rows", "gauge", "Rows.", "kind", {"a": 1, "b": 2})])
    assert (told.count("# TYPE"), [sample[2:] for sample in read(told)]) == (1, [("a", 1.0), ("b", 2.0)])


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_label_is_read_back(word: str) -> None:
    (family,) = [Metric("x", "gauge", "X\n\\", (({"l": word}, 1.0),))]
    lines = text([family]).split("\n")
    assert len(lines) == 4
    match = SAMPLE.fullmatch(lines[2])
    assert match
    assert re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), match[3]) == word
