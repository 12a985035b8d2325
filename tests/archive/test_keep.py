"""What is read is kept: once, redacted, in few files, never ahead of the rows and never behind for good."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import Archived, old
from memories import Memory
from transcripts import Transcript

from indexer import failpoints
from indexer.archive import keep
from indexer.archive.catch_up import catch_up
from indexer.redact import Redactor
from indexer.sources.claude_code import ClaudeCode
from indexer.store import archive as rows


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Archived]:
    made = Archived(tmp_path)
    yield made
    made.close()


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of 1 KiB: three or four lines each."""
    monkeypatch.setattr(keep, "WINDOW", 10)


def talk(name: str, *texts: str) -> Transcript:
    made = Transcript(name)
    for text in texts:
        made.user(text)
        made.text(f"answer to {text}")
    return made


def many(name: str, count: int = 10) -> Transcript:
    return talk(name, *(f"prompt {number}" for number in range(count)))


# -- windows and tails -----------------------------------------------------------------------------


def test_what_is_read_is_kept_to_the_byte(memory: Archived) -> None:
    path = many("a").write(memory.root)
    memory.read()
    assert memory.text(path) == path.read_bytes()


@pytest.mark.usefixtures("small_windows")
def test_full_windows_become_chunks_and_the_rest_waits(memory: Archived) -> None:
    path = many("a").write(memory.root)
    memory.read()
    assert len(memory.chunks) == path.stat().st_size >> 10
    assert memory.one("SELECT count(*) FROM archive_tails") == 1
    assert memory.text(path) == path.read_bytes()


def test_a_file_that_nobody_writes_to_becomes_a_chunk_at_once(memory: Archived) -> None:
    old(many("a").write(memory.root))
    memory.archive.idle_before = 10**18 + 1
    memory.read()
    assert len(memory.chunks) == 1
    assert memory.one("SELECT count(*) FROM archive_tails") == 0


def test_small_appends_make_no_files(memory: Archived) -> None:
    talked = Transcript("a")
    for number in range(30):
        talked.user(f"prompt {number}")
        path = talked.write(memory.root)
        memory.sweep()
    assert memory.chunks == []
    assert memory.text(path) == path.read_bytes()


def test_a_quiet_files_end_becomes_one_chunk(memory: Archived) -> None:
    test_small_appends_make_no_files(memory)
    assert memory.seal() == 1
    assert len(memory.chunks) == 1
    assert memory.one("SELECT count(*) FROM archive_tails") == 0


def test_what_is_still_being_written_is_waited_for(memory: Archived) -> None:
    path = many("a").write(memory.root)
    memory.read()
    assert memory.seal(path.stat().st_mtime_ns) == 0
    assert memory.seal(path.stat().st_mtime_ns + 1) == 1


def test_a_session_taken_up_again_replaces_its_unfilled_chunk(memory: Archived) -> None:
    talked = many("a", 3)
    path = talked.write(memory.root)
    memory.read()
    memory.seal()
    talked.user("and more")
    talked.write(memory.root)
    memory.read()
    memory.seal()
    assert len(memory.chunks) == 1
    assert memory.text(path) == path.read_bytes()


@pytest.mark.usefixtures("small_windows")
def test_the_same_chunks_come_of_one_reading_and_of_many(memory: Archived, tmp_path: Path) -> None:
    talked = Transcript("a")
    for number in range(12):
        talked.user(f"prompt {number}")
        talked.write(memory.root)
        memory.sweep()
        memory.seal()
    at_once = Archived(tmp_path / "other")
    talked.write(at_once.root)
    at_once.read()
    at_once.seal()
    assert [path.name for path in memory.chunks] == [path.name for path in at_once.chunks]
    at_once.close()


def test_a_line_without_newline_is_kept_and_gives_way_to_the_whole_one(memory: Archived) -> None:
    talked = talk("a", "one", "two")
    path = talked.write(memory.root)
    path.write_bytes(talked.data[:-1])
    memory.read()
    assert memory.text(path) == talked.data[:-1]
    talked.user("three")
    talked.write(memory.root)
    memory.read()
    assert memory.text(path) == talked.data
    assert memory.one("SELECT count(*) FROM archive_tails WHERE is_open") == 0


