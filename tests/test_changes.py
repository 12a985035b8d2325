"""What is read next: hints, sweeps, and whose turn it is, one step of a service at a time."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from daemons import Service, settings
from following import Start, append, remembered, statuses, talk
from stores import content, memory_of
from transcripts import uid

from indexer import changes as module
from indexer import events, ingest
from indexer.files import sweep
from indexer.files.tail import open_source
from indexer.files.watch import SWEEP
from indexer.rescan import rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import database_path, open_reader, open_writer

# -- changes ---------------------------------------------------------------------------------------


def test_what_stands_at_the_start_is_read(start: Start, root: Path, home: Path) -> None:
    talk("a", "one", "two").write(root)
    service = start()
    service.settle()
    assert remembered(home) == ["one", "two"]
    assert service.hand.sweeps == 1


def test_with_hints_alone_everything_is_read(service: Service, root: Path, home: Path) -> None:
    session = talk("a", "one")
    path = session.write(root)
    service.hint(path)
    append(path, session.data[len(session.data) :])
    for text in ("two", "three"):
        before = len(session.data)
        session.user(text)
        append(path, session.data[before:])
        service.hint(path)
    assert remembered(home) == ["one", "two", "three"]


def test_with_all_hints_dropped_a_sweep_finds_everything(service: Service, root: Path, home: Path) -> None:
    first, second = talk("a", "one"), talk("b", "two", cwd="/home/dev/other")
    path = first.write(root)
    second.write(root)
    service.sweep()
    first.user("three")
    path.write_bytes(first.data)
    service.sweep()
    assert sorted(remembered(home)) == ["one", "three", "two"]


def test_a_sweep_of_the_recent_files_finds_what_grew(service: Service, root: Path, home: Path) -> None:
    session = talk("a", "one")
    path = session.write(root)
    service.sweep()
    session.user("two")
    path.write_bytes(session.data)
    service.hot()
    assert remembered(home) == ["one", "two"]


def test_a_sweep_of_the_recent_files_finds_new_folders_and_then_what_is_new_in_them(
    service: Service, root: Path, home: Path
) -> None:
    talk("a", "one").write(root)
    service.hot()
    talk("b", "two").write(root)
    service.hot()
    assert sorted(remembered(home)) == ["one", "two"]


def test_a_hint_of_a_folder_stands_for_all_that_is_in_it(service: Service, root: Path, home: Path) -> None:
    path = talk("a", "one").write(root)
    service.hint(path.parent)
    assert remembered(home) == ["one"]


def test_hints_that_are_late_doubled_or_wrong_do_no_harm(service: Service, root: Path, home: Path) -> None:
    path = talk("a", "one").write(root)
    service.hint(path, path.with_name("none.jsonl"), Path("/proc/version"), root.parent)
    service.hint(path)
    path.unlink()
    service.hint(path)
    assert remembered(home) == ["one"]


def test_newest_transcripts_come_first(start: Start, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for age, name in enumerate("abc"):
        os.utime(talk(name, f"prompt {name}").write(root), ns=(0, 10**18 - age))
    monkeypatch.setattr(module, "ROUND", 2)
    monkeypatch.setattr(module, "WAITED", 0)
    service = start()
    service.settle()
    assert remembered(service.config.home) == ["prompt a", "prompt b", "prompt c"]


def test_more_files_than_a_sweep_hands_over_are_all_read(
    start: Start, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "MOST", 2)
    for number in range(7):
        talk(f"s{number}", f"prompt {number}").write(root)
    service = start()
    service.settle()
    assert len(remembered(home)) == 7
    assert service.hand.sweeps >= 4
    assert service.hand.missed == [0]


def test_what_a_sweep_has_left_out_was_not_missed(start: Start, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "MOST", 2)
    for number in range(7):
        talk(f"s{number}", f"prompt {number}").write(root)
    service = start()
    service.late = 60
    service.daemon.step()
    service.hand.due.append(SWEEP)
    service.daemon.step()
    assert service.hand.missed == [0, 0]


def test_files_that_cannot_be_read_do_not_keep_it_busy(
    start: Start, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(sweep, "MOST", 2)
    for number in range(7):
        talk(f"s{number}", f"prompt {number}").write(root)
    with monkeypatch.context() as patch:
        patch.setattr(ingest, "open_source", refuse)
        service = start()
        assert service.settle() < 4
        assert service.status["pending_files"] == 5
    for _ in range(3):
        service.sweep()
    assert len(remembered(home)) == 7


def test_what_is_read_again_by_a_sweep_writes_nothing(service: Service, root: Path, home: Path) -> None:
    talk("a", "one").write(root)
    service.sweep()
    before = database_path(home).with_name("index.db-wal").stat().st_size
    service.sweep()
    service.hot()
    assert database_path(home).with_name("index.db-wal").stat().st_size == before


def test_followed_or_read_at_once_a_memory_is_the_same(
    service: Service, root: Path, home: Path, tmp_path: Path
) -> None:
    session = talk("a", "one")
    path = session.path(root)
    path.parent.mkdir()
    for number in range(5):
        session.tool("Bash", {"command": f"ls {number}"}, "x")
        session.user(f"prompt {number}")
        path.write_bytes(session.data)
        service.hint(path)
    conn = open_reader(home)
    followed = {part: [tuple(row) for row in rows] for part, rows in content(conn).items()}
    conn.close()
    assert followed == memory_of(tmp_path / "other", root)


def owners(home: Path) -> list[str]:
    conn = open_reader(home)
    sql = "SELECT DISTINCT content_session_id FROM user_prompts WHERE prompt_text IN ('one', 'two')"
    found = [owner for (owner,) in conn.execute(sql)]
    conn.close()
    return found


def test_records_change_their_owner_without_a_restart(service: Service, root: Path, home: Path) -> None:
    elder = talk("a", "one", "two")
    fork = elder.fork(next(name for name in "bcdefgh" if uid("session", name) > elder.session_id))
    service.hint(fork.write(root), elder.write(root))
    assert owners(home) == [elder.session_id]
    # The elder is written anew and is now the younger of the two, whose file has not changed.
    later = talk("a")
    later.step = 5000
    later.user("three")
    elder.path(root).write_bytes(later.data + elder.data)
    service.hint(elder.path(root))
    service.sweep()
    assert owners(home) == [fork.session_id]


# -- fairness --------------------------------------------------------------------------------------


@pytest.fixture
def backlog(start: Start, root: Path, monkeypatch: pytest.MonkeyPatch) -> Service:
    """A service with two turns of one line a round, and three long files of the far future to read."""
    monkeypatch.setattr(module, "ROUND", 2)
    monkeypatch.setattr(module, "WAITED", 1)
    for name in "abc":
        path = talk(name, *(f"{name}{number}" for number in range(20))).write(root)
        os.utime(path, ns=(0, 4 * 10**18))
    service = start()
    service.daemon._ingest._limit = ingest.LIVE._replace(turn=1)
    return service


def test_long_files_do_not_keep_old_ones_waiting(backlog: Service, root: Path, home: Path) -> None:
    os.utime(talk("old", "old").write(root), ns=(0, 0))
    for _ in range(2):
        backlog.daemon.step()
    assert "old" in remembered(home)


def test_what_is_written_now_does_not_wait_for_what_stood_before(backlog: Service, root: Path, home: Path) -> None:
    backlog.daemon.step()
    path = talk("new", "new").write(root)
    backlog.hand.due.append(frozenset([str(path)]))
    backlog.daemon.step()
    assert "new" in remembered(home)
    assert len(remembered(home)) < 10


# -- a last line without newline -------------------------------------------------------------------


@pytest.fixture
def unended(root: Path) -> Path:
    session = talk("a", "one", "two")
    path = session.write(root)
    path.write_bytes(session.data[:-1])
    return path


def test_a_last_line_without_newline_is_read_once_its_file_is_quiet(start: Start, unended: Path, home: Path) -> None:
    service = start(quiet_seconds=60)
    service.settle()
    for _ in range(6):
        service.hot(10)
    assert remembered(home) == ["one"]
    service.hot(20)
    assert remembered(home) == ["one", "two"]


def test_a_file_that_goes_on_growing_is_not_quiet(start: Start, unended: Path, home: Path) -> None:
    service = start(quiet_seconds=25)
    service.settle()
    for _ in range(5):
        append(unended, b" ")
        service.hot(20)
        service.hot(10)
    assert remembered(home) == ["one"]


def test_a_quiet_last_line_is_read_once_and_not_at_every_sweep(start: Start, unended: Path, home: Path) -> None:
    service = start(quiet_seconds=10)
    for _ in range(4):
        service.hot(20)
    before = events.snapshot()["ingested"]
    for _ in range(5):
        service.hot(20)
    assert events.snapshot()["ingested"] == before


def test_a_quiet_last_line_is_waited_for_again_when_its_file_was_read_again(
    start: Start, unended: Path, root: Path, home: Path
) -> None:
    service = start(quiet_seconds=10)
    for _ in range(4):
        service.hot(20)
    service.daemon._conn.execute("UPDATE ingest_files SET size = -1")
    service.sweep()
    for _ in range(3):
        service.hot(20)
    (size,) = service.daemon._conn.execute("SELECT size FROM ingest_files").fetchone()
    assert size == unended.stat().st_size


def test_a_last_line_is_not_forgotten_by_a_restart_within_its_quiet_time(
    start: Start, unended: Path, home: Path
) -> None:
    first = start(quiet_seconds=60)
    first.settle()
    first.stop()
    second = start(quiet_seconds=60)
    second.settle()
    second.hot(10)
    second.hot(100)
    assert remembered(home) == ["one", "two"]


def test_an_unended_file_that_is_deleted_is_waited_for_no_longer(start: Start, unended: Path) -> None:
    service = start(quiet_seconds=10)
    service.settle()
    unended.unlink()
    service.sweep()
    service.hot(20)
    assert service.daemon._ingest.unfinished == set()


# -- files and folders that cannot be read ---------------------------------------------------------


def test_a_file_that_cannot_be_read_is_tried_again(
    service: Service, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk("a", "one").write(root)
    talk("b", "two").write(root)

    def refuse(name: str) -> int:
        if name == str(path):
            raise OSError(errno.EIO, "Input/output error")
        return open_source(name)

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "open_source", refuse)
        service.sweep()
    assert remembered(home) == ["two"]
    service.sweep()
    assert sorted(remembered(home)) == ["one", "two"]


def test_a_file_that_cannot_be_read_is_tried_again_with_every_sweep_and_noted_once(
    service: Service, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk("a", "one").write(root)

    def refuse(name: str) -> int:
        tried.append(name)
        raise OSError(errno.EIO, "Input/output error")

    tried: list[str] = []
    monkeypatch.setattr(ingest, "open_source", refuse)
    service.sweep()
    written, told = service.daemon._conn.total_changes, events.snapshot()["unreadable"]
    service.hot()
    service.hot()
    assert len(tried) == 3
    assert (service.daemon._conn.total_changes, events.snapshot()["unreadable"]) == (written, told)


def test_a_root_that_vanishes_takes_no_memory_with_it(service: Service, root: Path, home: Path) -> None:
    talk("a", "one").write(root)
    service.sweep()
    away = root.with_name("away")
    root.rename(away)
    service.sweep()
    assert (remembered(home), statuses(home)) == (["one"], ["gone"])
    away.rename(root)
    service.sweep()
    assert (remembered(home), statuses(home)) == (["one"], ["active"])


def test_a_root_that_appears_later_is_read(home: Path, tmp_path: Path) -> None:
    later = tmp_path / "later"
    service = Service(settings(home, later))
    service.settle()
    talk("a", "one").write(later)
    service.sweep()
    assert remembered(home) == ["one"]
    service.stop()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_not_gone(service: Service, root: Path, home: Path) -> None:
    path = talk("a", "one").write(root)
    service.sweep()
    path.parent.chmod(0)
    service.sweep()
    assert statuses(home) == ["active"]
    path.parent.chmod(0o700)
    service.sweep()
    assert remembered(home) == ["one"]


def test_a_name_that_is_no_utf_8_is_read_once(service: Service, root: Path, home: Path) -> None:
    path = talk("a", "one").write(root)
    path.rename(path.with_name("caf\udce9.jsonl"))
    service.sweep()
    before = events.snapshot()["ingested"]
    service.sweep()
    assert (remembered(home), statuses(home), events.snapshot()["ingested"]) == (["one"], ["active"], before)


def test_a_file_that_goes_while_the_database_is_busy_is_known_to_be_gone(
    service: Service, root: Path, home: Path
) -> None:
    path = talk("a", "one").write(root)
    service.sweep()
    service.daemon._conn.execute("PRAGMA busy_timeout = 1")
    other = open_writer(home)
    other.execute("BEGIN IMMEDIATE")
    path.unlink()
    service.hint(path)
    other.close()
    service.now += 60
    service.settle()
    assert statuses(home) == ["gone"]


def test_only_changes_that_no_hint_told_of_count_as_missed(service: Service, root: Path) -> None:
    session = talk("a", "one")
    path = session.write(root)
    service.hint(path)
    session.user("two")
    path.write_bytes(session.data)
    service.sweep()
    assert service.hand.missed[-1] == 0
    session.user("three")
    path.write_bytes(session.data)
    service.late = 10
    service.sweep()
    assert service.hand.missed[-1] == 1


def test_the_bundled_sample_leaves_when_there_is_something_to_watch(home: Path, root: Path, tmp_path: Path) -> None:
    rescan(settings(home), ClaudeCode(), {"HOME": str(tmp_path)})
    service = Service(settings(home, root))
    service.settle()
    assert len(remembered(home)) > 1
    talk("a", "one").write(root)
    service.sweep()
    assert remembered(home) == ["one"]
    service.stop()
