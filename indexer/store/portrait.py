"""A project as its page shows it: what its sessions came to, which files were touched, which folders are it.

Files are counted over the last calls only: all of a large project's would be read from its disk pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from indexer.store.connection import Connection
from indexer.store.reads import merge_newest

WRITING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
LOOKED_AT = 5_000
"""Calls, the last ones."""
NEWEST_SUMMARIES_TOLD = """
SELECT y.id, s.content_session_id AS session, y.created_at_epoch AS time, coalesce(y.request, '') AS request,
       coalesce(y.completed, y.learned, y.investigated, '') AS outcome
FROM session_summaries y JOIN sdk_sessions s ON s.memory_session_id = y.memory_session_id
WHERE y.project_key = :key ORDER BY y.created_at_epoch DESC, y.id LIMIT :limit
"""
NEWEST_FILES = """
SELECT t.file_path AS file, t.tool_name AS tool
FROM tool_uses t WHERE t.project_key = :key ORDER BY t.created_at_epoch DESC, t.id LIMIT :limit
"""
FOLDERS = """
SELECT cwd, source, coalesce(root, '') AS root FROM project_resolutions
WHERE project_key = :project ORDER BY cwd LIMIT 50
"""


class Told(NamedTuple):
    """A summary in short. time: epoch milliseconds or None."""

    id: int
    session: str
    time: int | None
    request: str
    outcome: str


class Touched(NamedTuple):
    """A file and how often calls named it; changed: of those, how often it was written."""

    file: str
    calls: int
    changed: int


class Folder(NamedTuple):
    """A working folder that was found to be the project, and by what. root: its repository's, or ""."""

    path: str
    source: str
    root: str


def summaries(conn: Connection, keys: Sequence[str], limit: int) -> list[Told]:
    """What sessions of these projects came to, the newest first."""
    branches = [conn.execute(NEWEST_SUMMARIES_TOLD, {"key": key, "limit": limit}) for key in dict.fromkeys(keys)]
    return [Told(*row) for row in islice(merge_newest(branches, "time"), limit)]


def files(conn: Connection, keys: Sequence[str], limit: int) -> list[Touched]:
    """The files that the last calls of these projects named most."""
    named, changed = Counter[str](), Counter[str]()
    for key in dict.fromkeys(keys):
        for row in conn.execute(NEWEST_FILES, {"key": key, "limit": LOOKED_AT}):
            if row["file"]:
                named[row["file"]] += 1
                changed[row["file"]] += row["tool"] in WRITING
    most = sorted(named.items(), key=lambda one: (-one[1], one[0]))[:limit]
    return [Touched(file, number, changed[file]) for file, number in most]


def folders(conn: Connection, keys: Sequence[str]) -> list[Folder]:
    """Folders that were resolved to these projects."""
    return [Folder(*row) for key in dict.fromkeys(keys) for row in conn.execute(FOLDERS, {"project": key})]
