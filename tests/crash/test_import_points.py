"""Death before the statements of an import: the next import goes on, and the memory is as if nothing had been.

CRASH_STATEMENTS=1 dies before every single statement instead of a sample of them.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_mem_db import old, transcript, v13
from crash import Nursery
from moving import differing, everything, export, rescanned, share_key, take, take_claude_mem
from transcripts import Transcript

EVERY = bool(os.environ.get("CRASH_STATEMENTS"))
SAMPLE = 25

pytestmark = [pytest.mark.crash, *([pytest.mark.timeout(0)] if EVERY else [])]


def exported(folder: Path) -> Path:
    """An export of a session and its fork."""
    session = Transcript("shop", "/home/dev/shop")
    session.user("fix the login")
    session.tool("Edit", {"file_path": "/home/dev/shop/a.py", "old_string": "a", "new_string": "b"}, "ok")
    session.text("done")
    fork = session.fork("fork")
    fork.user("and the logout")
    folder.mkdir()
    return export(rescanned(folder / "home", session, fork), folder / "x.jsonl")


def again(home: Path, file: Path) -> None:
    take_claude_mem(home, file) if file.suffix == ".db" else take(home, file)


@pytest.mark.parametrize("make", [exported, lambda path: v13(path / "cm.db"), lambda path: old(path / "cm.db")],
                         ids=["export", "v13", "old"])  # fmt: skip
@pytest.mark.parametrize("filled", [False, True], ids=["new", "filled"])
def test_death_before_any_statement_of_an_import_converges(
    nursery: Nursery, tmp_path: Path, say: Callable[[str], None], make: Callable[[Path], Path], filled: bool
) -> None:
    file = make(tmp_path / "source")
    begun = tmp_path / "begun" / "home"
    begun.mkdir(mode=0o700, parents=True)
    share_key(begun, begun)
    if filled:
        rescanned(begun, transcript())
    shutil.copytree(begun, tmp_path / "whole" / "home")
    assert nursery.run("count", tmp_path / "whole", "take_in", file) == 0
    expected, places = everything(tmp_path / "whole" / "home"), int((tmp_path / "whole" / "steps").read_text())
    wrong = {}
    hits = range(1, places + 1) if EVERY else sorted(random.Random(places).sample(range(1, places + 1), SAMPLE))
    for hit in hits:
        life = tmp_path / "life"
        shutil.rmtree(life, ignore_errors=True)
        shutil.copytree(begun, life / "home")
        assert nursery.run("take_in", life, file, hit) == -signal.SIGKILL
        again(life / "home", file)
        if found := differing(everything(life / "home"), expected):
            wrong[hit] = found
        if [path.name for path in (life / "home").iterdir() if "import" in path.name]:
            wrong[hit] = {"left": "behind"}
    say(f"{len(hits)} of {places} places, {len(wrong)} wrong")
    assert places > 100
    assert wrong == {}
