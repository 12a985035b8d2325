"""The service for months in a second: hints, sweeps, stalls and restarts, one step at a time."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Set
from pathlib import Path
from typing import Any

import pytest
from daemons import Hand, Service, settings
from forgetting import holding
from memories import consistent, prompts
from remembered import made
from stores import content, memory_of
from transcripts import Transcript, uid

from indexer import daemon as module
from indexer import events, ingest, status_file
from indexer.compressors.rules import Rules
from indexer.daemon import Daemon
from indexer.errors import Busy, CorruptDatabase, NewerDatabase, UsageError
from indexer.files import sweep
from indexer.files.tail import open_source
from indexer.files.watch import SWEEP
from indexer.rescan import rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store import checkpoints, erasing
from indexer.store.connection import Connection, database_path, open_reader, open_writer, writer_alive

Start = Callable[..., Service]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "projects"
    made.mkdir()
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path, root: Path) -> Iterator[Start]:
    """Starts services over the root; they are stopped at the end."""
    started: list[Service] = []

    def begin(**changed: Any) -> Service:
        service = Service(settings(home, root, **changed))
        started.append(service)
        return service

    yield begin
    for service in started:
        service.stop()


@pytest.fixture
def service(start: Start) -> Service:
    made = start()
    made.settle()
    return made


def talk(name: str, *texts: str, cwd: str = "/home/dev/shop") -> Transcript:
    made = Transcript(name, cwd)
    for text in texts:
        made.user(text)
    return made


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def remembered(home: Path) -> list[str]:
    conn = open_reader(home)
    found = prompts(conn)
    conn.close()
    return found


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


# -- stalls ----------------------------------------------------------------------------------------


@pytest.fixture
def blocked(service: Service) -> Iterator[sqlite3.Connection]:
    """Another process has the database to itself; ours does not wait long for it."""
    service.daemon._conn.execute("PRAGMA busy_timeout = 1")
    other = open_writer(service.config.home)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def test_a_busy_database_stalls_the_reading_and_loses_nothing(
    service: Service, blocked: sqlite3.Connection, root: Path, home: Path
) -> None:
    path = talk("a", "one").write(root)
    service.hint(path)
    told = service.status
    assert "busy" in told["reason"]
    assert "another program" in told["remedy"]
    assert told["pending_files"] == 1
    blocked.execute("ROLLBACK")
    service.now += 60
    service.settle()
    assert remembered(home) == ["one"]
    told = service.status
    assert (told["reason"], told["remedy"], told["pending_files"]) == ("", "", 0)


def test_a_stalled_service_waits_longer_each_time(
    service: Service, blocked: sqlite3.Connection, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(events, "stalled", lambda what, seconds: waits.append(seconds))
    service.hint(talk("a", "one").write(root))
    for _ in range(8):
        service.now += 60
        service.daemon.step()
    assert waits[:7] == [1, 2, 4, 8, 16, 32, 60]


def test_between_two_tries_a_stalled_service_rests(service: Service, blocked: sqlite3.Connection, root: Path) -> None:
    service.hint(talk("a", "one").write(root))
    assert service.settle() == 1


def test_a_sweep_that_meets_a_busy_database_is_not_lost(
    service: Service, blocked: sqlite3.Connection, root: Path, home: Path
) -> None:
    talk("a", "one").write(root)
    service.sweep()
    blocked.execute("ROLLBACK")
    service.now += 60
    service.settle()
    assert remembered(home) == ["one"]


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


def test_trouble_that_is_over_is_no_longer_told_of_though_nothing_is_to_be_read(
    service: Service, blocked: sqlite3.Connection
) -> None:
    assert "busy" in service.status["reason"]
    blocked.execute("ROLLBACK")
    service.now += 120
    service.settle()
    assert service.status["reason"] == ""


@pytest.mark.parametrize("words", ["disk is full", "disk I/O error"])
def test_a_full_disk_stalls_the_reading_until_there_is_room(
    service: Service, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError(words)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "save", full)
        service.hint(talk("a", "one").write(root))
        told = service.status
        assert words in told["reason"]
        assert "where the memory is" in told["remedy"] or "make room on the disk" in told["remedy"]
    service.now += 60
    service.settle()
    assert remembered(home) == ["one"]
    assert (service.status["reason"], service.status["remedy"]) == ("", "")


def test_a_disk_too_full_for_the_status_stops_nothing(
    service: Service, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        service.now += 60
        service.hint(talk("a", "one").write(root))
    assert remembered(home) == ["one"]
    assert service.status["pending_files"] == 0


def test_a_status_that_cannot_be_put_together_stops_nothing(
    service: Service, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "lag", fail)
        service.hint(talk("a", "one").write(root))
        assert service.status["lag_bytes"] is None
    assert remembered(home) == ["one"]
    told = service.status
    assert (told["pending_files"], told["lag_bytes"]) == (0, 0)


def test_a_damaged_database_ends_the_service(service: Service, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(checkpoints, "save", damaged)
    with pytest.raises(CorruptDatabase):
        service.hint(talk("a", "one").write(root))


@pytest.mark.parametrize("new", [False, True], ids=["deleted", "replaced"])
def test_a_database_that_is_taken_away_stops_the_service(
    service: Service, root: Path, home: Path, tmp_path: Path, new: bool
) -> None:
    database_path(home).rename(tmp_path / "kept.db")
    if new:
        database_path(home).touch()
    with pytest.raises(CorruptDatabase, match="moved or deleted"):
        service.hint(talk("a", "one").write(root))


def test_the_status_is_not_written_through_a_link(service: Service, home: Path, tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("dear diary")
    (home / "status.json.new").symlink_to(tmp_path / "diary")
    service.now += 60
    service.settle()
    assert (tmp_path / "diary").read_text() == "dear diary"
    assert (home / status_file.NAME).exists()


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


def statuses(home: Path) -> list[str]:
    conn = open_reader(home)
    found = [status for (status,) in conn.execute("SELECT status FROM ingest_files ORDER BY id")]
    conn.close()
    return found


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


@pytest.fixture
def locked(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Folders that we may not read (simulated: to root nothing is closed)."""
    closed: set[str] = set()
    scandir, access = os.scandir, os.access

    def refuse(path: str) -> Any:
        if path in closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        patch.setattr(os, "access", lambda path, mode: path not in closed and access(path, mode))
        yield closed


