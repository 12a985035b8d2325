"""Power loss: the end of the write-ahead log is missing or garbage. Rows and checkpoints are gone together,
and the transcripts, which are the log of everything, are read again from there.

CRASH_CUTS chooses how many logs are cut, CRASH_SEED where.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import SMALL
from memories import Memory
from stores import Content, content, memory_of
from transcripts import Transcript

CUTS = int(os.environ.get("CRASH_CUTS", "50"))
SEED = int(os.environ.get("CRASH_SEED", random.randrange(10**6)))

pytestmark = pytest.mark.crash


def lay(root: Path) -> None:
    """Three sessions and a fork: more than a dozen commits."""
    for name in "abc":
        session = Transcript(name, f"/home/dev/{name}")
        for number in range(6):
            session.user(f"prompt {number}")
            session.tool("Bash", {"command": f"ls {number}"}, "größer")
        session.write(root)
    session.fork("d").write(root)


def photographs(memory: Memory, rng: random.Random) -> list[Path]:
    """The database and its log after each commit of a first reading, as a power cut finds them. The log
    is emptied now and then: what SQLite has synced cannot be lost any more."""
    homes: list[Path] = []
    found = memory.found()
    for _ in memory.ingest(limit=SMALL).run(found):
        homes.append(memory.home.with_name(f"cut{len(homes)}"))
        homes[-1].mkdir()
        for name in ("index.db", "index.db-wal"):
            shutil.copy(memory.home / name, homes[-1] / name)
        if rng.random() < 0.2:
            memory.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return homes


def cut(home: Path, rng: random.Random) -> None:
    """Lose the log from a random byte on, or have garbage there."""
    log = home / "index.db-wal"
    data = log.read_bytes()
    at = rng.randrange(len(data) + 1)
    log.write_bytes(data[:at] + (rng.randbytes(len(data) - at) if rng.random() < 0.5 else b""))


def after(home: Path) -> tuple[int, Content]:
    """How many records had survived, and what is remembered once all is read again."""
    memory = Memory(home.parent, home.name)
    survived = memory.one("SELECT count(*) FROM session_records")
    memory.read()
    found = content(memory.conn)
    memory.close()
    return survived, found


def test_a_log_that_lost_its_end_is_made_good_by_the_transcripts(tmp_path: Path, say: Callable[[str], None]) -> None:
    """Row 2 of the matrix. The cut is simulated: the end of the log is taken away or garbled."""
    rng = random.Random(SEED)
    memory = Memory(tmp_path)
    lay(memory.root)
    expected = memory_of(tmp_path / "undisturbed", memory.root)
    homes = photographs(memory, rng)
    memory.close()
    survivors, wrong = set(), 0
    for number in range(CUTS):
        home = tmp_path / f"trial{number}"
        shutil.copytree(rng.choice(homes), home)
        cut(home, rng)
        survived, found = after(home)
        survivors.add(survived)
        wrong += found != expected
    say(f"seed {SEED}: {CUTS} logs cut, leaving {min(survivors)} to {max(survivors)} records, {wrong} wrong")
    assert wrong == 0, f"seed {SEED}"
    assert len(survivors) > 3
