"""A folder of transcripts to which everything happens that can, and a service that follows it: what was
ever there to be read when it looked is remembered, and nothing else; looked at again, nothing is written.

The oracle is naive: a record is there to be read if its bytes stand in a file. WEATHER_EXAMPLES chooses
how many stories of 25 events are told.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
from daemons import Service, settings
from hypothesis import HealthCheck
from hypothesis import settings as told
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from memories import consistent
from stores import store
from transcripts import Transcript, line

from indexer import ingest
from indexer.errors import Busy
from indexer.files.tail import open_source
from indexer.store.connection import database_path, prepare_home

EXAMPLES = int(os.environ.get("WEATHER_EXAMPLES", "300"))
FOLDERS = ("-home-dev-a", "-home-dev-b")
SESSIONS = ("s0", "s1", "s2")
SMALL = ingest.LIVE._replace(rows=3, data=1000)

TOLD: Counter[str] = Counter()
"""Stories told, and states looked at in them: one before the first event and one after each."""


@pytest.fixture(scope="module", autouse=True)
def figures() -> Iterator[None]:
    """Says how much was told, as conftest's `say` does, which a state machine cannot have."""
    yield
    if book := os.environ.get("TOLD"):
        said = f"{TOLD['stories']:,} stories, {TOLD['states'] - TOLD['stories']:,} events"
        with Path(book).open("a", encoding="utf-8") as file:
            file.write(json.dumps(["runTest", said]) + "\n")


any_file = st.integers(0, 20)
part = st.floats(0, 1)


@cache
def new_memory() -> bytes:
    """A database with its schema and nothing in it: making one takes most of a story's time."""
    with tempfile.TemporaryDirectory() as folder:
        store(Path(folder)).close()
        return database_path(Path(folder)).read_bytes()


class Death(BaseException):
    """The process ends here: nothing cleans up but the operating system."""