def test_row_15_an_unreadable_folder_is_told_of_until_it_is_readable(
    service: Service, root: Path, home: Path, locked: set[str]
) -> None:
    """The refusal is simulated: to root nothing is closed."""
    path = talk("a", "one").write(root)
    service.sweep()
    talk("b", "two").write(root)
    locked.add(str(path.parent))
    service.sweep()
    told = service.status
    assert told["reason"] == f"cannot read {path.parent}: Permission denied"
    assert told["remedy"] == f"chmod u+rX {path.parent}"
    locked.clear()
    service.hot()
    assert sorted(remembered(home)) == ["one", "two"]
    assert (service.status["reason"], service.status["remedy"]) == ("", "")


def test_an_unreadable_folder_that_goes_is_no_trouble_any_more(service: Service, root: Path, locked: set[str]) -> None:
    folder = root / "-closed"
    folder.mkdir()
    locked.add(str(folder))
    service.sweep()
    assert "cannot read" in service.status["reason"]
    folder.rmdir()
    service.hot()
    assert service.status["reason"] == ""


def test_row_23_a_root_of_the_settings_that_is_missing_is_told_of_with_its_remedy(
    home: Path, root: Path, tmp_path: Path
) -> None:
    service = Service(settings(home, root, tmp_path / "later"))
    service.settle()
    told = service.status
    assert told["reason"] == f"waiting for {tmp_path}/later to appear"
    assert told["remedy"] == f"mkdir -p {tmp_path}/later, or correct sources.roots"
    (tmp_path / "later").mkdir()
    assert service.status["reason"] == ""
    service.stop()


