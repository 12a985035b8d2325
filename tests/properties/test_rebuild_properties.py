"""Whatever is left of the transcripts, a rebuild gives what was there: every row, under its old id."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import NamedTuple, TypeAlias

from daemons import settings as configured
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st
from stores import check
from worlds import World, worlds

from indexer.archive.keep import Archive
from indexer.config import Config
from indexer.files.discover import discover
from indexer.ingest import Ingest, Size
from indexer.project import Resolver
from indexer.rescan import rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import open_writer
from indexer.store.migrations import migrate

SOURCE = ClaudeCode()
PHASES = (
    [each for each in Phase if each is not Phase.explain]
    if not os.environ.get("NOSHRINK")
    else [Phase.explicit, Phase.generate]
)
TABLES = (
    "sdk_sessions", "user_prompts", "assistant_messages", "assistant_texts", "tool_uses", "session_records",
    "session_files", "session_agents", "session_titles", "turn_events", "unmatched_results", "queue_operations",
    "search_texts", "projects", "project_resolutions", "dead_letters", "archive_chunks", "archive_extents",
    "ingest_files",
)  # fmt: skip
_NOT_COMPARED = {
    "committed_at",
    "status",
    "size",
    "ctime_ns",
    "completed_at",
    "completed_at_epoch",
    "last_error",
    "generation",
    "mtime_ns",
}
"""Of files: how often they were read, and whether they went; of sessions: what goes by the clock."""


Rows: TypeAlias = dict[str, list[str]]


class Loss(NamedTuple):
    """seed: of the order of reading. gone: which files go, by place. archived: whether there is an archive."""

    seed: int
    gone: frozenset[int]
    archived: bool
    turn: int


losses = st.builds(
    Loss, st.integers(0, 50), st.frozensets(st.integers(0, 9)), st.booleans(), st.sampled_from([1 << 20, 700, 1])
)


def held(home: Path) -> Rows:
    """Every row of every table, ids and all."""
    conn = sqlite3.connect(home / "index.db")
    found = {}
    for table in TABLES:
        names = [row[1] for row in conn.execute(f"PRAGMA table_info({table})") if row[1] not in _NOT_COMPARED]
        found[table] = sorted(map(repr, conn.execute(f"SELECT {', '.join(names)} FROM {table}")))
    conn.close()
    return found


def read_in_any_order(config: Config, root: Path, loss: Loss) -> None:
    """As a service might have: file by file, in turns, in an order of its own."""
    conn = open_writer(config.home)
    migrate(conn)
    archive = Archive(conn, config.home) if loss.archived else None
    reader = Ingest(
        conn, SOURCE, Resolver(home="/nowhere"), limit=Size(1000, 1 << 20, 60.0, loss.turn), archive=archive
    )
    found = sorted(discover([str(root)], SOURCE), key=lambda each: each.file.path)
    random.Random(loss.seed).shuffle(found)
    for each in found:
        list(reader.run([each]))
    conn.close()


def lose(root: Path, loss: Loss) -> None:
    for place, path in enumerate(sorted(root.rglob("*.json*"))):
        if place in loss.gone:
            path.unlink()


def differences(before: Rows, after: Rows) -> dict[str, tuple[list[str], list[str]]]:
    """Per table, what is missing and what is new. Folders may be looked at in another order."""
    found = {}
    for table in before:
        missing = [row for row in before[table] if row not in after[table]]
        more = [row for row in after[table] if row not in before[table] and table != "project_resolutions"]
        if missing or more:
            found[table] = (missing, more)
    return found


def rebuilt(world: World, loss: Loss) -> dict[str, tuple[list[str], list[str]]]:
    folder = Path(tempfile.mkdtemp())
    try:
        root = folder / "projects"
        world.lay(root)
        config = configured(folder / "home", root, archive_enabled=loss.archived)
        read_in_any_order(config, root, loss)
        rescan(config, SOURCE, {})
        lose(root, loss)
        rescan(config, SOURCE, {})
        before = held(config.home)
        rescan(config, SOURCE, {}, rebuild=True)
        conn = open_writer(config.home)
        check(conn)
        conn.close()
        return differences(before, held(config.home))
    finally:
        shutil.rmtree(folder)


@settings(max_examples=int(os.environ.get("REBUILD_EXAMPLES", "40")), deadline=None, phases=PHASES)
@given(worlds(), losses)
def test_a_rebuild_gives_every_row_its_old_id_and_loses_none(world: World, loss: Loss) -> None:
    wrong = rebuilt(world, loss)
    for table, (missing, more) in wrong.items():
        note(f"{table}\n  - " + "\n  - ".join(missing) + "\n  + " + "\n  + ".join(more))
    assert wrong == {}
