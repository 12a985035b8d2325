"""What tests of a running service say again and again; its fixtures stand in tests/conftest.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from daemons import Service
from memories import prompts
from transcripts import Transcript

from indexer.store.connection import open_reader

Start = Callable[..., Service]


def talk(name: str, *texts: str, cwd: str = "/home/dev/shop") -> Transcript:
    made = Transcript(name, cwd)
    for text in texts:
        made.user(text)
    return made


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def remembered(home: Path) -> list[str]:
    conn = open_reader(home)
    found = prompts(conn)
    conn.close()
    return found


def statuses(home: Path) -> list[str]:
    conn = open_reader(home)
    found = [status for (status,) in conn.execute("SELECT status FROM ingest_files ORDER BY id")]
    conn.close()
    return found
