"""Databases of every schema version become present ones, whatever interrupts it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
from schema_fixture import dump, filled
from stores import read, store

from indexer.errors import CorruptDatabase, NewerDatabase
from indexer.store import migrations
from indexer.store.migrations import SCHEMA_VERSION, STEPS, check_version, migrate

FIXTURES = Path(__file__).parent.parent / "fixtures"
VERSIONS = sorted((FIXTURES / "schema").glob("*.sql"), key=lambda path: int(path.stem))
OBJECTS = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name, type"


Fill: TypeAlias = Callable[[sqlite3.Connection], object]


def new() -> sqlite3.Connection:
    return sqlite3.connect(":memory:", isolation_level=None)


def load(path: Path, conn: sqlite3.Connection) -> sqlite3.Connection:
    conn.executescript(path.read_text(encoding="utf-8"))
    return conn


def objects(conn: sqlite3.Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in conn.execute(OBJECTS)]


def counts(conn: sqlite3.Connection) -> dict[str, int]:
    """Rows of every table but the record of steps."""
    tables = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    plain = [name for name in tables if name.partition("_")[0] not in ("sqlite", "schema") and "_fts" not in name]
    return {name: conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in plain}


def is_whole(conn: sqlite3.Connection) -> bool:
    conn.execute("INSERT INTO search_fts(search_fts, rank) VALUES ('integrity-check', 1)")
    broken = conn.execute("PRAGMA foreign_key_check").fetchall()
    return conn.execute("PRAGMA integrity_check").fetchone()[0] == "ok" and not broken


# --- fixtures of every version


def test_there_is_a_fixture_of_the_present_version() -> None:
    assert VERSIONS[-1].stem == str(SCHEMA_VERSION)


def test_the_present_fixture_is_what_the_schema_makes() -> None:
    """When this fails, the schema has changed without a new version. If nobody has a database of that
    version yet, run `python tests/support/schema_fixture.py`; otherwise write a step."""
    assert VERSIONS[-1].read_text(encoding="utf-8") == "\n".join(dump(filled())) + "\n"


@pytest.mark.parametrize("path", VERSIONS, ids=lambda path: path.stem)
def test_an_old_database_becomes_a_present_one_and_keeps_its_rows(path: Path) -> None:
    conn = load(path, new())
    before = counts(conn)
    assert migrate(conn) == SCHEMA_VERSION
    fresh = new()
    migrate(fresh)
    assert objects(conn) == objects(fresh)
    assert {name: rows for name, rows in counts(conn).items() if name in before} == before
    assert sum(before.values()) > 50
    assert is_whole(conn)


# --- steps


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_a_step_may_run_twice(step: migrations.Step) -> None:
    conn = filled()
    before, rows = objects(conn), counts(conn)
    conn.executescript(step.sql(conn))
    assert (objects(conn), counts(conn)) == (before, rows)
    assert is_whole(conn)


def test_steps_are_numbered_in_order() -> None:
    assert [step.version for step in STEPS] == list(range(1, len(STEPS) + 1))


def test_every_step_is_recorded_once() -> None:
    conn = new()
    migrate(conn)
    migrate(conn)
    rows = conn.execute("SELECT version, name FROM schema_versions ORDER BY version").fetchall()
    assert rows == [(step.version, step.name) for step in STEPS]


def test_a_present_database_is_left_alone() -> None:
    conn = filled()
    before = conn.total_changes
    assert migrate(conn) == SCHEMA_VERSION
    assert conn.total_changes == before


def test_an_empty_database_has_version_0() -> None:
    assert check_version(new()) == 0


def test_a_newer_database_is_refused_and_not_touched() -> None:
    conn = new()
    conn.execute("CREATE TABLE schema_versions (version INTEGER PRIMARY KEY, name TEXT, applied_at TEXT)")
    conn.execute("INSERT INTO schema_versions VALUES (?, 'from the future', '')", (SCHEMA_VERSION + 1,))
    before = objects(conn)
    with pytest.raises(NewerDatabase, match=str(SCHEMA_VERSION + 1)):
        migrate(conn)
    assert objects(conn) == before


@pytest.mark.parametrize("columns", ["id, version, applied_at", "version", "version, name, applied_at"])
def test_another_programs_database_is_refused_though_it_counts_versions_too(columns: str) -> None:
    conn = new()
    conn.executescript(f"CREATE TABLE schema_versions ({columns}); CREATE TABLE photos (name TEXT)")
    conn.execute("INSERT INTO schema_versions (version) VALUES (1)")
    before = objects(conn)
    with pytest.raises(CorruptDatabase, match="not one of transcript-indexer"):
        migrate(conn)
    assert objects(conn) == before


# --- interrupted


def states(folder: Path, fill: Fill = lambda _: None) -> list[Path]:
    """What is on disk at every statement of a migration, as a kill would leave it."""
    home = folder / "home"
    home.mkdir()
    conn = sqlite3.connect(home / "index.db", isolation_level=None)
    conn.execute("PRAGMA journal_mode = WAL")
    fill(conn)
    taken: list[Path] = []

    def take(_: str) -> None:
        taken.append(shutil.copytree(home, folder / f"{len(taken)}", ignore=shutil.ignore_patterns("*-shm")))

    conn.set_trace_callback(take)
    migrate(conn)
    conn.set_trace_callback(None)
    conn.close()
    return taken


def test_killed_at_any_statement_the_next_run_finishes(tmp_path: Path) -> None:
    fresh = new()
    migrate(fresh)
    taken = states(tmp_path)
    assert len(taken) > 50
    for state in taken:
        conn = sqlite3.connect(state / "index.db", isolation_level=None)
        assert check_version(conn) in {0, *(step.version for step in STEPS)}
        assert migrate(conn) == SCHEMA_VERSION
        assert objects(conn) == objects(fresh)
        conn.close()


def first_version(conn: sqlite3.Connection) -> None:
    """A filled database as it was before there was a full-text index."""
    load(VERSIONS[0], conn)
    names = conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%search_fts%'")
    for (name,) in names.fetchall():
        conn.execute(f"DROP TRIGGER {name}")
    conn.execute("DROP TABLE search_fts")
    conn.execute("DELETE FROM schema_versions WHERE version > 1")


FILLED: dict[str, Fill] = {"1": first_version} | {path.stem: partial(load, path) for path in VERSIONS}


@pytest.mark.parametrize("version", FILLED)
def test_killed_at_any_statement_of_an_upgrade_every_row_is_still_there(tmp_path: Path, version: str) -> None:
    old = new()
    FILLED[version](old)
    before = counts(old)
    assert check_version(old) == int(version)
    assert sum(before.values()) > 50
    taken = states(tmp_path, FILLED[version])
    assert len(taken) > (10 if version == "1" else 0)
    for state in taken:
        conn = sqlite3.connect(state / "index.db", isolation_level=None)
        assert {name: rows for name, rows in counts(conn).items() if name in before} == before
        assert migrate(conn) == SCHEMA_VERSION
        assert {name: rows for name, rows in counts(conn).items() if name in before} == before
        assert is_whole(conn)
        conn.close()


@pytest.mark.parametrize("failing", range(0, 400, 23))
def test_a_failing_statement_leaves_no_half_of_a_step(failing: int) -> None:
    conn, asked = new(), iter(range(10_000))
    conn.set_authorizer(lambda *_: sqlite3.SQLITE_DENY if next(asked) == failing else sqlite3.SQLITE_OK)
    with pytest.raises(sqlite3.DatabaseError):
        migrate(conn)
    conn.set_authorizer(None)
    assert not conn.in_transaction
    assert bool(objects(conn)) == bool(check_version(conn))
    assert migrate(conn) == SCHEMA_VERSION


# --- without FTS5


@pytest.fixture
def no_fts5(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(migrations, "has_fts5", lambda _: False)
    return monkeypatch


def recording(tmp_path: Path) -> sqlite3.Connection:
    conn = store(tmp_path)
    read(conn, FIXTURES / "recordings" / "basic" / "projects")
    return conn


@pytest.mark.usefixtures("no_fts5")
def test_without_fts5_capture_goes_on(tmp_path: Path) -> None:
    conn = recording(tmp_path)
    assert conn.execute("SELECT 1 FROM schema_versions WHERE name = 'full-text index'").fetchall() == []
    assert conn.execute("SELECT count(*) FROM search_texts").fetchone()[0] > 3
    assert conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'search_fts'").fetchall() == []


def test_the_index_merges_its_segments_again_once_it_is_made() -> None:
    conn = new()
    migrate(conn)
    assert conn.execute("SELECT v FROM search_fts_config WHERE k = 'automerge'").fetchall() == [(4,)]


def test_an_index_that_comes_later_knows_what_was_captured_before(tmp_path: Path, no_fts5: pytest.MonkeyPatch) -> None:
    conn = recording(tmp_path)
    no_fts5.undo()
    assert migrate(conn) == SCHEMA_VERSION
    found = conn.execute("SELECT count(*) FROM search_fts WHERE search_fts MATCH 'hello'").fetchone()[0]
    assert found > 0
    assert is_whole(conn)
