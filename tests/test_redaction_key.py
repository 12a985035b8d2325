"""redaction_key: one key a home folder, made once, for its owner alone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from daemons import settings

from indexer.errors import IndexerError
from indexer.redact import user_rule
from indexer.redaction_key import LENGTH, NAME, key, redactor


def test_the_key_is_made_once_and_kept(tmp_path: Path) -> None:
    made = key(tmp_path)
    assert len(made) == LENGTH
    assert key(tmp_path) == made


def test_two_homes_have_two_keys(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert key(tmp_path) != key(tmp_path / "a")


def test_the_key_is_for_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        key(tmp_path)
    finally:
        os.umask(old)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_loose_key_is_tightened(tmp_path: Path) -> None:
    key(tmp_path)
    (tmp_path / NAME).chmod(0o644)
    key(tmp_path)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("data", [b"", b"short", b"x" * (LENGTH + 1)])
def test_a_file_that_is_no_key_is_told_of(tmp_path: Path, data: bytes) -> None:
    (tmp_path / NAME).write_bytes(data)
    with pytest.raises(IndexerError, match="holds no key"):
        key(tmp_path)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"x" * LENGTH)
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match=NAME):
        key(tmp_path)


def test_what_a_crash_left_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.new").write_bytes(b"half")
    assert len(key(tmp_path)) == LENGTH


def test_the_redactor_knows_the_users_say(tmp_path: Path) -> None:
    config = settings(
        tmp_path,
        redact_rules=(user_rule("badge", "BADGE-[0-9]{4}", "BADGE-"),),
        redact_allow=("BADGE-0000",),
        redact_secret_files=("*.hush",),
    )
    made = redactor(config)
    assert made.text("BADGE-0000 BADGE-1234").startswith("BADGE-0000 [REDACTED:badge:")
    assert made.call({"file_path": "/x/A.HUSH"}, "tame")[1] != "tame"
    assert made.key == key(tmp_path)
