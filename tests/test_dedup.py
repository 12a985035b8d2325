"""Which titles say the same: the values of claude-mem, and a set labelled by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations

import pytest
from title_pairs import labelled, titles

from indexer import dedup
from indexer.store.memories import dedup_key

FILLER = [
    f"Write chapter {word} of the manual"
    for word in ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
]


def pairs(*given: str) -> set[tuple[str, str]]:
    """Candidates among the titles, in a project that has some others."""
    known = [*given, *FILLER]
    return {(known[a], known[b]) for a, b, _ in dedup.candidates(known) if b < len(given)}


def key(title: str, project: str = "p", platform: str = "claude", *, agent: bool = False) -> str | None:
    return dedup_key(project, platform, title, agent=agent)


# --- level 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Fix the Login", "fix the login"),
        ("Fix: the login!", "fix the login"),
        ("  fix   the\tlogin ", "Fix the login"),
        ("ДОБАВИТЬ кэш", "добавить кэш"),
        ("Cafe\u0301 menu", "Café menu"),
        ("修复登录。", "修复登录"),
    ],
)
def test_titles_that_differ_in_case_punctuation_and_spaces_are_one(one: str, other: str) -> None:
    assert key(one) == key(other)


def test_a_key_has_32_hex_digits() -> None:
    assert len(key("a") or "") == 32


@pytest.mark.parametrize("title", ["", "!!!", " … ", "🎉"])
def test_a_title_without_letters_has_no_key(title: str) -> None:
    assert key(title) is None


def test_project_platform_and_kind_of_agent_tell_apart() -> None:
    keys = {key("a"), key("a", project="q"), key("a", platform="codex"), key("a", agent=True)}
    assert len(keys) == 4


def test_other_versions_are_other_titles() -> None:
    assert key("fix ffmpeg-7.1.conf") != key("fix ffmpeg-6.0.conf")


# --- level 1


def test_words_are_cut_at_spaces_only() -> None:
    assert dedup.tokens("Fix ffmpeg-7.1.conf now") == {"fix", "ffmpeg-7.1.conf", "now"}


def test_chinese_titles_are_more_than_one_word() -> None:
    assert dedup.tokens("修复登录超时") == {"修复", "复登", "登录", "录超", "超时"}


def test_rarity_is_that_of_claude_mem() -> None:
    assert dedup.idf(100, 3) == pytest.approx(math.log(1 + 100 / 3.5))


def test_the_likeness_of_equal_titles_is_one() -> None:
    words = dedup.tokens("update the deploy docs")
    assert dedup.likeness(words, words, Counter(words), 20) == pytest.approx(1.0)


def test_two_shared_words_at_least() -> None:
    assert dedup.likeness(frozenset({"a"}), frozenset({"a"}), {"a": 2}, 20) == 0.0


def test_other_versions_stay_two() -> None:
    assert pairs("fix ffmpeg-7.1.conf", "fix ffmpeg-6.0.conf") == set()


def test_a_rare_word_that_one_lacks_is_a_veto() -> None:
    common = Counter({"update": 40, "the": 60, "docs": 30, "zebra": 1})
    first, second = frozenset({"update", "the", "docs"}), frozenset({"update", "the", "docs", "zebra"})
    assert dedup.likeness(first, second, common, 100) == 0.0


def test_a_common_word_more_is_none() -> None:
    common = Counter({"update": 12, "deploy": 11, "docs": 30, "the": 95})
    first, second = frozenset({"update", "deploy", "docs"}), frozenset({"update", "deploy", "docs", "the"})
    assert dedup.likeness(first, second, common, 100) > dedup.ALIKE


def test_in_a_small_project_nothing_is_asked() -> None:
    assert list(dedup.candidates(["fix the login", "fix the login now"])) == []


def test_the_order_of_titles_does_not_matter() -> None:
    known = titles() * 2
    forth = {frozenset((known[a], known[b])) for a, b, _ in dedup.candidates(known)}
    known.reverse()
    assert {frozenset((known[a], known[b])) for a, b, _ in dedup.candidates(known)} == forth


# --- the labelled set


def scores(said: Callable[[str, str], bool]) -> tuple[float, float]:
    """Precision and recall over the labelled pairs."""
    hits = [(said(a, b), same) for a, b, same in labelled()]
    right, called, due = (sum(map(bool, found)) for found in (
        [said and same for said, same in hits], [said for said, _ in hits], [same for _, same in hits]
    ))  # fmt: skip
    return right / called if called else 1.0, right / due


def test_there_are_three_hundred_labelled_pairs() -> None:
    assert len(labelled()) >= 300
    assert sum(not a.isascii() for a, _, _ in labelled()) >= 60


def test_level_0_is_never_wrong(say: Callable[[str], None]) -> None:
    precision, recall = scores(lambda a, b: key(a) == key(b))
    say(f"level 0 on {len(labelled())} pairs: precision {precision:.2f}, recall {recall:.2f}")
    assert (precision, recall >= 0.4) == (1.0, True)


def test_both_levels_propose_what_is_the_same(say: Callable[[str], None]) -> None:
    known = project()
    found = {frozenset((known[a], known[b])) for a, b, _ in dedup.candidates(known)}
    precision, recall = scores(lambda a, b: key(a) == key(b) or frozenset((a, b)) in found)
    say(f"levels 0 and 1 on {len(labelled())} pairs: precision {precision:.2f}, recall {recall:.2f}")
    assert precision >= 0.9
    assert recall >= 0.4


def project() -> list[str]:
    """All titles, in a project where small words are as common as they are in life."""
    words = [
        "fix",
        "add",
        "update",
        "remove",
        "move",
        "the",
        "a",
        "in",
        "of",
        "to",
        "for",
        "on",
        "with",
        "and",
        "修复",
        "新增",
        "更新",
        "了",
    ]
    return [*titles(), *(" ".join(pair) for pair in combinations(words, 2))]
