"""Searching word by word finds what the pattern finds, no more and no less."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.compressors import kinds, signals
from indexer.compressors.signals import Signals

ALL = {name: getattr(kinds, name) for name in ("DONE", "FOUND", "_FIRST", "_BROKEN", "_CAUSE")}
WORDS = st.sampled_from(
    [
        "fix",
        "Fixes",
        "hotfixed",
        "fixture",
        "cleanup",
        "clean",
        "up",
        "cleans",
        "the",
        "cause",
        "The",
        "is",
        "now",
        "set",
        "sets",
        "made",
        "maketh",
        "doesn't",
        "doesnt",
        "work",
        "working",
        "not",
        "500s",
        "is",
        "defined",
        "because",
        "due",
        "to",
        "stack",
        "trace",
        "stacktrace",
        "renamed",
        "corrigido",
        "修复",
        "因为",
        ".",
        ",",
        "'",
        "-",
        "_",
        "\n",
    ]
)
TEXT = st.lists(WORDS | st.text(max_size=6), max_size=12).flatmap(
    lambda parts: st.sampled_from(["", " ", "-"]).map(lambda between: between.join(parts))
)


@pytest.mark.parametrize("name", ALL)
@given(TEXT)
def test_the_same_match_as_the_patterns_own(name: str, text: str) -> None:
    found, wanted = ALL[name].search(text), ALL[name]._pattern.search(text)
    assert (found and (found.span(), found.lastgroup)) == (wanted and (wanted.span(), wanted.lastgroup))


def test_the_first_of_several_is_found() -> None:
    found = kinds.DONE.search("we then renamed it and fixed it")
    assert found is not None
    assert found[0] == "renamed"


def test_what_is_known_of_words_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "WORDS_KNOWN", 3)
    one = Signals(r"\bfix\b", "fix")
    assert [bool(one.search(text)) for text in ("a b c d e f fix", "g fix", "h", "fix")] == [True, True, False, True]
    assert len(one._seen) <= 9


def test_alternatives_are_cut_to_their_first_words() -> None:
    one = Signals(
        r"(?i)\b(?:root (?:cause|reason)|don't panic|a(?:b|d))\b", "root (?:cause|reason)|don't panic|a(?:b|d)"
    )
    assert [bool(one.search(text)) for text in ("ROOT cause", "don't panic", "ad", "roots")] == [
        True,
        True,
        True,
        False,
    ]
    assert isinstance(one._heads, re.Pattern)
