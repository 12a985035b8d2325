"""kill -9 at random instants of the service, under a writer that tears its lines and worse.

CRASH_KILLS and CRASH_SEED choose how often and at which instants; 300 kills of each kind take 25 s.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from crash import Nursery
from memories import consistent
from remembered import Verbatim, made, remember
from stores import content, memory_of, read, store
from writers import noted

KILLS = int(os.environ.get("CRASH_KILLS", "300"))
SEED = int(os.environ.get("CRASH_SEED", random.randrange(10**6)))

pytestmark = [pytest.mark.crash, pytest.mark.slow]


class Outcome(NamedTuple):
    """What is in the memory against what the writer noted."""

    lines: int
    lost: list[str]
    extra: list[str]
    garbled: list[str]


def under_fire(folder: Path, weather: bool) -> str:
    """Run a writer and, over it, one service after the other, each killed within 2 to 120 ms. Says what
    went wrong with the test itself: a service or the writer that ended otherwise."""
    root, oracle, rng = folder / "projects", folder / "oracle", random.Random(SEED)
    root.mkdir()
    with Nursery(folder) as nursery:
        writer = nursery.start("write", root, oracle, SEED, weather)
        for _ in range(KILLS):
            ended = nursery.kill(nursery.start("watch", folder / "home", root), rng.uniform(0.002, 0.12))
            if ended != -signal.SIGKILL:
                return f"the service ended by itself: {ended}"
        Path(f"{oracle}.stop").touch()
        ended = nursery.wait(writer)
    return f"the writer failed: {ended}" if ended else ""


@pytest.fixture(scope="module")
def battles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Folder and failure of the two runs, which take their time side by side."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("calm", "storm")}
    with ThreadPoolExecutor() as pool:
        runs = {name: pool.submit(under_fire, folder, name == "storm") for name, folder in folders.items()}
    return {name: (folders[name], run.result()) for name, run in runs.items()}


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


def judged(battle: tuple[Path, str], say: Callable[[str], None]) -> Path:
    """The folder of a battle after which nothing was missing and nothing too many."""
    folder, failure = battle
    assert failure == ""
    found = after_a_last_sweep(folder)
    told = f"seed {SEED}: {KILLS} kills, {found.lines} lines, {len(found.lost)} lost, {len(found.extra)} too many"
    say(told)
    assert found[1:] == ([], [], []), told
    return folder


@pytest.mark.timeout(0)
def test_killed_at_random_a_service_loses_nothing_and_stores_nothing_twice(
    battles: dict[str, tuple[Path, str]], say: Callable[[str], None]
) -> None:
    """Row 1 of the matrix."""
    folder = judged(battles["calm"], say)
    conn = store(folder / "home")
    held = content(conn)
    conn.close()
    assert held == memory_of(folder / "undisturbed", folder / "projects")


@pytest.mark.timeout(0)
def test_killed_at_random_it_remembers_what_an_undisturbed_one_does(battles: dict[str, tuple[Path, str]]) -> None:
    folder = battles["calm"][0]
    lived, rebuilt = store(folder / "home"), store(folder / "rebuilt")
    for conn in (lived, rebuilt):
        read(conn, folder / "projects")
        remember(conn, Verbatim())
    assert made(lived) == made(rebuilt)
    assert any(made(lived).values())
    lived.close()
    rebuilt.close()


@pytest.mark.timeout(0)
def test_killed_at_random_it_loses_nothing_of_files_that_are_moved_rewritten_and_restored(
    battles: dict[str, tuple[Path, str]], say: Callable[[str], None]
) -> None:
    """Row 1 of the matrix."""
    judged(battles["storm"], say)
