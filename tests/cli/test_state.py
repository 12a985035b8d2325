"""What `status` looks at (tests/cli/test_status.py has what it says of it)."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer import config
from indexer.cli.state import State, look
from indexer.store.connection import WriterLock
from indexer.store.reads import reading


@pytest.fixture(autouse=True)
def without_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_VECTORS", "none")


@pytest.fixture
def writer(home: Path) -> Iterator[WriterLock]:
    lock = WriterLock(home)
    yield lock
    lock.release()


def looked(home: Path) -> State:
    with reading(home) as conn:
        return look(conn, config.load(home, ()), 5, False)


def test_the_age_of_what_waits_is_that_of_the_longest_waiting(home: Path, edit: Any, tmp_path: Path) -> None:
    for number, age in ((1, 50), (3, 300)):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"x" * 2000)
        os.utime(path, (time.time() - age,) * 2)
        edit(f"UPDATE ingest_files SET path = ? WHERE id = {number}", str(path))
    assert looked(home).oldest == pytest.approx(300, abs=20)


def test_where_nothing_waits_it_has_no_age(home: Path) -> None:
    assert (looked(home).oldest, looked(home).behind) == (None, {})


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize(
    "odd", [{"troubles": "x"}, {"troubles": ["x", 3]}, {"eta_seconds": "soon"}, {"progress_at": "now"}]
)
def test_a_report_that_makes_no_sense_says_nothing(home: Path, odd: dict[str, Any]) -> None:
    (home / "status.json").write_text(json.dumps({"pid": os.getpid(), "mode": "native"} | odd))
    said = looked(home).watcher
    assert said is not None
    assert (said["troubles"], said["eta_seconds"], said["progress_at"]) == ([], None, None)


def test_all_that_is_wrong_with_vectors_is_one_trouble(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_VECTORS", "chroma")
    state = {"trouble": ("its folder is no folder", "move it"), "missing": ["numpy"], "index": {"trouble": "no index"}}
    monkeypatch.setattr("indexer.app.vector_state", lambda _: state)
    vectors = looked(home).vectors
    assert vectors is not None
    assert vectors["trouble"] == "its folder is no folder (move it); not installed: numpy; no index"
