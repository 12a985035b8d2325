"""Brings a database to the present schema, in steps that may each run twice.

A step looks at the database, not at a version number; its record is written last, in the step's own
transaction, so a crash between two statements leaves either the old state or the new one. A database
written by a newer program is refused rather than guessed at.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from indexer.errors import CorruptDatabase, NewerDatabase

_HERE = Path(__file__).parent
_TABLES = ("schema.sql", "memory.sql", "model.sql", "imports.sql")
_VERSION_COLUMNS = ["version", "name", "applied_at"]
"""Other programs have a table of that name too: claude-mem's begins with an id."""
_HAS_OURS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'ingest_files'"


class Step(NamedTuple):
    """One change of the schema. sql(conn) gives the statements, or "" when there is nothing to do."""

    version: int
    name: str
    sql: Callable[[sqlite3.Connection], str]


def _base(_: sqlite3.Connection) -> str:
    return tables() + (_HERE / "indexes.sql").read_text(encoding="utf-8")


def tables() -> str:
    """The statements that make the tables, and the indexes that writing needs."""
    return "".join((_HERE / name).read_text(encoding="utf-8") for name in _TABLES)


def _fts(conn: sqlite3.Connection) -> str:
    """The index takes in the texts that are there already: gathered without FTS5, or by a bulk load.

    Merging segments meanwhile costs 40 % more than leaving that to upkeep, which does it when idle."""
    if not has_fts5(conn):
        return ""
    return (
        (_HERE / "fts.sql").read_text(encoding="utf-8")
        + "INSERT INTO search_fts(search_fts, rank) VALUES ('automerge', 0);"
        "INSERT INTO search_fts(search_fts) VALUES ('rebuild');"
        "INSERT INTO search_fts(search_fts, rank) VALUES ('automerge', 4);"  # FTS5's default
    )


def _more_tables(_: sqlite3.Connection) -> str:
    """Tables that earlier versions lack: schema.sql has them, and every statement of it may run twice."""
    return tables()


def _memory(_: sqlite3.Connection) -> str:
    """Every session that is stored already is still to be compressed."""
    marks = "INSERT OR IGNORE INTO compress_marks (session_db_id) SELECT id FROM sdk_sessions;"
    return (_HERE / "memory.sql").read_text(encoding="utf-8") + marks


def _models(_: sqlite3.Connection) -> str:
    return (_HERE / "model.sql").read_text(encoding="utf-8")


def _imports(_: sqlite3.Connection) -> str:
    """The tables, and the name of this memory."""
    name = "INSERT INTO device SELECT lower(hex(randomblob(8))) WHERE NOT EXISTS (SELECT 1 FROM device);"
    return (_HERE / "imports.sql").read_text(encoding="utf-8") + name


STEPS = (
    Step(1, "base tables", _base),
    Step(2, "full-text index", _fts),
    Step(3, "redaction", _more_tables),
    Step(4, "archive", _more_tables),
    Step(5, "what was forgotten", _more_tables),
    Step(6, "turns become memory", _memory),
    Step(7, "models", _models),
    Step(8, "what came from elsewhere", _imports),
)
SCHEMA_VERSION = STEPS[-1].version


def has_fts5(conn: sqlite3.Connection) -> bool:
    """Whether this SQLite can make full-text tables (asked of its build, not tried on the database)."""
    return bool(conn.execute("SELECT 1 FROM pragma_compile_options WHERE compile_options = 'ENABLE_FTS5'").fetchone())


def check_version(conn: sqlite3.Connection) -> int:
    """The newest step this database has seen, 0 for an empty one.

    Raises NewerDatabase; CorruptDatabase for one that another program made, which is never to be
    written to, nor replaced as if it were empty."""
    columns = [name for (name,) in conn.execute("SELECT name FROM pragma_table_info('schema_versions')")]
    if columns != _VERSION_COLUMNS:
        if conn.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise _foreign()
        return 0
    version = int(conn.execute("SELECT coalesce(max(version), 0) FROM schema_versions").fetchone()[0])
    if version <= SCHEMA_VERSION and not conn.execute(_HAS_OURS).fetchone():
        raise _foreign()
    if version > SCHEMA_VERSION:
        raise NewerDatabase(
            f"the database has schema {version}, this program knows {SCHEMA_VERSION}",
            "upgrade transcript-indexer: a newer version has written here",
        )
    return version


def _foreign() -> CorruptDatabase:
    return CorruptDatabase(
        "the database is not one of transcript-indexer", "move it away, or give another folder with --home"
    )


def migrate(conn: sqlite3.Connection, *, full_text: bool = True) -> int:
    """Run every step that has work to do; returns the version reached.

    full_text=False leaves the full-text index for later (a bulk load makes it last).
    """
    check_version(conn)
    for step in STEPS:
        if step.name == "full-text index" and not full_text:
            continue
        if not _recorded(conn, step):
            _run(conn, step)
    return check_version(conn)


def _recorded(conn: sqlite3.Connection, step: Step) -> bool:
    if check_version(conn) == 0:
        return False
    return bool(conn.execute("SELECT 1 FROM schema_versions WHERE version = ?", (step.version,)).fetchone())


def _run(conn: sqlite3.Connection, step: Step) -> None:
    """One transaction for the step and its record. A step without work is not recorded: it may have
    work when the program runs on another SQLite."""
    sql = step.sql(conn)
    if not sql:
        return
    now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    record = f"INSERT OR IGNORE INTO schema_versions VALUES ({step.version}, '{step.name}', {now});"
    try:
        conn.executescript(f"BEGIN IMMEDIATE;\n{sql}\n{record}\nCOMMIT;")
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
