"""How many files may be open, raised where that may be done and told of where it may not."""

from __future__ import annotations

import resource

import pytest

from indexer import limits
from indexer.errors import IndexerError


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """The soft and the hard limit that the system has, and all that were set."""
    known = [(256, resource.RLIM_INFINITY)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: known[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, pair: known.append(pair))
    return known


@pytest.mark.parametrize(
    ("soft", "hard", "then"),
    [
        (256, resource.RLIM_INFINITY, 1024),
        (256, 4096, 1024),
        (16, 32, 32),
        (8, 8, 8),
        (4096, 8192, 4096),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 1024),
    ],
)
def test_it_is_raised_as_far_as_may_be(limit: list[tuple[int, int]], soft: int, hard: int, then: int) -> None:
    limit.append((soft, hard))
    assert limits.open_files() == then
    assert limit[-1] == ((then, hard) if then > soft >= 0 else (soft, hard))


def test_a_system_that_refuses_leaves_it_as_it_is(
    limit: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not allowed")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert limits.open_files() == 256


def test_too_few_are_told_of_with_a_remedy() -> None:
    found = limits.trouble(32)
    assert found is not None
    assert found.reason == "only 32 files may be open at once"
    assert "ulimit -n 1024" in found.remedy
    assert limits.trouble(48) is None


def test_so_few_that_nothing_can_be_done_are_an_error_with_a_remedy() -> None:
    with pytest.raises(IndexerError, match="only 7 files") as raised:
        limits.trouble(7)
    assert "ulimit -n" in raised.value.hint
