"""The state of the memory and of its service, as `status` shows it: looked at, not yet put into words.

How far behind is measured now, by a stat of each transcript that is being followed (3 µs a file), not
taken from the last report of a service that may be dead: status must not lie. Transcripts that nobody
has seen yet are not looked for.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

from indexer import app, status_file
from indexer.cli import compress
from indexer.config import Config
from indexer.store import archive, exclusions, health, imports, recall, refined, sizes
from indexer.store.connection import Connection, database_path, writer_alive
from indexer.store.reads import Counts, counts
from indexer.worker import client
from indexer.worker.wire import Unreachable

_WATCHER = ("mode", "reason", "remedy", "pending_files", "lag_bytes")


class State(NamedTuple):
    """All that `status` tells. behind: unread bytes by file; oldest: seconds since the longest waiting of them was
    written to, None if none waits. writer: pid of who holds the right to write. at: when it was looked at, in ms."""

    at: int
    counts: Counts
    made: recall.Counts
    failed: list[tuple[str, str]]
    no_answer: int
    failed_turns: list[refined.Failed]
    budget: dict[str, Any]
    database: Path
    size: int
    wal: int
    free: int
    sizes: sizes.Sizes | None
    files: list[health.File]
    behind: dict[str, int]
    oldest: float | None
    dead_letters: list[health.DeadLetter]
    unmatched: int
    last_commit: str | None
    forgetting: health.Forgetting
    excluded: int
    imported: list[tuple[str, int, int]]
    writer: int | None
    watcher: dict[str, Any] | None
    archive: int
    archive_full: bool
    vectors: dict[str, Any] | None


def look(conn: Connection, settings: Config, limit: int, all_sizes: bool) -> State:
    """The state of an open memory, with so many dead letters and failures. all_sizes: those by table, too,
    however long they take."""
    home = settings.home
    database = database_path(home)
    archived, cap = archive.total(conn) if archive.present(conn) else 0, settings.archive_max_mb * 1_000_000
    known = health.files(conn)
    behind, now = _behind(known), time.time()
    writer = writer_alive(home)
    return State(
        at=int(now * 1000),
        counts=counts(conn),
        made=recall.counts(conn),
        failed=recall.failed(conn, limit),
        no_answer=refined.count_failed(conn),
        failed_turns=refined.failed(conn, limit),
        budget=compress.budget(conn, settings),
        database=database,
        size=_bytes_of(database),
        wal=_bytes_of(database.with_name(database.name + "-wal")),
        free=health.free_bytes(conn),
        sizes=sizes.by_table(conn) if all_sizes or _bytes_of(database) <= sizes.QUICK else None,
        files=known,
        behind=behind,
        oldest=max((now - _written(path) for path in behind), default=None),
        dead_letters=health.dead_letters(conn, limit),
        unmatched=health.unmatched_results(conn),
        last_commit=health.last_commit(conn),
        forgetting=health.forgetting(conn),
        excluded=exclusions.count(conn),
        imported=imports.counts(conn),
        writer=writer,
        watcher=None if writer is None else _watcher(home, writer),
        archive=archived,
        archive_full=settings.archive_enabled and 0 < cap <= archived,
        vectors=_vectors(settings),
    )


def _vectors(settings: Config) -> dict[str, Any] | None:
    """How far vectors are, as SQLite has it, and what the worker says of its index if it runs and answers
    soon; None when they are switched off."""
    if settings.vectors_store == "none":
        return None
    state = app.vector_state(settings) | {"worker": client.alive(settings.home)}
    try:
        said = client.request(settings.home, {"op": "status"}) if state["worker"] else {}
    except Unreachable as error:
        said = {"index": {"open": False, "trouble": error.message}}
    troubles = [said.get("index", {}).get("trouble"), *(arm.get("trouble") for arm in said.get("arms", ()))]
    return state | {"trouble": "; ".join(dict.fromkeys(filter(None, troubles))) or None}


def _bytes_of(path: str | Path) -> int:
    """The size of a file, 0 if it cannot be asked."""
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


def _written(path: str) -> float:
    try:
        return Path(path).stat().st_mtime
    except (OSError, ValueError):  # gone since it was looked at
        return time.time()


def _behind(known: list[health.File]) -> dict[str, int]:
    """Unread bytes of each file being followed that has any. A shrunk file is unread from its start."""
    behind = {}
    for file in known:
        now = _bytes_of(file.path) if file.status == "active" else 0
        unread = now - file.offset if now >= file.offset else now
        if unread > 0:
            behind[file.path] = unread
    return behind


def _watcher(home: Path, writer: int) -> dict[str, Any] | None:
    """What the service that writes now last said of itself; None if it has said nothing that can be read."""
    said = status_file.read(home, writer)
    if said is None:
        return None
    times = {name: _whole(said.get(name)) for name in ("updated_at", "progress_at")}
    troubles, left = said.get("troubles"), said.get("eta_seconds")
    kept = [one for one in troubles if isinstance(one, dict)] if isinstance(troubles, list) else []
    eta = left if isinstance(left, int | float) else None
    return {name: said.get(name) for name in _WATCHER} | times | {"troubles": kept, "eta_seconds": eta}


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
