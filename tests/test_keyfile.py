"""The memory's key: made once, for its owner alone, and never replaced."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indexer import keyfile
from indexer.errors import IndexerError


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_it_is_made_on_first_use_and_stays(tmp_path: Path) -> None:
    assert keyfile.existing(tmp_path) is None
    key = keyfile.secret(tmp_path)
    assert len(key) == keyfile.SIZE
    assert keyfile.secret(tmp_path) == keyfile.existing(tmp_path) == key
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_two_memories_have_two_keys(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    assert keyfile.secret(tmp_path / "a") != keyfile.secret(tmp_path / "b")


def test_it_is_its_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        keyfile.secret(tmp_path)
    finally:
        os.umask(before)
    assert mode(tmp_path / "key") == 0o600


def test_a_loose_one_is_tightened(tmp_path: Path) -> None:
    keyfile.secret(tmp_path)
    (tmp_path / "key").chmod(0o644)
    keyfile.secret(tmp_path)
    assert mode(tmp_path / "key") == 0o600


def test_what_a_killed_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f"key.{os.getpid()}.new").write_bytes(b"half")
    assert len(keyfile.secret(tmp_path)) == keyfile.SIZE
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_of_two_that_make_it_at_once_the_first_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, other = os.link, b"o" * keyfile.SIZE

    def late(source: Path, target: Path) -> None:
        Path(target).write_bytes(other)
        real(source, target)

    monkeypatch.setattr(os, "link", late)
    assert keyfile.secret(tmp_path) == other


@pytest.mark.parametrize("data", [b"", b"short", b"x" * (keyfile.SIZE + 1)])
def test_a_damaged_one_is_an_error_and_kept(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "key").write_bytes(data)
    with pytest.raises(IndexerError, match="cannot be used"):
        keyfile.secret(tmp_path)
    assert (tmp_path / "key").read_bytes() == data


def test_a_link_or_a_pipe_in_its_place_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x" * keyfile.SIZE)
    (tmp_path / "key").symlink_to(tmp_path / "real")
    with pytest.raises(IndexerError, match="cannot be used"):
        keyfile.existing(tmp_path)
    (tmp_path / "key").unlink()
    os.mkfifo(tmp_path / "key")
    with pytest.raises(IndexerError, match="not a file"):
        keyfile.existing(tmp_path)
