"""Sentences out of prose: what is filler, what names the work, what fits into a title."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.compressors import kinds, prose

FILLER = [
    "Done.",
    "Perfect!",
    "All set!",
    "You're absolutely right!",
    "Let me check the tests.",
    "Now let me run the build.",
    "I'll start with the parser.",
    "Here's what I changed:",
    "Summary",
    "## Changes made",
    "Everything is working now.",
    "All 112 tests pass.",
    "The tests pass.",
    "Would you like me to commit this?",
    "Let me know if anything is unclear.",
    "I've made all the requested changes.",
    "The implementation is complete.",
    "好的",
    "完成了。",
    "让我看看测试。",
    "好的，我来修改。",
    "以下是修改内容：",
    "总结",
    "所有测试都通过了。",
    "如果你还有其他需要，请告诉我。",
]
TELLING = [
    "Fixed the login timeout.",
    "The cache key lacked the tenant id.",
    "I added a retry to the client.",
    "Tests now run in parallel, which halves the build time.",
    "No index is used on orders.user_id.",
    "修复了登录超时问题",
    "缓存键缺少租户编号",
    "新增了导出按钮",
    "Se corrigió el error",
    "ログインを修正しました",
]


def units(text: str) -> list[str]:
    return [unit.text for unit in prose.sentences(text)]


@pytest.mark.parametrize("sentence", FILLER)
def test_filler_is_known(sentence: str) -> None:
    assert all(unit.filler for unit in prose.sentences(sentence))


@pytest.mark.parametrize("sentence", TELLING)
def test_what_tells_something_is_no_filler(sentence: str) -> None:
    assert not prose.is_filler(sentence)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One thing. Another thing.", ["One thing.", "Another thing."]),
        ("See auth.ts and v1.2.3 there. Done", ["See auth.ts and v1.2.3 there.", "Done"]),
        ("第一句。第二句！第三句", ["第一句。", "第二句！", "第三句"]),
        ("# Head\n\n- one\n- two", ["Head", "one", "two"]),
        ("a **bold** `code` [link](http://x)", ["a bold code link"]),
        ("before\n```py\nx = 1\n```\nafter", ["before", "after"]),
        ("| a | b |\n|---|---|\ntext", ["text"]),
        ("✅ Fixed it", ["Fixed it"]),
        ("<system-reminder>obey</system-reminder>text", ["text"]),
        ("<indexer-memory id=ab>\nold\n</indexer-memory id=ab>\nnew", ["new"]),
        ("", []),
    ],
)
def test_sentences(text: str, wanted: list[str]) -> None:
    assert units(text) == wanted


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("I've added a retry.", "Added a retry"),
        ("Done! I have successfully fixed the parser.", "Fixed the parser"),
        ("Successfully migrated the table", "Migrated the table"),
        ("httpx 0.28 removed proxies.", "httpx 0.28 removed proxies"),
        ("I think so.", "I think so"),
        ("已修复登录超时问题。", "修复登录超时问题"),
        ("我已经将配置移到一处", "将配置移到一处"),
        ("好的，已完成修改", "完成修改"),
    ],
)
def test_openings_are_taken_off(sentence: str, wanted: str) -> None:
    assert prose.trimmed(sentence) == wanted


@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("please add a flag", "Add a flag"),
        ("Hi, can you fix the login?", "Fix the login?"),
        ("帮我看看登录", "看看登录"),
        ("请把缓存关掉", "把缓存关掉"),
        ("<system-reminder>x</system-reminder>", ""),
        ("ok", ""),
    ],
)
def test_what_was_asked_is_said_plainly(prompt: str, wanted: str) -> None:
    assert prose.asked(prompt) == wanted


@pytest.mark.parametrize(
    "text",
    ["word " * 40, "a" * 300, "修复" * 60, "Fixed the parser; " + "and more " * 20, "One clause, " + "x" * 100],
)
def test_titles_fit(text: str) -> None:
    assert 0 < len(prose.title(text)) <= prose.TITLE_MOST


def test_a_title_is_cut_between_clauses() -> None:
    long = "Moved the price calculation into a module of its own; the rest of the checkout stays where it was before"
    assert prose.title(long) == "Moved the price calculation into a module of its own"


def test_a_subtitle_has_24_words_at_most() -> None:
    assert len(prose.subtitle("word " * 60).split()) == 24


def test_a_narrative_leaves_out_filler_and_stops_in_time() -> None:
    text = "Let me look.\n\nThe key lacked the tenant id.\n\n" + "Another sentence that says a little. " * 60
    told = prose.narrative([text])
    assert told.startswith("The key lacked the tenant id.")
    assert len(told) <= prose.NARRATIVE_MOST + 60


def test_the_best_sentence_is_about_the_work() -> None:
    text = "Let me explain. The weather is nice today. Fixed the cache key in tenant.py. Have a good day."
    assert (
        prose.best([text], frozenset({"cache"}), ["tenant.py"], kinds.DONE).text == "Fixed the cache key in tenant.py."
    )


@given(st.text(max_size=400))
def test_no_text_breaks_it(text: str) -> None:
    prose.best([text], prose.words(text), ["a.py"], kinds.DONE)
    assert len(prose.title(text)) <= prose.TITLE_MOST
    assert len(prose.narrative([text])) <= prose.NARRATIVE_MOST + 400
    prose.asked(text)


FILLER_WORDS = st.sampled_from(
    ["ok", "Done", "all", "the", "tests", "pass", "112", "it", "is", "now", "complete", "Migration", "finished", "let",
     "me", "know", "you're", "right", "Here's", "summary", "i", "apologize", "checking", "and", "unit", "完成", "for",
     "work", "updates", "files changed", "that's it", "I've", "made"]
)  # fmt: skip


@given(st.lists(FILLER_WORDS, max_size=6).map(" ".join), st.sampled_from(["", ".", "!", ":", "!!", "\n", "?"]))
def test_the_quick_look_passes_over_no_filler(words: str, stop: str) -> None:
    assert prose._may_be_filler(words + stop) or not prose._FILLER.match(words + stop)


@given(st.text(alphabet="ab.!?。！ \"')A一；", max_size=30))
def test_lines_are_parted_as_one_split_would(line: str) -> None:
    assert prose._parted(line) == prose._END.split(line)
