"""Takes names through the redaction rules, of projects and folders above all: one may be named for a secret.

A key that comes out otherwise is replaced wherever it stands, in every table that has such a column; so is the
name that people see. Which columns these are is read from the schema. All in one transaction: there are few.
A key is folded, so a rule may not know in it what it knows in the path; where the path is kept beside it, the
key is made of that again.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator

from indexer.project import fold

KEYS = ("project_key", "merged_into_project", "alias_key")
NAMES = ("project", "display", "cwd", "root")
WORDS = (
    *("model", "observed_model", "generated_by_model", "observed_billing", "client_version", "version", "last_version"),
    *("agent_type", "detail", "type", "error", "last_error", "reason", "ignored", "operation"),
)
"""Columns with such names, in whatever table: names of people's things, and single words of whatever the
client wrote, of which there are few."""
_UNIQUE = {("projects", "project_key"), ("project_aliases", "alias_key"), ("project_resolutions", "cwd")}


def columns(conn: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Every table and column of the schema that holds text."""
    tables = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    for (table,) in conn.execute(f"{tables} AND name NOT LIKE 'search_fts%' ORDER BY name").fetchall():
        for row in conn.execute(f"PRAGMA main.table_info({table})"):
            if str(row[2]).upper() in ("TEXT", ""):
                yield table, row[1]


def redact_names(conn: sqlite3.Connection, text: Callable[[str], str]) -> Counter[str]:
    """Redact every name of a project or folder; returns how many rows of which table changed. In the caller's
    transaction."""
    changed: Counter[str] = Counter()
    known = list(columns(conn))
    keys = _new_keys(conn, text, known)
    for table, column in known:
        if column in KEYS:
            for old, new in keys.items():
                changed[table] += _replace(conn, table, column, old, new)
        elif column in NAMES or column in WORDS:
            values = conn.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL").fetchall()
            for (value,) in values:
                if value and (new := text(value)) != value:
                    changed[table] += _replace(conn, table, column, value, new)
    return +changed


def _new_keys(conn: sqlite3.Connection, text: Callable[[str], str], known: list[tuple[str, str]]) -> dict[str, str]:
    """Keys that come out otherwise, and how."""
    spelled: dict[str, str] = {}
    for key, *paths in conn.execute("SELECT project_key, display, cwd, root FROM project_resolutions"):
        spelled.update((key, path) for path in paths if path and fold(path) == key)
    keys = set(spelled)
    for table, column in known:
        if column in KEYS:
            found = conn.execute(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL")
            keys |= {key for (key,) in found}
    new = {key: fold(text(spelled[key])) if key in spelled else text(key) for key in keys if key}
    return {key: value for key, value in new.items() if value != key}


def _replace(conn: sqlite3.Connection, table: str, column: str, old: str, new: str) -> int:
    """Put a name in another's place; where the other stands already, the one goes."""
    conflict = "OR IGNORE" if (table, column) in _UNIQUE else ""
    count = conn.execute(f"UPDATE {conflict} {table} SET {column} = ? WHERE {column} = ?", (new, old)).rowcount
    if conflict:
        count += conn.execute(f"DELETE FROM {table} WHERE {column} = ?", (old,)).rowcount
    return count
