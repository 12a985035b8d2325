"""Named points do nothing in production, and exactly what they are armed for in a crash test."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from indexer import failpoints

TWICE = "from indexer.failpoints import passing; passing('one'); passing('two'); passing('one'); print('alive')"


def armed(at: str) -> subprocess.CompletedProcess[str]:
    """A process that passes the points one, two, one, armed by its environment."""
    env = {
        **os.environ,
        "TRANSCRIPT_INDEXER_FAILPOINT": at,
        "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], *sys.path]),
    }
    return subprocess.run([sys.executable, "-c", TWICE], env=env, capture_output=True, text=True, check=False)


def arm(monkeypatch: pytest.MonkeyPatch, *at: str) -> None:
    monkeypatch.setattr(failpoints, "_armed", list(at))
    monkeypatch.setattr(failpoints, "_passed", 0)


@pytest.mark.parametrize("at", ["", "three:1:kill", "one:3:kill", "two:2:exit", "one", "one:kill"])
def test_what_is_not_armed_for_this_passage_does_nothing(at: str) -> None:
    done = armed(at)
    assert (done.returncode, done.stdout) == (0, "alive\n")


@pytest.mark.parametrize("at", ["one:2:kill", "*:3:kill", "two:1:kill"])
def test_kill_is_the_real_thing(at: str) -> None:
    assert armed(at).returncode == -signal.SIGKILL


def test_exit_ends_without_cleaning_up() -> None:
    assert armed("one:1:exit").returncode == 9


def test_an_error_is_one_of_the_operating_system_and_happens_once(monkeypatch: pytest.MonkeyPatch) -> None:
    arm(monkeypatch, "ingest.rows", "2", "error")
    failpoints.passing("ingest.rows")
    with pytest.raises(OSError, match=r"failpoint ingest\.rows"):
        failpoints.passing("ingest.rows")
    failpoints.passing("ingest.rows")


def test_a_name_with_colons_is_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    arm(monkeypatch, "a:b", "1", "error")
    with pytest.raises(OSError, match="a:b"):
        failpoints.passing("a:b")


def test_other_names_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    arm(monkeypatch, "one", "1", "error")
    failpoints.passing("two")
    with pytest.raises(OSError, match="one"):
        failpoints.passing("one")
