"""Programs beside each other, suspended, or on a disk that may not be written: one writes, any number reads, nothing is
lost and whoever cannot go on says why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from memories import consistent
from stores import store
from transcripts import Transcript

from indexer.store.connection import open_reader, writer_alive

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="signals and mounts of Linux")]
ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
SESSIONS = 150


class Desk:
    """A folder of transcripts, and programs over it that run at once."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "projects"
        self.started: list[subprocess.Popen[str]] = []

    def start(self, *words: str, before: tuple[str, ...] = ()) -> subprocess.Popen[str]:
        given = ["--home", str(self.home), "--root", str(self.root)]
        self.started.append(
            subprocess.Popen(
                [*before, sys.executable, "-m", "indexer", *words, *given],
                env=os.environ | {"PYTHONPATH": f"{os.environ['PYTHONPATH']}:{ROOT}"},
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
        )  # fmt: skip
        return self.started[-1]

    def run(self, *words: str, before: tuple[str, ...] = ()) -> tuple[int, str, str]:
        process = self.start(*words, before=before)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    @staticmethod
    def ended(*processes: subprocess.Popen[str]) -> list[int]:
        """Exit codes of programs that end by themselves."""
        for process in processes:
            process.communicate(timeout=PATIENCE)
        return [process.returncode for process in processes]

    def scatter(self, count: int, name: str = "s") -> None:
        for number in range(count):
            session = Transcript(f"{name}{number}", f"/home/dev/p{number % 7}")
            session.user(f"{name} prompt {number}")
            session.tool("Bash", {"command": "ls"}, "a.py")
            session.write(self.root)

    def prompts(self) -> int:
        conn = open_reader(self.home)
        count: int = conn.execute("SELECT count(*) FROM user_prompts").fetchone()[0]
        conn.close()
        return count

    def hangs_together(self) -> None:
        conn = store(self.home)
        consistent(conn)
        conn.close()


def until(true: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.02)
    return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    for process in made.started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def following(desk: Desk) -> subprocess.Popen[str]:
    """A `watch` that has read what there is."""
    desk.scatter(3)
    process = desk.start("watch")
    until(lambda: desk.home.is_dir() and writer_alive(desk.home) and (desk.home / "status.json").exists())
    until(lambda: desk.prompts() == 3)
    return process


# -- two of them ---------------------------------------------------------------------------------------


def test_of_rescans_at_once_each_reads_all_or_is_busy(desk: Desk) -> None:
    desk.scatter(SESSIONS)
    ended = desk.ended(*(desk.start("rescan") for _ in range(3)))
    assert set(ended) <= {0, 4}
    assert 0 in ended
    assert desk.prompts() == SESSIONS
    desk.hangs_together()


def test_of_rebuilds_at_once_each_makes_it_whole_or_is_busy(desk: Desk) -> None:
    desk.scatter(SESSIONS)
    assert desk.run("rescan")[0] == 0
    ended = desk.ended(*(desk.start("rescan", "--rebuild") for _ in range(2)))
    assert set(ended) <= {0, 4}
    assert 0 in ended
    assert desk.prompts() == SESSIONS
    desk.hangs_together()


@pytest.mark.usefixtures("following")
def test_two_forgettings_at_once_both_come_to_their_end(desk: Desk) -> None:
    gone = [Transcript(f"s{number}").session_id for number in range(2)]
    started = [desk.start("forget", "--session", session, "--yes") for session in gone]
    assert desk.ended(*started) == [0, 0]
    assert desk.prompts() == 1


@pytest.mark.usefixtures("following")
def test_searches_at_once_all_answer_while_it_is_written_to(desk: Desk) -> None:
    asked = [desk.start("search", "prompt", "--json") for _ in range(4)]
    desk.scatter(40, "more")
    for process in asked:
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert json.loads(out)["results"]
    until(lambda: desk.prompts() == 43)


# -- suspended -----------------------------------------------------------------------------------------


def test_a_service_that_is_suspended_holds_nobody_up_and_reads_on(desk: Desk, following: subprocess.Popen[str]) -> None:
    following.send_signal(signal.SIGSTOP)
    desk.scatter(20, "meanwhile")
    code, out, _ = desk.run("search", "prompt", "--json")
    assert (code, len(json.loads(out)["results"])) == (0, 3)
    assert desk.run("rescan")[0] == 4
    following.send_signal(signal.SIGCONT)
    until(lambda: desk.prompts() == 23)


def test_a_rescan_that_is_suspended_and_killed_leaves_the_lock(desk: Desk) -> None:
    desk.scatter(SESSIONS)
    process = desk.start("rescan")
    until(lambda: desk.home.is_dir() and writer_alive(desk.home))
    process.send_signal(signal.SIGSTOP)
    process.kill()
    process.communicate()
    assert desk.run("rescan")[0] == 0
    assert desk.prompts() == SESSIONS
    desk.hangs_together()


# -- a disk that may not be written ----------------------------------------------------------------------


@pytest.fixture
def read_only(desk: Desk) -> tuple[str, ...]:
    """What to put before a command so that it finds the memory on a file system that is mounted read-only."""
    words = ("unshare", "--user", "--map-root-user", "--mount")
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not to be had here")
    home = desk.home
    return (
        *words,
        "sh",
        "-c",
        f'mount --bind "{home}" "{home}" && mount -o remount,bind,ro "{home}" && exec "$@"',
        "sh",
    )


@pytest.mark.parametrize("command", [("rescan",), ("rescan", "--rebuild"), ("watch",), ("compress",)])
def test_a_writer_on_a_read_only_disk_says_so_and_ends(
    desk: Desk, read_only: tuple[str, ...], command: tuple[str, ...]
) -> None:
    desk.scatter(3)
    assert desk.run("rescan")[0] == 0
    code, _, err = desk.run(*command, before=read_only)
    assert code not in (0, 4)
    assert "ead-only" in err or "readonly" in err
    assert "Traceback" not in err


def test_a_search_on_a_read_only_disk_answers(desk: Desk, read_only: tuple[str, ...]) -> None:
    desk.scatter(3)
    assert desk.run("rescan")[0] == 0
    code, out, err = desk.run("search", "prompt", "--json", before=read_only)
    assert (code, err) == (0, "")
    assert len(json.loads(out)["results"]) == 3
