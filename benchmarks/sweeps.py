"""What one look at all transcripts costs: CPU of a full sweep and of a hot one when nothing has changed.

usage: python -m benchmarks sweeps [--files 5000,50000] [--rounds 5]

One process, one thread, warm cache; files of one line in 2,000 folders, as a person's after years. A full sweep every
300 s of 50,000 files is meant to take no more than 0.5 % of a core.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from indexer.app import source
from indexer.files.sweep import Sweeper

FOLDERS = 2_000
INTERVAL = 300


def lay(root: Path, files: int) -> None:
    """So many transcripts, last written long ago."""
    for number in range(files):
        folder = root / f"-home-dev-p{number % FOLDERS}"
        folder.mkdir(exist_ok=True)
        path = folder / f"{number:08d}-0000-4000-8000-000000000000.jsonl"
        path.write_bytes(b'{"type":"user"}\n')
        os.utime(path, (1.7e9 + number, 1.7e9 + number))
    for folder in root.iterdir():
        os.utime(folder, (1.7e9, 1.7e9))


def spent(work: Callable[[], object], rounds: int) -> float:
    """CPU seconds, the median."""
    costs = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        costs.append(time.process_time() - began)
    return statistics.median(costs)


def rows(files: int, rounds: int) -> Iterator[str]:
    """Markdown rows for one tree."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        lay(root, files)
        sweeper = Sweeper([str(root)], source(), {})
        while changed := sweeper.full().changed:
            for found in changed:
                sweeper.settle(found.file.path, found.stat)
        full, hot = spent(sweeper.full, rounds), spent(sweeper.hot, rounds)
    yield f"| {files:,} | {full * 1000:.0f} ms | {hot * 1000:.1f} ms | {100 * full / INTERVAL:.3f} % |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks sweeps", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--files", default="5000,50000")
    parser.add_argument("--rounds", default=5, type=int)
    args = parser.parse_args(argv)
    print(f"| files | full sweep, CPU | hot sweep, CPU | of a core, a full one every {INTERVAL} s |\n|---|---|---|---|")
    for files in map(int, args.files.split(",")):
        for row in rows(files, args.rounds):
            print(row, flush=True)


if __name__ == "__main__":
    main()
