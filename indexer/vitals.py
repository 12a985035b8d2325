"""The numbers of a memory and of its service: from the database, the disk and what the service last said.

Read from outside, with a connection for reading: by the command `metrics`, and by whoever asks by HTTP.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indexer import status_file
from indexer.metrics import Metric, gauge, labelled
from indexer.store import health
from indexer.store.connection import Connection, database_path, writer_alive
from indexer.store.reads import counts, reading
from indexer.text import parse_time

_ROWS = ("sessions", "prompts", "tool_uses", "assistant_messages", "projects")


def measured(home: Path) -> list[Metric]:
    """All metrics of a memory and its service, read afresh. Raises NoDatabase, CorruptDatabase."""
    with reading(home) as conn:
        return [*_stored(conn, home), *_service(home)]


def _stored(conn: Connection, home: Path) -> Iterator[Metric]:
    held, known = counts(conn), health.files(conn)
    database = database_path(home)
    rows = {name: getattr(held, name) for name in _ROWS}
    yield labelled("rows", "gauge", "Rows stored, by kind.", "kind", rows)
    yield gauge("dead_letters", "Lines of transcripts that could not be read.", held.dead_letters)
    states = dict.fromkeys(("active", "gone", "unreadable"), 0) | Counter(file.status for file in known)
    yield labelled("transcripts", "gauge", "Transcripts known, by state.", "state", states)
    unread = [max(0, _size(Path(file.path)) - file.offset) for file in known if file.status == "active"]
    yield gauge("unread_bytes", "Bytes of known transcripts that have not been read.", sum(unread))
    yield gauge("unread_files", "Known transcripts that have unread bytes.", sum(1 for bytes_ in unread if bytes_))
    yield gauge("database_bytes", "Size of the database file.", _size(database))
    yield gauge("database_wal_bytes", "Size of its log.", _size(database.with_name(database.name + "-wal")))
    yield gauge("database_free_bytes", "Bytes of the file that hold nothing.", health.free_bytes(conn))
    last = health.last_commit(conn)
    stamp = parse_time(last) if last else None
    yield gauge(
        "last_commit_timestamp_seconds", "When something was stored last.", None if stamp is None else stamp / 1000
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


def _service(home: Path) -> Iterator[Metric]:
    """What the service said of itself, if the one that said it still lives."""
    writer = writer_alive(home)
    yield gauge("writer_up", "Whether a process holds the right to write.", float(writer is not None))
    said = None if writer is None else status_file.read(home, writer)
    if said is None:
        return
    yield gauge("pending_files", "Transcripts waiting to be read.", _number(said, "pending_files"))
    yield gauge("lag_bytes", "Bytes waiting to be read.", _number(said, "lag_bytes"))
    yield gauge("watched_directories", "Folders under the roots.", _number(said, "directories"))
    yield gauge("polling", "Whether file system events do not work.", float(said.get("mode") == "polling"))
    yield gauge("backlog_seconds", "What reading the rest will take, as measured.", _number(said, "eta_seconds"))
    since = _number(said, "progress_at")
    yield gauge(
        "progress_timestamp_seconds",
        "When something was last read, or nothing was left to read.",
        None if since is None else since / 1000,
    )
    at = _number(said, "updated_at")
    yield gauge("service_timestamp_seconds", "When the service last said so.", None if at is None else at / 1000)
    events = said.get("events")
    happened = {key: n for key, n in events.items() if isinstance(n, int)} if isinstance(events, dict) else {}
    yield labelled("events_total", "counter", "What happened since the service began.", "event", happened)


def _number(said: dict[str, Any], name: str) -> float | None:
    value = said.get(name)
    return value if isinstance(value, int | float) else None
