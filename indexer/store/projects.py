"""Aliases of projects: a moved project's old key is read as its new one, and can be taken back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from indexer.project import fold


def set_aliases(conn: sqlite3.Connection, aliases: Iterable[tuple[str, str]]) -> None:
    """Make the stored aliases those of the configuration; in the caller's transaction.

    aliases: pairs (old key, key) as spelled; keys are folded. Writes nothing when nothing changed.
    """
    wanted = {(fold(old), fold(new)) for old, new in aliases}
    stored = {tuple(row) for row in conn.execute("SELECT alias_key, project_key FROM project_aliases")}
    conn.executemany("DELETE FROM project_aliases WHERE alias_key = ? AND project_key = ?", sorted(stored - wanted))
    conn.executemany("INSERT OR REPLACE INTO project_aliases VALUES (?, ?)", sorted(wanted - stored))
