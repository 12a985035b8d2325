"""Whatever a model answers is understood or unusable: nothing else is raised, and bounds hold."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.compressors.base import Finding, Reply, Unusable
from indexer.compressors.kinds import CONCEPTS, TYPES
from indexer.compressors.reply import FACT, FACTS, FILES, LONGEST, MOST, NARRATIVE, PATH, parse

# What may stand in an answer, and what its reader looks for.
TAGS = "observation summary title type subtitle narrative facts fact concepts concept files_read file".split()  # noqa: SIM905
PIECES = [
    *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "<skip_summary/>", "```json\n", "\n```", "{", "}",
    "[", "]", ":", ",", '"', '"observations"', '"title"', "a title", "\x1b[31m", "\ud800", "\0", "字", "\\u0000", "\n",
    "<system-reminder>",
]  # fmt: skip
TEXTS = st.text(st.characters(), max_size=60) | st.sampled_from(["\x1b]0;x\x07t", "a" * 5_000, "字" * 3_000, "‮x"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*TAGS, "data", "x"]), inner, max_size=5)
    ),
    max_leaves=20,
)
ROWS = st.fixed_dictionaries(
    {"title": TEXTS | VALUES},
    optional={name: VALUES | st.lists(TEXTS, max_size=40) for name in TAGS if name not in ("title", "observation")},
)  # fmt: skip
ANSWERS = (
    st.text(st.characters())
    | st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
    | VALUES.map(json.dumps)
    | st.lists(ROWS, max_size=9).map(lambda rows: json.dumps({"observations": rows}))
)
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]")


def understood(text: str) -> Reply | None:
    with contextlib.suppress(Unusable):
        return parse(text)
    return None


def check(one: Finding) -> None:
    texts = (one.title, one.subtitle, one.narrative, *one.facts, *one.files_read)
    assert [text for text in texts if UNSEEN.search(text)] == []
    assert one.title.strip()
    assert one.narrative or one.facts
    assert one.type in TYPES
    assert set(one.concepts) <= set(CONCEPTS)
    assert len(one.narrative) <= NARRATIVE
    assert [len(fact) for fact in one.facts if len(fact) > FACT or "\n" in fact] == []
    assert (len(one.facts) <= FACTS, len(one.files_read) <= FILES) == (True, True)
    assert [path for path in one.files_read if len(path) > PATH] == []


@given(ANSWERS)
@settings(max_examples=400)
def test_any_answer_is_understood_or_unusable(text: str) -> None:
    reply = understood(text)
    if reply is not None:
        assert len(reply.findings) <= MOST
        assert bool(reply.findings) is not reply.skip
        for one in reply.findings:
            check(one)


@given(ANSWERS, st.sampled_from(["", "Here is what I found:\n", "```json\n"]))
def test_the_same_answer_is_understood_alike_again(text: str, before: str) -> None:
    assert understood(before + text) == understood(before + text)


@given(st.lists(ROWS, min_size=1, max_size=3), st.integers(0, 40))
def test_an_answer_that_was_cut_off_is_no_other_answer(rows: list[dict[str, Any]], lost: int) -> None:
    """Half a JSON is unusable: what stands in it may be half a sentence."""
    whole = json.dumps({"observations": rows})
    cut = whole[: len(whole) - 1 - lost]
    if not cut.rstrip().endswith("}") or not cut.startswith('{"observations"'):
        assert understood(cut) is None


@given(st.sampled_from("{[<"), st.integers(1, 3))
def test_an_answer_without_end_is_given_up(opening: str, times: int) -> None:
    assert understood(opening * LONGEST * times) is None
