"""Which file is this, and how far was it read: every way a transcript can change under its reader."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from memories import Memory
from transcripts import Transcript, line

from indexer import failpoints, ingest
from indexer.files.discover import Found, discover
from indexer.files.tail import open_source, read_lines
from indexer.ingest import LIVE
from indexer.records import AssistantText, Entry, SourceFile
from indexer.sources.claude_code import ClaudeCode
from indexer.store import checkpoints


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    made = Memory(tmp_path)
    yield made
    made.close()


def talk(name: str = "session", *texts: str, **how: str) -> Transcript:
    """A session with these prompts, each answered."""
    made = Transcript(name, **how)  # type: ignore[arg-type]
    for text in texts:
        made.user(text)
        made.text(f"answer to {text}")
    return made


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def more(session: Transcript, *texts: str) -> bytes:
    """The lines that these further prompts add to a session's file."""
    before = len(session.data)
    for text in texts:
        session.user(text)
    return session.data[before:]


# -- growing ---------------------------------------------------------------------------------------


def test_what_is_appended_is_read_and_nothing_before_it(memory: Memory) -> None:
    session = talk("a", "one", "two")
    path = session.write(memory.root)
    memory.read()
    added = more(session, "three")
    append(path, added)
    assert memory.bytes_read() == len(added)
    assert memory.prompts == ["one", "two", "three"]


def test_an_unchanged_file_has_nothing_to_read(memory: Memory) -> None:
    talk("a", "one").write(memory.root)
    memory.read()
    assert memory.bytes_read() == 0


def test_an_empty_file_is_known_and_then_filled(memory: Memory) -> None:
    session = talk("a")
    path = session.write(memory.root)
    memory.read()
    assert memory.file(path)["size"] == 0
    append(path, more(session, "one"))
    memory.read()
    assert memory.prompts == ["one"]


def test_half_a_line_is_left_where_it_is(memory: Memory) -> None:
    """Row 3 of the matrix."""
    session = talk("a", "one")
    path = session.write(memory.root)
    added = more(session, "größer")
    for cut in (5, added.index("ö".encode()) + 1, len(added) - 2):
        path.write_bytes(session.data[: -len(added)] + added[:cut])
        memory.read()
        assert memory.prompts == ["one"]
        assert memory.file(path)["offset"] == len(session.data) - len(added)
    path.write_bytes(session.data)
    memory.read()
    assert memory.prompts == ["one", "größer"]


class Meddler(ClaudeCode):
    """Does something to the world before it parses its n-th line."""

    def __init__(self, at: int, deed: Callable[[], object]) -> None:
        self.at, self.deed = at, deed

    def parse(self, data: bytes, file: SourceFile) -> Sequence[Entry]:
        self.at -= 1
        if self.at == 0:
            self.deed()
        return super().parse(data, file)


def test_a_file_that_grows_while_it_is_read_is_read_as_far_as_it_stood(memory: Memory) -> None:
    """Row 13 of the matrix."""
    session = talk("a", "one")
    path = session.write(memory.root)
    standing, added = len(session.data), more(session, "two")
    assert memory.bytes_read(source=Meddler(1, lambda: append(path, added))) == standing
    assert memory.bytes_read() == len(added)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_file_that_is_rewritten_while_it_is_read_loses_nothing(memory: Memory, at: int) -> None:
    path = talk("a", "one", "two").write(memory.root)
    other = talk("b", "three", "four", "five")
    memory.read(Meddler(at, lambda: path.write_bytes(other.data)))
    memory.read()
    assert {"three", "four", "five"} <= set(memory.prompts)


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_file_that_is_replaced_while_it_is_read_loses_nothing(memory: Memory, at: int) -> None:
    path = talk("a", "one", "two").write(memory.root)
    scratch = path.with_suffix(".new")
    scratch.write_bytes(talk("b", "three", "four", "five").data)
    memory.read(Meddler(at, lambda: scratch.replace(path)))
    memory.read()
    assert memory.prompts == ["one", "two", "three", "four", "five"]


def test_a_file_that_is_cut_while_it_is_read_is_read_again(memory: Memory) -> None:
    path = talk("a", "one", "two", "three").write(memory.root)
    memory.read(Meddler(2, lambda: os.truncate(path, 0)))
    append(path, talk("b", *"uvwxyz").data)
    memory.read()
    assert set("uvwxyz") <= set(memory.prompts)


