"""A chunk: lines to bytes and back, one file a content, whole or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.archive import chunks
from indexer.archive.chunks import Item, Shelf, deflate, inflate, name_of, pack, unpack
from indexer.errors import DamagedArchive, IndexerError

lines = st.binary(max_size=30).filter(lambda data: b"\n" not in data)
kept = st.builds(lambda data, more: Item(data, 1, len(data) + 1 + more), lines, st.integers(0, 5))
left_out = st.builds(lambda number, size: Item(None, number, size), st.integers(1, 9), st.integers(1, 99))


def merged(items: list[Item]) -> list[Item]:
    """Neighbours that were left out are one."""
    out: list[Item] = []
    for item in items:
        if item.data is None and out and out[-1].data is None:
            out[-1] = Item(None, out[-1].lines + item.lines, out[-1].size + item.size)
        else:
            out.append(item)
    return out


@given(st.lists(kept | left_out, max_size=12))
def test_lines_come_back_as_they_were(items: list[Item]) -> None:
    assert list(unpack(inflate(deflate(pack(items))))) == merged(items)


def test_a_blank_line_is_a_line() -> None:
    assert list(unpack(pack([Item(b"", 1, 1)]))) == [Item(b"", 1, 1)]
    assert list(unpack(pack([]))) == []


def test_the_same_lines_have_one_name_and_other_lines_another() -> None:
    assert name_of(pack([Item(b"a", 1, 2)])) == name_of(pack([Item(b"a", 1, 2)]))
    assert name_of(pack([Item(b"a", 1, 2)])) != name_of(pack([Item(b"b", 1, 2)]))


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


PAYLOAD = pack([Item(b'{"a":1}', 1, 8)])


def test_what_is_put_is_had_back_with_where_it_came_from(shelf: Shelf) -> None:
    name, size = shelf.put(PAYLOAD, {"path": "/a.jsonl"})
    assert shelf.get(name) == PAYLOAD
    assert shelf.origin(name) == {"path": "/a.jsonl"}
    assert shelf.path(name).stat().st_size == size


def test_the_same_content_is_written_once(shelf: Shelf) -> None:
    name, size = shelf.put(PAYLOAD, {"path": "/a.jsonl"})
    before = shelf.path(name).stat()
    assert shelf.put(PAYLOAD, {"path": "/b.jsonl"}) == (name, size)
    assert shelf.path(name).stat().st_mtime_ns == before.st_mtime_ns
    assert list(shelf.names()) == [name]


def test_folders_and_files_are_for_their_owner_alone(shelf: Shelf) -> None:
    before = os.umask(0)
    try:
        name, _ = shelf.put(PAYLOAD, {})
    finally:
        os.umask(before)
    path = shelf.path(name)
    assert [each.stat().st_mode & 0o777 for each in (path, path.parent, shelf.folder)] == [0o600, 0o700, 0o700]


def test_loose_modes_are_tightened(shelf: Shelf) -> None:
    path = shelf.path(shelf.put(PAYLOAD, {})[0])
    for each in (path, path.parent, shelf.folder):
        each.chmod(0o777)
    shelf.tighten()
    assert [each.stat().st_mode & 0o777 for each in (path, path.parent, shelf.folder)] == [0o600, 0o700, 0o700]


def test_a_file_is_synced_before_it_has_its_name(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    real = os.fsync

    def note(fd: int) -> None:
        seen.append(sorted(path.suffix for path in shelf.folder.glob("??/*")))
        real(fd)

    monkeypatch.setattr(os, "fsync", note)
    shelf.put(PAYLOAD, {})
    assert [".new"] in seen
    assert seen[-1] == [".chunk"]


def test_a_bulk_load_syncs_at_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(chunks, "_sync", synced.append)
    shelf = Shelf(tmp_path, lazily=True)
    path = shelf.path(shelf.put(PAYLOAD, {})[0])
    assert synced == []
    shelf.sync()
    assert {path, path.parent, shelf.folder} <= set(synced)


def test_half_a_file_is_never_taken_for_a_whole_one(shelf: Shelf) -> None:
    name, _ = shelf.put(PAYLOAD, {})
    scratch = shelf.path(name).with_suffix(".new")
    scratch.write_bytes(b"half")
    assert list(shelf.names()) == [name]
    assert not scratch.exists()


@pytest.mark.parametrize(
    "harm", [lambda data: b"", lambda data: data[:-3], lambda data: b"x" * len(data)], ids=["empty", "cut", "other"]
)
def test_a_damaged_file_is_said_to_be_damaged(shelf: Shelf, harm: Any) -> None:
    name, _ = shelf.put(PAYLOAD, {})
    shelf.path(name).write_bytes(harm(shelf.path(name).read_bytes()))
    with pytest.raises(DamagedArchive, match="damaged"):
        shelf.get(name)


def test_a_file_that_holds_something_else_is_said_to_be_damaged(shelf: Shelf) -> None:
    name, _ = shelf.put(PAYLOAD, {})
    other, _ = shelf.put(pack([]), {})
    shelf.path(name).write_bytes(shelf.path(other).read_bytes())
    with pytest.raises(DamagedArchive, match="has changed"):
        shelf.get(name)


def test_a_missing_file_is_said_to_be_missing(shelf: Shelf) -> None:
    with pytest.raises(DamagedArchive):
        shelf.get("0" * 40)
    with pytest.raises(DamagedArchive):
        shelf.origin("0" * 40)


def test_a_disk_that_is_full_is_an_error_that_says_so(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(IndexerError, match="No space left"):
        shelf.put(PAYLOAD, {})


def test_removing_what_is_gone_does_no_harm(shelf: Shelf) -> None:
    name, _ = shelf.put(PAYLOAD, {})
    shelf.remove([name])
    shelf.remove([name])
    assert list(shelf.names()) == []


def test_a_chunk_can_be_said_to_come_from_elsewhere(shelf: Shelf) -> None:
    name, _ = shelf.put(PAYLOAD, {"path": "/a"})
    shelf.relabel(name, {"path": "/"})
    assert (shelf.origin(name), shelf.get(name)) == ({"path": "/"}, PAYLOAD)
