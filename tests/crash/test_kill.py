"""kill -9 at random instants of the service, under a writer that tears its lines and worse.

CRASH_KILLS and CRASH_SEED choose how often and which instants; 1,000 kills take a minute and a half.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from crash import Nursery
from memories import consistent
from stores import content, memory_of, read, store
from writers import noted

KILLS = int(os.environ.get("CRASH_KILLS", "0"))
SEED = int(os.environ.get("CRASH_SEED", random.randrange(10**6)))

pytestmark = [pytest.mark.crash, pytest.mark.slow]


class Outcome(NamedTuple):
    """What is in the memory against what the writer noted."""

    lines: int
    lost: list[str]
    extra: list[str]
    garbled: list[str]


def under_fire(nursery: Nursery, folder: Path, kills: int, *, weather: bool, service: str = "watch") -> None:
    """Run a writer and, over it, one service after the other, each killed within 2 to 120 ms."""
    root, oracle, rng = folder / "projects", folder / "oracle", random.Random(SEED)
    root.mkdir()
    writer = nursery.start("write", root, oracle, SEED, weather)
    for _ in range(kills):
        ended = nursery.kill(nursery.start(service, folder / "home", root), rng.uniform(0.002, 0.12))
        assert ended == -signal.SIGKILL, "the service died by itself"
    Path(f"{oracle}.stop").touch()
    assert nursery.wait(writer) == 0


def after_a_last_sweep(folder: Path) -> Outcome:
    """Let a service read the rest, and compare. Twice is what the counters would show."""
    conn = store(folder / "home")
    read(conn, folder / "projects")
    held = dict(conn.execute("SELECT native_prompt_id, prompt_text FROM user_prompts").fetchall())
    answers = "SELECT tool_use_id, tool_response FROM tool_uses WHERE tool_response IS NOT NULL"
    held |= {call: text.removeprefix("out of ") for call, text in conn.execute(answers)}
    written = {note.id: note.text for note in noted(folder / "oracle")}
    lost, extra = sorted(written.keys() - held.keys()), sorted(held.keys() - written.keys())
    outcome = Outcome(
        len(written), lost, extra, [key for key in written if held.get(key, written[key]) != written[key]]
    )
    if not lost:
        consistent(conn)
    conn.close()
    return outcome


def told(kills: int, found: Outcome) -> str:
    return f"seed {SEED}: {kills} kills, {found.lines} lines, {len(found.lost)} lost, {len(found.extra)} too many"


def test_killed_at_random_a_service_loses_nothing_and_stores_nothing_twice(
    nursery: Nursery, tmp_path: Path, say: Callable[[str], None]
) -> None:
    kills = KILLS or 150
    under_fire(nursery, tmp_path, kills, weather=False)
    found = after_a_last_sweep(tmp_path)
    say(told(kills, found))
    assert found[1:] == ([], [], []), told(kills, found)
    conn = store(tmp_path / "home")
    assert content(conn) == memory_of(tmp_path / "undisturbed", tmp_path / "projects")
    conn.close()


def test_killed_at_random_in_bad_weather_it_loses_nothing_either(
    nursery: Nursery, tmp_path: Path, say: Callable[[str], None]
) -> None:
    kills = KILLS or 150
    under_fire(nursery, tmp_path, kills, weather=True)
    found = after_a_last_sweep(tmp_path)
    say(told(kills, found))
    assert found[1:] == ([], [], []), told(kills, found)
