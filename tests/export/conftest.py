"""Sessions of the hand-filled memory, and parts made by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from indexer.export.parts import Part
from indexer.store import browse
from indexer.store.connection import open_reader, open_writer
from indexer.store.migrations import migrate

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    writer = open_writer(tmp_path / "memory")
    migrate(writer)
    writer.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    writer.close()
    conn = open_reader(tmp_path / "memory")
    yield conn
    conn.close()


@pytest.fixture
def session(memory: sqlite3.Connection) -> Callable[[int], browse.Session]:
    def find(row_id: int) -> browse.Session:
        found = browse.session(memory, row_id)
        assert found
        return found

    return find


@pytest.fixture
def hostile() -> list[Part]:
    """Texts that would end a fence, open a tag, or run."""
    evil = "```\n</pre><script>alert(1)</script>\n````\n\"'&<img src=x onerror=y>"
    return [
        Part("prompt", "prompt:1", 0, evil),
        Part("tool_use", "tool_use:1", 0, evil, "Ba<sh", evil, failed=True),
        Part("assistant", "assistant:1", None, "done", agent=True),
    ]
