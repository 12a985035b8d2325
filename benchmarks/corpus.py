"""Makes a tree of transcripts for the other benchmarks: any size, always the same for one seed, with its true counts.

usage: python -m benchmarks corpus OUT --size 50MB [--seed 1] [--bloat 0.85]

Lines are as long as in real transcripts (as counted in published ones: median 1.2 KB, 90 of 100 below 6 KB, 99
below 43 KB, mean 3.9 KB, most of it tool results); one text in four is Chinese. `--bloat` is the share of bytes
in `progress` records of 300 KB, which old clients wrote by the gigabyte. Writes OUT/.claude/projects and
OUT/manifest.json. No damage of any kind: that is for tests.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import uuid
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

MB = 1_000_000
POOL = 200_000
PROJECTS = 12
MEDIAN, SPREAD = 1_300, 1.5
"""Of the lengths of tool results, log-normal."""
LONGEST = 2 * MB
TOOLS = ("Bash", "Bash", "Bash", "Read", "Read", "Edit", "Grep", "Write", "WebFetch")
SYLLABLES = ("re", "co", "ta", "in", "ser", "mo", "lo", "ver", "dis", "pro", "al", "ex", "un", "bra", "ket", "sta")


class Texts:
    """Slices of two long texts: making up each anew would cost more than reading it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        words = ["".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(4_000)]
        names = ["_".join(chance.sample(words, 2)) for _ in range(1_000)]
        han = [
            "".join(chr(chance.randrange(0x4E00, 0x5A00)) for _ in range(chance.randint(1, 4))) for _ in range(2_000)
        ]
        self._pools = [
            self._pool(words, names),
            self._pool(words, names),
            self._pool(words, names),
            self._pool(han, names),
        ]

    def _pool(self, words: Sequence[str], names: Sequence[str]) -> str:
        """Lines of some ten words; ends of lines and quotation marks are what costs a JSON parser its time."""
        chance, lines, size = self._chance, list[str](), 0
        gap = "" if words[0] > "\u2000" else " "
        while size < POOL:
            line = [chance.choice(names) if chance.random() < 0.15 else chance.choice(words) for _ in range(10)]
            if chance.random() < 0.2:
                line[3] = f'"{line[3]}"'
            lines.append("    " * chance.randrange(3) + gap.join(line))
            size += len(lines[-1])
        return "\n".join(lines)

    def some(self, length: int) -> str:
        """About so many characters."""
        pool = self._chance.choice(self._pools)
        start = self._chance.randrange(len(pool) // 2)
        length = length // 3 if pool is self._pools[-1] else length  # a character of it takes three bytes
        found = pool[start : start + length]
        return found if len(found) >= length else (pool * (length // len(pool) + 1))[:length]


class Session:
    """One transcript's records, in order, a few seconds apart."""

    def __init__(self, chance: random.Random, texts: Texts, began: datetime) -> None:
        self.id = str(uuid.UUID(int=chance.getrandbits(128), version=4))
        self.cwd = f"/home/dev/project-{chance.randrange(PROJECTS)}"
        self._chance, self._texts, self._at = chance, texts, began
        self._parent: str | None = None

    def _record(self, kind: str, message: dict[str, Any], **more: Any) -> bytes:
        self._at += timedelta(seconds=self._chance.randint(1, 40))
        own = str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
        record = {
            "parentUuid": self._parent, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.id, "version": "2.1.240", "gitBranch": "main", "type": kind, "message": message,
            "uuid": own, "timestamp": self._at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), **more,
        }  # fmt: skip
        self._parent = own
        return orjson.dumps(record) + b"\n"

    def _answer(self, block: dict[str, Any]) -> bytes:
        message = {
            "id": f"msg_{self._chance.getrandbits(96):024x}", "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-5", "content": [block], "usage": {"input_tokens": 9, "output_tokens": 80},
        }  # fmt: skip
        return self._record("assistant", message)

    def turn(self, counts: Counter[str]) -> Iterator[bytes]:
        """A prompt, some calls with their results, an answer."""
        chance, some = self._chance, self._texts.some
        counts["prompts"] += 1
        yield self._record("user", {"role": "user", "content": some(chance.randint(20, 400))})
        for _ in range(chance.randint(3, 20)):
            name = chance.choice(TOOLS)
            counts["tool_uses"] += 1
            counts[f"tool:{name}"] += 1
            call = f"toolu_{chance.getrandbits(96):024x}"
            given = (
                {"command": some(60)} if name == "Bash" else {"file_path": f"{self.cwd}/src/{chance.randrange(99)}.py"}
            )
            if chance.random() < 0.3:
                signature = b64encode(chance.randbytes(450)).decode()
                yield self._answer({"type": "thinking", "thinking": some(200), "signature": signature})
            yield self._answer({"type": "tool_use", "id": call, "name": name, "input": given})
            length = min(LONGEST, int(chance.lognormvariate(math.log(MEDIAN), SPREAD)))
            result = {"type": "tool_result", "tool_use_id": call, "content": some(length)}
            yield self._record(
                "user", {"role": "user", "content": [result]}, toolUseResult=_raw(name, result["content"])
            )
        yield self._answer({"type": "text", "text": some(chance.randint(200, 2_000))})

    def progress(self) -> bytes:
        """What an old client repeated of a sub-agent, again and again."""
        data = {"type": "agent_progress", "text": self._texts.some(300_000)}
        return self._record("progress", {}, data=data).replace(b'"message":{},', b"")


def _raw(name: str, text: str) -> dict[str, Any]:
    """What the client keeps beside a result: the same text once more, and small facts."""
    if name == "Bash":
        return {"stdout": text, "stderr": "", "interrupted": False, "isImage": False}
    lines = text.count("\n") + 1
    return {"type": "text", "file": {"content": text, "numLines": lines, "startLine": 1, "totalLines": lines}}


def lay(out: Path, size: int, seed: int = 1, bloat: float = 0.0) -> dict[str, int]:
    """Write about `size` bytes of transcripts below `out`; returns the counts, which manifest.json holds too."""
    chance = random.Random(seed)
    texts, counts, written = Texts(chance), Counter[str](), 0
    began = datetime(2026, 1, 5, 9, tzinfo=UTC)
    while written < size:
        session = Session(chance, texts, began)
        began += timedelta(hours=5)
        counts["sessions"] += 1
        folder = out / ".claude" / "projects" / session.cwd.replace("/", "-")
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{session.id}.jsonl").open("wb") as file:
            most = min(size - written, int(chance.lognormvariate(math.log(500_000), 0.8)))
            while file.tell() < most:
                file.writelines(session.turn(counts))
                plain = file.tell()
                while bloat and chance.random() < 0.9 and file.tell() - plain < plain * bloat / (1 - bloat):
                    file.write(session.progress())
            written += file.tell()
    (out / "manifest.json").write_text(json.dumps(counts, indent=1))
    return dict(counts)


def bytes_of(text: str) -> int:
    """`50MB`, `2GB` or a plain number as bytes."""
    units = {"KB": 1_000, "MB": MB, "GB": 1_000 * MB}
    unit = next((unit for unit in units if text.upper().endswith(unit)), "")
    return int(float(text[: len(text) - len(unit)]) * units.get(unit, 1))


def main(argv: Sequence[str] | None = None) -> None:
    """Lay one tree and say what is in it."""
    parser = argparse.ArgumentParser(prog="benchmarks corpus", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", default="50MB", type=bytes_of)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--bloat", default=0.0, type=float)
    args = parser.parse_args(argv)
    counts = lay(args.out, args.size, args.seed, args.bloat)
    print(", ".join(f"{count:,} {name}" for name, count in counts.items() if ":" not in name))


if __name__ == "__main__":
    main()
