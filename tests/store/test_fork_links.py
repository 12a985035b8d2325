"""Copies that name their origin make their session name it, in any order of reading."""

from __future__ import annotations

from pathlib import Path

import pytest
import stores
from transcripts import Transcript


def origins(tmp_path: Path, *, reverse: bool) -> dict[object, object]:
    order = (lambda found: found[::-1]) if reverse else list
    sessions = stores.memory_of(tmp_path / "home", tmp_path / "projects", order=order, apart=True)["sessions"]
    return {row[0]: row[16] for row in sessions}


@pytest.mark.parametrize("reverse", [False, True])
def test_a_marked_fork_names_its_origin(tmp_path: Path, reverse: bool) -> None:
    first = Transcript("first")
    first.user("one")
    fork = first.fork("fork", marked=True)
    fork.records.insert(0, {"type": "queue-operation", "operation": "dequeue", "sessionId": fork.session_id})
    fork.records[0]["timestamp"] = "2026-11-02T09:00:00.000Z"
    for session in (fork, first):
        session.write(tmp_path / "projects")
    assert origins(tmp_path, reverse=reverse) == {first.session_id: None, fork.session_id: first.session_id}


@pytest.mark.parametrize("reverse", [False, True])
def test_sessions_of_their_own_name_none(tmp_path: Path, reverse: bool) -> None:
    for name in "ab":
        session = Transcript(name)
        session.user(name)
        session.write(tmp_path / "projects")
    assert set(origins(tmp_path, reverse=reverse).values()) == {None}
