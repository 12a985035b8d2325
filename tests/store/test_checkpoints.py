"""Which file is this, and how far has it been read."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import pytest
from desk import Desk, entry

from indexer.records import Prompt, QueueOperation, SourceFile, Unreadable
from indexer.store import checkpoints
from indexer.store.checkpoints import (
    STALE,
    FileRow,
    by_path,
    identify,
    known_stats,
    mark_gone,
    mark_unreadable,
    read_again,
    restart,
    save,
    stored,
)

FILE = SourceFile("/root/-w-a/a.jsonl", "-w-a", "a", None)
MOVED = FILE._replace(path="/root/-w-b/a.jsonl", folder="-w-b")


@dataclass
class Open:
    """An open file: tells what it holds by the marks of the end that was read."""

    tail: bytes = b"tail"
    begin: bytes = b"head"
    standing: set[str] = field(default_factory=set)

    def holds(self, row: FileRow) -> bool:
        return row.offset == 0 or row.tail_hash == self.tail

    def head(self, length: int) -> bytes | None:
        return self.begin if length <= 10 else None

    def stands(self, path: str) -> bool:
        return path in self.standing


@pytest.fixture
def desk() -> Desk:
    return Desk()


def known(desk: Desk, path: str = FILE.path, **columns: Any) -> FileRow:
    """A stored row that has read 100 bytes of inode 7."""
    given: dict[str, Any] = {
        "dev": 1,
        "ino": 7,
        "size": 100,
        "offset": 100,
        "line_no": 2,
        "head_len": 10,
        "head_hash": b"head",
    }
    given |= {"tail_len": 4, "tail_hash": b"tail", "parser_version": 1} | columns
    row = FileRow(0, path, "-w-a", "a", None, **given)
    save(desk.conn, row)
    return row


def find(desk: Desk, probe: Open | None = None, file: SourceFile = FILE, ino: int = 7) -> FileRow:
    return identify(desk.conn, file, 1, ino, probe or Open())


# --- identity


def test_a_file_never_seen_is_new(desk: Desk) -> None:
    row = find(desk)
    assert (row.id, row.path, row.folder, row.session_id, row.offset, row.size) == (0, FILE.path, "-w-a", "a", 0, -1)


def test_a_known_file_is_read_on(desk: Desk) -> None:
    row = known(desk)
    assert find(desk) == row


def test_a_row_comes_back_as_it_was_saved(desk: Desk) -> None:
    row = known(
        desk, first_epoch=5, last_epoch=9, last_version="2.1.0", ignored={"mode": 3}, last_error="x", generation=4
    )
    assert by_path(desk.conn, FILE.path) == row


def test_a_file_that_was_cut_or_rewritten_in_place_starts_over(desk: Desk) -> None:
    old = known(desk)
    row = find(desk, Open(tail=b"other"))
    assert (row.id, row.offset, row.line_no, row.generation, row.size) == (old.id, 0, 0, 1, -1)


def test_a_renamed_file_is_read_on_under_its_new_name(desk: Desk) -> None:
    old = known(desk)
    row = find(desk, file=MOVED)
    assert (row.id, row.path, row.folder, row.offset) == (old.id, MOVED.path, "-w-b", 100)


def test_a_hard_copy_of_a_file_that_still_stands_is_new(desk: Desk) -> None:
    known(desk)
    assert find(desk, Open(standing={FILE.path}), MOVED).id == 0


def test_a_reused_inode_with_other_content_is_new(desk: Desk) -> None:
    known(desk)
    assert find(desk, Open(tail=b"other"), MOVED).id == 0


@pytest.mark.parametrize("status", ["gone", "replaced"])
def test_a_file_that_was_lost_and_restored_is_read_on(desk: Desk, status: str) -> None:
    old = known(desk, path="/root/-w-z/a.jsonl", status=status)
    row = find(desk, ino=99)
    assert (row.id, row.path, row.status, row.offset) == (old.id, FILE.path, "active", 100)


def test_a_lost_file_with_another_beginning_is_not_it(desk: Desk) -> None:
    known(desk, path="/root/-w-z/a.jsonl", status="gone")
    assert find(desk, Open(begin=b"other"), ino=99).id == 0


def test_another_file_under_an_old_name_leaves_the_old_row_for_the_old_content(desk: Desk) -> None:
    old = known(desk)
    row = find(desk, Open(tail=b"other", begin=b"other"), ino=99)
    assert (row.id, row.replaces, row.generation) == (0, old.id, 1)
    save(desk.conn, row)
    assert desk.rows("SELECT id, status FROM ingest_files ORDER BY 1") == [(old.id, "replaced"), (row.id, "active")]
    back = find(desk, file=MOVED, ino=50)
    assert (back.id, back.status) == (old.id, "active")


def test_two_files_that_swapped_names_keep_their_rows(desk: Desk) -> None:
    one, two = known(desk), known(desk, MOVED.path, ino=8, tail_hash=b"two", head_hash=b"two")
    row = find(desk, Open(tail=b"two", begin=b"two"), FILE, ino=8)
    assert (row.id, row.replaces) == (two.id, one.id)
    save(desk.conn, row)
    assert find(desk, Open(), MOVED, ino=7).id == one.id


def test_a_file_that_comes_back_to_its_path_is_active_again(desk: Desk) -> None:
    known(desk, status="gone", last_error="x")
    assert (find(desk).status, find(desk).last_error) == ("active", None)


def test_nothing_read_yet_needs_no_other_row(desk: Desk) -> None:
    old = known(desk, offset=0, tail_len=0, tail_hash=b"")
    assert find(desk, ino=99).id == old.id


# --- rows


def test_only_one_row_stands_for_a_path(desk: Desk) -> None:
    known(desk, status="replaced")
    row = known(desk)
    assert by_path(desk.conn, FILE.path) == row


def test_starting_over_forgets_all_but_the_name(desk: Desk) -> None:
    row = known(desk, first_epoch=5, last_epoch=9, last_version="2.1.0", ignored={"mode": 3})
    row.start_over()
    fresh = FileRow(row.id, FILE.path, "-w-a", "a", None, 1, 7, generation=1, parser_version=1)
    assert row == fresh


def test_an_agents_file_is_one_by_its_id() -> None:
    assert FileRow(0, "/x", "", None, "a1").is_agent
    assert not FileRow(0, "/x", "", "a", None).is_agent


def test_stats_are_known_of_files_read_to_their_end_by_this_parser(desk: Desk) -> None:
    known(desk, "/a", mtime_ns=3, ctime_ns=4)
    known(desk, "/b", size=-1)
    known(desk, "/c", parser_version=0)
    known(desk, "/d", status="gone")
    assert known_stats(desk.conn, 1) == {"/a": (1, 7, 100, 3, 4)}


def test_files_that_left_the_disk_are_gone_and_keep_their_rows(desk: Desk) -> None:
    for path in ("/a", "/b", "/caf\\xe9"):
        known(desk, path)
    assert mark_gone(desk.conn, {"/a", "/caf\udce9"}) == 1
    assert desk.rows("SELECT path, status, offset FROM ingest_files WHERE status = 'gone'") == [("/b", "gone", 100)]
    assert mark_gone(desk.conn, {"/a", "/caf\udce9"}) == 0


@pytest.mark.parametrize("before", [False, True])
def test_a_file_that_cannot_be_opened_says_why_and_is_tried_again(desk: Desk, before: bool) -> None:
    if before:
        known(desk)
    mark_unreadable(desk.conn, FILE, "Permission denied")
    assert desk.rows("SELECT status, last_error, size FROM ingest_files") == [("unreadable", "Permission denied", -1)]
    assert known_stats(desk.conn, 1) == {}


@pytest.mark.parametrize(
    ("name", "kept"), [("/plain", "/plain"), ("/caf\xe9", "/caf\xe9"), ("/caf\udce9", "/caf\\xe9")]
)
def test_names_that_are_no_text_are_spelled_out(name: str, kept: str) -> None:
    assert stored(name) == kept
    assert stored(os.fsdecode(os.fsencode(name))) == kept


# --- reading again


def filled(desk: Desk) -> FileRow:
    file = desk.file()
    desk.write(
        file, entry("u1", Prompt("a"), version="2.0.1"), entry(None, QueueOperation("enqueue", "x"), version=None)
    )
    desk.write(file, entry(None, Unreadable("bad", 0, 1)))
    return file


def test_a_restart_sets_places_aside_and_keeps_rows(desk: Desk) -> None:
    file = filled(desk)
    for _ in range(2):
        restart(desk.conn, file.id)
    assert desk.rows("SELECT uuid, position FROM session_records") == [("u1", 1 - STALE)]
    assert desk.one("SELECT count(*) FROM user_prompts") == 1
    assert desk.rows("SELECT * FROM dead_letters") == desk.rows("SELECT * FROM queue_operations") == []


def test_a_restart_is_of_one_file(desk: Desk) -> None:
    file = filled(desk)
    desk.write(desk.file("b"), entry("u2", Prompt("b"), session="b"), entry(None, Unreadable("bad", 0, 1)))
    restart(desk.conn, file.id)
    assert desk.one("SELECT position FROM session_records WHERE uuid = 'u2'") == 1
    assert desk.one("SELECT count(*) FROM dead_letters") == 1


def test_reading_a_file_again_is_due_at_the_next_sweep(desk: Desk) -> None:
    file = filled(desk)
    read_again(desk.conn, file.id)
    row = checkpoints.by_path(desk.conn, file.path)
    assert row is not None
    assert (row.offset, row.size, row.generation) == (0, -1, 1)
    assert desk.one("SELECT position FROM session_records") < 0