def test_row_24_a_root_removed_and_made_again_is_told_of_meanwhile(service: Service, root: Path, home: Path) -> None:
    talk("a", "one").write(root)
    service.sweep()
    shutil.rmtree(root)
    service.sweep()
    assert service.status["reason"] == f"waiting for {root} to appear"
    talk("b", "two").write(root)
    service.sweep()
    assert sorted(remembered(home)) == ["one", "two"]
    assert service.status["reason"] == ""


def test_a_name_that_is_no_utf_8_is_read_once(service: Service, root: Path, home: Path) -> None:
    path = talk("a", "one").write(root)
    path.rename(path.with_name("caf\udce9.jsonl"))
    service.sweep()
    before = events.snapshot()["ingested"]
    service.sweep()
    assert (remembered(home), statuses(home), events.snapshot()["ingested"]) == (["one"], ["active"], before)


# -- sessions --------------------------------------------------------------------------------------


def status_of_session(home: Path) -> str:
    conn = open_reader(home)
    (status,) = conn.execute("SELECT status FROM sdk_sessions").fetchone()
    conn.close()
    return str(status)


def test_an_idle_session_is_complete_and_a_new_record_opens_it_again(start: Start, root: Path, home: Path) -> None:
    service = start(idle_minutes=30)
    session = talk("a", "one")
    last = session.start.timestamp() + session.step
    path = session.write(root)
    service.late = last + 60 - time.time()
    service.settle()
    assert status_of_session(home) == "active"
    service.late += 1800
    service.now += 60
    service.settle()
    assert status_of_session(home) == "completed"
    session.step += 3600
    session.user("two")
    path.write_bytes(session.data)
    service.hint(path)
    assert status_of_session(home) == "active"


def test_a_copy_of_old_records_opens_nothing_again(service: Service, root: Path, home: Path) -> None:
    path = talk("a", "one").write(root)
    service.late = 10**9
    service.now += 60
    service.sweep()
    service.now += 60
    service.settle()
    path.with_name("copy.jsonl").write_bytes(path.read_bytes())
    service.sweep()
    assert status_of_session(home) == "completed"


# -- one writer ------------------------------------------------------------------------------------


def test_a_second_service_is_refused(service: Service, root: Path) -> None:
    with pytest.raises(Busy, match=str(os.getpid())):
        Service(service.config)


def test_a_rescan_beside_a_service_is_refused(service: Service) -> None:
    with pytest.raises(Busy):
        rescan(service.config, ClaudeCode(), {})


def test_a_service_that_has_stopped_frees_the_place_for_the_next(start: Start, home: Path) -> None:
    start().stop()
    assert writer_alive(home) is None
    start()
    assert writer_alive(home) == os.getpid()


def test_a_service_that_cannot_start_leaves_nothing_locked(home: Path, root: Path) -> None:
    conn = open_writer(home)
    conn.execute("CREATE TABLE schema_versions (version INTEGER, name TEXT, applied_at TEXT)")
    conn.execute("INSERT INTO schema_versions VALUES (999, 'from the future', '')")
    conn.close()
    with pytest.raises(NewerDatabase):
        Service(settings(home, root))
    assert writer_alive(home) is None


# -- running and telling ---------------------------------------------------------------------------


def test_it_runs_until_it_is_told_to_stop(home: Path, root: Path) -> None:
    talk("a", "one").write(root)
    stop, hand = threading.Event(), Hand()
    hand.wait = stop.set  # type: ignore[method-assign]
    Daemon(settings(home, root), ClaudeCode(), {}, watch=hand).run(stop)
    assert hand.stopped
    assert not database_path(home).with_name("index.db-wal").exists()
    assert remembered(home) == ["one"]


