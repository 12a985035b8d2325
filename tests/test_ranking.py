"""Words and meaning in one order: who is asked what, who decides, and what happens when one is missing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from near import Near, Silent
from searchable import NOON, Searchable

from indexer import ranking
from indexer.query import Filters, parse, plain
from indexer.ranking import Ranking, alike, ranked


@pytest.fixture
def memory() -> Iterator[Searchable]:
    filled = Searchable()
    yield filled
    filled.conn.close()


def ask(memory: Searchable, text: str, meaning: Near | None = None, mode: str = "hybrid", **filters: object) -> Ranking:
    return ranked(memory.conn, parse(text, Filters(**filters)), 20, meaning, mode)  # type: ignore[arg-type]


def ids(found: Ranking) -> list[int]:
    return [row.id for row in found.rows]


# --- modes


def test_both_arms_are_heard(memory: Searchable) -> None:
    said = memory.prompt("the auth timeout")
    meant = memory.prompt("people are thrown out too early")
    found = ask(memory, "auth timeout", Near(meant))
    assert ids(found) == [said, meant]
    assert found.via == ("lexical", "use", "exact")


def test_what_both_find_comes_first(memory: Searchable) -> None:
    words, both, near = memory.prompt("timeout timeout"), memory.prompt("a timeout of it"), memory.prompt("too early")
    assert ids(ask(memory, "timeout", Near(both, near)))[0] in (words, both)
    assert ids(ask(memory, "timeout", Near(both, words, near)))[:2] == [words, both]


def test_words_alone_ask_nobody(memory: Searchable) -> None:
    row, near = memory.prompt("timeout"), Near(99)
    assert ids(ask(memory, "timeout", near, "lexical")) == [row]
    assert near.texts == []


def test_meaning_alone_knows_no_words(memory: Searchable) -> None:
    memory.prompt("timeout")
    meant = memory.prompt("too early")
    found = ask(memory, "timeout", Near(meant), "semantic")
    assert (ids(found), found.via) == ([meant], ("use", "exact"))


def test_a_question_without_words_lists_the_newest(memory: Searchable) -> None:
    rows, near = [memory.prompt("a"), memory.prompt("b")], Near(99)
    assert (ids(ask(memory, "", near)), near.texts) == (rows[::-1], [])


# --- something is missing


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_without_vectors_words_answer_and_a_note_says_so(memory: Searchable, mode: str) -> None:
    row = memory.prompt("timeout")
    found = ask(memory, "timeout", Silent("still loading"), mode)
    assert (ids(found), found.via, found.notes) == ([row], ("lexical",), ("still loading",))


def test_meaning_alone_that_says_nothing_is_noted(memory: Searchable) -> None:
    memory.prompt("timeout")
    assert ask(memory, "timeout", Near(arms=()), "semantic").notes == (ranking._WORDS_ONLY,)


def test_where_no_text_holds_the_words_the_nearest_are_shown_and_it_is_said(memory: Searchable) -> None:
    meant = memory.prompt("too early")
    found = ask(memory, "zzzz", Near(meant))
    assert (ids(found), found.via, found.notes) == ([meant], ("use", "exact"), (ranking._NEAREST,))


def test_without_a_full_text_index_meaning_and_the_scan_answer(memory: Searchable) -> None:
    said, meant = memory.prompt("the timeout"), memory.prompt("too early")
    memory.conn.execute("DROP TABLE search_fts")
    found = ask(memory, "timeout", Near(meant))
    assert set(ids(found)) == {said, meant}
    assert found.via == ("scan", "use", "exact")


def test_a_phrase_without_a_full_text_index_is_not_an_error(memory: Searchable) -> None:
    row = memory.prompt("the timeout")
    memory.conn.execute("DROP TABLE search_fts")
    assert ids(ask(memory, '"the timeout"', Near(row))) == [row]


def test_vectors_of_rows_that_are_gone_find_nothing(memory: Searchable) -> None:
    row = memory.prompt("timeout")
    assert ids(ask(memory, "timeout", Near(8_000, row))) == [row]


# --- what is asked


def test_meaning_is_asked_the_words_without_the_signs_and_with_the_filters(memory: Searchable) -> None:
    near = Near()
    ask(memory, "why it fails -redis", near, kinds=("prompt",), since=5)
    assert near.texts == ["why it fails"]
    assert (near.filters[0].kinds, near.filters[0].since) == (("prompt",), 5)


@pytest.mark.parametrize(
    ("typed", "kept"), [('"auth timeout"', "a"), ('failed "auth timeout"', "a"), ("failed -auth", "b")]
)
def test_what_is_required_or_left_out_binds_meaning_too(memory: Searchable, typed: str, kept: str) -> None:
    rows = {"a": memory.prompt("it failed by an auth timeout"), "b": memory.prompt("it failed too early")}
    assert ids(ask(memory, typed, Near(*rows.values()))) == [rows[kept]]


def test_a_phrase_that_nothing_holds_has_no_neighbours(memory: Searchable) -> None:
    near = Near(memory.prompt("too early"))
    assert (ids(ask(memory, '"not there"', near)), near.texts) == ([], [])


def test_of_few_rows_with_the_phrase_all_are_ranked_by_meaning(memory: Searchable) -> None:
    rows = [memory.prompt(f"auth timeout {i}") for i in range(3)]
    near = Near(*rows)
    ask(memory, '"auth timeout"', near)
    assert sorted(near.among[0] or ()) == rows


def test_of_many_rows_with_the_phrase_the_list_is_sifted(memory: Searchable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "FEW", 2)
    rows = [memory.prompt(f"auth timeout {i}") for i in range(3)]
    near = Near(memory.prompt("else"), *rows)
    found = ask(memory, '"auth timeout"', near)
    assert near.among == [None]
    assert set(ids(found)) == set(rows)


def test_a_text_that_the_english_model_cannot_read_is_not_buried_by_it(memory: Searchable) -> None:
    chinese = memory.prompt("在这里修改项目的配置 timeout")
    english = memory.prompt("a timeout that was set where nobody looks for it in the end")
    found = ask(memory, "timeout config", Near(english, arms=("minilm",)))
    assert found.rows[0] == (chinese, 1.0)


# --- filters, ties, depth


def test_a_filter_is_applied_before_the_cut(memory: Searchable) -> None:
    away = memory.session("away", "/home/dev/away")
    needle = memory.prompt("the websocket reconnects")
    for _ in range(500):
        memory.prompt("the websocket reconnects reconnects", session=away)
    found = ranked(
        memory.conn, parse("websocket reconnects", Filters(project=("/home/dev/shop",), limit=5)), 5, Near(needle)
    )
    assert ids(found) == [needle]


def test_the_newest_of_equals_comes_first_and_age_cuts_nothing(memory: Searchable) -> None:
    old = memory.prompt("auth timeout", time=1)
    new = memory.prompt("auth timeout", time=NOON)
    assert ids(ask(memory, "auth timeout", Near())) == [new, old]
    assert ids(ask(memory, "what makes auth go", Near(old, new)))[0] == old


def test_deep_pages_go_on_with_what_words_found(memory: Searchable) -> None:
    rows = [memory.prompt(f"timeout {'x ' * i}") for i in range(30)]
    query = parse("timeout", Filters())
    found = ranked(memory.conn, query, 30, Near(rows[-1]), depth=10)
    assert sorted(ids(found)) == rows
    assert [row.score for row in found.rows[10:]] == [0.0] * 20


# --- categories


def test_a_category_that_the_page_lacks_gets_its_best_hit(memory: Searchable) -> None:
    tools = [memory.tool("Bash", "timeout timeout") for _ in range(40)]
    old = memory.observation(
        "A long story", "in which, among much else that was said and done, a timeout occurs", time=1
    )
    found = ids(ask(memory, "timeout"))
    assert (found[ranking.KEPT], set(found) - {old} <= set(tools)) == (old, True)


def test_the_same_with_meaning(memory: Searchable) -> None:
    tools = [memory.tool("Bash", "timeout timeout") for _ in range(300)]
    old = memory.summary("A long story", "in which, among much else that was said and done, a timeout occurs", time=1)
    answer = memory.assistant("nothing of that kind")
    found = ids(ask(memory, "timeout", Near(answer, *tools[:100])))
    assert found[ranking.KEPT : ranking.KEPT + 2] == [answer, old]


def test_no_category_is_filled_that_a_filter_leaves_out(memory: Searchable) -> None:
    for _ in range(30):
        memory.tool("Bash", "timeout")
    memory.observation("timeout among others", "x")
    assert all(row % 8 == 2 for row in ids(ask(memory, "timeout", kinds=("tool_use",))))


def test_pages_are_parts_of_one_list(memory: Searchable) -> None:
    for _ in range(40):
        memory.tool("Bash", "timeout timeout")
    memory.observation("A long story", "in which, among much else that was said and done, a timeout occurs")
    whole = memory.found("timeout", limit=41)
    for size in (4, 6, 7, 20):
        pages = [memory.found("timeout", limit=size, offset=offset) for offset in range(0, 41, size)]
        assert [row for page in pages for row in page] == whole


# --- alike


def test_what_is_like_a_row_is_not_the_row(memory: Searchable) -> None:
    row = memory.prompt("the websocket reconnects in a loop")
    twin, meant = memory.prompt("websocket reconnects again"), memory.prompt("it dials in all the time")
    near = Near(meant)
    found = alike(memory.conn, row, plain("the websocket reconnects in a loop"), near)
    assert set(ids(found)) == {twin, meant}
    assert near.like == [row]


def test_without_vectors_its_words_find_what_is_like_it(memory: Searchable) -> None:
    row, twin = memory.prompt("the websocket reconnects"), memory.prompt("a websocket")
    found = alike(memory.conn, row, plain("the websocket reconnects"), Silent("none"))
    assert (ids(found), found.via, found.notes) == ([twin], ("lexical",), ("none",))


def test_a_row_without_words_is_like_what_is_near(memory: Searchable) -> None:
    assert alike(memory.conn, 8, plain(""), None).rows == ()
