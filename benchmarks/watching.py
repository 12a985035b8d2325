"""What following transcripts costs: how soon an appended line is found, and what the service takes meanwhile.

usage: python -m benchmarks watching [--quick] [--only NAME ...]

Everything happens in a temporary folder, with a HOME of its own. The service is `watch` as installed, in a
process of its own; its CPU time is that of all its threads (schedstat, nanoseconds), so Linux is needed.
The whole takes about 25 minutes, --quick about three and a half. Compare with the bars in the last column: absolute
milliseconds depend on the machine, and on what else it does.

  latency    append -> found by a full-text query, at one line a second and at a thousand over 20 files
  append     CPU of one append to a small file and to a large one
  idle       CPU and memory at 5,000 and at 50,000 files when nothing happens; one full sweep is within
  growth     memory while lines are appended without end
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

FOLDERS = 2_000
FILES = 20
CHUNK = 100_000
POLL = 0.001


class Row(NamedTuple):
    """A line of the table. bar: what must hold, "" where there is none."""

    what: str
    value: str
    bar: str = ""


class Transcript:
    """A session's file that grows by prompts."""

    def __init__(self, root: Path, folder: int = 0) -> None:
        self.id, self.cwd = str(uuid.uuid4()), f"/home/dev/p{folder}"
        self.path = root / f"-home-dev-p{folder}" / f"{self.id}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)

    def line(self, text: str) -> bytes:
        record = {
            "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": self.cwd, "sessionId": self.id,
            "version": "2.1.240", "gitBranch": "main", "type": "user", "message": {"role": "user", "content": text},
            "uuid": str(uuid.uuid4()), "timestamp": "2026-11-30T12:00:00.000Z",
        }  # fmt: skip
        return json.dumps(record, separators=(",", ":")).encode() + b"\n"

    def append(self, *texts: str) -> None:
        with self.path.open("ab", buffering=0) as file:
            file.write(b"".join(map(self.line, texts)))


class Service:
    """`watch` over a folder's `projects`, asked about from outside."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "memory", folder / "projects"
        self.root.mkdir(exist_ok=True)
        words = ["watch", "--home", str(self.home), "--root", str(self.root)]
        # Vectors are made by a process of their own, which would only be in the way here: see vectors.py.
        quiet = {"TRANSCRIPT_INDEXER_LOG_LEVEL": "error", "TRANSCRIPT_INDEXER_VECTORS": "none"}
        env = {**os.environ, "HOME": str(folder), **quiet}
        self._process = subprocess.Popen(  # noqa: S603 - this very interpreter
            [sys.executable, "-m", "indexer", *words], env=env
        )
        self.settle()
        self._conn = sqlite3.connect(f"{(self.home / 'index.db').as_uri()}?mode=ro", uri=True)

    @property
    def cpu(self) -> float:
        """Seconds on a processor so far, all threads."""
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    @property
    def rss(self) -> float:
        """Resident megabytes."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def settle(self) -> None:
        """Wait until it says that nothing is left to read."""
        while not self._is_settled():
            if self._process.poll() is not None:
                raise SystemExit(f"the service ended by itself: {self._process.returncode}")
            time.sleep(0.2)

    def _is_settled(self) -> bool:
        try:
            said = json.loads((self.home / "status.json").read_text())
        except (OSError, ValueError):
            return False
        return said["pending_files"] == 0 and said["directories"] is not None

    def matches(self, word: str) -> int:
        sql = "SELECT count(*) FROM search_fts WHERE search_fts MATCH ?"
        return int(self._conn.execute(sql, (word,)).fetchone()[0])

    def prompts_after(self, last: int) -> list[str]:
        rows = self._conn.execute("SELECT prompt_text FROM user_prompts WHERE id > ?", (last,))
        return [text for (text,) in rows]

    def count(self) -> int:
        return int(self._conn.execute("SELECT coalesce(max(id), 0) FROM user_prompts").fetchone()[0])

    def stop(self) -> None:
        self._conn.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


@contextmanager
def service(lay: Callable[[Path], None] = lambda _: None) -> Iterator[Service]:
    """A service over a new folder in which `lay` has put transcripts."""
    folder = Path(tempfile.mkdtemp(prefix="watching"))
    (folder / "projects").mkdir()
    lay(folder / "projects")
    served = Service(folder)
    try:
        yield served
    finally:
        served.stop()
        shutil.rmtree(folder)


def spread(seconds: list[float]) -> str:
    return f"p50 {median(seconds) * 1000:.0f} ms, p99 {quantiles(seconds, n=100)[98] * 1000:.0f} ms"


def latency(quick: bool) -> Iterator[Row]:
    """Append, and ask until it is found."""
    with service() as served:
        yield Row("found, 1 line a second", spread(list(_one_by_one(served, 10 if quick else 60))), "p50 <= 60 ms")
        rate = spread(_a_thousand_a_second(served, 5 if quick else 30))
        yield Row("found, 1,000 lines a second", rate, "p99 <= 500 ms")