def test_a_line_longer_than_a_window_is_one_chunk(memory: Archived) -> None:
    path = talk("a", "x" * (1 << 21), "two").write(memory.root)
    memory.read()
    assert len(memory.chunks) >= 1
    assert memory.text(path) == path.read_bytes()


def test_lines_of_progress_are_counted_and_not_kept(memory: Archived) -> None:
    talked = talk("a", "one")
    talked.add("progress", data={"type": "hook_progress"})
    talked.user("two")
    path = talked.write(memory.root)
    memory.read()
    row = memory.file(path)
    assert rows.reached(memory.conn, row["id"], 0) == (path.stat().st_size, 4)
    assert b"hook_progress" not in memory.text(path)
    assert memory.text(path).count(b"\n") == 3


# -- redaction -------------------------------------------------------------------------------------


PASSWORD = "postgres://shop:hunter2secret@db.example/shop"


def test_no_line_is_written_before_it_was_redacted(tmp_path: Path) -> None:
    memory = Archived(tmp_path)
    path = talk("a", f"it is at {PASSWORD}", "and so on").write(memory.root)
    memory.read()
    memory.seal()
    assert memory.text(path) == b"".join(Redactor().line(line) + b"\n" for line in path.read_bytes().splitlines())
    assert b"hunter2secret" not in memory.everything()
    memory.close()


def test_places_are_those_of_the_transcript_and_not_of_what_was_redacted(tmp_path: Path) -> None:
    memory = Archived(tmp_path)
    path = talk("a", f"it is at {PASSWORD}").write(memory.root)
    memory.read()
    assert rows.reached(memory.conn, 1, 0)[0] == path.stat().st_size
    memory.close()


def test_what_is_caught_up_with_is_redacted_too(tmp_path: Path) -> None:
    memory = Archived(tmp_path)
    path = talk("a", f"it is at {PASSWORD}").write(memory.root)
    Memory.ingest(memory).round(memory.found())
    (file_id,) = rows.behind(memory.conn)
    catch_up(memory.conn, memory.archive, ClaudeCode(), file_id)
    assert b"REDACTED" in memory.text(path)
    assert b"hunter2secret" not in memory.everything()
    memory.close()


def test_what_is_forgotten_is_not_kept_again(tmp_path: Path) -> None:
    made = talk("a", "one")
    gone = made.user("forget me")["uuid"]
    memory = Archived(tmp_path, guards=lambda _: lambda entries: entries[0].uuid == gone)
    made.write(memory.root)
    memory.read()
    assert b"forget me" not in memory.everything()
    memory.close()


# -- once ------------------------------------------------------------------------------------------


def test_a_copy_is_stored_once(memory: Archived) -> None:
    path = old(many("a").write(memory.root))
    copy = path.parent.with_name("-home-dev-copy") / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes())
    memory.read()
    memory.seal()
    assert len(memory.chunks) == 1
    assert memory.one("SELECT count(*) FROM archive_extents") == 2
    assert memory.text(copy) == path.read_bytes()


@pytest.mark.usefixtures("small_windows")
def test_a_history_that_two_files_begin_with_is_stored_once(memory: Archived) -> None:
    first = many("a")
    first.write(memory.root)
    other = memory.root / "-home-dev-shop" / "00000000-0000-4000-8000-000000000001.jsonl"
    other.write_bytes(first.data + many("b", 1).data)
    memory.read()
    shared = len(first.data) >> 10
    assert memory.one("SELECT count(*) FROM archive_chunks") < 2 * shared
    assert memory.text(other) == other.read_bytes()


def test_a_file_read_again_from_its_start_is_stored_once(memory: Archived) -> None:
    path = many("a").write(memory.root)
    memory.read()
    memory.seal()
    before = memory.chunks
    memory.conn.execute("UPDATE ingest_files SET parser_version = -1, size = -1")
    memory.read()
    memory.seal()
    assert memory.file(path)["generation"] == 1
    assert memory.chunks == before
    assert memory.one("SELECT count(*) FROM archive_extents") == 1


