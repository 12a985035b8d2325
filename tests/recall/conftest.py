"""The hand-filled memory (tests/fixtures/memory.sql), and tools asked about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from indexer import config
from indexer.recall import tools
from indexer.store.connection import open_writer
from indexer.store.migrations import migrate

FIXTURES = Path(__file__).parent.parent / "fixtures"
Ask: TypeAlias = Callable[..., Any]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the hand-filled memory, without the items of its own to-do list."""
    conn = open_writer(tmp_path / "memory")
    migrate(conn)
    conn.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    conn.execute("DELETE FROM work_state_origins")
    conn.execute("DELETE FROM work_state_entries")
    conn.close()
    return tmp_path / "memory"


@pytest.fixture
def edit(home: Path) -> Callable[..., None]:
    """Change the memory by one statement."""

    def run(sql: str, *values: object) -> None:
        conn = open_writer(home)
        conn.execute(sql, values)
        conn.close()

    return run


@pytest.fixture
def ask(home: Path) -> Ask:
    """The answer of a tool."""
    settings = config.load(home, (), {})
    return lambda name, **given: tools.call(settings, name, given)
