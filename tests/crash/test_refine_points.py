"""Death before SQL statements while a model is asked: no turn lost, none told of twice, nothing spent unseen."""

from __future__ import annotations

import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from crash import Nursery
from remembered import made
from scripted_model import NOON, Backlog, Ledger
from stores import Content, check

SAMPLE = 0 if os.environ.get("CRASH_STATEMENTS") else 25
HOUR = 3_600_000

pytestmark = pytest.mark.crash


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A memory of six turns that rules have compressed."""
    Backlog(tmp_path / "whole", turns=6, sessions=2).conn.close()
    (tmp_path / "whole" / "ledger").touch()
    return tmp_path / "whole"


def after(folder: Path) -> tuple[Content, bool]:
    """What stands an hour later, when all has been asked; whether the budget knows of every call."""
    backlog = Backlog.of(folder, NOON + HOUR)
    backlog.compress()  # as `compress` does first: what is pending there is nobody's to ask about yet
    backlog.run(Ledger(folder / "ledger"))
    check(backlog.conn)
    held, costs = made(backlog.conn), Ledger(folder / "ledger").costs
    ((_, calls, tokens),) = backlog.spent
    backlog.conn.close()
    return held, calls >= len(costs) and tokens >= sum(costs)


def test_death_before_any_statement_converges(
    nursery: Nursery, filled: Path, tmp_path: Path, say: Callable[[str], None]
) -> None:
    whole = Path(shutil.copytree(filled, tmp_path / "count"))
    assert nursery.run("count", whole, "refine") == 0
    places = int((whole / "steps").read_text())
    expected, wrong = after(whole), []
    chosen = range(1, places + 1) if not SAMPLE else random.Random(places).sample(range(1, places + 1), SAMPLE)
    for hit in chosen:
        folder = Path(shutil.copytree(filled, tmp_path / f"hit{hit}"))
        assert nursery.run("refine", folder, hit) == -signal.SIGKILL
        if after(folder) != expected:
            wrong.append(hit)
    say(f"{len(chosen)} of {places} statements of asking a model, {len(wrong)} wrong")
    assert (places > 100, len(expected[0]["observations"]), expected[1], wrong) == (True, 6, True, [])
