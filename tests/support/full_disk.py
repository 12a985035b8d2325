"""A service on a disk that fills up and is then given room, in a process of its own.

usage: full_disk.py FOLDER tmpfs|limit

tmpfs  FOLDER/home is a file system of 3 MB (the caller mounts it, in a namespace), enlarged afterwards
limit  no file may grow beyond 3 MB (RLIMIT_FSIZE): SQLite calls that an I/O error

Prints, as JSON, what `status` said while the disk was full and afterwards, and the prompts remembered.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from daemons import Service, settings
from transcripts import Transcript

from indexer import status_file

LINES, LENGTH = 400, 20_000
SMALL = 3 << 20


def lay(root: Path) -> None:
    for name in "ab":
        session = Transcript(name)
        for number in range(LINES // 2):
            session.user(f"{name}{number} " + f"{number} word " * (LENGTH // 10))
        session.write(root)


def limit(_: Path, size: int | None) -> None:
    """Let files grow so far, or as far as they may."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))


def remount(home: Path, size: int | None) -> None:
    """Give the mounted file system room; it is small to begin with."""
    if size is None:
        subprocess.run(["mount", "-o", "remount,size=200m", str(home)], check=True)


def told(service: Service) -> dict[str, Any]:
    """What the service says by now."""
    service.now += 60
    service.daemon.step()
    return status_file.read(service.config.home, os.getpid()) or {}


def main(folder: Path, how: str) -> None:
    resize = {"tmpfs": remount, "limit": limit}[how]
    lay(folder / "projects")
    service = Service(settings(folder / "home", folder / "projects"))
    resize(folder / "home", SMALL)
    service.settle()
    during = told(service)
    resize(folder / "home", None)
    service.now += 60
    service.settle()
    after = told(service)
    held = service.daemon._conn.execute(
        "SELECT count(*), count(DISTINCT native_prompt_id) FROM user_prompts"
    ).fetchone()
    whole = service.daemon._conn.execute("PRAGMA integrity_check").fetchone()[0]
    service.stop()
    print(json.dumps({"during": during, "after": after, "held": list(held), "whole": whole}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