def test_what_a_rewritten_file_no_longer_holds_is_still_kept(memory: Archived) -> None:
    path = talk("a", "the first version").write(memory.root)
    memory.read()
    path.write_bytes(talk("b", "quite another one", "and longer").data)
    memory.read()
    memory.seal()
    assert b"the first version" in memory.everything()
    assert memory.text(path) == path.read_bytes()


def test_a_vanished_file_stays_in_the_archive(memory: Archived) -> None:
    path = many("a").write(memory.root)
    data = path.read_bytes()
    memory.read()
    path.unlink()
    memory.read()
    assert memory.text(path) == data


def test_a_moved_file_is_not_kept_twice(memory: Archived) -> None:
    path = many("a").write(memory.root)
    memory.read()
    there = path.parent.with_name("-home-dev-moved") / path.name
    there.parent.mkdir()
    path.rename(there)
    memory.read()
    assert memory.one("SELECT count(*) FROM archive_tails") == 1
    assert memory.text(there) == there.read_bytes()


# -- crashes ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("point", ["archive.noted", "ingest.checkpoint"])
def test_a_commit_that_fails_is_made_good_by_the_next_reading(
    memory: Archived, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    path = many("a").write(memory.root)
    monkeypatch.setattr(failpoints, "_armed", [point, "1", "error"])
    monkeypatch.setattr(failpoints, "_passed", 0)
    with pytest.raises(OSError, match="failpoint"):
        memory.sweep()
    monkeypatch.setattr(failpoints, "_armed", [])
    memory.start()
    memory.read()
    assert memory.text(path) == path.read_bytes()
    assert len(memory.chunks) == memory.one("SELECT count(*) FROM archive_chunks")


def orphan(memory: Archived, path: str) -> Path:
    name, _ = memory.archive.shelf.put(b'{"skipped":[],"sizes":[]}\nlost', {"path": path})
    return memory.archive.shelf.path(name)


def test_a_file_that_no_row_names_is_swept_at_the_start(memory: Archived) -> None:
    left = orphan(memory, str(many("a").write(memory.root)))
    memory.read()
    memory.start()
    assert not left.exists()


def test_it_is_left_alone_where_its_transcript_is_gone(memory: Archived) -> None:
    left = orphan(memory, str(memory.root / "gone.jsonl"))
    memory.start()
    assert left.exists()


def test_a_chunk_in_no_use_goes_with_its_row(memory: Archived) -> None:
    many("a").write(memory.root)
    memory.read()
    memory.seal()
    memory.conn.execute("DELETE FROM archive_extents")
    memory.archive.clear()
    assert memory.chunks == []
    assert memory.one("SELECT count(*) FROM archive_chunks") == 0


def test_a_damaged_chunk_does_not_stop_reading(memory: Archived) -> None:
    talked = many("a", 3)
    talked.write(memory.root)
    memory.read()
    memory.seal()
    memory.chunks[0].write_bytes(b"")
    talked.user("more")
    talked.write(memory.root)
    memory.read()
    memory.seal()
    assert "more" in memory.prompts
    assert b"more" in memory.archive.shelf.get(memory.rows("SELECT hash FROM archive_chunks")[-1][0])


# -- the cap ---------------------------------------------------------------------------------------


def test_at_the_cap_nothing_more_is_taken_and_nothing_goes(tmp_path: Path) -> None:
    memory = Archived(tmp_path, cap=1)
    first = talk("a", "one").write(memory.root)
    memory.read()
    assert memory.archive.full
    talk("b", "two").write(memory.root)
    memory.read()
    assert memory.text(first) == first.read_bytes()
    assert memory.prompts == ["one", "two"]
    assert len(rows.behind(memory.conn)) == 1
    memory.close()


def test_every_line_is_json_with_its_own_session_and_uuid(memory: Archived) -> None:
    made = talk("a", "one")
    path = made.write(memory.root)
    memory.read()
    kept = [json.loads(line) for line in memory.text(path).splitlines()]
    assert [line["uuid"] for line in kept] == [record["uuid"] for record in made.records]


# -- an archive without its database ---------------------------------------------------------------
