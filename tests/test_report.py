"""What a service tells: its status file, what is wrong, and the service manager."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import Hand, Service, settings
from following import Start, remembered, talk

from indexer import limits, status_file
from indexer.daemon import Daemon
from indexer.report import Backlog
from indexer.sources.claude_code import ClaudeCode
from indexer.store import checkpoints
from indexer.store.connection import open_writer


def test_the_status_says_how_things_are(service: Service, root: Path) -> None:
    service.hand.state = service.hand.state._replace(mode="polling", reason="no watches left", remedy="raise them")
    told = service.status
    assert (told["pid"], told["mode"], told["reason"]) == (os.getpid(), "polling", "no watches left")
    assert (told["remedy"], told["watches"], told["directories"]) == ("raise them", 3, 3)
    assert (told["pending_files"], told["lag_bytes"]) == (0, 0)


def test_before_its_first_look_the_watcher_has_nothing_to_say(home: Path, root: Path) -> None:
    hand = Hand()
    hand.state = hand.state._replace(reason=f"waiting for {root} to appear", remedy="start Claude Code")
    service = Service(settings(home, root), hand=hand)
    at_first = json.loads((home / status_file.NAME).read_bytes())
    assert (at_first["reason"], at_first["remedy"]) == ("", "")
    assert service.status["reason"].startswith("waiting for")
    service.stop()


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


def test_the_status_is_not_written_through_a_link(service: Service, home: Path, tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("dear diary")
    (home / "status.json.new").symlink_to(tmp_path / "diary")
    service.now += 60
    service.settle()
    assert (tmp_path / "diary").read_text() == "dear diary"
    assert (home / status_file.NAME).exists()


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


# --- how long a backlog will take


def course(*lags: int, every: float = 5.0) -> Backlog:
    """A backlog that was looked at so often."""
    made = Backlog()
    for number, lag in enumerate(lags):
        made.note(number * every, lag)
    return made


@pytest.mark.parametrize(
    ("lags", "left"),
    [
        ((1000, 900), 45.0),
        ((1000, 900, 500), 10.0),
        ((1000,), None),
        ((1000, 1000), None),
        ((1000, 1200), None),
        ((1000, 0), None),
        ((), None),
        ((1000, 0, 400), None),
        ((1000, 0, 400, 300), 15.0),
    ],
    ids=str,
)
def test_the_time_left_is_measured(lags: tuple[int, ...], left: float | None) -> None:
    assert course(*lags).seconds_left() == left


def test_only_the_last_minute_counts() -> None:
    slow = [10_000 - number for number in range(20)]
    fast = [9_900 - 100 * number for number in range(13)]
    assert course(*slow, *fast).seconds_left() == pytest.approx(60 * fast[-1] / (fast[0] - fast[-1]))


def test_progress_is_when_it_shrank_or_there_was_none() -> None:
    assert course(10, 5, 5, 7).progress_at == 5.0
    assert course(0, 0, 0).progress_at == 10.0
    assert course(10).progress_at == 0.0


def test_a_backlog_that_goes_down_says_how_long_it_takes(
    service: Service, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lags = iter([1200, 600])
    monkeypatch.setattr(checkpoints, "lag", lambda *_: next(lags))
    first, second = service.status, service.status
    assert (first["eta_seconds"], second["eta_seconds"]) == (None, 60.0)
    assert second["progress_at"] == pytest.approx(second["updated_at"], abs=1)


def test_a_service_that_stands_still_says_since_when(service: Service, blocked: sqlite3.Connection, root: Path) -> None:
    service.hint(talk("a", "one").write(root))
    first = service.status
    service.late += 60
    second = service.status
    assert second["updated_at"] - second["progress_at"] > first["updated_at"] - first["progress_at"] + 50_000


def test_the_last_troubles_are_told(service: Service, blocked: sqlite3.Connection, root: Path) -> None:
    service.hint(talk("a", "one").write(root))
    last = service.status["troubles"][-1]
    assert (last["event"], last["level"]) == ("stalled", "warning")
    assert "busy" in last["what"]


# --- for Prometheus


def asked(path: Path) -> bytes:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(str(path))
        sock.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
        return b"".join(iter(lambda: sock.recv(65_536), b""))


def test_a_service_answers_prometheus_while_it_writes(start: Start, root: Path, tmp_path: Path) -> None:
    service = start(metrics_socket=tmp_path / "m.sock")
    talk("a", "one").write(root)
    with service.daemon._conn:
        service.settle()
        assert b'transcript_indexer_rows{kind="prompts"} 1\n' in asked(tmp_path / "m.sock")
    service.stop()
    assert not (tmp_path / "m.sock").exists()


def test_that_metrics_cannot_be_served_is_told_of_and_stops_nothing(
    start: Start, root: Path, home: Path, tmp_path: Path
) -> None:
    service = start(metrics_socket=tmp_path / "none" / "m.sock")
    talk("a", "one").write(root)
    service.settle()
    assert remembered(home) == ["one"]
    told = service.status
    assert "metrics are not served" in told["reason"]
    (tmp_path / "none").mkdir()
    service.now += 60
    service.daemon.step()
    assert service.status["reason"] == ""


def test_without_a_setting_no_socket_is_made(service: Service, home: Path) -> None:
    assert {path.name for path in home.iterdir() if path.is_socket()} == {"control.sock"}


def test_a_limit_of_too_few_files_is_told_of_and_stops_nothing(
    start: Start, root: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "open_files", lambda: 20)
    talk("a", "one").write(root)
    service = start()
    service.settle()
    told = service.status
    assert (remembered(home), told["reason"]) == (["one"], "only 20 files may be open at once")
    assert "ulimit -n" in told["remedy"]