class Weather(RuleBasedStateMachine):
    """records: uuid -> bytes, without newline, of all ever made. seen: uuids that stood complete in some
    file when the service looked everywhere; ever: when anything happened. rests: what torn lines lack."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="weather"))
        self.root, self.outside = self.folder / "projects", self.folder / "outside"
        for folder in (*(self.root / name for name in FOLDERS), self.outside):
            folder.mkdir(parents=True)
        self.sessions = {name: Transcript(name, "/home/dev/a") for name in SESSIONS}
        self.records: dict[str, bytes] = {}
        self.seen: set[str] = set()
        self.ever: set[str] = set()
        self.rests: dict[Path, bytes] = {}
        self.trash: list[bytes] = []
        prepare_home(self.folder / "home")
        database_path(self.folder / "home").write_bytes(new_memory())
        self.start()

    def start(self) -> None:
        self.service = Service(settings(self.folder / "home", self.root, quiet_seconds=30))
        self.service.daemon._ingest._limit = SMALL
        self.service.daemon._conn.execute("PRAGMA synchronous = OFF")

    def teardown(self) -> None:
        TOLD["stories"] += 1
        self.service.stop()
        shutil.rmtree(self.folder)

    # -- what stands on disk ---------------------------------------------------------------------------

    def files(self) -> list[Path]:
        """Transcripts by name, those behind links among them."""
        found = [*self.root.glob("*/*.jsonl"), *self.outside.glob("*.jsonl")]
        return sorted(path for path in dict.fromkeys(found) if not path.parent.is_symlink())

    def pick(self, number: int) -> Path:
        """A file, new ones included."""
        files = self.files()
        new = self.root / FOLDERS[number % 2] / f"{self.sessions[SESSIONS[number % 3]].session_id}.jsonl"
        return files[number % len(files)] if files and number % 5 else new

    def record(self, number: int) -> bytes:
        session = self.sessions[SESSIONS[number % 3]]
        made = session.user(f"größe {len(self.records)} 日本 {'x' * (number * 7)}")
        data = line(made)[:-1]
        self.records[made["uuid"]] = data
        return data

    def append(self, path: Path, data: bytes) -> None:
        with path.open("ab") as file:
            file.write(data)
        self.disturb(path)

    def disturb(self, path: Path) -> None:
        """What is torn there, under whatever name, is not to be completed any more."""
        self.rests = {at: rest for at, rest in self.rests.items() if at.exists() and not at.samefile(path)}

    def reachable(self) -> list[Path]:
        linked = any(path.is_symlink() for path in self.root.iterdir())
        return [path for path in self.files() if linked or path.parent != self.outside]

    def standing(self) -> set[str]:
        """Records that can be read: whole, and their line finished or nothing but them."""
        found: set[str] = set()
        for path in self.reachable():
            head, newline, tail = path.read_bytes().rpartition(b"\n")
            finished = head + newline
            found |= {uuid for uuid, data in self.records.items() if data in finished or tail == data}
        return found

    @invariant()
    def remember_what_ever_stood(self) -> None:
        TOLD["states"] += 1
        for path in self.files():
            data = path.read_bytes()
            self.ever |= {uuid for uuid, record in self.records.items() if record in data}

    # -- what a client does ----------------------------------------------------------------------------

    @rule(at=any_file, count=st.integers(1, 5))
    def append_whole_lines(self, at: int, count: int) -> None:
        self.append(self.pick(at), b"".join(self.record(at + more) + b"\n" for more in range(count)))

    @rule(at=any_file, cut=part)
    def append_a_torn_line(self, at: int, cut: float) -> None:
        path, data = self.pick(at), self.record(at) + b"\n"
        size = 1 + int(cut * (len(data) - 2))
        self.append(path, data[:size])
        self.rests[path] = data[size:]

    @precondition(lambda self: self.rests)
    @rule(at=any_file)
    def complete_a_torn_line(self, at: int) -> None:
        path, rest = list(self.rests.items())[at % len(self.rests)]
        self.append(path, rest)

    @rule(at=any_file)
    def append_without_newline(self, at: int) -> None:
        self.append(self.pick(at), self.record(at))

    @rule(at=any_file)
    def append_a_newline(self, at: int) -> None:
        self.append(self.pick(at), b"\n")

    @rule(at=any_file, size=st.sampled_from([1, 100, 5000]))
    def leave_a_hole(self, at: int, size: int) -> None:
        self.append(self.pick(at), bytes(size))

    # -- what befalls files ----------------------------------------------------------------------------

    def old(self, at: int) -> Path | None:
        """A file that stands there."""
        files = self.files()
        path = files[at % len(files)] if files else None
        if path is not None:
            self.disturb(path)
        return path

    @rule(at=any_file, size=part)
    def truncate(self, at: int, size: float) -> None:
        if path := self.old(at):
            os.truncate(path, int(size * path.stat().st_size))

    @rule(at=any_file, keep=st.integers(0, 3), by_rename=st.booleans(), new=st.booleans())
    def rewrite(self, at: int, keep: int, by_rename: bool, new: bool) -> None:
        if path := self.old(at):
            lines = path.read_bytes().splitlines(keepends=True)
            first = [self.record(at) + b"\n"] if new else []
            data = b"".join([*first, *lines[keep:], *lines[: keep // 2]])
            scratch = path.with_suffix(".new") if by_rename else path
            scratch.write_bytes(data)
            scratch.replace(path)

    @rule(at=any_file, folder=st.sampled_from(FOLDERS), name=st.sampled_from(["kept", "x", "y"]), leave=st.booleans())
    def move_or_copy(self, at: int, folder: str, name: str, leave: bool) -> None:
        if path := self.old(at):
            there = self.root / folder / (path.name if name == "kept" else f"{name}.jsonl")
            if there.exists():
                self.disturb(there)
            if leave:
                there.write_bytes(path.read_bytes())
            else:
                path.rename(there)

    @rule(at=any_file, other=any_file)
    def swap(self, at: int, other: int) -> None:
        """Two files take each other's name."""
        one, two = self.old(at), self.old(other)
        if one and two and one != two:
            scratch = one.rename(one.with_suffix(".swap"))
            two.rename(one)
            scratch.rename(two)

    @rule(at=any_file)
    def hard_link(self, at: int) -> None:
        path, there = self.old(at), self.root / FOLDERS[0] / "linked.jsonl"
        if path and not there.exists():
            there.hardlink_to(path)

    @rule(at=any_file)
    def delete(self, at: int) -> None:
        if path := self.old(at):
            self.trash.append(path.read_bytes())
            path.unlink()

    @precondition(lambda self: self.trash)
    @rule(at=any_file)
    def restore(self, at: int) -> None:
        self.append(self.pick(at), self.trash.pop(at % len(self.trash)))

    @rule()
    def link_a_folder_outside(self) -> None:
        link = self.root / "-home-dev-linked"
        if link.is_symlink():
            link.unlink()
        else:
            link.symlink_to(self.outside)

    @rule(at=any_file)
    def write_outside(self, at: int) -> None:
        self.append(self.outside / "out.jsonl", self.record(at) + b"\n")

    # -- what the service goes through -----------------------------------------------------------------

    @rule(at=st.lists(any_file, max_size=3), wrong=st.booleans())
    def hints_come(self, at: list[int], wrong: bool) -> None:
        nowhere = [self.root / "nowhere" / "none.jsonl", Path("/proc/version")] if wrong else []
        self.service.hint(*(self.pick(number) for number in at), *nowhere)

    @rule(seconds=st.sampled_from([-3600.0, 10.0, 10.0**8]))
    def clocks_go_on_or_back(self, seconds: float) -> None:
        self.service.late += seconds
        self.service.hot(max(seconds, 0.0))

    @rule(hit=st.integers(1, 15))
    def die_while_reading(self, hit: int) -> None:
        passed = 0

        def die(_: str) -> None:
            nonlocal passed
            passed += 1
            if passed == hit:
                raise Death

        with mock.patch.object(ingest, "passing", die):
            try:
                self.service.sweep()
            except Death:
                self.service.hand.stopped = True
        self.service.daemon._conn.close()
        self.service.daemon._control.close()
        self.service.daemon._lock.release()
        self.start()

    @rule(at=any_file)
    def sweep_while_a_file_cannot_be_read(self, at: int) -> None:
        with unreadable(self.pick(at)):
            self.service.sweep()

    @rule()
    def another_service_is_refused(self) -> None:
        with pytest.raises(Busy):
            Service(self.service.config)

    @rule()
    def look_at_everything(self) -> None:
        self.seen |= self.standing()
        self.service.sweep()
        for _ in range(3):
            self.service.hot(40)
        conn = self.service.daemon._conn
        before = conn.total_changes
        self.service.sweep()
        assert conn.total_changes == before, "looked at again, it wrote"
        consistent(conn)
        held = {uuid for (uuid,) in conn.execute("SELECT native_prompt_id FROM user_prompts")}
        assert self.seen - held == set(), "lost"
        assert held - self.ever == set(), "invented"


@contextmanager
def unreadable(path: Path) -> Iterator[None]:
    def refuse(name: str) -> int:
        if name == str(path):
            raise OSError(errno.EIO, "Input/output error")
        return open_source(name)

    with mock.patch.object(ingest, "open_source", refuse):
        yield


TestWeather = Weather.TestCase
TestWeather.settings = told(
    max_examples=EXAMPLES,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
