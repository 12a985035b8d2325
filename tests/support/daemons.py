"""A service whose hints and clocks the test makes: nothing sleeps, nothing is told by the kernel."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from indexer import status_file
from indexer.compressors.base import Compressor
from indexer.config import Config, load
from indexer.control_commands import Binder
from indexer.daemon import Daemon
from indexer.errors import IndexerError
from indexer.files.watch import HOT, SWEEP, Change, Watch, WatchStatus
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode


def settings(home: Path, *roots: Path, **changed: Any) -> Config:
    """The default settings, with these, and without vectors: no process is started beside a test."""
    return replace(load(home, [str(root) for root in roots], {}), **{"vectors_store": "none", **changed})


class Hand(Watch):
    """A watcher worked by hand: says what is put into `due`, starting with the sweep every start makes."""

    def __init__(self) -> None:
        self.due: deque[Change] = deque([SWEEP])
        self.missed: list[int] = []
        self.sweeps = self.waits = 0
        self.stopped = False
        self.state = WatchStatus("native", "", "", 3, 3, 0, 0, 0)

    @property
    def status(self) -> WatchStatus:
        return self.state

    def poll(self, now: float) -> Change | None:
        return self.due.popleft() if self.due else None

    def wait(self) -> None:
        self.waits += 1

    def report_sweep(self, cpu: float, directories: Collection[str], linked: Collection[str] = ()) -> None:
        self.sweeps += 1

    def report_missed(self, count: int) -> None:
        self.missed.append(count)

    def stop(self) -> None:
        self.stopped = True


@dataclass
class Service:
    """A daemon over one root, one step at a time. now: the monotonic clock; late: the wall clock's lead."""

    config: Config
    source: Source = field(default_factory=ClaudeCode)
    hand: Hand = field(default_factory=Hand)
    now: float = 1000.0
    late: float = 0.0
    compressor: Compressor | None = None
    commands: Binder | None = None
    daemon: Daemon = field(init=False)

    def __post_init__(self) -> None:
        self.daemon = Daemon(
            self.config,
            self.source,
            {},
            compressor=self.compressor,
            watch=self.hand,
            clock=lambda: self.now,
            wall=lambda: time.time() + self.late,
            commands=self.commands,
        )

    def stop(self) -> None:
        """Stop the service, if that was not done before."""
        if not self.hand.stopped:
            self.daemon.close()

    def serve(self, command: Callable[[], Any]) -> Any:
        """Step while a command runs in a thread of its own; what it returns, or raises."""
        came: list[Any] = []

        def run() -> None:
            try:
                came.append(command())
            except IndexerError as error:
                came.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            self.daemon.step()
            thread.join(0.001)
        if isinstance(came[0], IndexerError):
            raise came[0]
        return came[0]

    def settle(self) -> int:
        """Step until there is nothing to do; returns the number of steps."""
        steps = 1
        while self.daemon.step():
            steps += 1
            assert steps < 500, "a service that never comes to rest"
        return steps

    def hint(self, *paths: Path) -> None:
        """The kernel tells of these paths."""
        self.hand.due.append(frozenset(str(path.absolute()) for path in paths))
        self.settle()

    def sweep(self) -> None:
        """It is time for a full sweep."""
        self.hand.due.append(SWEEP)
        self.settle()

    def hot(self, after: float = 10.0) -> None:
        """It is time for a sweep of the recent files."""
        self.now += after
        self.hand.due.append(HOT)
        self.settle()

    @property
    def status(self) -> dict[str, Any]:
        """What stands in status.json a little later."""
        self.now += 60
        self.daemon.step()
        found: dict[str, Any] = json.loads((self.config.home / status_file.NAME).read_bytes())
        return found
