"""Death before SQL statements of compressing: the next run makes what an undisturbed one would have made."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import Nursery
from remembered import made, remember
from stores import Content, check, read, store
from transcripts import Transcript
from turn_cases import CASES

SAMPLE = 0 if os.environ.get("CRASH_STATEMENTS") else 40

pytestmark = pytest.mark.crash


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A memory that has read three sessions, one of them compressed and grown since."""
    root, conn = tmp_path / "projects", store(tmp_path / "whole" / "home")
    grown, other, third = Transcript("grown"), Transcript("other"), Transcript("third")
    for session, cases in ((grown, CASES[:3]), (other, CASES[3:14]), (third, CASES[14:20])):
        for case in cases:
            case.write(session)
        session.write(root)
        read(conn, root)
        if session is grown:
            remember(conn)
    CASES[20].write(grown)
    grown.write(root)
    read(conn, root)
    conn.close()
    return tmp_path / "whole"


def after(folder: Path) -> Content:
    conn = store(folder / "home")
    remember(conn)
    check(conn)
    held = made(conn)
    conn.close()
    return held


def test_death_before_any_statement_converges(
    nursery: Nursery, filled: Path, tmp_path: Path, say: Callable[[str], None]
) -> None:
    whole = Path(shutil.copytree(filled, tmp_path / "count"))
    assert nursery.run("count", whole, "compress") == 0
    places = int((whole / "steps").read_text())
    expected, wrong = after(whole), []
    chosen = range(1, places + 1) if not SAMPLE else random.Random(places).sample(range(1, places + 1), SAMPLE)
    for hit in chosen:
        folder = Path(shutil.copytree(filled, tmp_path / f"hit{hit}"))
        assert nursery.run("compress", folder, hit) == -signal.SIGKILL
        if after(folder) != expected:
            wrong.append(hit)
    say(f"{len(chosen)} of {places} statements of compressing, {len(wrong)} wrong")
    assert (places > 100, wrong) == (True, [])
