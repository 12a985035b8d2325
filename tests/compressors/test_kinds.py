"""Which kind of work it was, by the first verb that says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.compressors import kinds

SOURCE = ("/p/shop/a.py",)


@pytest.mark.parametrize(
    ("subject", "wanted"),
    [
        ("fix: reject expired tokens", "bugfix"),
        ("fix(auth)!: reject", "bugfix"),
        ("feat(api): refunds", "feature"),
        ("refactor: split", "refactor"),
        ("perf: cache the list", "refactor"),
        ("docs: readme", "change"),
        ("chore: fix lint", "change"),
        ("Fix crash on empty cart", "bugfix"),
        ("Add refunds endpoint", "feature"),
        ("Rename OrderHandler", "refactor"),
        ("Bump django to 5", "change"),
        ("WIP", "change"),
        ("修复: 按钮", "bugfix"),
        ("新增导出", "feature"),
        ("重构配置读取", "refactor"),
        ("更新文档", "change"),
        ("Corrige el carrito", "bugfix"),
        ("ログインを修正しました", "bugfix"),
    ],
)
def test_a_commit_is_of_the_kind_its_subject_names(subject: str, wanted: str) -> None:
    assert kinds.of_subject(subject, SOURCE) == wanted


def of_edits(
    title: str, prompt: str = "", files: tuple[str, ...] = SOURCE, *, mended: bool = False, made: bool = False
) -> str:
    return kinds.of_edits(title, prompt, files, mended=mended, made=made)


def test_the_title_says_it_best() -> None:
    assert of_edits("Added a flag", "fix the import") == "feature"


def test_then_the_prompt() -> None:
    assert of_edits("Updated the parser", "implement dates") == "feature"


def test_then_what_failed_and_passed() -> None:
    assert (of_edits("Updated the parser", "go on", mended=True), of_edits("", "it crashes")) == ("bugfix", "bugfix")


def test_then_whether_all_is_new() -> None:
    assert (of_edits("", "go on", made=True), of_edits("", "go on")) == ("feature", "change")


@pytest.mark.parametrize("file", ["README.md", "tests/test_a.py", "package.json", "a.spec.ts"])
def test_documents_settings_and_tests_are_no_features(file: str) -> None:
    assert of_edits("Added it", files=(file,)) == "change"


@pytest.mark.parametrize(
    ("file", "wanted"), [("a.py", True), ("a.md", False), ("test_a.py", False), ("Makefile", False)]
)
def test_program_text(file: str, wanted: bool) -> None:
    assert kinds.is_source(file) is wanted


@pytest.mark.parametrize(
    ("kind", "told", "wanted"),
    [
        ("bugfix", "x", ("problem-solution", "what-changed")),
        ("feature", "because it was slow", ("what-changed", "why-it-exists")),
        ("discovery", "it must never be null", ("how-it-works", "gotcha")),
        ("decision", "instead of Redis", ("trade-off", "why-it-exists")),
        ("change", "因为超时，注意顺序", ("what-changed", "why-it-exists", "gotcha")),
    ],
)
def test_concepts(kind: str, told: str, wanted: tuple[str, ...]) -> None:
    assert kinds.concepts(kind, told) == wanted


def test_several_tries_are_a_gotcha() -> None:
    assert "gotcha" in kinds.concepts("bugfix", "", tries=2)


def test_only_the_seven_concepts_are_used() -> None:
    told = "because works careful instead pattern"
    assert all(set(kinds.concepts(kind, told, tries=3)) <= set(kinds.CONCEPTS) for kind in kinds.TYPES)


@given(st.text(alphabet="ab-z 1_'.\n日", max_size=30))
def test_words_are_those_of_the_pattern(text: str) -> None:
    assert {word for word in kinds._words_of(text) if len(word) > 1} == set(kinds._TOLD.findall(text))
