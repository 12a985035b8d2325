"""The service for months in a second: hints, sweeps, stalls and restarts, one step at a time."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

import pytest
from daemons import Hand, Service, settings
from following import Start, append, remembered, talk
from forgetting import holding
from memories import consistent, prompts
from remembered import made
from transcripts import Transcript

from indexer import changes, events
from indexer import daemon as module
from indexer.compressors.rules import Rules
from indexer.daemon import Daemon
from indexer.errors import Busy, CorruptDatabase, NewerDatabase, UsageError
from indexer.files.watch import SWEEP
from indexer.rescan import rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store import checkpoints, erasing
from indexer.store.connection import Connection, database_path, open_reader, open_writer, writer_alive

# -- stalls ----------------------------------------------------------------------------------------


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
    monkeypatch.setattr(changes, "ROUND", 1)
    monkeypatch.setattr(changes, "WAITED", 1)
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


def test_the_control_socket_is_closed_with_the_service(service: Service, home: Path) -> None:
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
