"""The same tree read by other programs, where they are installed: CPU, time, memory and disk, ours among them.

usage: python -m benchmarks peers TREE [TREE ...] [--bin FOLDER]

Programs are looked for in FOLDER (a virtual environment's bin; the variable PEERS says it too) and on PATH:

    python3 -m venv peers
    peers/bin/pip install agentsview==0.46.1 claude-recall==0.9.2 claude-session-search==0.2.0

Each gets a HOME of its own in which .claude is the tree, and, where the kernel allows it, no network. They do not do
the same: agentsview stores sessions, messages and tool calls, the other two messages; ours stores every tool call with
input and result, indexes, redacts, archives and compresses. So the table says what was spent, not who is better.
`again` is the same command with nothing changed. One run each.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
OURS = "transcript-indexer"
COMPILED = str(Path(tempfile.gettempdir(), "benchmarks-compiled"))
"""Where Python keeps compiled modules between the runs: what pip has installed is compiled too."""


class Peer(NamedTuple):
    """A program: its command, how it tells its version, and what it keeps of a transcript."""

    command: tuple[str, ...]
    version: tuple[str, ...]
    keeps: str


PEERS: dict[str, Peer] = {
    OURS: Peer((), (), "prompts, answers, tool calls with input and result, full text, archive, observations"),
    "agentsview": Peer(("agentsview", "sync"), ("agentsview", "version"), "sessions, messages, tool calls, full text"),
    "claude-recall": Peer(("claude-recall", "index"), ("claude-recall", "--version"), "messages, full text"),
    "claude-session-search": Peer(("claude-session-search", "--reindex"), (), "messages, full text"),
}


class Cost(NamedTuple):
    """Of one process and its children: CPU and wall seconds, peak resident MB."""

    cpu: float
    wall: float
    rss: float


def found(name: str, folder: str) -> str | None:
    """Where a program stands."""
    return shutil.which(name, path=os.pathsep.join(filter(None, [folder, os.environ.get("PATH", "")])))


def offline() -> list[str]:
    """What to put before a command so that it has no network; nothing where that is not to be had."""
    words = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        subprocess.run([*words, "true"], check=True, capture_output=True)  # noqa: S603 - constants
    except (OSError, subprocess.CalledProcessError):
        return []
    return words


def run(words: Sequence[str], home: Path) -> Cost:
    """Run a command to its end. Raises CalledProcessError."""
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(ROOT), "AGENTSVIEW_NO_DAEMON": "1"}
    env |= {
        "PYTHONPYCACHEPREFIX": COMPILED,
        "DO_NOT_TRACK": "1",
        "LANG": "C.UTF-8",
        "TRANSCRIPT_INDEXER_VECTORS": "none",
    }
    began = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - named above
        words, env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(words))
    return Cost(used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024)


def stored(home: Path) -> float:
    """MB that a program has left in its home, the tree apart."""
    files = (Path(folder, name) for folder, _, names in os.walk(home) for name in names)
    return sum(path.stat().st_size for path in files if not path.is_symlink()) / 1e6


def version_of(peer: Peer, folder: str, home: Path) -> str:
    """As the program says it; "" if it does not."""
    if not peer.version:
        return ""
    words = [found(peer.version[0], folder) or "", *peer.version[1:]]
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)  # noqa: S603 - named above
    return next((word.strip("v(),") for word in done.stdout.split() if any(map(str.isdigit, word))), "")


def row(name: str, tree: Path, folder: str) -> str:
    """One program's, or why there is none."""
    peer = PEERS[name]
    program = sys.executable if name == OURS else found(peer.command[0], folder)
    if program is None:
        return f"| {name} | not installed here | | | | | {peer.keeps} |"
    words = [*offline(), program, *(("-m", "indexer", "rescan") if name == OURS else peer.command[1:])]
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch)
        (home / ".claude").symlink_to(tree / ".claude")
        if name == OURS:
            run([program, "-m", "indexer", "rescan", "--help"], home)
            run([program, "-m", "compileall", "-q", str(ROOT / "indexer")], home)
        try:
            cold, again = run(words, home), run(words, home)
        except subprocess.CalledProcessError as error:
            return f"| {name} | ended with {error.returncode} | | | | | {peer.keeps} |"
        shown = " ".join(filter(None, [name, version_of(peer, folder, home)]))
        figures = f"{cold.cpu:.2f} | {cold.wall:.2f} | {cold.rss:.0f} | {again.cpu:.2f} | {stored(home):.0f}"
        return f"| {shown} | {figures} | {peer.keeps} |"


def table(tree: Path, folder: str) -> Iterator[str]:
    """Markdown, for one tree."""
    size = sum(path.stat().st_size for path in tree.rglob("*.jsonl")) / 1e6
    yield f"\n**{tree.name}** ({size:.0f} MB of transcripts{'' if offline() else '; with a network'})\n"
    yield "| program | CPU s | wall s | memory MB | again, CPU s | on disk MB | keeps |\n|---|---|---|---|---|---|---|"
    for name in PEERS:
        yield row(name, tree, folder)


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table for each tree."""
    parser = argparse.ArgumentParser(prog="benchmarks peers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("trees", nargs="+", type=Path)
    parser.add_argument("--bin", default=os.environ.get("PEERS", ""))
    args = parser.parse_args(argv)
    for tree in args.trees:
        for line in table(tree.resolve(), args.bin):
            print(line, flush=True)


if __name__ == "__main__":
    main()
