"""The hand-filled memory (tests/fixtures/memory.sql), in memory, as a reader has it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from indexer.store import migrations

FIXTURES = Path(__file__).parent.parent / "fixtures"


@pytest.fixture
def memory() -> Iterator[sqlite3.Connection]:
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.row_factory = sqlite3.Row
    conn.execute("PRAGMA foreign_keys = ON")
    migrations.migrate(conn)
    conn.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    yield conn
    conn.close()
