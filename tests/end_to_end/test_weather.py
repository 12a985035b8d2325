"""The service as it is installed, on disks that fill up, kernels that drop events and limits that are reached:
nothing is lost, and what is wrong is said with its remedy for as long as it is."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from stores import store
from transcripts import Transcript

from indexer import status_file
from indexer.store.connection import open_reader, writer_alive

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="of the Linux kernel")]
ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


def until(true: Callable[[], Any]) -> Any:
    """Wait for something that another process brings about; fails after a minute."""
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.02)
    return found


def isolated(*command: str | Path) -> list[str]:
    """A command that runs as root of a user and mount namespace of its own."""
    words = ["unshare", "--user", "--map-root-user", "--mount"]
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not to be had here")
    return [*words, *map(str, command)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": f"{os.environ['PYTHONPATH']}:{ROOT}:{ROOT / 'tests' / 'support'}"}


# -- a full disk -----------------------------------------------------------------------------------------


def through_a_full_disk(folder: Path, how: str) -> dict[str, Any]:
    """What was said by a service whose disk was full for a while, and what it holds in the end."""
    (folder / "home").mkdir()
    script = ROOT / "tests" / "support" / "full_disk.py"
    command = [sys.executable, str(script), str(folder), how]
    if how == "tmpfs":
        mount = f'mount -t tmpfs -o size=3m none "{folder}/home" && exec "$@"'
        command = isolated("sh", "-c", mount, "sh", *command)
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize(
    ("how", "reason", "remedy"),
    [("tmpfs", "the disk is full", "make room"), ("limit", "disk I/O error", "a limit on file sizes")],
)
def test_row_16_a_full_disk_is_told_of_and_loses_nothing(tmp_path: Path, how: str, reason: str, remedy: str) -> None:
    told = through_a_full_disk(tmp_path, how)
    assert (told["held"], told["whole"]) == ([400, 400], "ok")
    assert reason in told["during"]["reason"]
    assert remedy in told["during"]["remedy"]
    assert told["during"]["pending_files"] > 0
    assert (told["after"]["reason"], told["after"]["remedy"], told["after"]["pending_files"]) == ("", "", 0)


# -- the service in a process of its own -----------------------------------------------------------------


class Watch:
    """`watch` as a person starts it."""

    def __init__(self, folder: Path, *before: str) -> None:
        self.home, self.root = folder / "home", folder / "projects"
        self.root.mkdir(exist_ok=True)
        words = ["-m", "indexer", "watch", "--home", str(self.home), "--root", str(self.root)]
        env = environment() | {"TRANSCRIPT_INDEXER_WATCH_SWEEP_SECONDS": "2"}
        self.process = subprocess.Popen([*before, sys.executable, *words], env=env, stderr=subprocess.DEVNULL)

    @property
    def status(self) -> dict[str, Any]:
        pid = writer_alive(self.home) if self.home.is_dir() else None
        return (pid and status_file.read(self.home, pid)) or {}

    def prompts(self) -> int:
        conn = open_reader(self.home)
        count: int = conn.execute("SELECT count(*) FROM user_prompts").fetchone()[0]
        conn.close()
        return count

    def stop(self, number: int = signal.SIGTERM) -> float:
        """End it; returns the seconds that took."""
        began = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        return time.monotonic() - began


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Callable[..., Watch]]:
    started: list[Watch] = []

    def begin(*before: str) -> Watch:
        started.append(Watch(tmp_path, *before))
        until(lambda: started[-1].status.get("directories"))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            one.stop(signal.SIGKILL)


def scatter(root: Path, count: int, per_folder: int = 500) -> None:
    """So many sessions of one prompt each."""
    for number in range(count):
        session = Transcript(f"{count} {number}", f"/home/dev/p{number // per_folder}")
        session.user(f"prompt {number}")
        session.write(root)


def test_row_21_a_flood_that_overflows_the_kernels_queue_loses_nothing(watch: Callable[..., Watch]) -> None:
    served = watch()
    scatter(served.root, 1)
    until(lambda: served.prompts() == 1)
    served.process.send_signal(signal.SIGSTOP)
    queued = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queued > 20_000:
        pytest.skip("this kernel's queue is too long to be filled")
    scatter(served.root, 2_000)
    noise = served.root / "-home-dev-p0" / "noise.jsonl"
    for number in range(queued):
        noise.write_bytes(b"\n") if number % 2 else noise.unlink(missing_ok=True)
    served.process.send_signal(signal.SIGCONT)
    until(lambda: served.prompts() == 2_001)
    assert until(lambda: served.status.get("overflows"))
    until(lambda: served.status["pending_files"] == 0)


def test_row_20_ten_thousand_files_that_changed_while_it_was_off(watch: Callable[..., Watch]) -> None:
    served = watch()
    scatter(served.root, 100)
    until(lambda: served.prompts() == 100)
    served.stop()
    scatter(served.root, 10_000)
    served = watch()
    until(lambda: served.status.get("pending_files") == 0 and served.prompts() == 10_100)
    assert served.status["reason"] == ""


def test_row_28_told_to_stop_in_the_middle_it_ends_soon_and_whole(watch: Callable[..., Watch], tmp_path: Path) -> None:
    scatter(tmp_path / "projects", 4_000)
    served = Watch(tmp_path)
    until(lambda: (served.home / "index.db-wal").exists() and (served.home / status_file.NAME).exists())
    assert served.stop() < 5
    assert served.process.returncode == 0
    assert not (served.home / "index.db-wal").exists()
    assert not (served.home / status_file.NAME).exists()
    served = watch()
    until(lambda: served.prompts() == 4_000)


def test_row_19_a_second_service_is_refused_and_the_first_goes_on(watch: Callable[..., Watch], tmp_path: Path) -> None:
    served = watch()
    assert Watch(tmp_path).process.wait(PATIENCE) == 4
    scatter(served.root, 1)
    until(lambda: served.prompts() == 1)


def test_row_23_and_24_a_root_that_is_removed_and_made_again(watch: Callable[..., Watch]) -> None:
    served = watch()
    shutil.rmtree(served.root)
    until(lambda: served.status["reason"] == f"waiting for {served.root} to appear")
    assert f"mkdir -p {served.root}" in served.status["remedy"]
    scatter(served.root, 3)
    until(lambda: served.prompts() == 3)
    until(lambda: served.status["reason"] == "")


@pytest.mark.parametrize(("most", "reason"), [(50, "the kernel watches 50 of 101 folders"), (0, "inotify")])
def test_row_22_a_watch_limit_is_told_of_and_loses_nothing(
    watch: Callable[..., Watch], tmp_path: Path, most: int, reason: str
) -> None:
    scatter(tmp_path / "projects", 100, per_folder=1)
    lower = f'echo {most} > /proc/sys/user/max_inotify_watches && exec "$@"'
    served = watch(*isolated("sh", "-c", lower, "sh"))
    until(lambda: served.status["mode"] == "polling")
    assert reason in served.status["reason"]
    assert "sudo sysctl -w fs.inotify.max_user_watches=" in served.status["remedy"]
    scatter(tmp_path / "projects", 101, per_folder=1)
    until(lambda: served.prompts() == 201)


def test_row_17_a_database_that_another_holds_for_ten_seconds(watch: Callable[..., Watch]) -> None:
    served = watch()
    other = store(served.home)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    scatter(served.root, 1)
    until(lambda: "busy" in served.status["reason"])
    assert "another program" in served.status["remedy"]
    until(lambda: time.monotonic() - began > 10)
    other.execute("ROLLBACK")
    other.close()
    until(lambda: served.prompts() == 1)
    until(lambda: served.status["reason"] == "")
