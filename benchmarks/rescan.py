"""What reading a history costs, as multiples of the least it could: a bare orjson.loads over every line.

usage: python -m benchmarks rescan TREE [TREE ...] [--rounds 3]

TREE holds `.claude/projects` (or is a projects folder itself) and, if the tree was generated, a
manifest.json with the true counts, which the memory's must equal. Every figure is CPU seconds (user and
system) of a process of its own, the median of the rounds; all rows of a round run one after the other,
so that a busy machine slows them alike. Absolute seconds mean little; compare the column `x`.

  floor       for line in file: orjson.loads(line)
  redact      for line in file: Redactor.line(line), nothing else
  core        a new memory without search texts and redaction: parse, extract, store, indexes
  unredacted  the same with search texts and the full-text index
  full        the same with redaction too
  archive     the same with the archive: what `rescan` does to capture; what it adds to `full` is the archive's cost
  memory      what observations and summaries add to that: `full` again and compressing, less `full`
  unchanged   `rescan` again
  replay      every file read again from 0 into the filled memory
  rebuild     `rescan --rebuild` with every transcript at hand
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import resource
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from indexer import compress, config
from indexer.app import compressor, rescan, source
from indexer.archive.keep import Archive
from indexer.files.discover import discover
from indexer.ingest import BULK, Ingest
from indexer.project import Resolver
from indexer.redact import Redactor
from indexer.store import bulk, redaction
from indexer.store.connection import transaction
from indexer.store.sessions import complete_idle


class Cost(NamedTuple):
    """Of one run: CPU seconds, peak resident MB."""

    cpu: float
    rss: float


def floor(root: Path, _: Path) -> None:
    for path in root.rglob("*.jsonl"):
        with path.open("rb", buffering=1 << 20) as file:
            for line in file:
                orjson.loads(line)


class Blind(Redactor):
    """Lets every line pass."""

    def line(self, data: bytes) -> bytes:
        return data


def redact(root: Path, _: Path) -> None:
    redactor = Redactor()
    for path in root.rglob("*.jsonl"):
        with path.open("rb", buffering=1 << 20) as file:
            for line in file:
                redactor.line(line)


def core(root: Path, home: Path) -> None:
    _load(root, home, Blind(), index_text=False)


def unredacted(root: Path, home: Path) -> None:
    _load(root, home, Blind(), index_text=True)


def full(root: Path, home: Path) -> None:
    _load(root, home, Redactor(), index_text=True)


def archive(root: Path, home: Path) -> None:
    _load(root, home, Redactor(), index_text=True, archived=True)


def remembering(root: Path, home: Path) -> None:
    _load(root, home, Redactor(), index_text=True, remember=True)


def _load(
    root: Path, home: Path, redactor: Redactor, *, index_text: bool, archived: bool = False, remember: bool = False
) -> None:
    shutil.rmtree(home, ignore_errors=True)
    gc.disable()  # as rescan does
    conn = bulk.open_side(home)
    redaction.adopt(conn, redactor.rules)
    reader = source()
    kept = Archive(conn, home, lazily=True) if archived else None
    if kept is not None:
        kept.idle_before = time.time_ns()  # nobody writes to a tree that was generated
    read = Ingest(conn, reader, Resolver(), index_text=index_text, limit=BULK, redactor=redactor, archive=kept)
    for _ in read.run(discover([str(root)], reader)):
        pass
    if kept is not None:
        kept.shelf.sync()
    if remember:
        with transaction(conn):
            complete_idle(conn, 1 << 60)
        compress.all_of(conn, compressor())
    bulk.publish(conn, home)


def unchanged(root: Path, home: Path) -> None:
    report = rescan(config.load(home, [str(root)]))
    if report.files_read:
        raise SystemExit(f"an unchanged tree was read: {report}")


def replay(root: Path, home: Path) -> None:
    with sqlite3.connect(home / "index.db") as conn:
        conn.execute("UPDATE ingest_files SET parser_version = -1, size = -1")
    conn.close()
    report = rescan(config.load(home, [str(root)]))
    if report.files_read != report.files_total:
        raise SystemExit(f"not every file was read again: {report}")


def rebuild(root: Path, home: Path) -> None:
    report = rescan(config.load(home, [str(root)]), rebuild=True)
    if report.files_read != report.files_total:
        raise SystemExit(f"not every file was read again: {report}")


MEASURES: dict[str, Callable[[Path, Path], None]] = {
    "floor": floor, "redact": redact, "core": core, "unredacted": unredacted, "full": full, "archive": archive,
    "with memory": remembering, "unchanged": unchanged, "replay": replay, "rebuild": rebuild,
}  # fmt: skip


def measure(name: str, root: Path, home: Path) -> Cost:
    """Run one measure in a process of its own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)

    def work() -> None:
        before = resource.getrusage(resource.RUSAGE_SELF)
        MEASURES[name](root, home)
        after = resource.getrusage(resource.RUSAGE_SELF)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        there.send(Cost(cpu, after.ru_maxrss / 1024))

    process = context.Process(target=work)
    process.start()
    cost: Cost = here.recv()
    process.join()
    return cost


