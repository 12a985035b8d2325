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
from indexer.worker import client
from indexer.worker.server import Worker


@pytest.fixture
def meaning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Meaning]:
    """A memory of one prompt, in step; no worker is ever started."""
    made = Meaning(tmp_path, index=True)
    made.memory.prompt("paint the shed")
    made.settle()
    monkeypatch.setattr(client, "start", lambda _: 1)
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
    out = run(call, meaning, "status").out
    assert "1 in the memory" in out
    assert "does not come up" in out


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
