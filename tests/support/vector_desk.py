"""A memory whose vector worker is a real process with a real index, and the command line in front of it.

desk = VectorDesk(tmp_path, models="hashing")     # or "use,minilm", where they are installed
desk.remember(30)
desk.sync()
hits, note, seconds = desk.search("shed")
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from searchable import Searchable

from indexer.store.connection import open_writer
from indexer.store.vectors import folder
from indexer.worker import client, wire

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0


def until(true: Callable[[], Any]) -> Any:
    """Wait for something that another process brings about."""
    end = time.monotonic() + PATIENCE
    while not (found := true()):
        assert time.monotonic() < end, "it never came about"
        time.sleep(0.02)
    return found


class Found(NamedTuple):
    """What a search printed. seconds: how long its process took."""

    hits: list[dict[str, Any]]
    notes: list[str]
    via: list[str]
    seconds: float


class VectorDesk:
    """See the module's docstring. Close it: its worker outlives nobody."""

    def __init__(self, home: Path, models: str = "hashing") -> None:
        self.home = home
        self.memory = Searchable(open_writer(home))
        self._env = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
            "TRANSCRIPT_INDEXER_VECTORS": "chroma",
            "TRANSCRIPT_INDEXER_VECTORS_MODELS": models,
        }
        self.worker: subprocess.Popen[bytes] | None = None

    def remember(self, number: int, text: str = "paint the shed") -> list[int]:
        """So many prompts more; their rows."""
        return [self.memory.prompt(f"{text} {place}") for place in range(number)]

    def run(self, *words: str) -> tuple[int, Any]:
        """One call of the command line: its code, and what it printed as JSON."""
        command = [sys.executable, "-P", "-m", "indexer", *words, "--home", str(self.home), "--json"]
        done = subprocess.run(command, env=self._env, capture_output=True, text=True, check=False, timeout=PATIENCE)
        return done.returncode, json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout + done.stderr

    def search(self, text: str, *options: str) -> Found:
        """What `search` finds."""
        began = time.monotonic()
        code, said = self.run("search", text, *options)
        assert code == 0, said
        return Found(said["results"], said["notes"], said["via"], time.monotonic() - began)

    def status(self) -> tuple[int, Any]:
        return self.run("vectors", "status")

    def sync(self) -> None:
        """Until everything has vectors and the index knows all of it."""
        self.start()
        code, said = self.run("vectors", "sync")
        assert code == 0, said

    def start(self) -> int:
        """A worker of this desk's own, if none runs; its pid."""
        if self.worker is None or self.worker.poll() is not None:
            command = [sys.executable, "-P", "-m", "indexer", "vectors", "serve", "--home", str(self.home)]
            self.worker = subprocess.Popen(command, env=self._env)
            until(lambda: self.said().get("warm"))
        return self.worker.pid

    def said(self) -> dict[str, Any]:
        """What the worker says of itself; nothing when none answers."""
        with suppress(wire.Unreachable):
            return client.request(self.home, {"op": "status"})
        return {}

    def kill(self) -> None:
        """End whatever worker there is, at once."""
        if pid := self.said().get("pid"):
            os.kill(pid, signal.SIGKILL)
        if self.worker is not None:
            self.worker.kill()  # a search may have started the one that answers, and ours be waiting for its turn
            self.worker.wait()
        until(lambda: not client.alive(self.home))

    def whole(self) -> bool:
        """Whether Chroma holds what SQLite does, to the last document."""
        code, said = self.status()
        return code == 0 and bool(said["compared"]) and all(not one["different"] for one in said["compared"].values())

    def generation(self) -> Path:
        """The index's folder: the newest there is."""
        chroma = folder(self.home) / "chroma"
        return max((path for path in chroma.iterdir() if path.name.isdigit()), key=lambda path: int(path.name))

    def close(self) -> None:
        self.kill()
        self.memory.conn.close()