def counts(home: Path) -> dict[str, int]:
    """The memory's own counts, by the names that manifest.json uses."""
    queries = {
        "sessions": "SELECT count(*) FROM sdk_sessions",
        "prompts": "SELECT count(*) FROM user_prompts WHERE prompt_kind = 'prompt'",
        "tool_uses": "SELECT count(*) FROM tool_uses",
    }
    with sqlite3.connect(home / "index.db") as conn:
        held = {name: conn.execute(sql).fetchone()[0] for name, sql in queries.items()}
        held |= {f"tool:{name}": n for name, n in conn.execute("SELECT tool_name, count(*) FROM tool_uses GROUP BY 1")}
    conn.close()
    return held


def table(tree: Path, rounds: int) -> Iterator[str]:
    """The lines of one tree's table."""
    root = tree / ".claude" / "projects" if (tree / ".claude").is_dir() else tree
    size = sum(path.stat().st_size for path in root.rglob("*.jsonl"))
    costs: dict[str, list[Cost]] = {name: [] for name in MEASURES}
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "home"
        for _ in range(rounds):
            for name in MEASURES:
                costs[name].append(measure(name, root, home))
        held = counts(home)
        database = (home / "index.db").stat().st_size
        kept = sum(path.stat().st_size for path in (home / "archive").rglob("*.chunk"))
    least = statistics.median(cost.cpu for cost in costs["floor"])
    yield f"{tree.name}: {size / 1e6:.0f} MB; database {database / 1e6:.0f} MB; medians of {rounds}"
    yield f"archive: {kept / 1e6:.0f} MB, {kept / size:.3f} x the transcripts"
    yield f"{'':12}{'CPU s':>9}{'s/GB':>8}{'x':>8}{'RSS MB':>9}"
    added = [Cost(a.cpu - b.cpu, a.rss) for a, b in zip(costs["with memory"], costs["full"], strict=True)]
    for name, runs in {**costs, "memory": added}.items():
        cpu = statistics.median(run.cpu for run in runs)
        rss = statistics.median(run.rss for run in runs)
        yield f"{name:12}{cpu:9.3f}{cpu / size * 1e9:8.2f}{cpu / least:8.2f}{rss:9.0f}"
    cost = statistics.median(run.cpu for run in costs["archive"]) - statistics.median(run.cpu for run in costs["full"])
    yield f"the archive's write cost: {cost:.3f} CPU s, {cost / size * 1e9:.2f} s/GB, {cost / least:.2f} x"
    yield from verdict(tree, held)


def verdict(tree: Path, held: dict[str, int]) -> Iterator[str]:
    """Whether the counts are those of the manifest."""
    manifest = tree / "manifest.json"
    if not manifest.exists():
        yield f"counts: {held['sessions']} sessions, {held['prompts']} prompts, {held['tool_uses']} tool uses"
        return
    truth: dict[str, Any] = json.loads(manifest.read_text())
    wrong = {name: (n, truth.get(name)) for name, n in held.items() if truth.get(name) != n}
    yield f"counts differ from manifest.json: {wrong}" if wrong else "counts equal manifest.json"


def main() -> None:
    """Print a table for each tree."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    for tree in args.trees:
        for line in table(tree, args.rounds):
            print(line)


if __name__ == "__main__":
    main()
