"""Very long lines, very large files and very many: read in little memory, and starving nobody.

Each is read by a process of its own, whose peak of resident memory is what counts: without it, 30 to 50 MB.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pytest
from transcripts import Transcript, line

from indexer.files.tail import LONGEST

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the peak")]
MOST = 400
READ = """
import json, sqlite3, sys
from pathlib import Path
from indexer import app, config
home, root = sys.argv[1:]
report = app.rescan(config.load(home, [root], {}))
with sqlite3.connect(home + "/index.db") as conn:
    prompts = conn.execute("SELECT count(*) FROM user_prompts").fetchone()[0]
    letters = conn.execute("SELECT length, reason FROM dead_letters").fetchall()
status = Path("/proc/self/status").read_text().splitlines()
peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
print(json.dumps([peak, prompts, letters, report.bytes_read]))
"""


class Outcome(NamedTuple):
    """peak: MB. letters: length and reason of each."""

    peak: float
    prompts: int
    letters: list[list[Any]]
    size: int


Between = Callable[[BinaryIO], None]
Read = Callable[[Between], Outcome]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Read a session of two prompts with something between them, and a small session beside it."""

    def run(between: Between) -> Outcome:
        session, beside = Transcript("large"), Transcript("beside")
        path = session.path(tmp_path / "root")
        path.parent.mkdir(parents=True)
        with path.open("wb") as file:
            file.write(line(session.user("before")))
            between(file)
            file.write(line(session.user("after")))
        beside.user("beside")
        beside.write(tmp_path / "root")
        return reading(tmp_path)

    return run


def reading(folder: Path) -> Outcome:
    env = os.environ | {"PYTHONPATH": f"{os.environ['PYTHONPATH']}:{Path(__file__).parents[2]}"}
    command = [sys.executable, "-c", READ, str(folder / "home"), str(folder / "root")]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return Outcome(*json.loads(done.stdout))


def test_row_14_a_line_of_200_mb_is_passed_over_in_little_memory(read: Read) -> None:
    def between(file: BinaryIO) -> None:
        file.write(b'{"a":"')
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')

    found = read(between)
    assert (found.prompts, [length for length, _ in found.letters]) == (3, [200_000_008])
    assert found.peak < 100


def writing(piece: bytes, times: int = 1) -> Between:
    def write(file: BinaryIO) -> None:
        for _ in range(times):
            file.write(piece)

    return write


def longest(record: dict[str, Any], text: str) -> bytes:
    """A record as long as a line may be, of this text over and over."""
    data = line(record)
    room = LONGEST - len(data)
    whole = (text * (room // len(text.encode()))).encode()
    return data.replace(b"TEXT", whole)


PROMPT = Transcript("long").user("TEXT")
ANSWER = Transcript("long").text("TEXT")
RESULT = Transcript("long").result("toolu_" + "1" * 24, "TEXT")
CALL = Transcript("long").assistant(
    {"type": "tool_use", "id": "toolu_" + "1" * 24, "name": "Write", "input": {"content": "TEXT"}}
)


@pytest.mark.parametrize("text", ["word ", "项目", "line\\n"])
@pytest.mark.parametrize("record", [PROMPT, ANSWER, RESULT, CALL], ids=["prompt", "answer", "result", "call"])
def test_the_longest_line_there_may_be_is_read_in_400_mb(read: Read, record: dict[str, Any], text: str) -> None:
    found = read(writing(longest(record, text)))
    assert found.prompts == (4 if record is PROMPT else 3)
    assert found.letters == []
    assert found.peak < MOST


def test_four_lines_of_30_mb_are_no_worse_than_one(read: Read) -> None:
    def between(file: BinaryIO) -> None:
        for number in range(4):
            record = Transcript(f"long {number}").user("word " * 6_000_000)
            file.write(line(record))

    found = read(between)
    assert (found.prompts, found.letters) == (7, [])
    assert found.peak < MOST


def test_a_line_of_millions_of_values_is_a_dead_letter(read: Read) -> None:
    found = read(writing(b"[" + b"[]," * 10_000_000 + b"[]]\n"))
    assert (found.prompts, found.letters) == (3, [[30_000_004, "too-many-values"]])
    assert found.peak < MOST


def test_half_a_gigabyte_of_progress_records_is_read_in_little_memory(read: Read) -> None:
    """5 GB take 30 MB and ten times as long: 10 s."""
    record = Transcript("large").add("progress", data={"message": "y" * 1500})
    order = ("parentUuid", "isSidechain", "userType", "cwd", "sessionId", "version", "gitBranch", "type", "data")
    data = line({name: record[name] for name in (*order, "uuid", "timestamp")}) * 500
    found = read(writing(data, 500_000_000 // len(data)))
    assert found.size > 490_000_000
    assert (found.prompts, found.letters) == (3, [])
    assert found.peak < 100
