"""How soon a turn that was appended under `watch` is memory: observation, dedup, keywords, vectors, Chroma.

usage: python benchmarks/remembering.py [--turns 5]

Everything happens in a temporary folder, with a HOME of its own; the service is `watch` as installed, with
`dedup.enabled`, and no command is given. Each turn says what one before it said, so that dedup has to decide.
Printed are seconds from the append to when each can be seen, the median of the turns.

  observation   it stands in `observations`
  dedup         the earlier one counts it
  keywords      the full-text index finds it
  vector        its text has a vector of the most urgent model
  chroma        the Chroma index holds the document
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

LONGEST = 120.0
SESSION = str(uuid.UUID(int=7))


def record(kind: str, **fields: Any) -> dict[str, Any]:
    """A record of the client, as of now."""
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    return {
        "type": kind, "uuid": str(uuid.uuid4()), "sessionId": SESSION, "cwd": "/home/dev/shop", "version": "2.1.240",
        "timestamp": now, "isSidechain": False, **fields,
    }  # fmt: skip


def turn(number: int) -> Iterator[dict[str, Any]]:
    """A prompt, an edit, an answer, and the client's word that the turn has ended."""
    file, call = f"/home/dev/shop/list{number}.py", f"toolu_{uuid.uuid4().hex[:24]}"
    given = {"file_path": file, "old_string": "a // b", "new_string": "ceil(a / b)"}
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a // b", "+ceil(a / b)"]}
    yield record("user", message={"role": "user", "content": f"fix the paging of list {number}"})
    use = {"type": "tool_use", "id": call, "name": "Edit", "input": given}
    yield record("assistant", message={"id": f"m{uuid.uuid4()}", "role": "assistant", "content": [use]})
    result = {"type": "tool_result", "tool_use_id": call, "content": "updated"}
    detail = {"filePath": file, "structuredPatch": [hunk]}
    yield record("user", message={"role": "user", "content": [result]}, toolUseResult=detail)
    told = {"type": "text", "text": f"Fixed the paging of the list: the last page was lost.\n\nIn list{number}.py."}
    yield record("assistant", message={"id": f"m{uuid.uuid4()}", "role": "assistant", "content": [told]})
    yield record("system", subtype="turn_duration", durationMs=900)


@contextmanager
def service(home: Path, root: Path, env: dict[str, str]) -> Iterator[None]:
    """`watch`, until the end of the block."""
    command = [sys.executable, "-m", "indexer", "watch", "--home", str(home), "--root", str(root)]
    with subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - our own service
        try:
            yield
        finally:
            process.terminate()


def asked(home: Path, sql: str, *values: object) -> int:
    """A number out of the memory, 0 while there is none."""
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{home}/index.db?mode=ro", uri=True)) as conn:
        return int(conn.execute(sql, values).fetchone()[0] or 0)
    return 0


def vectors(home: Path, env: dict[str, str]) -> dict[str, int]:
    """Vectors of the first model, and documents of the Chroma index."""
    command = [sys.executable, "-m", "indexer", "vectors", "status", "--json", "--home", str(home)]
    done = subprocess.run(command, env=env, capture_output=True, check=False)  # noqa: S603 - our own command
    said = json.loads(done.stdout or b"{}")
    first = (said.get("arms") or [{"vectors": 0, "indexed": 0}])[0]
    return {"vector": first["vectors"], "chroma": first["indexed"]}


def waited(seen: Callable[[], bool], since: float, pause: float) -> float:
    """Seconds until something can be seen; infinity if it never can."""
    while time.monotonic() - since < LONGEST:
        if seen():
            return time.monotonic() - since
        time.sleep(pause)
    return float("inf")


def measure(turns: int) -> Iterator[dict[str, float]]:
    """What each turn took."""
    with tempfile.TemporaryDirectory() as scratch:
        home, root = Path(scratch, "home"), Path(scratch, "projects")
        file = root / "-home-dev-shop" / f"{SESSION}.jsonl"
        file.parent.mkdir(parents=True)
        env = {**os.environ, "HOME": scratch, "TRANSCRIPT_INDEXER_DEDUP_ENABLED": "true"}
        file.write_text("".join(json.dumps(one) + "\n" for one in turn(0)))
        with service(home, root, env):
            waited(lambda: vectors(home, env)["chroma"] > 0, time.monotonic(), 0.5)
            for number in range(1, turns + 1):
                yield _one(number, file, home, env)


def _one(number: int, file: Path, home: Path, env: dict[str, str]) -> dict[str, float]:
    before = vectors(home, env)
    with file.open("a") as out:
        out.write("".join(json.dumps(one) + "\n" for one in turn(number)))
    since = time.monotonic()
    counted = "SELECT max(occurrence_count) FROM observations"
    match = "SELECT count(*) FROM search_fts WHERE search_fts MATCH ?"
    return {
        "observation": waited(lambda: asked(home, "SELECT count(*) FROM observations") > number, since, 0.005),
        "dedup": waited(lambda: asked(home, counted) > number, since, 0.005),
        "keywords": waited(lambda: asked(home, match, f'"list{number}" AND "last page"') > 0, since, 0.005),
        "vector": waited(lambda: vectors(home, env)["vector"] > before["vector"], since, 0.2),
        "chroma": waited(lambda: vectors(home, env)["chroma"] > before["chroma"], since, 0.2),
    }


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--turns", type=int, default=5)
    found = list(measure(parser.parse_args().turns))
    for name in found[0]:
        times = sorted(one[name] for one in found)
        print(f"{name:12} {statistics.median(times):7.2f} s   ({times[0]:.2f} to {times[-1]:.2f})")


if __name__ == "__main__":
    main()
