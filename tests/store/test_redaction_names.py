"""redaction_names: names are redacted wherever they stand, and no column of the schema is out of reach."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from archives import Library
from transcripts import Transcript

from indexer import app
from indexer.forget import forget
from indexer.redaction_settings import user_rule
from indexer.renewal import renew
from indexer.store.connection import WriterLock
from indexer.store.membership import OWNER
from indexer.store.redaction_names import columns, redact_names

TOKEN = "ghp_" + "aB3" * 12
SESSION = 7777

_ID = "an id: checked or made by the client's program, told apart by it; a rule never changes one"
_ENUM = "one of a few words of ours, or of the source's name"
_HASH = "a hash"
_TIME = "a time of ours"
_DERIVED = "made of other columns when these come out otherwise"
_PATH = "where the transcript stands on disk: without it nobody would find the file again; forgetting veils it"
EXEMPT = {
    **dict.fromkeys(("uuid", "leaf_uuid", "record_uuid", "result_uuid", "native_prompt_id", "message_id"), _ID),
    **dict.fromkeys(("content_session_id", "memory_session_id", "session_id", "agent_id", "forked_from"), _ID),
    **dict.fromkeys(("identity", "tool_use_id", "turn_id", "last_turn"), _ID),
    **dict.fromkeys(("kind", "status", "prompt_kind", "platform_source", "source", "project_key_source"), _ENUM),
    **dict.fromkeys(("time_source", "slot", "compressor", "state"), _ENUM),
    **dict.fromkeys(("device.id", "origin_device_id", "origin_local_id"), _ID),
    "provider": "the settings' own word",
    **dict.fromkeys(("hash", "content_hash", "input_hash", "response_hash", "native_prompt_hash", "seen"), _HASH),
    **dict.fromkeys(("committed_at", "reinforcement_dates", "last_reinforced", "days", "day", "applied_at"), _TIME),
    **dict.fromkeys(("search_texts.title", "search_texts.body", "observations.title_norm_key"), _DERIVED),
    **dict.fromkeys(("ingest_files.path", "ingest_files.folder"), _PATH),
    "erasures.value": "row ids and uuids of what is going, gone when it is",
    "schema_versions.name": "ours",
    "redaction.rules": _HASH,
    "redaction.pending": "where to go on: names of tables, and keys of rows",
}
"""Columns that no rule looks at, by name or by table and name, and why. A new column of text is covered by
store/redaction.py or redaction_names.py, or stands here with a reason."""
_SKIPPED = ("schema_versions", "redaction", "erasures")


def reached(table: str, column: str) -> bool:
    return column not in EXEMPT and f"{table}.{column}" not in EXEMPT


def text_columns(home: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(home / "index.db")) as conn:
        return list(columns(conn))


def value(table: str, name: str, kind: str) -> object:
    """What is laid into a column: a secret in every text that is to be reached."""
    if kind.upper() not in ("TEXT", ""):
        return b"x" if kind.upper() == "BLOB" else OWNER if name == "flags" else SESSION
    if name in ("uuid", "record_uuid", "native_prompt_id"):
        return "record"
    if name == "ignored":
        return f'{{"{TOKEN}": 1}}'
    if reached(table, name):
        return f"/x/{TOKEN}/{name}"
    if (table, name) == ("imported_memories", "kind"):
        return "observation"
    status = {"observation_dedup_candidates": "pending", "ingest_files": "gone"}.get(table, "active")
    words = {"content_session_id": "doomed", "memory_session_id": "m", "status": status, "prompt_kind": "prompt"}
    return words.get(name, f"{table}.{name}")


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """A memory with a row in every table that holds a secret in every column of text."""
    made = Library(tmp_path)
    session = Transcript("one", "/home/dev/shop")
    session.user("prompt")
    session.write(made.root)
    made.rescan()
    with closing(sqlite3.connect(made.home / "index.db", isolation_level=None)) as conn:
        conn.executescript("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
        for table in sorted({table for table, _ in columns(conn)} - set(_SKIPPED)):
            names = [(row[1], row[2]) for row in conn.execute(f"PRAGMA table_info({table})")]
            marks = ", ".join("?" * len(names))
            conn.execute(f"INSERT INTO {table} VALUES ({marks})", [value(table, *name) for name in names])
    return made


def holding_token(home: Path) -> list[str]:
    """Columns in which the secret stands, whatever its case."""
    with closing(sqlite3.connect(home / "index.db")) as conn:
        where = "WHERE instr(lower({}), ?) LIMIT 1"
        return [
            f"{table}.{column}"
            for table, column in columns(conn)
            if conn.execute(f"SELECT 1 FROM {table} {where.format(column)}", (TOKEN.lower(),)).fetchone()
        ]


def test_every_column_of_text_is_reached_or_has_a_reason_not_to_be(library: Library) -> None:
    before = {f"{table}.{column}" for table, column in text_columns(library.home) if reached(table, column)}
    assert set(holding_token(library.home)) == before - {f"{table}.rules" for table in _SKIPPED}
    renew(library.config)
    assert holding_token(library.home) == []


def test_a_new_column_of_text_is_noticed(library: Library) -> None:
    library.execute("ALTER TABLE user_prompts ADD COLUMN novelty TEXT")
    library.execute("UPDATE user_prompts SET novelty = ?", TOKEN)
    renew(library.config)
    assert holding_token(library.home) == ["user_prompts.novelty"]


def test_every_reason_is_for_a_column_that_there_is(library: Library) -> None:
    known = {name for table, column in text_columns(library.home) for name in (column, f"{table}.{column}")}
    assert set(EXEMPT) <= known | {"hash"}
    assert all(len(reason) > 3 for reason in EXEMPT.values())


def forget_all(library: Library) -> None:
    lock, conn = WriterLock(library.home), library.connect()
    names = [name for (name,) in conn.execute("SELECT content_session_id FROM sdk_sessions").fetchall()]
    forget(conn, library.home, names, [], app.sinks(library.config))
    conn.close()
    lock.release()


OF_NO_SESSION = ["project_aliases.alias_key", "project_aliases.project_key", "model_pauses.message"]
"""The settings' own, which stand there as long as the settings say so, and what a provider answered last."""


