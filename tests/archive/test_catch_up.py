"""What was read without being archived is archived later, if it still stands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import Archived
from memories import Memory
from transcripts import Transcript

from indexer.archive.catch_up import catch_up
from indexer.sources.claude_code import ClaudeCode
from indexer.store import archive as rows


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Archived]:
    """A memory that was filled without an archive."""
    talked = Transcript("a")
    for number in range(5):
        talked.user(f"prompt {number}")
    talked.add("progress", data={"type": "hook_progress"})
    talked.write(tmp_path / "projects")
    before = Memory(tmp_path)
    before.read()
    before.close()
    made = Archived(tmp_path)
    yield made
    made.close()


def catch(memory: Archived) -> int:
    return sum(catch_up(memory.conn, memory.archive, ClaudeCode(), file_id) for file_id in rows.behind(memory.conn))


def the_file(memory: Archived) -> Path:
    return next(memory.root.rglob("*.jsonl"))


def test_what_was_read_before_is_archived(memory: Archived) -> None:
    path = the_file(memory)
    assert catch(memory) == path.stat().st_size
    assert memory.text(path) == b"".join(path.read_bytes().splitlines(keepends=True)[:-1])
    assert rows.behind(memory.conn) == []


def test_catching_up_twice_does_nothing(memory: Archived) -> None:
    catch(memory)
    assert catch(memory) == 0


def test_only_as_far_as_it_was_read(memory: Archived) -> None:
    path = the_file(memory)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b'{"type":"not read yet"}\n')
    assert catch(memory) == size
    assert b"not read yet" not in memory.text(path)


def test_a_reading_that_would_leave_a_hole_waits_for_it(memory: Archived) -> None:
    path = the_file(memory)
    with path.open("ab") as file:
        file.write(b'{"type":"mode","mode":"later"}\n')
    memory.read()
    assert rows.reached(memory.conn, 1, 0) == (0, 0)
    assert catch(memory) == path.stat().st_size


def test_a_file_that_holds_something_else_by_now_is_left_to_the_reader(memory: Archived) -> None:
    path = the_file(memory)
    path.write_bytes(b"x" * path.stat().st_size)
    assert catch(memory) == 0


def test_a_file_that_is_gone_is_left_alone(memory: Archived) -> None:
    the_file(memory).unlink()
    assert catch(memory) == 0
