"""The log of a service that launchd runs stays bounded, and no line of it is lost."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from indexer.logfile import rotate

APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "service.log"


def test_a_long_log_is_put_aside(log: Path) -> None:
    fd = os.open(log, APPEND, 0o600)
    os.write(fd, b"old\n" * 10)
    assert rotate(fd, limit=39)
    os.write(fd, b"new\n")
    os.close(fd)
    assert (log.read_bytes(), log.with_name("service.log.1").read_bytes()) == (b"new\n", b"old\n" * 10)


def test_the_one_before_is_replaced(log: Path) -> None:
    log.with_name("service.log.1").write_text("oldest")
    fd = os.open(log, APPEND, 0o600)
    os.write(fd, b"old\n")
    assert rotate(fd, limit=3)
    os.close(fd)
    assert [path.name for path in sorted(log.parent.iterdir())] == ["service.log", "service.log.1"]
    assert log.with_name("service.log.1").read_text() == "old\n"


def test_what_is_put_aside_is_for_its_owner_alone(log: Path) -> None:
    fd = os.open(log, APPEND, 0o644)
    os.write(fd, b"old\n")
    rotate(fd, limit=3)
    os.close(fd)
    assert log.with_name("service.log.1").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("name", "flags", "limit"),
    [("service.log", APPEND, 4), ("mine.log", APPEND, 3), ("service.log", os.O_WRONLY | os.O_CREAT, 3)],
    ids=["short", "someone else's", "not open for appending"],
)
def test_everything_else_is_left_alone(tmp_path: Path, name: str, flags: int, limit: int) -> None:
    fd = os.open(tmp_path / name, flags, 0o600)
    os.write(fd, b"old\n")
    assert not rotate(fd, limit=limit)
    os.close(fd)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_pipe_is_no_log() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"old\n")
    assert not rotate(writing, limit=1)
    os.close(reading)
    os.close(writing)


def test_a_closed_log_is_none(log: Path) -> None:
    fd = os.open(log, APPEND, 0o600)
    os.close(fd)
    assert not rotate(fd, limit=0)
