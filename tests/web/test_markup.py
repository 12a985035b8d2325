"""Nothing that was recorded becomes markup."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.web.markup import MOST_WORDS, Html, coded, join, marked, tag, text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("a & b", "a &amp; b"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;owned\x07title", "title"),
        ("abc\u202egpj.exe", "abcgpj.exe"),
        ("zero\u200bwidth", "zerowidth"),
        ("bell\x07", "bell"),
        (12, "12"),
    ],
)
def test_a_text_is_inert(given: object, shown: str) -> None:
    assert text(given) == shown


def test_markup_of_ours_is_not_escaped_twice() -> None:
    assert text(tag("b", "<")) == "<b>&lt;</b>"


@given(st.text())
def test_no_text_opens_a_tag(given: str) -> None:
    assert "<" not in text(given)
    assert ">" not in text(given)


def test_children_of_all_kinds_are_joined() -> None:
    assert join("a", None, 1, ["<", [Html("<br>")]]) == "a1&lt;<br>"


def test_an_element_has_attributes_and_children() -> None:
    assert tag("a", "x", href="/y", class_="c", aria_label="z", data_item=True, hidden=False, title=None) == (
        '<a href="/y" class="c" aria-label="z" data-item>x</a>'
    )


def test_a_void_element_is_not_closed() -> None:
    assert tag("input", type="search") == '<input type="search">'


def test_a_value_cannot_leave_its_quotes() -> None:
    assert tag("p", title='" onclick="x') == '<p title="&quot; onclick=&quot;x"></p>'
    assert tag("p", title="' <b>") == '<p title="&#x27; &lt;b&gt;"></p>'


@pytest.mark.parametrize("name", ["style", "onclick", "onload", "on", "a b", "A"])
def test_attributes_that_could_run_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        tag("p", **{name: "x"})


@pytest.mark.parametrize(
    "to", ["javascript:alert(1)", "JAVASCRIPT:x", "data:text/html,x", " javascript:x", "vbscript:x", "x"]
)
@pytest.mark.parametrize("name", ["href", "src", "action"])
def test_links_that_could_run_are_refused(name: str, to: str) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        tag("a", "x", **{name: to})


@pytest.mark.parametrize("to", ["/x", "#x", "?q=1", "https://example.org", "mailto:a@example.org"])
def test_links_that_lead_somewhere_are_not(to: str) -> None:
    assert to.replace("&", "&amp;") in tag("a", "x", href=to)


def test_commands_of_ours_stand_as_such() -> None:
    assert coded("run `a < b`, then `c`") == "run <code>a &lt; b</code>, then <code>c</code>"
    assert coded("a ` alone <") == "a ` alone &lt;"


def test_words_are_marked_whatever_their_case() -> None:
    assert marked("The Timeout, timeouts", ["timeout"]) == "The <mark>Timeout</mark>, <mark>timeout</mark>s"


def test_the_longer_word_is_marked_first() -> None:
    assert marked("timeouts", ["time", "timeouts"]) == "<mark>timeouts</mark>"


def test_what_is_marked_is_escaped_too() -> None:
    assert marked("<b>x</b>", ["<b>", "x"]) == "<mark>&lt;b&gt;</mark><mark>x</mark>&lt;/b&gt;"


def test_a_word_is_no_pattern() -> None:
    assert marked("a+b (c", ["a+b", "("]) == "<mark>a+b</mark> <mark>(</mark>c"


@pytest.mark.parametrize("words", [[], [""], [" "]])
def test_without_words_nothing_is_marked(words: list[str]) -> None:
    assert marked("x y", words) == "x y"


def test_only_so_many_words_are_marked() -> None:
    words = [f"w{number:03}" for number in range(MOST_WORDS + 5)]
    assert marked(" ".join(words), words).count("<mark>") == MOST_WORDS


@given(st.text(), st.lists(st.text(), max_size=5))
def test_marking_takes_nothing_away(given: str, words: list[str]) -> None:
    assert marked(given, words).replace("<mark>", "").replace("</mark>", "") == text(given)
