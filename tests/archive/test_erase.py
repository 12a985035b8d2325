"""What is forgotten leaves the archive for good, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from archives import Archived
from transcripts import Transcript, line

from indexer import failpoints
from indexer.archive import keep
from indexer.archive.erase import Erased, erase


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Archived]:
    made = Archived(tmp_path)
    yield made
    made.close()


def talk(name: str, *texts: str) -> Transcript:
    made = Transcript(name)
    for text in texts:
        made.user(text)
    return made


def forget(memory: Archived, *sessions: str, uuids: frozenset[str] = frozenset()) -> Erased:
    return erase(memory.conn, memory.archive, frozenset(sessions), uuids)


def on_disk(memory: Archived) -> bytes:
    """Everything in the archive's files, inflated, and their heads."""
    shelf = memory.archive.shelf
    return b"".join(shelf.get(name) + str(shelf.origin(name)).encode() for name in shelf.names())


@pytest.mark.parametrize("sealed", [True, False])
def test_no_line_of_a_forgotten_session_stays(memory: Archived, sealed: bool) -> None:
    gone, stays = talk("a", "forget me"), talk("b", "keep me")
    gone.write(memory.root)
    path = stays.write(memory.root)
    memory.read()
    if sealed:
        memory.seal()
    assert forget(memory, gone.session_id).lines == 1
    assert b"forget me" not in memory.everything() + on_disk(memory)
    assert memory.text(path) == stays.data


def test_nor_do_file_heads_name_it(memory: Archived) -> None:
    gone = talk("a", "forget me")
    gone.write(memory.root)
    memory.read()
    memory.seal()
    forget(memory, gone.session_id)
    assert gone.session_id.encode() not in on_disk(memory)


def test_a_record_can_be_forgotten_alone(memory: Archived) -> None:
    made = talk("a", "one", "two", "three")
    path = made.write(memory.root)
    memory.read()
    memory.seal()
    assert forget(memory, uuids=frozenset([made.records[1]["uuid"]])).lines == 1
    assert memory.text(path) == line(made.records[0]) + line(made.records[2])


def test_what_a_fork_still_owns_is_kept(memory: Archived) -> None:
    origin = talk("a", "one")
    fork = origin.fork("b")
    origin.write(memory.root)
    path = fork.write(memory.root)
    memory.read()
    memory.seal()
    forget(memory, origin.session_id)
    assert memory.text(path) == fork.data


def test_a_line_dies_by_what_it_is_and_not_by_what_it_speaks_of(memory: Archived) -> None:
    gone = talk("a", "forget me")
    stays = talk("b", f"what was in {gone.session_id}?")
    gone.write(memory.root)
    path = stays.write(memory.root)
    memory.read()
    memory.seal()
    forget(memory, gone.session_id)
    assert memory.text(path) == stays.data


def test_lines_that_name_no_session_die_with_their_files(memory: Archived) -> None:
    gone = talk("a", "forget me")
    gone.records.append({"type": "summary", "summary": "a secret title", "leafUuid": "x"})
    gone.write(memory.root)
    memory.read()
    memory.seal()
    forget(memory, gone.session_id)
    assert b"a secret title" not in on_disk(memory)


def test_a_torn_line_dies_with_any_id_that_it_shows(memory: Archived) -> None:
    gone = talk("a", "forget me")
    path = gone.path(memory.root)
    path.parent.mkdir(parents=True)
    path.with_name("00000000-0000-4000-8000-000000000009.jsonl").write_bytes(gone.data[:-9] + b"\n")
    memory.read()
    memory.seal()
    forget(memory, gone.session_id)
    assert b"forget me" not in on_disk(memory)


def test_what_was_taken_out_is_not_archived_again(memory: Archived) -> None:
    made = talk("a", "forget me")
    path = made.write(memory.root)
    memory.read()
    memory.seal()
    forget(memory, made.session_id)
    made.user("written later")
    made.write(memory.root)
    memory.read()
    assert memory.text(path) == line(made.records[1])


def test_files_that_no_row_knows_are_looked_at_too(memory: Archived) -> None:
    gone = talk("a", "forget me")
    memory.archive.shelf.put(b'{"skipped":[],"sizes":[]}\n' + gone.data[:-1], {"path": "/gone"})
    assert forget(memory, gone.session_id).chunks == 1
    assert on_disk(memory) == b""


def test_forgetting_twice_finds_nothing_more(memory: Archived) -> None:
    gone = talk("a", "forget me")
    gone.write(memory.root)
    memory.read()
    memory.seal()
    forget(memory, gone.session_id)
    assert forget(memory, gone.session_id) == Erased(0, 0, 0)


@pytest.mark.parametrize("point", ["erase.written", "erase.noted", "archive.removed"])
def test_stopped_between_two_writes_the_next_call_finishes(
    memory: Archived, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    monkeypatch.setattr(keep, "WINDOW", 9)
    gone, stays = talk("a", *(f"forget me {number}" for number in range(9))), talk("b", *"0123456789")
    gone.write(memory.root)
    path = stays.write(memory.root)
    memory.read()
    monkeypatch.setattr(failpoints, "_armed", [point, "2", "error"])
    monkeypatch.setattr(failpoints, "_passed", 0)
    with pytest.raises(OSError, match="failpoint"):
        forget(memory, gone.session_id)
    monkeypatch.setattr(failpoints, "_armed", [])
    memory.start()
    forget(memory, gone.session_id)
    assert b"forget me" not in memory.everything() + on_disk(memory)
    assert memory.text(path) == stays.data
