"""No string breaks a search, and what is found is what holds the words."""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st
from searchable import Searchable

from indexer.query import Filters, parse
from indexer.search import search

ANY = st.text(st.characters())
PIECES = [*"\"-:*^()+{}~,.\\/'\0\ud800 \n\tab项目ガ้é\u0301", " NOT ", " AND ", " OR ", "NEAR", "title:"]
SYNTAX = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
FILTERS = st.builds(
    Filters,
    project=st.none() | st.lists(ANY, max_size=3).map(tuple),
    session=st.none() | ANY,
    kinds=st.none() | st.lists(st.sampled_from(["prompt", "tool_use", "nothing"]), max_size=3).map(tuple),
    since=st.none() | st.integers(),
    until=st.none() | st.integers(),
    tool=st.none() | ANY,
    file=st.none() | ANY,
    type=st.none() | ANY,
    concept=st.none() | ANY,
    agent=st.none() | ANY,
    platform=st.none() | ANY,
    limit=st.integers(),
    offset=st.integers(),
)
ALPHABET = "项目配，。 ab"
BODIES = st.text(st.sampled_from(ALPHABET), max_size=12)


@cache
def memory() -> Searchable:
    filled = Searchable()
    filled.prompt("auth.ts has a timeout, 项目配置 a b NOT")
    filled.tool("Bash", {"command": "ls"}, file="/home/dev/a.ts")
    filled.observation("title ab", "项目")
    return filled


@given(ANY | SYNTAX)
def test_nothing_that_is_typed_breaks_a_search(typed: str) -> None:
    results = memory().search(typed)
    assert results.via in (("lexical",), ("newest",))


@given(SYNTAX, FILTERS)
def test_no_filter_breaks_a_search(typed: str, filters: Filters) -> None:
    results = search(memory().conn, parse(typed, filters))
    assert len(results.hits) <= 500


@given(ANY | SYNTAX)
def test_parsing_is_repeatable_and_keeps_the_text(typed: str) -> None:
    query = parse(typed)
    assert query == parse(typed)
    assert query.text == typed
    assert all(word == word.lower() for word in query.words)


@given(BODIES, st.text(st.sampled_from("项目配"), min_size=1, max_size=3))
def test_a_phrase_finds_a_chinese_text_exactly_when_it_holds_the_word(body: str, word: str) -> None:
    filled = Searchable()
    filled.prompt(body)
    assert bool(filled.found(f'"{word}"')) == (word in body)
    filled.conn.close()


@given(st.lists(st.sampled_from(["alpha", "beta", "gamma"]), min_size=1, max_size=6))
def test_rows_with_all_words_come_before_rows_with_some(words: list[str]) -> None:
    filled = Searchable()
    row = filled.prompt(" ".join(words))
    other = filled.prompt("beta only, and a tail that makes it longer")
    found = filled.found("alpha beta")
    if {"alpha", "beta"} <= set(words):
        assert found == [row, other]
    else:
        assert set(found) <= {row, other}
        assert other in found
    filled.conn.close()
