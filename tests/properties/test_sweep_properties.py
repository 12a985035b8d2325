"""Sweeps are the truth: with every hint dropped they find every change; with hints only, so do hints."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from indexer.files.sweep import Sweeper, Swept
from indexer.records import Entry, SourceFile

folders = st.sampled_from(["p", "q", "p/session/subagents"])
files = st.sampled_from(["a.jsonl", "b.jsonl", "agent-1.jsonl"])


class AnyFile:
    """A source to which every file is a transcript."""

    platform = "any"
    parser_version = 1

    def describe(self, path: str, root: str) -> SourceFile:
        return SourceFile(path, "", None, None)

    def parse(self, data: bytes, file: SourceFile) -> tuple[Entry, ...]:
        return ()

    def side_entries(self, file: SourceFile) -> tuple[Entry, ...]:
        return ()


class Tree(RuleBasedStateMachine):
    """A folder of transcripts, changed at random, and a reader that keeps whole copies of what it read.

    Times move on by a second with each change, so that file clocks are never too coarse.
    """

    @initialize()
    def begin(self) -> None:
        self.top = Path(os.path.realpath(tempfile.mkdtemp()))
        self.root = self.top / "projects"
        self.root.mkdir()
        self.time = 1_000_000_000
        self.read: dict[str, bytes] = {}
        self.sweeper = Sweeper([str(self.root)], AnyFile(), {}, lambda: 2_000_000_000 * 10**9)
        self.full()

    def teardown(self) -> None:
        if hasattr(self, "top"):
            shutil.rmtree(self.top)

    def on_disk(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.root.rglob("*.jsonl")}

    def stamp(self, path: Path) -> None:
        self.time += 1
        os.utime(path, (self.time, self.time))
        os.utime(path.parent, (self.time, self.time))

    def take(self, swept: Swept) -> None:
        for path in swept.gone:
            del self.read[path]
        for found in swept.changed:
            self.read[found.file.path] = Path(found.file.path).read_bytes()
            self.sweeper.settle(found.file.path, found.stat)

    @rule(folder=folders, file=files, text=st.binary(max_size=3))
    def append(self, folder: str, file: str, text: bytes) -> None:
        path = self.root / folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as opened:
            opened.write(text)
        self.stamp(path)

    @rule(folder=folders, file=files)
    def delete(self, folder: str, file: str) -> None:
        (self.root / folder / file).unlink(missing_ok=True)

    @rule(folder=folders, file=files, to=folders)
    def move(self, folder: str, file: str, to: str) -> None:
        source, target = self.root / folder / file, self.root / to / file
        if source.exists() and target.parent.exists():
            source.rename(target)

    @rule(folder=folders)
    def delete_folder(self, folder: str) -> None:
        shutil.rmtree(self.root / folder, ignore_errors=True)

    @rule()
    def rename_the_root_away_and_back(self) -> None:
        self.root.rename(self.top / "away")
        self.take(self.sweeper.full())
        assert self.read == {}
        (self.top / "away").rename(self.root)

    @rule(folder=folders, file=files)
    def hint(self, folder: str, file: str) -> None:
        path = str(self.root / folder / file)
        self.take(self.sweeper.look([path]))
        assert self.read.get(path) == self.on_disk().get(path)

    @rule(folder=folders)
    def hint_for_a_folder(self, folder: str) -> None:
        below = str(self.root / folder) + "/"
        self.take(self.sweeper.look([str(self.root / folder)]))
        mine = {path: text for path, text in self.read.items() if path.startswith(below)}
        there = {path: text for path, text in self.on_disk().items() if path.startswith(below)}
        assert there.items() <= mine.items()

    @rule()
    def hot(self) -> None:
        self.take(self.sweeper.hot())
        # Fewer files than a hot sweep looks at: it may only be late in noticing what is gone.
        assert self.on_disk().items() <= self.read.items()

    @rule()
    def full(self) -> None:
        self.take(self.sweeper.full())
        assert self.read == self.on_disk()
        again = self.sweeper.full()
        assert (again.changed, again.gone) == ([], [])


TestSweepsAloneConverge = Tree.TestCase
TestSweepsAloneConverge.settings = settings(max_examples=100, stateful_step_count=25)