def test_told_to_stop_it_ends_within_a_round(home: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROUND", 1)
    monkeypatch.setattr(module, "WAITED", 1)
    for name in "abc":
        talk(name, f"prompt {name}").write(root)
    stop = threading.Event()
    daemon = Daemon(settings(home, root), ClaudeCode(), {}, watch=Hand())
    work = daemon._work

    def work_once() -> None:
        work()
        stop.set()

    monkeypatch.setattr(daemon, "_work", work_once)
    daemon.run(stop)
    assert len(remembered(home)) == 1


def test_the_status_says_how_things_are(service: Service, root: Path) -> None:
    service.hand.state = service.hand.state._replace(mode="polling", reason="no watches left", remedy="raise them")
    told = service.status
    assert (told["pid"], told["mode"], told["reason"]) == (os.getpid(), "polling", "no watches left")
    assert (told["remedy"], told["watches"], told["directories"]) == ("raise them", 3, 3)
    assert (told["pending_files"], told["lag_bytes"]) == (0, 0)


def test_the_status_says_how_much_is_unread(service: Service, blocked: sqlite3.Connection, root: Path) -> None:
    path = talk("a", "one").write(root)
    service.hint(path)
    assert (service.status["pending_files"], service.status["lag_bytes"]) == (1, path.stat().st_size)


def test_of_a_file_that_was_read_in_part_only_the_rest_is_unread(service: Service, root: Path) -> None:
    session = talk("a", "one")
    path = session.write(root)
    service.hint(path)
    other = open_writer(service.config.home)
    service.daemon._conn.execute("PRAGMA busy_timeout = 1")
    other.execute("BEGIN IMMEDIATE")
    session.user("two")
    path.write_bytes(session.data)
    before = session.data.index(b'"two"')
    service.hint(path)
    assert service.status["lag_bytes"] < len(session.data) - before + 500
    other.close()


def test_the_status_is_private_and_gone_when_the_service_stops(start: Start, home: Path) -> None:
    service = start()
    service.settle()
    assert (home / status_file.NAME).stat().st_mode & 0o777 == 0o600
    service.stop()
    assert not (home / status_file.NAME).exists()


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


def test_what_a_service_leaves_hangs_together(service: Service, root: Path, home: Path) -> None:
    session = talk("a", "one")
    path = session.write(root)
    session.fork("b").write(root)
    service.hand.due.extend([frozenset([str(path)]), SWEEP])
    service.settle()
    service.stop()
    conn = open_writer(home)
    consistent(conn)
    conn.close()


# -- upkeep and the service manager ----------------------------------------------------------------


def test_after_a_while_of_rest_the_log_is_folded_back(service: Service, root: Path, home: Path) -> None:
    talk("a", "one").write(root)
    service.sweep()
    wal = database_path(home).with_name("index.db-wal")
    assert wal.stat().st_size > 0
    service.now += module.UPKEEP_AFTER
    service.settle()
    assert wal.stat().st_size == 0


def test_a_service_at_work_is_not_looked_after(service: Service, root: Path, home: Path) -> None:
    talk("a", "one").write(root)
    service.sweep()
    service.now += module.UPKEEP_AFTER - 1
    service.settle()
    assert database_path(home).with_name("index.db-wal").stat().st_size > 0


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(5)
        yield listening


def test_the_manager_hears_of_a_start_each_round_and_the_end(home: Path, root: Path, manager: socket.socket) -> None:
    env = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "60000000"}
    clock = iter(range(0, 1000, 20))
    served = Daemon(settings(home, root), ClaudeCode(), env, watch=Hand(), clock=lambda: float(next(clock)))
    served.step()
    served.step()
    served.close()
    heard = [manager.recv(1000).split(b"\n")[0] for _ in range(4)]
    assert heard == [b"EXTEND_TIMEOUT_USEC=1800000000", b"READY=1", b"WATCHDOG=1", b"STOPPING=1"]


# -- the archive -----------------------------------------------------------------------------------


