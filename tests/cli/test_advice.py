"""How healthy a memory is, and what to do next, from its state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indexer.cli.advice import LOGS, SERVICE, advice, health, trouble_text
from indexer.cli.state import State
from indexer.store.health import File, Forgetting
from indexer.store.reads import Counts
from indexer.store.recall import Counts as Made

NOW = 1_795_168_800_000
WELL: dict[str, Any] = {
    "mode": "native", "reason": "", "remedy": "", "pending_files": 0, "lag_bytes": 0, "eta_seconds": None,
    "progress_at": NOW - 2_000, "troubles": [], "updated_at": NOW - 2_000,
}  # fmt: skip


def state(**changed: Any) -> State:
    """A memory that is well, with a service, and with these differences."""
    plain: dict[str, Any] = dict.fromkeys(State._fields)
    plain |= {"at": NOW, "counts": Counts(*[0] * len(Counts._fields)), "made": Made(*[0] * len(Made._fields))}
    plain |= {"failed": [], "files": [], "behind": {}, "dead_letters": [], "forgetting": Forgetting(False, False)}
    plain |= {"database": Path("/home/dev/m/index.db"), "writer": 4711, "watcher": WELL, "archive_full": False}
    return State(**plain | changed)


def said(**changed: Any) -> State:
    return state(watcher=WELL | changed)


def commands(found: State, home: str | None = None) -> list[str]:
    return [one.command for one in advice(found, home)]


# --- health


def test_a_service_with_nothing_to_do_is_well() -> None:
    assert health(state()) == ("ok", "up to date", "")
    assert advice(state()) == []


def test_without_a_service_nothing_keeps_it_up_to_date() -> None:
    assert health(state(writer=None, watcher=None, behind={"/a": 3})) == (
        "unwatched",
        "nothing keeps it up to date, and 1 file not read",
        SERVICE,
    )


def test_a_command_that_writes_is_no_service() -> None:
    assert health(state(watcher=None)).state == "writing"


def test_a_backlog_says_how_long_it_takes() -> None:
    found = health(said(pending_files=12, lag_bytes=3_200_000, eta_seconds=95.0))
    assert found == ("reading", "12 files, 3.2 MB, about 1 min left", "")
    assert health(said(pending_files=1, lag_bytes=None)).message == "1 file"


def test_health_follows_progress_and_not_a_heartbeat() -> None:
    waiting = {"pending_files": 2, "lag_bytes": 5}
    assert health(said(**waiting, progress_at=NOW - 299_000)).state == "reading"
    assert health(said(**waiting, progress_at=NOW - 360_000)) == (
        "stalled",
        "2 files to read, and nothing was read for 6 min",
        LOGS,
    )


def test_a_service_that_has_fallen_silent_hangs() -> None:
    assert health(said(updated_at=NOW - 119_000)).state == "ok"
    assert health(said(updated_at=NOW - 180_000)) == ("hung", "the service has said nothing for 3 min", LOGS)


def test_what_the_service_says_is_wrong_comes_with_its_remedy() -> None:
    found = said(reason="the disk is full", remedy="make room on the disk")
    assert health(found) == ("trouble", "the disk is full", "make room on the disk")
    assert commands(found) == ["make room on the disk"]
    assert health(said(reason="odd")).command == LOGS


def test_a_report_that_lacks_everything_is_well_as_far_as_it_goes() -> None:
    bare = dict.fromkeys(WELL) | {"troubles": []}
    assert health(state(watcher=bare)).state == "ok"


# --- what to do


@pytest.mark.parametrize(
    ("changed", "command"),
    [
        ({"writer": None, "watcher": None, "behind": {"/a": 1}}, "transcript-indexer rescan"),
        ({"archive_full": True}, "transcript-indexer archive status"),
        ({"forgetting": Forgetting(False, True)}, "transcript-indexer rescan"),
        ({"counts": Counts(*[7] * len(Counts._fields))}, "transcript-indexer status --dead-letters 7"),
        ({"failed": [("s1", "RecursionError")]}, "transcript-indexer show s1"),
        ({"writer": None, "watcher": None, "made": Made(*[2] * len(Made._fields))}, "transcript-indexer compress"),
        ({"files": [File("/a b", "unreadable", 1, 0, {}, "Permission denied")]}, "chmod u+r '/a b'"),
        ({"watcher": WELL | {"troubles": [{"event": "stalled", "at": NOW - 3_600_000}]}}, LOGS),
    ],
)
def test_whatever_is_wrong_has_its_next_command(changed: dict[str, Any], command: str) -> None:
    assert command in commands(state(**changed))


VECTORS: dict[str, Any] = {"rows": 4, "taken_in": 4, "trouble": None, "worker": False, "arms": [{"whole": True}]}


@pytest.mark.parametrize(
    ("changed", "command"),
    [
        ({}, None),
        ({"trouble": "the index is damaged"}, "transcript-indexer vectors status"),
        ({"taken_in": 3}, "transcript-indexer vectors sync"),
        ({"arms": [{"whole": False}]}, "transcript-indexer vectors sync"),
        ({"arms": [{"whole": False}], "worker": True}, None),
    ],
)
def test_vectors_that_are_not_whole_have_theirs(changed: dict[str, Any], command: str | None) -> None:
    assert commands(state(vectors=VECTORS | changed)) == ([command] if command else [])


def test_troubles_of_yesterday_are_nothing_to_do() -> None:
    old = {"event": "stalled", "at": NOW - 25 * 3_600_000}
    assert commands(said(troubles=[old, {"event": "busy", "at": "x"}])) == []


def test_many_unreadable_files_are_not_all_listed() -> None:
    files = [File(f"/{number}", "unreadable", 1, 0, {}, "no") for number in range(9)]
    assert commands(state(files=files)) == ["chmod u+r /0", "chmod u+r /1", "chmod u+r /2", "transcript-indexer doctor"]


def test_the_commands_are_for_the_home_that_was_given() -> None:
    found = state(archive_full=True, files=[File("/a", "unreadable", 1, 0, {}, "no")])
    assert commands(found, "/x y") == ["chmod u+r /a", "transcript-indexer archive status --home '/x y'"]


def test_a_trouble_is_told_on_one_line() -> None:
    stalled = {"event": "stalled", "level": "warning", "what": "the disk\nis full", "seconds": 2, "at": 1}
    assert trouble_text(stalled) == "stalled: the disk is full"
    assert trouble_text({"event": "watch_degraded"}) == "watch degraded"
