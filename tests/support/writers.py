"""A client that writes several sessions at once and notes what it has written: the oracle of crash tests.

A record is noted once its write has returned. What is torn for good is never noted. Weather is what else
befalls transcripts: they are moved, replaced, truncated and rewritten, copied, deleted and restored. All
that is noted stands on disk when the writer has ended.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from transcripts import Transcript, line

SESSIONS = 6
WORDS = ("naïve", "größer", "日本語", "plain", "🙂🙂", "ascii words only", 'quotes "and" \\ slashes')


class Noted(NamedTuple):
    """A record of the oracle. kind: prompt or call."""

    kind: str
    session: str
    id: str
    text: str


def noted(oracle: Path) -> list[Noted]:
    """All that the writer says to have written."""
    return [Noted(*json.loads(entry)) for entry in oracle.read_text(encoding="utf-8").splitlines()]


class Session:
    """One transcript: the bytes it should hold, and where it stands now."""

    def __init__(self, name: str, root: Path, rng: random.Random) -> None:
        self.made = Transcript(name, f"/home/dev/{name}")
        self.path, self.root, self.rng = self.made.path(root), root, rng
        self.data = b""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()

    def next(self) -> tuple[bytes, Noted]:
        """The lines of one more prompt, or of a call with its answer."""
        made, text = self.made, f"{self.rng.choice(WORDS)} {self.made.step} {self.rng.choice(WORDS)}"
        if self.rng.random() < 0.7:
            record = made.user(text)
            return line(record), Noted("prompt", made.session_id, record["uuid"], text)
        call = made.tool("Bash", {"command": text}, f"out of {text}")
        return b"".join(map(line, made.records[-2:])), Noted("call", made.session_id, call, text)

    def append(self, data: bytes, pieces: int) -> None:
        """Write in so many pieces, wherever that cuts."""
        self.made.records.clear()
        cuts = sorted(self.rng.sample(range(1, len(data)), pieces - 1))
        with self.path.open("ab", buffering=0) as file:
            for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
                file.write(data[start:end])
                if end < len(data):
                    time.sleep(self.rng.random() / 500)
        self.data += data

    # -- weather ---------------------------------------------------------------------------------------

    def _elsewhere(self) -> Path:
        folder = self.root / f"-home-dev-{self.rng.choice('uvw')}"
        folder.mkdir(exist_ok=True)
        return folder / self.path.name

    def _scratch(self) -> Path:
        scratch = self.path.with_suffix(".new")
        scratch.write_bytes(self.data)
        return scratch

    def move(self) -> None:
        """To another project's folder."""
        self.path = self.path.rename(self._elsewhere())

    def replace(self) -> None:
        """By a file of the same content."""
        self._scratch().replace(self.path)

    def rewrite(self) -> None:
        """In place, from nothing, in pieces, with the older half and the newer in turn."""
        lines = self.data.splitlines(keepends=True)
        half = len(lines) // 2
        self.data = b"".join([*lines[half:], *lines[:half]]) if all(map(_whole, lines)) else self.data
        with self.path.open("wb", buffering=0) as file:
            for start in range(0, len(self.data), 5000):
                file.write(self.data[start : start + 5000])

    def copy(self) -> None:
        """Under another name, for good."""
        self.path.with_name(f"{self.path.stem[:8]}-copy.jsonl").write_bytes(self.data)

    def lose(self) -> None:
        """Delete, and restore under the same name or another."""
        self.path.unlink()
        time.sleep(self.rng.random() / 100)
        self.path = self.rng.choice([self.path, self._elsewhere()])
        self.path.write_bytes(self.data)

    def truncate(self) -> None:
        """To some byte, and have it written again from there."""
        at = self.rng.randrange(len(self.data) + 1)
        os.truncate(self.path, at)
        time.sleep(self.rng.random() / 100)
        with self.path.open("ab") as file:
            file.write(self.data[at:])

    def tear(self) -> None:
        """A line that was never finished, or a hole; the next one is glued on."""
        data = self.next()[0]
        self.append(data[: self.rng.randrange(1, len(data) - 1)] if self.rng.random() < 0.7 else bytes(500), 1)


def _whole(data: bytes) -> bool:
    return data.startswith(b"{") and data.endswith(b"}\n")


def swap(one: Session, other: Session) -> None:
    """Two transcripts take each other's name."""
    scratch = one.path.with_suffix(".swap")
    one.path.rename(scratch)
    other.path.rename(one.path)
    scratch.rename(other.path)
    one.path, other.path = other.path, one.path


def write(root: str, oracle: str, seed: int, bad_weather: bool) -> None:
    """Write until a file named as the oracle and `.stop` appears."""
    rng = random.Random(seed)
    sessions = [Session(f"s{number}", Path(root), rng) for number in range(SESSIONS)]
    stop = Path(f"{oracle}.stop")
    with Path(oracle).open("ab", buffering=0) as book:
        while not stop.exists():
            session = rng.choice(sessions)
            if bad_weather and session.data and rng.random() < 0.03:
                _befall(rng, session, sessions)
            data, note = session.next()
            session.append(data, rng.choice((1, 1, 1, 2, 2, 4)))
            book.write(json.dumps(note).encode() + b"\n")
            time.sleep(rng.random() / 500)


def _befall(rng: random.Random, session: Session, sessions: list[Session]) -> None:
    deeds: list[Callable[[], None]] = [
        session.move,
        session.replace,
        session.rewrite,
        session.copy,
        session.lose,
        session.truncate,
        session.tear,
        lambda: swap(session, rng.choice([other for other in sessions if other is not session])),
    ]
    rng.choice(deeds)()
