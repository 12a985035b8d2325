"""Death at every failpoint and before SQL statements: whatever was done by then, the next reader makes
of it what an undisturbed one would have made.

CRASH_STATEMENTS=1 dies before every single statement instead of a sample of them.
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
from memories import Memory
from stores import Content, content
from transcripts import Transcript

EVERY = bool(os.environ.get("CRASH_STATEMENTS"))
SAMPLE = 25

pytestmark = [pytest.mark.crash, *([pytest.mark.timeout(0)] if EVERY else [])]


def talk(name: str, *texts: str, cwd: str = "/home/dev/shop") -> Transcript:
    made = Transcript(name, cwd)
    for text in texts:
        made.user(text)
        made.tool("Bash", {"command": "ls"}, text)
    return made


def first(root: Path) -> None:
    """What stands at the start: two sessions, a fork, a sub-agent, a last line without newline."""
    one, two = talk("a", "one", "two"), talk("b", "three", cwd="/home/dev/other")
    one.fork("c", marked=True).write(root)
    call = one.call("Task", {"prompt": "look"})
    path = one.write(root)
    path.write_bytes(one.data[:-1])
    two.write(root)
    agent = one.subagent("f00")
    agent.user("look")
    agent.tool("Read", {"file_path": "/x"}, "y")
    agent.write(root).with_suffix(".meta.json").write_text(f'{{"toolUseId": "{call}", "agentType": "scout"}}')


def grow(root: Path) -> None:
    """Lines are appended, one of them torn, and the missing newline comes."""
    one, two = talk("a").path(root), talk("b", "three", cwd="/home/dev/other")
    data = len(two.data)
    two.user("four")
    with one.open("ab") as file:
        file.write(b"\n" + two.data[data:] + b'{"torn')
    two.write(root)


def rewrite(root: Path) -> None:
    """A file is truncated and written anew, with a record before the old ones."""
    two = talk("b", "three", cwd="/home/dev/other")
    two.path(root).write_bytes(talk("d", "zero").data + two.data)


def replace(root: Path) -> None:
    """Another content takes a file's place by a rename."""
    scratch = root / "scratch"
    scratch.write_bytes(talk("e", "five", "six").data)
    scratch.replace(talk("b", cwd="/home/dev/other").path(root))


def move(root: Path) -> None:
    """A file goes to another project and grows there; two others swap their names."""
    two, moved = talk("b", "three", cwd="/home/dev/other"), talk("b", "three", "seven", cwd="/home/dev/moved")
    moved.path(root).parent.mkdir()
    two.path(root).rename(moved.path(root))
    with moved.path(root).open("ab") as file:
        file.write(moved.data[len(two.data) :])
    one, fork = talk("a").path(root), talk("c").path(root)
    one.rename(root / "scratch")
    fork.rename(one)
    (root / "scratch").rename(fork)


CHANGES: tuple[Callable[[Path], None], ...] = (grow, rewrite, replace, move)


class World:
    """A folder of transcripts in the state before the death to come, to be laid out again and again."""

    def __init__(self, folder: Path, change: Callable[[Path], None] | None) -> None:
        self.folder, self.change, self.lives = folder, change, 0

    def new(self) -> Path:
        """Transcripts that have been read, then changed; or that have just been written."""
        self.lives += 1
        folder = self.folder / str(self.lives)
        first(folder / "projects")
        if self.change is not None:
            memory = Memory(folder)
            memory.sweep()
            memory.close()
            self.change(folder / "projects")
        return folder

    def after(self, folder: Path) -> Content:
        """What the memory holds once it has been read to the end."""
        memory = Memory(folder)
        memory.read()
        memory.read()
        found = content(memory.conn)
        memory.close()
        # Which row of ingest_files a file gets when names are swapped depends on what was committed when.
        places = {"files", "members"} if self.change is move else set()
        return {part: [_named(row, folder) for row in found[part]] for part in found.keys() - places}


def _named(row: tuple[object, ...], folder: Path) -> tuple[object, ...]:
    """A row without the folder's own name, which differs from life to life."""
    return tuple(value.replace(f"{folder}/", "") if isinstance(value, str) else value for value in row)


class Deaths(NamedTuple):
    """How many places to die at there are, and where dying changed what was remembered."""

    places: int
    died: int
    wrong: dict[int, str]


def die_everywhere(nursery: Nursery, world: World, deed: str, *args: str, sample: int = 0) -> Deaths:
    """Die at each place of a deed, or at a sample, in a world of its own; compare what is then read."""
    whole = world.new()
    assert nursery.run("count", whole, deed, *args) == 0
    places = int((whole / "steps").read_text())
    expected, wrong = world.after(whole), {}
    hits = range(1, places + 1)
    chosen = sorted(random.Random(places).sample(hits, min(sample, places))) if sample else hits
    for hit in chosen:
        folder = world.new()
        assert nursery.run(deed, folder, *args, hit) == -signal.SIGKILL
        found = world.after(folder)
        differing = [part for part in expected if found[part] != expected[part]]
        if differing:
            wrong[hit] = ", ".join(differing)
    return Deaths(places, len(chosen), wrong)


@pytest.fixture(params=[None, *CHANGES], ids=["first", *(change.__name__ for change in CHANGES)])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    return World(tmp_path, request.param)


def test_death_at_any_failpoint_converges(nursery: Nursery, world: World, say: Callable[[str], None]) -> None:
    """Row 1 of the matrix."""
    deaths = die_everywhere(nursery, world, "sweep", "right")
    say(f"{deaths.died} failpoints, {len(deaths.wrong)} wrong")
    assert deaths.places > 15
    assert deaths.wrong == {}


def test_death_before_any_statement_converges(nursery: Nursery, world: World, say: Callable[[str], None]) -> None:
    """Row 1 of the matrix."""
    deaths = die_everywhere(nursery, world, "sweep_traced", sample=0 if EVERY else SAMPLE)
    say(f"{deaths.died} of {deaths.places} statements, {len(deaths.wrong)} wrong")
    assert deaths.wrong == {}


def test_death_in_a_load_through_the_side_file_converges(
    nursery: Nursery, tmp_path: Path, say: Callable[[str], None]
) -> None:
    deaths = die_everywhere(nursery, World(tmp_path, None), "load", sample=0 if EVERY else SAMPLE)
    say(f"{deaths.died} of {deaths.places} statements and file operations, {len(deaths.wrong)} wrong")
    assert deaths.wrong == {}


def test_a_checkpoint_committed_before_its_rows_is_caught(nursery: Nursery, tmp_path: Path) -> None:
    """The check itself: this order loses lines, and must be found out."""
    deaths = die_everywhere(nursery, World(tmp_path, None), "sweep", "wrong")
    assert any("prompts" in parts for parts in deaths.wrong.values())
