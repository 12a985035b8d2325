"""What the indexer is doing, in every state it can be in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from indexer import config, status_file
from indexer.store import health, recall
from indexer.store.connection import WriterLock
from indexer.store.reads import reading
from indexer.web import state
from indexer.web.state import State

pages = pytest.importorskip("pages") if pytest.importorskip("starlette") else None


def shown(writer: int | None = 1, last: int | None = None, pending: int = 0, **said: Any) -> str:
    return state.panel(State(writer, said, recall.Counts(1, 1, pending, 0, 0), last))


def test_a_service_that_keeps_up() -> None:
    page = shown(mode="native", lag_bytes=0, pending_files=0, last=1_795_168_800_000)
    assert '<span class="good">running</span> · native' in page
    assert "<dt>Behind</dt><dd>nothing</dd>" in page
    assert "2026-11-20 10:00" in page


def test_a_service_that_is_behind() -> None:
    assert "<dd>1.5 MB in 2 files</dd>" in shown(lag_bytes=1_500_000, pending_files=2)
    assert "<dt>To compress</dt><dd>3 sessions</dd>" in shown(pending=3)


def test_a_trouble_comes_with_its_remedy() -> None:
    page = shown(reason="cannot read <x>", remedy="run `chmod u+r x`")
    assert '<span class="failed">cannot read &lt;x&gt;</span>' in page
    assert "<dd>run <code>chmod u+r x</code></dd>" in page


def test_no_trouble_takes_no_room() -> None:
    assert "Trouble" not in shown(reason="", remedy="")


def test_no_service_is_said() -> None:
    page = shown(writer=None)
    assert "not running" in page
    assert "<dd>not known</dd>" in page


def test_the_budget_is_said() -> None:
    assert "0 tokens today" in shown()


def test_a_report_that_makes_no_sense_breaks_nothing() -> None:
    assert "<dl" in shown(lag_bytes="x", pending_files=None, mode=None)


def test_the_report_of_the_process_that_writes_is_read(tmp_path: Path) -> None:
    home = pages.memory(tmp_path / "memory")  # type: ignore[union-attr]
    settings = config.load(home, (), {})
    lock = WriterLock(home)
    status_file.write(home, {"pid": os.getpid(), "mode": "polling"})
    try:
        with reading(home) as conn:
            found = state.look(conn, settings)
    finally:
        lock.release()
    assert (found.writer, found.said["mode"]) == (os.getpid(), "polling")


def test_a_report_of_the_dead_is_not(tmp_path: Path) -> None:
    home = pages.memory(tmp_path / "memory")  # type: ignore[union-attr]
    status_file.write(home, {"pid": 1, "mode": "polling"})
    with reading(home) as conn:
        assert state.look(conn, config.load(home, (), {})).said == {}


def file(path: str, offset: int, status: str = "active") -> health.File:
    return health.File(path, status, 0, offset, {}, None)


def test_what_is_unread_is_measured_now(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 100)
    name = str(path)
    assert state.behind([file(name, 40)]) == {name: 60}
    assert state.behind([file(name, 100)]) == {}
    assert state.behind([file(name, 500)]) == {name: 100}
    assert state.behind([file(name, 0, "gone"), file(str(tmp_path / "none"), 0), file("a\0b", 0)]) == {}