def in_archive(home: Path) -> tuple[int, int]:
    """Chunks and tails."""
    conn = open_reader(home)
    counts = [conn.execute(f"SELECT count(*) FROM archive_{table}").fetchone()[0] for table in ("extents", "tails")]
    conn.close()
    return counts[0], counts[1]


def test_what_is_read_is_archived(service: Service, root: Path, home: Path) -> None:
    path = talk("a", "one").write(root)
    service.hint(path)
    append(path, talk("a", "one", "two").data[path.stat().st_size :])
    service.hint(path)
    assert in_archive(home) == (0, 2)
    assert not (home / "archive").exists()


def test_a_session_that_has_gone_quiet_becomes_a_chunk(service: Service, root: Path, home: Path) -> None:
    service.hint(talk("a", "one").write(root))
    service.late += 31 * 60
    service.now += 61
    service.settle()
    assert in_archive(home) == (1, 0)
    assert len(list((home / "archive").rglob("*.chunk"))) == 1


def test_what_was_read_before_there_was_an_archive_is_archived_at_rest(start: Start, root: Path, home: Path) -> None:
    talk("a", "one").write(root)
    first = start(archive_enabled=False)
    first.settle()
    assert in_archive(home) == (0, 0)
    first.stop()
    start().settle()
    assert sum(in_archive(home)) == 1


def test_at_rest_the_archive_writes_nothing(service: Service, root: Path) -> None:
    service.hint(talk("a", "one").write(root))
    service.settle()
    before = service.daemon._conn.total_changes
    for _ in range(3):
        service.sweep()
    assert service.daemon._conn.total_changes == before