def _one_by_one(served: Service, times: int) -> Iterator[float]:
    session = Transcript(served.root)
    for number in range(times):
        word = f"needle{number:06}"
        began = time.perf_counter()
        session.append(f"look for {word} here")
        while not served.matches(word):
            time.sleep(POLL)
        took = time.perf_counter() - began
        time.sleep(max(0.0, 1.0 - took))
        yield took


def _a_thousand_a_second(served: Service, seconds: int) -> list[float]:
    sessions = [Transcript(served.root, number) for number in range(FILES)]
    written: dict[str, float] = {}
    took: list[float] = []
    first, number, began = served.count(), 0, time.perf_counter()
    while len(took) < seconds * 1000:
        while number < min(seconds * 1000, (time.perf_counter() - began) * 1000):
            written[f"line {number}"] = time.perf_counter()
            sessions[number % FILES].append(f"line {number}")
            number += 1
        found = served.prompts_after(first + len(took))
        took += [time.perf_counter() - written[text] for text in found]
        time.sleep(POLL)
    return took


def append(quick: bool) -> Iterator[Row]:
    """CPU from the hint to the commit, at five appends a second."""
    costs = []
    for size in (0, 300_000_000):
        with service(lambda root, size=size: _one_file(root, size)) as served:  # type: ignore[misc]
            session = Transcript(served.root)
            session.path = next(served.root.rglob("*.jsonl"))
            costs.append(_per_append(served, session, 50 if quick else 200))
            yield Row(f"append to a file of {size / 1e6:.0f} MB", f"{costs[-1] * 1000:.2f} ms CPU")
    yield Row("large : small", f"{costs[1] / costs[0]:.2f}", "about 1")


def _one_file(root: Path, size: int) -> None:
    session = Transcript(root)
    session.append("first")
    with session.path.open("ab") as file:
        filler = session.line("x").replace(b'"type":"user"', b'"type":"progress","data":{}').replace(b"x", b"x" * 5000)
        for _ in range(size // len(filler)):
            file.write(filler)


def _per_append(served: Service, session: Transcript, times: int) -> float:
    time.sleep(5)
    before = served.cpu
    for number in range(times):
        session.append(f"more {number}")
        time.sleep(0.2)
    return (served.cpu - before) / times


def idle(quick: bool) -> Iterator[Row]:
    """Nothing happens, for as long as the interval of full sweeps; --quick leaves the full sweep out. Both at once:
    neither does anything that the other would feel."""
    with ExitStack() as stack:
        served = [
            (files, bar, stack.enter_context(service(partial(_many, files=files))))
            for files, bar in ((5_000, 0.1), (50_000, 0.2))
        ]
        time.sleep(70)  # upkeep begins after a minute of rest
        before, seconds = [one.cpu for _, _, one in served], 40 if quick else 300
        time.sleep(seconds)
        for (files, bar, one), spent in zip(served, before, strict=True):
            share = 100 * (one.cpu - spent) / seconds
            yield Row(f"idle CPU at {files:,} files", f"{share:.3f} %", f"<= {bar} %")
            yield Row(f"memory at {files:,} files", f"{one.rss:.0f} MB", "<= 80 MB")


def _many(root: Path, files: int) -> None:
    for number in range(files):
        session = Transcript(root, number % FOLDERS)
        session.append(f"prompt {number}")
        os.utime(session.path, (1.7e9 + number, 1.7e9 + number))


def growth(quick: bool) -> Iterator[Row]:
    """Memory per 100,000 lines, once the first 200,000 have warmed all caches."""
    with service() as served:
        sessions = [Transcript(served.root, number) for number in range(FILES)]
        sizes = []
        for _ in range(4 if quick else 10):
            _feed(served, sessions)
            sizes.append(served.rss)
            yield Row(f"memory after {len(sizes) * CHUNK:,} lines", f"{sizes[-1]:.1f} MB", "<= 80 MB")
        grown = (sizes[-1] - sizes[1]) / (len(sizes) - 2)
        yield Row("growth per 100,000 lines", f"{grown:.2f} MB", "<= 1 MB")


def _feed(served: Service, sessions: list[Transcript]) -> None:
    """Append so many lines, never more than 5,000 ahead of the service."""
    goal, written = served.count() + CHUNK, served.count()
    while served.count() < goal:
        if written < goal and written - served.count() < 5_000:
            sessions[written // 100 % FILES].append(*(f"prompt {written + more}" for more in range(100)))
            written += 100
        else:
            time.sleep(0.005)


MEASURES: dict[str, Callable[[bool], Iterator[Row]]] = {
    "latency": latency, "append": append, "idle": idle, "growth": growth,
}  # fmt: skip


def main() -> None:
    """Print the table, a row as soon as it is measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=list(MEASURES))
    args = parser.parse_args()
    for name in args.only:
        for row in MEASURES[name](args.quick):
            print(f"{row.what:32}{row.value:32}{row.bar}", flush=True)


if __name__ == "__main__":
    main()
