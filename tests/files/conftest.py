"""Stand-ins for what files/ talks to: a source, an observer whose faults can be chosen, and clocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from indexer.files.supervisor import System
from indexer.records import Entry, SourceFile


class PlainSource:
    """Names a transcript as Claude Code does: <folder>/<session>.jsonl and agent-<id>.jsonl."""

    platform = "plain"
    parser_version = 1

    def describe(self, path: str, root: str) -> SourceFile | None:
        folder, _, rest = os.path.relpath(path, root).rpartition("/")
        name = rest.removesuffix(".jsonl")
        if name == "journal":
            return None
        agent = name.removeprefix("agent-") if name.startswith("agent-") else None
        return SourceFile(path, folder.split("/")[0], None if agent else name, agent)

    def parse(self, data: bytes, file: SourceFile) -> Sequence[Entry]:
        return ()

    def side_entries(self, file: SourceFile) -> Sequence[Entry]:
        return ()


class FakeObserver:
    """A watchdog observer without a kernel. `fails`: raised by start; `silent_death`: dead at once."""

    def __init__(self, fails: Exception | None = None, silent_death: bool = False) -> None:
        self.fails = fails
        self.alive = False
        self.silent_death = silent_death
        self.stopped = False
        self.folders: list[str] = []
        self.handlers: list[object] = []
        self.emitters: list[SimpleNamespace] = []

    def schedule(self, handler: object, path: str, *, recursive: bool, event_filter: object) -> None:
        assert recursive
        assert event_filter
        self.folders.append(path)
        self.handlers.append(handler)
        self.emitters.append(SimpleNamespace(is_alive=lambda: self.emitter_lives))

    emitter_lives = True

    def start(self) -> None:
        if self.fails:
            raise self.fails
        self.alive = not self.silent_death

    def stop(self) -> None:
        self.alive = False
        self.stopped = True

    def is_alive(self) -> bool:
        return self.alive

    def emit(self, event: object) -> None:
        """Deliver an event as watchdog would, in whatever thread this is."""
        for handler in self.handlers:
            handler.dispatch(event)  # type: ignore[attr-defined]


class World:
    """All the outside of a watch: observers come from `next_faults` in order, clocks stand still."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept = 0.0
        self.watches: int | None = None
        self.kind = "ext4"
        self.next_faults: list[Exception | str] = []
        self.observers: list[FakeObserver] = []

    @property
    def observer(self) -> FakeObserver:
        return self.observers[-1]

    def make_observer(self) -> FakeObserver:
        fault = self.next_faults.pop(0) if self.next_faults else None
        made = FakeObserver(fault if isinstance(fault, Exception) else None, fault == "dies")
        self.observers.append(made)
        return made

    def system(self) -> System:
        return System(
            observer=self.make_observer,
            asleep=lambda: self.slept,
            watch_count=lambda: self.watches,
            file_system=lambda path: self.kind,
        )


@pytest.fixture
def source() -> PlainSource:
    return PlainSource()


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "projects"
    folder.mkdir()
    return folder


@pytest.fixture
def lay() -> Callable[..., Path]:
    """Write a file, with all folders above it."""

    def write(folder: Path, name: str, text: str = "{}\n") -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write