def test_a_full_disk_under_the_archive_stalls_and_goes_on(
    service: Service, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk("a", "x" * (1 << 20), "two").write(root)
    with monkeypatch.context() as patch:
        patch.setattr("indexer.archive.chunks._write", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
        service.hint(path)
        assert "No space left" in service.status["reason"]
    service.now += 120
    service.settle()
    assert remembered(home) == ["x" * (1 << 20), "two"]


# --- forgetting


def read_transaction(home: Path) -> sqlite3.Connection:
    """A reader that holds the database as it is now."""
    reader = sqlite3.connect(f"file:{home}/index.db?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sdk_sessions").fetchone()
    return reader


@pytest.fixture
def gone(service: Service, root: Path) -> Transcript:
    """A session that the service has read."""
    made = talk("gone", "zqgone words")
    service.hint(made.write(root))
    return made


def test_a_forgetting_that_was_cut_off_is_finished_at_the_start(
    service: Service, start: Start, home: Path, gone: Transcript
) -> None:
    erasing.begin(service.daemon._conn, [gone.session_id], [])
    service.stop()
    assert holding(home, "zqgone") != []
    start()
    assert holding(home, "zqgone", gone.session_id) == []


def test_what_a_reader_held_up_is_finished_when_it_has_left(service: Service, home: Path, gone: Transcript) -> None:
    reader = read_transaction(home)
    erasing.begin(service.daemon._conn, [gone.session_id], [])
    service.now += 61
    service.settle()
    assert holding(home, "zqgone") != []
    reader.close()
    service.now += 61
    service.settle()
    assert holding(home, "zqgone", gone.session_id) == []


def test_what_turns_out_to_be_excluded_is_taken_back_at_once(start: Start, root: Path, home: Path) -> None:
    service = start(excluded=("secret",))
    made = Transcript("late", cwd="/home/dev/secret")
    made.user("zqgone words", cwd=None)
    path = made.write(root)
    service.hint(path)
    before = path.stat().st_size
    made.user("and more")
    append(path, made.data[before:])
    service.hint(path)
    service.settle()
    assert remembered(home) == []
    assert holding(home, "zqgone") == []


class Broken:
    """A sink whose disk is gone."""

    def erase(self, conn: Connection, sessions: Set[str], uuids: Set[str]) -> None:
        raise OSError("disk")


def test_a_sink_that_fails_does_not_stop_the_reading(
    service: Service, home: Path, root: Path, gone: Transcript
) -> None:
    erasing.begin(service.daemon._conn, [gone.session_id], [])
    service.stop()
    talk("new", "read on").write(root)
    hand = Hand()
    daemon = Daemon(settings(home, root), ClaudeCode(), {}, watch=hand, sinks=[Broken()])
    while daemon.step():
        pass
    assert "read on" in prompts(daemon._conn)
    assert erasing.rows_pending(daemon._conn)
    daemon.close()


def test_a_request_that_is_no_list_of_ids_is_refused(service: Service) -> None:
    with pytest.raises(UsageError, match="list of ids"):
        service.daemon._forget({"sessions": "all"})


def test_the_door_is_closed_with_the_service(service: Service, home: Path) -> None:
    assert (home / "control.sock").exists()
    service.stop()
    assert not (home / "control.sock").exists()


# --- memory


def remembering(home: Path, root: Path, **changed: Any) -> Service:
    return Service(settings(home, root, **changed), compressor=Rules())


def edited(session: Transcript, what: str) -> None:
    session.user(f"add {what}")
    session.tool("Edit", {"file_path": "/home/dev/shop/a.py"}, "ok")
    session.text(f"Added {what} to the shop.")


def observed(home: Path) -> list[tuple[str, int]]:
    """Titles of observations that are found by their words, and how often each was seen."""
    conn = open_reader(home)
    sql = (
        "SELECT o.title, o.occurrence_count FROM observations o JOIN search_fts f ON f.rowid = o.id * 8 + 3 "
        "WHERE search_fts MATCH 'shop' ORDER BY o.id"
    )
    rows = [tuple(row) for row in conn.execute(sql)]
    conn.close()
    return rows


def test_a_turn_appended_is_remembered_without_any_command(home: Path, root: Path, say: Callable[[str], None]) -> None:
    session = Transcript("s")
    edited(session, "a cart")
    path = session.write(root)
    service = remembering(home, root)
    service.late = -1e7  # the session is not idle yet
    service.settle()
    assert observed(home) == []
    edited(session, "a till")
    session.write(root)
    began = time.process_time()
    service.hint(path)
    say(f"from the hint to the observation in the index: {(time.process_time() - began) * 1000:.1f} ms of CPU")
    assert observed(home) == [("Added a cart to the shop", 1)]
    service.stop()


def test_with_dedup_a_repeat_is_decided_on_at_once(home: Path, root: Path) -> None:
    for name in ("a", "b"):
        session = Transcript(name)
        edited(session, "a cart")
        session.add("system", subtype="turn_duration", durationMs=5)
        session.write(root)
    service = remembering(home, root, dedup_enabled=True)
    service.settle()
    assert observed(home) == [("Added a cart to the shop", 2)]
    service.stop()


def test_an_idle_session_is_remembered_at_last(home: Path, root: Path) -> None:
    session = Transcript("s")
    edited(session, "a cart")
    session.write(root)
    service = remembering(home, root)
    service.late, service.now = 1e6, service.now + 100
    service.settle()
    assert len(observed(home)) == 1
    service.stop()


def test_what_it_remembers_is_what_a_rebuild_does(home: Path, root: Path, tmp_path: Path) -> None:
    session = Transcript("s")
    service = remembering(home, root)
    for what in ("a cart", "a till", "a door"):
        edited(session, what)
        service.hint(session.write(root))
    service.late, service.now = 1e6, service.now + 100
    service.settle()
    service.stop()
    rescan(settings(tmp_path / "again", root), ClaudeCode(), {}, compressor=Rules())
    lived, rebuilt = (open_writer(folder) for folder in (home, tmp_path / "again"))
    assert made(lived) == made(rebuilt)
    assert len(made(lived)["observations"]) == 3
    for conn in (lived, rebuilt):
        conn.close()
