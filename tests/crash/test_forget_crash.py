"""Death before SQL statements and file operations of a forgetting: once its tombstones are there, whoever
writes next brings it to the same end; before that, nothing has happened.

CRASH_STATEMENTS=1 dies before every single one instead of a sample of them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import Nursery
from daemons import settings
from forgetting import MARK, holding, lay, words_of
from stores import Content, check, content
from transcripts import Transcript

from indexer import app

EVERY = bool(os.environ.get("CRASH_STATEMENTS"))
SAMPLE = 25

pytestmark = pytest.mark.crash


class Life:
    """One life of a memory that holds the history, in a folder that is laid out anew each time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder, folder / "home"
        self.made: dict[str, Transcript] = {}

    def begin(self) -> None:
        """Transcripts that have been read."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.made = lay(self.folder / "projects")
        self.made["lone"] = lone = Transcript("lone", f"/home/dev/{MARK}alone")
        lone.user("in a folder of its own")
        lone.write(self.folder / "projects")
        self.rescan()

    def rescan(self) -> None:
        app.rescan(settings(self.home, self.folder / "projects"))

    def held(self) -> Content:
        """What the memory holds; it hangs together."""
        conn = sqlite3.connect(self.home / "index.db", isolation_level=None)
        conn.execute("PRAGMA foreign_keys = ON")
        check(conn)
        found = content(conn)
        conn.close()
        # A veil depends on the life's own key.
        return found | {"files": sorted((row[1:] for row in found["files"]), key=repr)}

    def copy(self) -> None:
        """Have a new session, read later, that begins with the records of the forgotten one."""
        self.made["gone"].fork("later").write(self.folder / "projects")
        self.rescan()

    def tombstones(self) -> int:
        conn = sqlite3.connect(self.home / "index.db")
        found = conn.execute("SELECT count(*) FROM tombstones").fetchone()[0]
        conn.close()
        return int(found)


def faults(life: Life, before: Content, after: Content) -> str:
    """What is wrong with a memory whose forgetting was cut off, once the next writer has been there."""
    begun = life.tombstones() > 0
    life.rescan()
    left = holding(life.home, *words_of(life.made)) if begun else []
    held, expected = life.held(), after if begun else before
    wrong = [*left, *(part for part in expected if held[part] != expected[part])]
    if begun and not wrong:
        life.copy()
        wrong = holding(life.home, f"{MARK}prompt", f"{MARK}command", f"{MARK}result", f"{MARK}text")
    return ", ".join(wrong)


@pytest.mark.timeout(0)
def test_death_before_any_statement_of_a_forgetting_converges(
    nursery: Nursery, tmp_path: Path, say: Callable[[str], None]
) -> None:
    life = Life(tmp_path / "life")
    life.begin()
    before, gone = life.held(), ",".join(life.made[name].session_id for name in ("gone", "lone"))
    assert nursery.run("count", life.folder, "forget", gone) == 0
    places = int((life.folder / "steps").read_text())
    life.rescan()
    after, wrong = life.held(), {}
    assert holding(life.home, *words_of(life.made)) == []
    hits = range(1, places + 1) if EVERY else sorted(random.Random(places).sample(range(1, places + 1), SAMPLE))
    for hit in hits:
        life.begin()
        assert nursery.run("forget", life.folder, gone, hit) == -signal.SIGKILL
        if found := faults(life, before, after):
            wrong[hit] = found
    say(f"{len(hits)} of {places} places, {len(wrong)} wrong")
    assert places > 150
    assert wrong == {}
