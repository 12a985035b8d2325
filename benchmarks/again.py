"""What becomes of the vectors' folder when the same sessions are indexed again and again.

    python -m benchmarks again [--sessions 1000] [--times 20] [--models hashing]

The sessions are those of sessions.py. Each time all transcripts are read again (every fifth time into a new
database, as `rescan --rebuild` does) and `vectors sync` looks at every row. Prints documents and bytes after the
first time and each further one, and at the end whether Chroma holds what SQLite does.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.sessions import fillers, lay, topics
from indexer import app, config
from indexer.errors import IndexerError
from indexer.store.vectors import folder
from indexer.worker import client
from indexer.worker.report import gaps, size_of


def ordered(home: Path, operation: str) -> dict[str, Any]:
    """Have the worker do it, and wait until nothing is left to do."""
    order = 0
    while True:
        try:
            order = order or int(client.request(home, {"op": operation}, 10)["order"])
            state = client.request(home, {"op": "status"}, 30)
            left = sum(arm["waiting"] + arm["unindexed"] for arm in state["arms"])
            if state["done"] >= order and state["swept"] and not left:
                return state
        except (IndexerError, KeyError):
            order = 0
            if not client.alive(home):
                client.start_once(home)
        time.sleep(0.2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--models", default="hashing")
    args = parser.parse_args()
    os.environ["TRANSCRIPT_INDEXER_VECTORS_MODELS"] = args.models
    written = [*topics(), *fillers(random.Random(11), args.sessions - len(topics()))]
    with tempfile.TemporaryDirectory() as place:
        lay(Path(place, "projects"), written, None)
        settings = config.load(str(Path(place, "home")), [str(Path(place, "projects"))])
        first = 0
        for number in range(1, args.times + 1):
            app.rescan(settings, rebuild=number % 5 == 0)
            state = ordered(settings.home, "sync")
            size = size_of(folder(settings.home))
            first = first or size
            documents = sum(arm["indexed"] for arm in state["arms"])
            grown = 100 * size / first - 100
            print(f"{number:3} {documents:,} documents in Chroma, {size / 1e6:.1f} MB, {grown:+.1f} %", flush=True)
        state = ordered(settings.home, "check")
        print("differences:", gaps(state) or "none")
        client.request(settings.home, {"op": "stop"})


if __name__ == "__main__":
    main()