# -- truncated, rewritten, replaced ----------------------------------------------------------------


def test_truncated_and_rewritten_keeps_the_old_and_reads_the_new(memory: Memory) -> None:
    """Row 5 of the matrix."""
    path = talk("a", "one").write(memory.root)
    memory.read()
    path.write_bytes(talk("b", "two", "three", "four").data)
    memory.read()
    assert memory.prompts == ["one", "two", "three", "four"]
    assert memory.file(path)["generation"] == 1


def test_rewritten_with_a_record_put_before_is_read_again_and_nothing_doubles(memory: Memory) -> None:
    session = talk("a", "one", "two")
    path = session.write(memory.root)
    memory.read()
    path.write_bytes(talk("b", "zero").data + session.data)
    memory.read()
    assert sorted(memory.prompts) == ["one", "two", "zero"]
    assert memory.differences() == {}


def test_truncated_to_nothing_forgets_nothing(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    memory.read()
    os.truncate(path, 0)
    memory.read()
    assert memory.prompts == ["one"]
    assert memory.file(path)["offset"] == 0


def test_truncated_shorter_then_grown_another_way_holds_both(memory: Memory) -> None:
    """Row 6 of the matrix."""
    session = talk("a", "one", "two")
    path = session.write(memory.root)
    memory.read()
    kept = len(line(session.records[0])) + 40
    path.write_bytes(session.data[:kept] + b"\n" + more(session, "three"))
    memory.read()
    assert sorted(memory.prompts) == ["one", "three", "two"]


def test_rewritten_at_the_same_size_is_seen_by_its_content(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    memory.read()
    other = talk("b", "two").data
    path.write_bytes(other)
    assert memory.file(path)["offset"] == len(other)
    memory.read()
    assert memory.prompts == ["one", "two"]


def test_rewritten_behind_a_long_common_beginning_is_read_again(memory: Memory) -> None:
    session = talk("a", "x" * 3000)
    path = session.write(memory.root)
    path.write_bytes(session.data + talk("b", "one").data)
    memory.read()
    path.write_bytes(session.data + talk("c", "two", "three").data)
    memory.read()
    assert memory.prompts == ["x" * 3000, "one", "two", "three"]


def test_rewritten_before_a_common_end_is_read_again(memory: Memory) -> None:
    end = talk("c", "the end").data
    path = talk("a", "one").write(memory.root)
    path.write_bytes(talk("a", "one").data + end)
    memory.read()
    path.write_bytes(talk("b", "two").data + end + talk("d", "more").data)
    memory.read()
    assert sorted(memory.prompts) == ["more", "one", "the end", "two"]


def test_rewritten_without_its_history_keeps_what_was_read_in_order(memory: Memory) -> None:
    """Row 31 of the matrix."""
    session = talk("a", "one", "two", "three")
    path = session.write(memory.root)
    memory.read()
    path.write_bytes(b"".join(map(line, session.records[4:])) + more(session, "four"))
    memory.read()
    assert memory.prompts == ["one", "two", "three", "four"]


def test_replaced_by_the_same_content_and_more_goes_on_where_it_was(memory: Memory) -> None:
    session = talk("a", "one")
    path = session.write(memory.root)
    memory.read()
    added = more(session, "two")
    scratch = path.with_suffix(".new")
    scratch.write_bytes(session.data)
    scratch.replace(path)
    assert memory.bytes_read() == len(added)
    assert memory.prompts == ["one", "two"]


def test_replaced_by_another_content_is_another_file(memory: Memory) -> None:
    """Row 7 of the matrix."""
    path = talk("a", "one").write(memory.root)
    memory.read()
    scratch = path.with_suffix(".new")
    scratch.write_bytes(talk("b", "two", "three").data)
    scratch.replace(path)
    memory.read()
    assert memory.prompts == ["one", "two", "three"]
    assert memory.rows("SELECT status, generation FROM ingest_files ORDER BY id") == [("replaced", 0), ("active", 1)]


def test_a_replaced_content_that_comes_back_is_known_again(memory: Memory) -> None:
    first, second = talk("a", "one").data, talk("b", "two").data
    path = talk("a", "one").write(memory.root)
    memory.read()
    for data, size in ((second, len(second)), (first, 0), (second, 0)):
        scratch = path.with_suffix(".new")
        scratch.write_bytes(data)
        scratch.replace(path)
        assert memory.bytes_read() == size
    assert memory.prompts == ["one", "two"]


def test_a_reused_inode_is_no_identity(memory: Memory) -> None:
    """Row 8 of the matrix."""
    path = talk("a", "one").write(memory.root)
    memory.read()
    other = talk("b", "two", "three")
    inode = path.stat().st_ino
    path.write_bytes(other.data)
    path.rename(other.path(memory.root))
    assert other.path(memory.root).stat().st_ino == inode
    memory.read()
    assert memory.prompts == ["one", "two", "three"]
    assert memory.file(path)["status"] == "gone"


# -- moved, copied, deleted, swapped ---------------------------------------------------------------


def test_moved_to_another_project_it_is_not_read_again_and_stays_what_it_was(memory: Memory) -> None:
    """Row 9 of the matrix."""
    session = talk("a", "one")
    path = session.write(memory.root)
    memory.read()
    session.cwd = "/home/dev/other"
    moved = session.path(memory.root)
    moved.parent.mkdir()
    path.rename(moved)
    added = more(session, "two")
    append(moved, added)
    assert memory.bytes_read() == len(added)
    assert memory.file(moved)["folder"] == "-home-dev-other"
    assert memory.rows("SELECT prompt_text, project_key, cwd FROM user_prompts") == [
        ("one", "/home/dev/shop", "/home/dev/shop"),
        ("two", "/home/dev/shop", "/home/dev/other"),
    ]


def test_a_project_folder_that_is_renamed_takes_its_files_along(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    memory.read()
    renamed = path.parent.rename(memory.root / "-home-dev-renamed")
    memory.read()
    moved = memory.file(renamed / path.name)
    assert (moved["status"], moved["folder"], moved["size"]) == ("active", renamed.name, moved["offset"])


def test_a_copy_under_another_name_adds_nothing(memory: Memory) -> None:
    """Row 11 of the matrix."""
    path = talk("a", "one", "two").write(memory.root)
    memory.read()
    path.with_name("copy.jsonl").write_bytes(path.read_bytes())
    memory.read()
    assert memory.prompts == ["one", "two"]
    assert memory.one("SELECT count(*) FROM ingest_files WHERE status = 'active'") == 2


def test_another_name_for_a_file_that_stands_is_no_move(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    memory.read()
    link = path.with_name("0-link.jsonl")
    link.hardlink_to(path)
    list(memory.ingest().run(memory.found()))
    assert memory.file(path)["offset"] == memory.file(link)["offset"] == path.stat().st_size
    assert memory.prompts == ["one"]


@pytest.mark.parametrize("name", ["restored.jsonl", None])
def test_deleted_and_restored_it_goes_on_where_it_was(memory: Memory, name: str | None) -> None:
    """Row 10 of the matrix."""
    session = talk("a", "one")
    path = session.write(memory.root)
    memory.read()
    path.unlink()
    memory.read()
    assert memory.file(path)["status"] == "gone"
    restored = path.with_name(name) if name else path
    added = more(session, "two")
    restored.write_bytes(session.data)
    assert memory.bytes_read() == len(added)
    assert (memory.prompts, memory.file(restored)["status"]) == (["one", "two"], "active")


def test_what_is_deleted_stays_remembered(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    memory.read()
    path.unlink()
    memory.read()
    assert memory.prompts == ["one"]


@pytest.mark.parametrize("batch", [1, 1 << 20])
def test_two_files_that_swap_names_lose_and_double_nothing(memory: Memory, batch: int) -> None:
    one, two = talk("a", "one"), talk("b", "two", "three")
    first, second = one.write(memory.root), two.write(memory.root)
    memory.read()
    scratch = first.with_suffix(".old")
    first.rename(scratch)
    second.rename(first)
    scratch.rename(second)
    append(first, more(two, "four"))
    append(second, more(one, "five"))
    memory.read(limit=LIVE._replace(data=batch))
    assert memory.prompts == ["two", "three", "four", "one", "five"]
    assert memory.bytes_read() == 0


def test_a_session_that_goes_on_in_a_copy_keeps_its_order(memory: Memory) -> None:
    session = talk("a", "one", "two")
    path = session.write(memory.root)
    memory.read()
    path.with_name("0-copy.jsonl").write_bytes(session.data + more(session, "three"))
    memory.read()
    assert memory.rows("SELECT prompt_text, prompt_number FROM user_prompts ORDER BY 2") == [
        ("one", 1),
        ("two", 2),
        ("three", 3),
    ]


def test_a_file_put_in_the_place_of_one_that_moved_away(memory: Memory) -> None:
    session = talk("a", "one")
    path = session.write(memory.root)
    memory.read()
    path.rename(path.with_name("z-moved.jsonl"))
    path.write_bytes(talk("b", "two").data)
    memory.read()
    assert memory.prompts == ["one", "two"]
    assert memory.bytes_read() == 0


def test_two_copies_of_a_deleted_file_are_two_files(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    data = path.read_bytes()
    memory.read()
    path.unlink()
    for name in ("b.jsonl", "c.jsonl"):
        path.with_name(name).write_bytes(data)
    memory.read()
    assert memory.prompts == ["one"]
    assert memory.one("SELECT count(*) FROM ingest_files WHERE status = 'active'") == 2


# -- damage ----------------------------------------------------------------------------------------


def test_a_tail_of_nul_bytes_hides_nothing_that_follows(memory: Memory) -> None:
    """Row 12 of the matrix."""
    session = talk("a", "one")
    path = session.write(memory.root)
    append(path, bytes(4096))
    memory.read()
    assert memory.one("SELECT count(*) FROM dead_letters") == 0
    append(path, more(session, "two") + more(session, "three"))
    memory.read()
    assert memory.prompts == ["one", "two", "three"]
    assert memory.rows("SELECT reason, length FROM dead_letters") == [("nul-bytes", 4096)]


def test_a_torn_line_with_the_next_record_glued_on_costs_only_itself(memory: Memory) -> None:
    """Row 30 of the matrix."""
    session = talk("a", "one")
    path = session.write(memory.root)
    offset = len(session.data)
    append(path, more(session, "lost")[:50])
    memory.read()
    append(path, more(session, "two"))
    memory.read()
    assert memory.prompts == ["one", "two"]
    assert memory.rows("SELECT reason, offset, length FROM dead_letters") == [("torn", offset, 50)]


def test_bad_lines_are_kept_track_of_and_the_rest_goes_on(memory: Memory) -> None:
    session = talk("a", "one")
    path = session.write(memory.root)
    append(path, b"no json\n\xff\xfe\n\n{}\n" + more(session, "two"))
    memory.read()
    assert memory.prompts == ["one", "two"]
    assert memory.rows("SELECT line, length FROM dead_letters") == [(3, 7), (4, 2)]


@pytest.mark.parametrize(("before", "newline"), [(b"", b"\r\n"), (b"\xef\xbb\xbf", b"\n")])
def test_line_ends_and_byte_order_marks_of_windows(memory: Memory, before: bytes, newline: bytes) -> None:
    session = talk("a", "one", "two")
    path = session.write(memory.root)
    path.write_bytes(before + session.data.replace(b"\n", newline))
    memory.read()
    assert memory.prompts == ["one", "two"]
    assert memory.one("SELECT count(*) FROM dead_letters") == 0


def test_the_longest_line_is_read_and_one_byte_more_is_not(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    session = talk("a", "one", "two")
    session.user("the last")
    path = session.write(memory.root)
    first = len(line(session.records[0])) - 1
    monkeypatch.setattr(ingest, "read_lines", partial(read_lines, longest=first))
    grown = line({**session.records[2], "slug": "x"})
    path.write_bytes(line(session.records[0]) + grown + line(session.records[0]))
    memory.read()
    assert memory.prompts == ["one"]
    assert memory.rows("SELECT offset, length, line FROM dead_letters") == [(first + 1, len(grown) - 1, 2)]
    assert memory.file(path)["line_no"] == 3


def test_a_line_too_long_that_never_ends_is_read_once_and_said_to_be(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk("a", "one").write(memory.root)
    offset = path.stat().st_size
    append(path, b"x" * 100)
    monkeypatch.setattr(ingest, "LONGEST", 99)
    memory.read()
    found = "SELECT offset, length, line, reason FROM dead_letters"
    assert memory.rows(found) == [(offset, 100, 3, "line of 100 bytes is longer than the limit")]
    before = memory.conn.total_changes
    assert (memory.sweep(), memory.conn.total_changes, memory.prompts) == ([], before, ["one"])


def test_the_end_of_a_line_too_long_goes_past_it_and_tells_of_it_once(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = talk("a", "one")
    path = session.write(memory.root)
    append(path, b"x" * 1000)
    monkeypatch.setattr(ingest, "LONGEST", 900)
    monkeypatch.setattr(ingest, "read_lines", partial(read_lines, longest=900))
    memory.read()
    append(path, b"\n" + more(session, "two"))
    memory.read()
    assert (memory.prompts, memory.one("SELECT count(*) FROM dead_letters")) == (["one", "two"], 1)


# -- a last line without newline -------------------------------------------------------------------


def unended(session: Transcript, root: Path) -> Path:
    path = session.write(root)
    path.write_bytes(session.data[:-1])
    return path


def test_a_complete_last_line_is_read_after_a_quiet_time_and_the_offset_stays_before_it(memory: Memory) -> None:
    session = talk("a", "one")
    session.user("two")
    path = unended(session, memory.root)
    memory.read(quiet=lambda _: False)
    assert memory.prompts == ["one"]
    memory.read()
    assert memory.prompts == ["one", "two"]
    assert memory.file(path)["offset"] == len(session.data) - len(line(session.records[-1]))


def test_the_newline_that_comes_later_doubles_nothing(memory: Memory) -> None:
    session = talk("a", "one", "two")
    path = unended(session, memory.root)
    memory.read()
    append(path, b"\n" + more(session, "three"))
    memory.read()
    assert memory.prompts == ["one", "two", "three"]
    assert memory.differences() == {}


def test_a_record_glued_to_a_last_line_is_read_too(memory: Memory) -> None:
    session = talk("a", "one")
    path = unended(session, memory.root)
    memory.read()
    append(path, more(session, "two"))
    memory.read()
    assert memory.prompts == ["one", "two"]
    assert memory.one("SELECT count(*) FROM dead_letters") == 0


def test_half_a_last_line_is_never_taken_for_damage(memory: Memory) -> None:
    session = talk("a", "one")
    path = session.write(memory.root)
    append(path, more(session, "two")[:-20])
    memory.read()
    assert (memory.prompts, memory.one("SELECT count(*) FROM dead_letters")) == (["one"], 0)


def test_with_or_without_its_last_newline_a_file_says_the_same(memory: Memory, tmp_path: Path) -> None:
    session = talk("a", "one", "two")
    session.fork("b").write(memory.root)
    unended(session, memory.root)
    memory.read()
    sessions = memory.rows("SELECT content_session_id, origin_epoch, prompt_counter FROM sdk_sessions ORDER BY 1")
    other = Memory(tmp_path / "other")
    session.write(other.root)
    session.fork("b").write(other.root)
    other.read()
    assert (
        other.rows("SELECT content_session_id, origin_epoch, prompt_counter FROM sdk_sessions ORDER BY 1") == sessions
    )
    other.close()


def test_a_last_line_dates_what_stands_undated_before_it(memory: Memory) -> None:
    session = talk("a")
    session.user("one", timestamp=None)
    last = session.user("two")
    path = unended(session, memory.root)
    memory.read()
    assert memory.rows("SELECT prompt_text, created_at FROM user_prompts") == [
        ("one", last["timestamp"]),
        ("two", last["timestamp"]),
    ]
    append(path, b"\n")
    memory.read()
    assert memory.differences() == {}


def test_a_last_line_that_was_not_quiet_yet_is_not_taken_for_read(memory: Memory) -> None:
    path = unended(talk("a", "one"), memory.root)
    memory.read(quiet=lambda _: False)
    assert memory.file(path)["size"] == -1
    memory.read()
    assert memory.file(path)["size"] == path.stat().st_size


def test_a_reader_says_which_files_have_a_last_line_to_wait_for(memory: Memory) -> None:
    session, quiet = talk("a", "one"), False
    path, reader = unended(session, memory.root), memory.ingest(quiet=lambda _: quiet)
    reader.round(memory.found())
    assert reader.unfinished == {str(path)}
    quiet = True
    reader.round(memory.found())
    assert reader.unfinished == set()


# -- what is no readable file ----------------------------------------------------------------------


def refusing(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def refuse(path: str) -> int:
        raise error

    monkeypatch.setattr(ingest, "open_source", refuse)


def test_an_unreadable_file_is_noted_and_tried_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    path = talk("a", "one").write(memory.root)
    with monkeypatch.context() as patch:
        refusing(patch, PermissionError(errno.EACCES, "Permission denied"))
        memory.read()
    found = memory.file(path)
    assert (found["status"], found["last_error"], found["size"]) == ("unreadable", "Permission denied", -1)
    memory.read()
    assert (memory.prompts, memory.file(path)["last_error"]) == (["one"], None)


def test_a_file_that_becomes_unreadable_keeps_its_place(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    session = talk("a", "one")
    path = session.write(memory.root)
    memory.read()
    added = more(session, "two")
    append(path, added)
    with monkeypatch.context() as patch:
        refusing(patch, OSError(errno.EIO, "Input/output error"))
        memory.read()
    assert memory.bytes_read() == len(added)


def test_a_file_that_cannot_be_read_is_not_taken_for_one_that_has_moved(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk("a", "one").write(memory.root)
    memory.read()
    path.with_name("z-link.jsonl").hardlink_to(path)
    scratch = path.with_suffix(".new")
    scratch.write_bytes(talk("b", "two").data)
    scratch.replace(path)
    with monkeypatch.context() as patch:

        def refuse(name: str) -> int:
            if name == str(path):
                raise OSError(errno.EIO, "Input/output error")
            return open_source(name)

        patch.setattr(ingest, "open_source", refuse)
        memory.read()
    assert memory.file(path)["status"] == "unreadable"


def test_a_file_rewritten_while_it_was_unreadable_is_active_again(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk("a", "one").write(memory.root)
    memory.read()
    path.write_bytes(talk("b", "two").data)
    with monkeypatch.context() as patch:
        refusing(patch, OSError(errno.EIO, "Input/output error"))
        memory.read()
    memory.read()
    found = memory.file(path)
    assert (memory.prompts, found["status"], found["last_error"]) == (["one", "two"], "active", None)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_the_right_to_read_is_unreadable(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    path.chmod(0)
    memory.read()
    assert memory.file(path)["status"] == "unreadable"


def test_a_disk_that_fails_under_a_read_loses_nothing(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    path = talk("a", "one").write(memory.root)
    monkeypatch.setattr(failpoints, "_armed", ["ingest.opened", "1", "error"])
    monkeypatch.setattr(failpoints, "_passed", 0)
    memory.read()
    assert memory.file(path)["status"] == "unreadable"
    memory.read()
    assert memory.prompts == ["one"]


def test_what_is_gone_or_no_file_by_the_time_it_is_opened_is_passed_over(memory: Memory) -> None:
    session = talk("a", "one")
    path = session.write(memory.root)
    found = list(discover([str(memory.root)], ClaudeCode()))
    path.unlink()
    assert memory.ingest().round(found) == []
    os.mkfifo(path)
    assert memory.ingest().round(found) == []
    assert memory.one("SELECT count(*) FROM ingest_files") == 0


def test_a_name_that_is_no_utf_8_is_read_and_shown_as_far_as_it_can_be(memory: Memory) -> None:
    session = talk("a", "one")
    folder = session.write(memory.root).parent
    session.path(memory.root).rename(folder / "caf\udce9.jsonl")
    memory.read()
    assert memory.prompts == ["one"]
    assert memory.one("SELECT path FROM ingest_files") == str(folder / "caf\\xe9.jsonl")
    assert memory.bytes_read() == 0


def test_a_file_of_the_far_future_is_read_once(memory: Memory) -> None:
    path = talk("a", "one").write(memory.root)
    os.utime(path, ns=(0, 10**19))
    memory.read()
    (found,) = discover([str(memory.root)], ClaudeCode())
    assert checkpoints.known_stats(memory.conn, ClaudeCode.parser_version) == {str(path): found.stat}


def test_inodes_may_use_all_64_bits(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = talk("a", "one").write(memory.root), os.fstat

    def wide(fd: int) -> SimpleNamespace:
        info = real(fd)
        fields = {name: getattr(info, name) for name in dir(info) if name.startswith("st_")}
        return SimpleNamespace(**fields | {"st_ino": 2**64 - 5})

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", wide)
        memory.read()
    assert (memory.prompts, memory.file(path)["ino"]) == (["one"], 2**63 - 5)


# -- versions of the parser ------------------------------------------------------------------------


class Deaf(ClaudeCode):
    """An older parser that heard no assistant."""

    parser_version = 0

    def parse(self, data: bytes, file: SourceFile) -> Sequence[Entry]:
        heard = super().parse(data, file)
        return [entry for entry in heard if not any(isinstance(record, AssistantText) for record in entry.records)]


def test_a_new_parser_reads_everything_again_and_adds_what_the_old_one_missed(memory: Memory) -> None:
    session = talk("a", "one", "two")
    session.write(memory.root)
    memory.read(Deaf())
    assert memory.one("SELECT count(*) FROM assistant_messages") == 0
    assert memory.bytes_read() == len(session.data)
    assert memory.one("SELECT count(*) FROM assistant_messages") == 2
    assert memory.differences() == {}
    assert memory.bytes_read() == 0


# -- turns and batches -----------------------------------------------------------------------------


def test_a_long_file_takes_one_turn_a_round_and_starves_nobody(memory: Memory) -> None:
    long, short = talk("a", *"abcdefgh").write(memory.root), talk("b", "one").write(memory.root)
    found = list(discover([str(memory.root)], ClaudeCode()))
    reader = memory.ingest(limit=LIVE._replace(rows=4))
    rest = reader.round(found)
    assert [one.file.path for one in rest] == [str(long)]
    assert memory.file(long)["size"] == -1
    assert memory.file(short)["size"] == short.stat().st_size
    while rest:
        rest = reader.round(rest)
    assert memory.one("SELECT count(*) FROM user_prompts") == 9


@pytest.mark.parametrize("limit", [{"rows": 3}, {"rows": 4}, {"rows": 5}, {"turn": 1}, {"data": 1}, {"seconds": -1}])
def test_turns_and_batches_end_where_they_may(memory: Memory, limit: dict[str, int]) -> None:
    session = talk("a", "one", "two")
    session.write(memory.root)
    session.fork("b").write(memory.root)
    assert memory.bytes_read(limit=LIVE._replace(**limit)) == len(session.data) + len(session.fork("b").data)
    assert memory.differences() == {}


def test_short_files_share_a_transaction(memory: Memory) -> None:
    for name in "abc":
        talk(name, f"prompt {name}").write(memory.root)
    (done,) = memory.read()
    assert (done.files, done.written.prompts) == (3, 3)


def test_a_full_batch_is_committed_before_the_next_file(memory: Memory) -> None:
    for name in "abc":
        talk(name, "one", "two").write(memory.root)
    assert [done.files for done in memory.read(limit=LIVE._replace(data=1))] == [1, 1, 1]


def test_what_is_told_of_a_commit_adds_up(memory: Memory) -> None:
    sessions = [talk("a", "one", "two"), talk("b", "three")]
    paths = [session.write(memory.root) for session in sessions]
    done = memory.read()
    assert sum(each.size for each in done) == sum(path.stat().st_size for path in paths)
    assert sum(each.entries for each in done) == sum(len(session.records) for session in sessions)
    assert sum(each.written.messages for each in done) == 3


@pytest.mark.parametrize("point", ["ingest.begin", "ingest.rows", "ingest.checkpoint", "ingest.committed"])
def test_an_error_anywhere_in_a_commit_leaves_all_of_it_or_nothing(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    talk("a", "one", "two").write(memory.root)
    talk("b", "three").write(memory.root)
    monkeypatch.setattr(failpoints, "_armed", [point, "1", "error"])
    monkeypatch.setattr(failpoints, "_passed", 0)
    with pytest.raises(OSError, match=point):
        memory.read()
    assert len(memory.prompts) == (3 if point == "ingest.committed" else 0)
    memory.read()
    assert memory.differences() == {}


def test_a_round_that_failed_between_two_files_is_begun_anew(memory: Memory) -> None:
    for name in "ab":
        talk(name, f"prompt {name}").write(memory.root)
    reader, found = memory.ingest(), list(discover([str(memory.root)], ClaudeCode()))

    def broken() -> Iterator[Found]:
        yield found[0]
        raise RuntimeError("between two files")

    with pytest.raises(RuntimeError):
        reader.round(broken())
    reader.round(found)
    assert sorted(memory.prompts) == ["prompt a", "prompt b"]
    assert memory.differences() == {}


def test_the_note_beside_a_sub_agents_file_is_read_with_it(memory: Memory) -> None:
    session = talk("a", "one")
    call = session.call("Task", {"prompt": "look"})
    session.write(memory.root)
    agent = session.subagent("f00")
    agent.user("look")
    agent.tool("Bash", {"command": "ls"}, "x")
    path = agent.write(memory.root)
    path.with_suffix(".meta.json").write_text(f'{{"toolUseId": "{call}", "agentType": "scout"}}')
    memory.read()
    assert memory.rows("SELECT agent_id, tool_use_id, agent_type FROM session_agents") == [("f00", call, "scout")]
