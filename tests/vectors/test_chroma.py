"""Chroma itself, where it is installed: what it holds, how it is damaged, and that it calls nobody."""

from __future__ import annotations

import errno
import os
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scans import M, place, vector

from indexer.obstacles import Obstacle
from indexer.store.vectors import Entry
from indexer.vectors import chroma
from indexer.vectors.base import IndexBlocked, IndexBusy, IndexDamaged, IndexMissing
from indexer.vectors.chroma import Chroma, clear


def entry(number: int, *numbers: float, **changed: object) -> Entry:
    return Entry(f"d{number}", b"mark", vector(*numbers), place(number, 8 * number, **changed))


@pytest.fixture
def installed() -> None:
    pytest.importorskip("chromadb")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "1"


@pytest.fixture
def index(installed: None, folder: Path) -> Iterator[Chroma]:
    made = Chroma(folder)
    yield made
    made.close()


def test_without_the_package_it_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(chroma, "import_module", missing)
    with pytest.raises(IndexMissing) as info:
        Chroma(folder)
    assert "pip install chromadb" in info.value.hint
    assert not folder.exists()


def test_the_nearest_come_first_with_their_cosine(index: Chroma) -> None:
    index.put(M, [entry(1, 1), entry(2, 1, 1), entry(3, 0, 1)])
    found = index.nearest(M, vector(1), 2)
    assert [name for name, _ in found] == ["d1", "d2"]
    assert [score for _, score in found] == pytest.approx([1.0, 0.707], abs=0.002)


def test_documents_are_updated_in_place(index: Chroma) -> None:
    index.put(M, [entry(1, 1)])
    index.put(M, [entry(1, 0, 1)])
    assert index.count(M) == 1
    assert index.nearest(M, vector(0, 1), 1)[0][1] == pytest.approx(1, abs=0.002)


def test_what_is_removed_is_not_found(index: Chroma) -> None:
    index.put(M, [entry(1, 1), entry(2, 0, 1)])
    index.remove(M, ["d1", "unknown"])
    assert list(index.names(M)) == ["d2"]


def test_one_project_alone(index: Chroma) -> None:
    index.put(M, [entry(1, 1), entry(2, 1, 1, project_key="b"), entry(3, 0, 1, project_key="c", merged="b")])
    assert [name for name, _ in index.nearest(M, vector(1), 5, "b")] == ["d2", "d3"]


def test_each_model_has_a_collection(index: Chroma) -> None:
    index.put(M, [entry(1, 1)])
    assert (index.count(M), index.count("other@1")) == (1, 0)
    index.drop(M)
    assert index.count(M) == 0


def test_dropping_what_is_not_there_does_nothing(index: Chroma) -> None:
    index.drop("never@1")
    index.put(M, [])
    index.remove(M, [])
    assert index.count(M) == 0


@pytest.mark.usefixtures("installed")
def test_opened_again_it_holds_what_it_held(folder: Path) -> None:
    first = Chroma(folder)
    first.put(M, [entry(1, 1)])
    first.close()
    second = Chroma(folder)
    assert list(second.names(M)) == ["d1"]
    second.close()


def test_twenty_syncs_of_the_same_leave_its_size(index: Chroma, folder: Path) -> None:
    rows = [entry(number, random.Random(number).random(), 1) for number in range(1, 200)]
    index.put(M, rows)
    size = bytes_of(folder)
    for _ in range(20):
        index.put(M, rows)
    assert (index.count(M), bytes_of(folder) < size * 3) == (199, True)


def bytes_of(folder: Path) -> int:
    return sum(one.stat().st_size for one in folder.rglob("*") if one.is_file())


def test_no_text_is_stored(index: Chroma, folder: Path) -> None:
    index.put(M, [entry(1, 1)])
    assert index._collection(M).get(include=["documents"])["documents"] in (None, [None])


def test_no_socket_of_the_internet_is_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("chromadb")
    families: list[int] = []
    init = socket.socket.__init__

    def note(self: socket.socket, family: int = -1, *args: int, **kwargs: object) -> None:
        families.append(family)
        init(self, family, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "__init__", note)
    index = Chroma(folder)
    index.put(M, [entry(1, 1)])
    index.nearest(M, vector(1), 1)
    index.close()
    assert {socket.AF_INET, socket.AF_INET6} & set(families) == set()


