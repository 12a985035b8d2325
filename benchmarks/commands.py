"""What a command costs as it is typed: CPU and wall time of a whole process, over a memory of a generated tree.

usage: python -m benchmarks commands [--size 50MB] [--rounds 9]

Vectors are off (their worker answers in a process of its own; see `vectors`). Medians; the bar for `search` is 100 ms
of CPU, Python's own start (10 to 15 ms) within. Search by words at a million rows is in `scale`.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks import corpus
from indexer import config
from indexer.app import rescan

ROOT = Path(__file__).parent.parent
COMMANDS: dict[str, tuple[str, ...]] = {
    "search WORD": ("search", "retaco"),
    "search two words": ("search", "inser", "mover"),
    "search, a question": ("search", "why", "does", "the", "cosermo", "exunta", "not", "inlover"),
    "search 时区 (nothing found)": ("search", "时区"),
    "search --json --limit 100": ("search", "ta", "--json", "--limit", "100"),
    "sessions": ("sessions",),
    "status": ("status",),
    "search --help": ("search", "--help"),
}


class Cost(NamedTuple):
    """Of one process: CPU and wall seconds."""

    cpu: float
    wall: float


def run(words: Sequence[str], env: dict[str, str]) -> Cost:
    """Run the program once."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "indexer", *words], env=env, check=True, capture_output=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Cost(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - began)


def rows(home: Path, root: Path, rounds: int) -> Iterator[str]:
    """Markdown rows, one a command."""
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "TRANSCRIPT_INDEXER_HOME": str(home), "HOME": str(home.parent),
        "TRANSCRIPT_INDEXER_ROOT": str(root), "TRANSCRIPT_INDEXER_VECTORS": "none",
        # Compiled once, as what pip installs is.
        "PYTHONPYCACHEPREFIX": str(home.parent / "compiled"), "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip
    for name, words in COMMANDS.items():
        run(words, env)
        costs = [run(words, env) for _ in range(rounds)]
        cpu, wall = (statistics.median(column) * 1000 for column in zip(*costs, strict=True))
        yield f"| `{name}` | {cpu:.0f} ms | {wall:.0f} ms |"


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="benchmarks commands", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", default="50MB", type=corpus.bytes_of)
    parser.add_argument("--rounds", default=9, type=int)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as scratch:
        tree, home = Path(scratch, "tree"), Path(scratch, "home")
        counts = corpus.lay(tree, args.size)
        root = tree / ".claude" / "projects"
        rescan(config.load(str(home), [str(root)]))
        print(f"| command, over {counts['tool_uses']:,} tool uses | CPU | wall |\n|---|---|---|")
        for row in rows(home, root, args.rounds):
            print(row, flush=True)


if __name__ == "__main__":
    main()