def test_forgetting_reaches_every_column(library: Library) -> None:
    forget_all(library)
    assert [name for name in holding_token(library.home) if name not in OF_NO_SESSION] == []


def test_a_rebuild_brings_nothing_back(library: Library) -> None:
    renew(library.config)
    library.rescan(rebuild=True)
    assert holding_token(library.home) == []
    files = [path for path in library.home.rglob("*") if path.is_file()]
    assert [path for path in files if TOKEN.lower().encode() in path.read_bytes().lower()] == []


# --- projects


@pytest.fixture
def named(tmp_path: Path) -> Library:
    """A project whose folder a later rule knows."""
    made = Library(tmp_path)
    session = Transcript("one", "/home/dev/Badge-1234")
    session.user("prompt")
    session.write(made.root)
    made.rescan()
    made.config = Library(tmp_path, redact_rules=(user_rule("badge", "Badge-[0-9]{4}", "Badge-"),)).config
    return made


def anywhere(library: Library) -> list[str]:
    with closing(sqlite3.connect(library.home / "index.db")) as conn:
        return [
            f"{table}.{column}"
            for table, column in columns(conn)
            if f"{table}.{column}" not in EXEMPT
            and conn.execute(f"SELECT 1 FROM {table} WHERE instr(lower({column}), 'badge-1234')").fetchone()
        ]


def rescanned(library: Library) -> object:
    return library.rescan()


def renewed(library: Library) -> object:
    return renew(library.config)


@pytest.mark.parametrize("way", [renewed, rescanned])
def test_a_projects_names_and_key_are_redacted(named: Library, way: Callable[[Library], object]) -> None:
    assert {"projects.project_key", "project_resolutions.cwd", "sdk_sessions.project"} <= set(anywhere(named))
    way(named)
    assert anywhere(named) == []
    assert named.rows("SELECT count(DISTINCT project_key) FROM projects") == [(1,)]
    assert named.rows("SELECT project_key FROM projects") == named.rows("SELECT project_key FROM sdk_sessions")


def test_and_are_what_a_fresh_memory_has(named: Library, tmp_path: Path) -> None:
    renew(named.config)
    named.rescan()
    keys = "SELECT project_key, display FROM projects"
    fresh = Library(tmp_path / "fresh", redact_rules=named.config.redact_rules)
    fresh.home.mkdir(parents=True)
    (fresh.home / "key").write_bytes((named.home / "key").read_bytes())
    for path in named.root.rglob("*.jsonl"):
        target = fresh.root / path.relative_to(named.root)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    fresh.rescan()
    assert named.rows(keys) == fresh.rows(keys)


def test_nothing_to_do_changes_nothing(named: Library) -> None:
    conn = named.connect()
    assert not redact_names(conn, lambda text: text)
    conn.close()
