"""What models answer: JSON, XML, fences, prose; what can be understood is taken, the rest has a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.compressors.base import Finding, Reply, Unusable
from indexer.compressors.reply import MOST, parse

ONE = {"type": "bugfix", "title": "Round up", "subtitle": "s", "narrative": "n", "facts": ["f"], "concepts": ["gotcha"]}
FOUND = Finding("bugfix", "Round up", "s", "n", ("f",), ("gotcha",), ())
XML = (
    "<observation><type>bugfix</type><title>Round up</title><subtitle>s</subtitle><narrative>n</narrative>"
    "<facts><fact>f</fact></facts><concepts><concept>gotcha</concept></concepts></observation>"
)


def reply(value: Any) -> Reply:
    return parse(json.dumps(value, ensure_ascii=False))


def one(**changed: Any) -> Finding:
    (found,) = reply({"observations": [{**ONE, **changed}]}).findings
    return found


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"observations": [ONE]}),
        json.dumps([ONE]),
        json.dumps(ONE),
        json.dumps({"result": {"observations": [ONE]}}),
        f"```json\n{json.dumps({'observations': [ONE]})}\n```",
        f"Here it is:\n{json.dumps({'observations': [ONE]})}\nI hope this helps.",
        XML,
        f"```xml\n{XML}\n```",
        f"Sure. {XML} Done {{}}",
    ],
)
def test_what_is_understood(text: str) -> None:
    assert parse(text) == Reply((FOUND,))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("  \n", "empty"),
        ("I have fixed it.", "prose"),
        ('{"observations": [', "not valid JSON"),
        ('{"notes": []}', "without a list"),
        ('{"observations": {"a": 1}}', "without a list"),
        ('{"observations": ["a"]}', "without a list"),
        ('{"observations": [{"title": "t"}]}', "no observation had"),
        ('{"observations": [{"narrative": "n"}]}', "no observation had"),
        ("<observation><title>t</title></observation>", "no observation had"),
        ("<observation><title>t</title>", "no observation had"),
        ("[" * 100_000, "not valid JSON"),
    ],
)
def test_what_is_not_and_why(text: str, reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"observations": []}',
        "<skip_summary/>",
        f'{XML}<skip_summary reason="idle"/>',
        "<summary><request>r</request></summary>",
    ],
)
def test_nothing_to_record_is_an_answer(text: str) -> None:
    assert parse(text) == Reply((), skip=True)


def test_the_first_root_decides() -> None:
    assert parse(f"<summary><request>r</request></summary>{XML}").skip
    assert parse(f"{XML}<summary><request>r</request></summary>").findings == (FOUND,)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("Bugfix", "bugfix"), ("security_note", "security_note"), ("invented", "change"), (None, "change"), (3, "change")],
)
def test_types(given: object, kept: str) -> None:
    assert one(type=given).type == kept


def test_concepts_are_those_that_are_known_once_each_at_most_four() -> None:
    given = ["Gotcha: careful", "gotcha", "bugfix", "pattern", "trade-off", "how-it-works", "why-it-exists"]
    assert one(concepts=given).concepts == ("gotcha", "pattern", "trade-off", "how-it-works")


def test_titles_are_one_line_of_eighty_characters_at_most() -> None:
    assert one(title=" Round\n up. ").title == "Round up"
    assert len(one(title="word " * 60).title) <= 80


def test_what_is_long_is_cut_and_what_cannot_be_seen_is_taken_out() -> None:
    found = one(narrative="x" * 9000 + "\x1b[31m", facts=["f\x1b[0m" * 500] * 30, files_read=["a"] * 90)
    assert (len(found.narrative), len(found.facts), len(found.facts[0]) <= 400, len(found.files_read)) == (
        2000,
        12,
        True,
        30,
    )
    assert "\x1b" not in "".join(found.facts)


def test_at_most_six() -> None:
    assert len(reply({"observations": [{**ONE, "title": f"t{n}"} for n in range(20)]}).findings) == MOST


def test_one_that_says_nothing_is_left_out_of_several() -> None:
    assert reply({"observations": [{"title": "t"}, ONE]}).findings == (FOUND,)


def test_chinese_stays_as_it_is() -> None:
    assert one(title="修复分页", narrative="最后一页丢失。").title == "修复分页"


def test_fields_of_another_type_are_empty() -> None:
    found = one(subtitle=["a"], facts="f", concepts=7, files_read=None)
    assert (found.subtitle, found.facts, found.concepts, found.files_read) == ("", (), (), ())


def test_a_lone_surrogate_does_not_reach_the_store() -> None:
    (found,) = parse('{"observations": [{"title": "a\\ud800b", "narrative": "n"}]}').findings
    found.title.encode()


@given(
    st.text(max_size=300)
    | st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["observations", "title", "facts", "narrative"]), inner)
        ),
    ).map(json.dumps)
)
def test_whatever_comes_is_understood_or_unusable(text: str) -> None:
    try:
        found = parse(text)
    except Unusable:
        return
    assert all(one.title and (one.narrative or one.facts) for one in found.findings)
