"""redaction_screen: both screens name the hints that fit, and no others that matter."""

from __future__ import annotations

import pytest

from indexer import redaction_screen
from indexer.redaction_screen import Hint, Scanner, Screen, Words, screen

HINTS = [Hint("abc[0-9]", ("abc",)), Hint("(?i)token", ("token",)), Hint(None, ())]


def screens() -> list[Screen]:
    made: list[Screen] = [Words(HINTS)]
    return made if redaction_screen.hyperscan is None else [*made, Scanner(HINTS)]


@pytest.mark.parametrize("one", screens(), ids=lambda one: type(one).__name__)
@pytest.mark.parametrize(("data", "found"), [(b"xx", [2]), (b"abc1", [0, 2]), (b"a TOKEN abc2", [0, 1, 2]), (b"", [2])])
def test_the_hints_that_fit(one: Screen, data: bytes, found: list[int]) -> None:
    assert list(one.found(data)) == found


@pytest.mark.parametrize("one", screens(), ids=lambda one: type(one).__name__)
def test_a_screen_may_be_asked_again(one: Screen) -> None:
    assert [list(one.found(data)) for data in (b"abc1 abc2", b"x", b"abc3")] == [[0, 2], [2], [0, 2]]


def test_nothing_found_is_nothing() -> None:
    assert not Words(HINTS[:2]).found(b"xx")


def test_words_do_where_there_is_no_hyperscan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction_screen, "hyperscan", None)
    assert isinstance(screen(HINTS), Words)


def test_hints_are_compiled_at_the_first_line() -> None:
    if redaction_screen.hyperscan is None:
        pytest.skip("Hyperscan is not installed")
    broken = Scanner([Hint("(", ("x",))])
    with pytest.raises(redaction_screen.hyperscan.error):
        broken.found(b"x")
