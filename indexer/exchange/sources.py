"""What can be imported, as batches: an export, a copy of another machine's index.db, a claude-mem database.

A database is looked through to its end before the first batch is given out: one that turns out to be damaged
leaves nothing behind. A copy of a memory is brought to the present schema first, in a copy of our own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from indexer.errors import CorruptDatabase, IndexerError, UsageError
from indexer.exchange import claude_mem
from indexer.exchange.reading import Batch, batches, numbered, parsed
from indexer.store import exports, foreign
from indexer.store.claude_mem import Database
from indexer.store.connection import Connection, prepare_home
from indexer.store.migrations import migrate

_NEEDED = {"ingest_files", "sdk_sessions", "session_records", "user_prompts", "tool_uses", "observations"}
_NAMED = "SELECT 1 FROM sqlite_master WHERE name = 'device'"


@contextmanager
def of_file(path: Path, home: Path) -> Iterator[Iterable[Batch]]:
    """The batches of an export, or of a copy of index.db. home: of the memory they are for.

    Raises NotFound, UsageError, CorruptDatabase, NewerDatabase."""
    if not foreign.is_database(path):
        yield batches(parsed(path), path.name)
        return
    prepare_home(home)
    with foreign.opened(path, home, writable=True) as conn:
        _bring_up(conn, path)
        yield batches(numbered(exports.lines(conn)), path.name)


@contextmanager
def of_claude_mem(path: Path, home: Path, strong: Callable[[str], object]) -> Iterator[Iterable[Batch]]:
    """The batches of a claude-mem database. strong: whether a tool id means one call everywhere.

    Raises NotFound, UsageError, CorruptDatabase; IndexerError when somebody writes there all the time."""
    foreign.is_database(path)
    prepare_home(home)
    before = foreign.stands(path)
    with foreign.opened(path, home) as conn:
        database = Database(conn)
        for _ in claude_mem.lines(database, strong):
            pass
        if foreign.stands(path) != before:
            raise IndexerError(f"{path} is being written to", "stop claude-mem, then import again")
        yield batches(numbered(claude_mem.lines(database, strong)), path.name)


def _bring_up(conn: Connection, path: Path) -> None:
    """Bring a copy to the present schema. Raises CorruptDatabase for one that is not ours."""
    found = foreign.tables(conn)
    if "sdk_sessions" in found and "ingest_files" not in found:
        raise UsageError(f"{path} looks like a database of claude-mem", f"`import claude-mem {path}` takes it in")
    if not found.keys() >= _NEEDED:
        raise CorruptDatabase(f"{path} is no memory of transcript-indexer", "nothing was imported")
    named = conn.execute(_NAMED).fetchone()
    migrate(conn)
    if named is None:  # of a version that gave no name: the same one whenever this copy comes
        first = conn.execute("SELECT min(content_session_id) FROM sdk_sessions").fetchone()[0]
        name = hashlib.sha256(str(first).encode()).hexdigest()[:16]
        conn.execute("UPDATE device SET id = ?", (name,))
