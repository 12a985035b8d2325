"""Writes a filled database of the present schema as SQL: tests/fixtures/schema/<version>.sql.

usage: python tests/support/schema_fixture.py

Run once for every new schema version, and never again for an old one: what a database of that version
looked like is what its migrations have to deal with.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from indexer.store.migrations import SCHEMA_VERSION, migrate

FIXTURES = Path(__file__).parent.parent / "fixtures"


def dump(conn: sqlite3.Connection) -> Iterator[str]:
    """Statements that make the database again: tables, rows, then indexes, triggers and the index."""
    objects = conn.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' "
        "AND name NOT LIKE 'search_fts_%' ORDER BY rowid"
    ).fetchall()
    tables = [(name, sql) for kind, name, sql in objects if kind == "table" and not sql.startswith("CREATE VIRTUAL")]
    yield from (f"{sql};" for _, sql in tables)
    for name, _ in tables:
        yield from _rows(conn, name)
    yield from (f"{sql};" for kind, name, sql in objects if (name, sql) not in tables)
    yield "INSERT INTO search_fts(search_fts) VALUES ('rebuild');"


def _rows(conn: sqlite3.Connection, table: str) -> Iterator[str]:
    # Computed columns are hidden from table_info, and cannot be inserted.
    names = ", ".join(row[1] for row in conn.execute(f"PRAGMA table_info({table})"))
    quoted = " || ', ' || ".join(f"quote({name})" for name in names.split(", "))
    for (values,) in conn.execute(f"SELECT {quoted} FROM {table}"):
        yield f"INSERT INTO {table} ({names}) VALUES ({values});"


def filled() -> sqlite3.Connection:
    """The hand-filled memory, with a date that does not change."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.execute("PRAGMA foreign_keys = ON")
    migrate(conn)
    conn.execute("UPDATE schema_versions SET applied_at = '2026-11-20T12:00:00.000Z'")
    conn.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    return conn


def main() -> None:
    """Write the file."""
    path = FIXTURES / "schema" / f"{SCHEMA_VERSION}.sql"
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(dump(filled())) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
