"""A HOME with the hand-filled memory (tests/fixtures/memory.sql), and calls of the command line on it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from indexer.cli import main
from indexer.store.connection import open_writer
from indexer.store.migrations import migrate

_UNSAFE = "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2066-\u2069]"
FIXTURES = Path(__file__).parent.parent / "fixtures"


class Answer(NamedTuple):
    """What one call printed and returned."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Call: TypeAlias = Callable[..., Answer]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """Run the command line in this process."""

    def run(*argv: str) -> Answer:
        code = main(argv)
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the hand-filled memory."""
    conn = open_writer(tmp_path / "memory")
    migrate(conn)
    conn.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    conn.close()
    return tmp_path / "memory"


@pytest.fixture
def edit(home: Path) -> Callable[..., None]:
    """Change the hand-filled memory by one statement."""

    def run(sql: str, *values: object) -> None:
        conn = open_writer(home)
        conn.execute(sql, values)
        conn.close()

    return run


@pytest.fixture
def ask(call: Call, home: Path) -> Call:
    """Run a command on the hand-filled memory."""
    return lambda *argv: call(*argv, "--home", str(home))


@pytest.fixture
def clean() -> Callable[[str], None]:
    """Check that a text holds no control or bidi characters but line breaks and our own styles."""

    def check(text: str) -> None:
        bare = re.sub(r"\x1b\[(0|1|2|36|1;31|1;33)m", "", text)
        assert re.findall(_UNSAFE, bare) == []
        assert "owned" not in bare

    return check
