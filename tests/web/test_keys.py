"""The token, its file, and what is made from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import IndexerError
from indexer.web.keys import NAME, Keys, load


def token(home: Path) -> str:
    return (home / NAME).read_text(encoding="ascii").strip()


def test_the_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    first, second = load(tmp_path), load(tmp_path)
    assert first.is_token(token(tmp_path))
    assert second.is_token(token(tmp_path))
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_every_memory_has_its_own(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        load(tmp_path / name)
    assert token(tmp_path / "a") != token(tmp_path / "b")


def test_a_file_that_others_can_read_is_tightened(tmp_path: Path) -> None:
    load(tmp_path)
    (tmp_path / NAME).chmod(0o644)
    load(tmp_path)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "\n", "short"])
def test_a_file_without_a_token_lets_nobody_in(tmp_path: Path, content: str) -> None:
    (tmp_path / NAME).write_text(content)
    with pytest.raises(IndexerError, match="holds no token"):
        load(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("x" * 43)
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        load(tmp_path)


def test_the_cookie_is_not_the_token_and_does_not_hold_it() -> None:
    keys = Keys("t" * 43)
    assert (keys.is_cookie(keys.cookie), keys.is_token(keys.cookie), keys.is_cookie("t" * 43)) == (True, False, False)
    assert "ttt" not in keys.cookie


@pytest.mark.parametrize("wrong", ["", "t", "t" * 42, "t" * 44, "\udcff", "ü" * 43])
def test_nothing_else_is_the_token(wrong: str) -> None:
    keys = Keys("t" * 43)
    assert not keys.is_token(wrong)
    assert not keys.is_cookie(wrong)
    assert not keys.admits(wrong)


def test_a_ticket_is_good_once() -> None:
    keys = Keys("t" * 43)
    ticket = keys.ticket()
    assert [keys.admits(ticket), keys.admits(ticket)] == [True, False]


def test_the_token_admits_again_and_again() -> None:
    keys = Keys("t" * 43)
    assert [keys.admits("t" * 43), keys.admits("t" * 43)] == [True, True]


def test_tickets_are_no_tokens_and_all_different() -> None:
    keys = Keys("t" * 43)
    made = {keys.ticket() for _ in range(20)}
    assert len(made) == 20
    assert not any(map(keys.is_token, made))
