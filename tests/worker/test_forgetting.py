"""What was forgotten has no vector when forgetting is done, with a worker and without."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from meaning import MODEL, Meaning
from workers import serving, worker

from indexer.errors import IndexerError
from indexer.obstacles import Obstacle
from indexer.store.vectors import at_rest, folder, path
from indexer.worker import client, forgetting
from indexer.worker.forgetting import forget
from indexer.worker.server import Worker


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Meaning]:
    made = Meaning(tmp_path)
    made.memory.prompt("paint the shed")
    made.memory.prompt("fix the login")
    made.settle()
    yield made
    made.sync.close()


def vectors_left(meaning: Meaning) -> int:
    reader = at_rest(meaning.home)
    assert reader is not None
    found = reader.coverage(MODEL, False).vectors
    reader.close()
    return found


def test_without_a_worker_it_is_done_here(meaning: Meaning) -> None:
    (folder(meaning.home) / "chroma" / "1").mkdir(parents=True)
    meaning.memory.conn.execute("DELETE FROM search_texts WHERE id = 8")
    meaning.sync.vectors.close()
    assert forget(meaning.home)
    assert vectors_left(meaning) == 1
    assert not (folder(meaning.home) / "chroma").exists()


def test_a_text_that_was_redacted_is_forgotten_too(meaning: Meaning) -> None:
    meaning.memory.conn.execute("UPDATE user_prompts SET prompt_text = 'x' WHERE id = 1")
    meaning.sync.vectors.close()
    assert forget(meaning.home)
    assert vectors_left(meaning) == 1


def test_a_worker_does_it(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "_POLL", 0.001)
    meaning.memory.conn.execute("DELETE FROM search_texts WHERE id = 8")
    meaning.sync.close()
    meaning.begin()  # SQLite's connections are of the thread that works
    one = worker(meaning)
    with serving(one, meaning.home):
        thread = threading.Thread(target=turning, args=(one,))
        thread.start()
        assert forget(meaning.home)
        one.stop.set()
        thread.join()
    meaning.begin()
    assert vectors_left(meaning) == 1


def test_a_worker_that_cannot_is_not_waited_for(meaning: Meaning) -> None:
    meaning.sync.close()
    meaning.begin()
    one = worker(meaning)
    one._order = lambda _: {"order": 1}  # type: ignore[method-assign, assignment]
    one._trouble = IndexerError("the disk is full", "make room")
    with serving(one, meaning.home):
        assert not forget(meaning.home)


def test_a_folder_that_cannot_be_used_is_not_waited_for(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forgetting, "obstacle", lambda _: Obstacle("it is closed", "open it"))
    assert not forget(meaning.home)


def test_a_folder_that_cannot_be_looked_into_is_no_success(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", fail)
    assert not forget(meaning.home)


def test_an_index_that_cannot_be_deleted_is_no_success(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder(meaning.home) / "chroma").mkdir()
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    meaning.sync.vectors.close()
    assert not forget(meaning.home)


def turning(one: Worker) -> None:
    while not one.stop.is_set():
        one._turn()


def test_where_there_are_no_vectors_it_is_done(tmp_path: Path) -> None:
    assert forget(tmp_path)
    assert not path(tmp_path).exists()


def test_it_is_not_said_to_be_done_when_it_is_not(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "alive", lambda _: True)
    monkeypatch.setattr(forgetting, "_POLL", 0.001)
    assert not forget(meaning.home, timeout=0.02)