# --- damage


def lose_database(folder: Path) -> None:
    (folder / "chroma.sqlite3").write_bytes(os.urandom(3000))


def other_version(folder: Path) -> None:
    (folder / "made-by.json").write_text('{"chromadb": "0.1"}')


def unknown_maker(folder: Path) -> None:
    (folder / "made-by.json").unlink()


def killed_in_a_question(folder: Path) -> None:
    folder.with_name("1.asked").touch()


def killed_twice_in_a_write(folder: Path) -> None:
    folder.with_name("1.again").touch()
    folder.with_name("1.written").touch()


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "act", [lose_database, other_version, unknown_maker, killed_in_a_question, killed_twice_in_a_write]
)
def test_damage_is_one_error(folder: Path, act: Callable[[Path], None]) -> None:
    Chroma(folder).close()
    act(folder)
    with pytest.raises(IndexDamaged):
        Chroma(folder).count(M)


@pytest.mark.usefixtures("installed")
def test_a_kill_in_a_write_costs_nothing(folder: Path) -> None:
    Chroma(folder).close()
    folder.with_name("1.written").touch()
    index = Chroma(folder)
    assert folder.with_name("1.again").exists()
    index.put(M, [entry(1, 1)])
    assert sorted(one.name for one in folder.parent.iterdir()) == ["1"]
    index.close()


@pytest.mark.usefixtures("installed")
def test_a_folder_deleted_below_it_is_an_error(folder: Path) -> None:
    index = Chroma(folder)
    index.put(M, [entry(1, 1)])
    shutil.rmtree(folder)
    with pytest.raises(IndexDamaged):
        index.put(M, [entry(2, 1)])


@pytest.mark.usefixtures("installed")
def test_a_folder_that_is_closed_is_no_damage(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Chroma(folder)
    index.put(M, [entry(1, 1)])
    monkeypatch.setattr("indexer.vectors.chroma.obstacle", lambda *_, **__: Obstacle("it is closed", "open it"))
    shutil.rmtree(folder)
    with pytest.raises(IndexBlocked) as info:
        index.put(M, [entry(2, 1)])
    assert (info.value.message, info.value.hint) == ("the vector index cannot be used: it is closed", "open it")


@pytest.mark.usefixtures("installed")
def test_a_file_in_the_place_of_its_folder_is_no_damage(tmp_path: Path) -> None:
    (tmp_path / "chroma").touch()
    with pytest.raises(IndexBlocked, match="is no folder"):
        Chroma(tmp_path / "chroma" / "1")


@contextmanager
def no_room(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def fail(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail)
        yield


def test_whatever_fails_on_a_full_disk_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with no_room(monkeypatch), pytest.raises(IndexBlocked, match="No space left"), chroma._judged(tmp_path):
        raise ValueError("InternalError 13")


def test_whatever_fails_where_there_is_room_is_damage(tmp_path: Path) -> None:
    with pytest.raises(IndexDamaged, match="failed: ValueError"), chroma._judged(tmp_path):
        raise ValueError("InternalError 13")
    assert list(tmp_path.iterdir()) == []


def test_a_question_does_not_wait_for_a_batch(index: Chroma) -> None:
    with index._lock, pytest.raises(IndexBusy):
        index.nearest(M, vector(1), 1)


def test_no_mark_is_left_in_peace(index: Chroma, folder: Path) -> None:
    index.put(M, [entry(1, 1)])
    index.nearest(M, vector(1), 1)
    assert [one.name for one in folder.parent.iterdir()] == ["1"]


def test_a_folder_is_put_aside_with_its_marks_and_the_one_before_goes(tmp_path: Path) -> None:
    for number in ("1", "2"):
        (tmp_path / number).mkdir()
        (tmp_path / number / f"of {number}").touch()
        (tmp_path / f"{number}.asked").touch()
        clear(tmp_path / number)
    assert [one.name for one in tmp_path.iterdir()] == ["damaged"]
    assert [one.name for one in (tmp_path / "damaged").iterdir()] == ["of 2"]


def test_putting_aside_what_is_not_there_does_nothing(tmp_path: Path) -> None:
    clear(tmp_path / "7")
    assert list(tmp_path.iterdir()) == []
