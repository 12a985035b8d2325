"""What the indexer is doing, as Today and Health show it: whether it runs, how far behind, what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from indexer import status_file
from indexer.config import Config
from indexer.store import health, recall
from indexer.store.connection import Connection, writer_alive
from indexer.text import parse_time
from indexer.web.layout import aside, many, size, when
from indexer.web.markup import Html, coded, join, tag


class State(NamedTuple):
    """writer: its pid, 0 if that is not known, None if nothing writes. said: the running service's own report.
    made: what was remembered and is still to be. last: when something was stored last, epoch milliseconds."""

    writer: int | None
    said: dict[str, Any]
    made: recall.Counts
    last: int | None


def look(conn: Connection, settings: Config) -> State:
    """The state now. Costs no look at any transcript."""
    writer = writer_alive(settings.home)
    said = status_file.read(settings.home, writer) if writer else None
    last = health.last_commit(conn)
    return State(writer, said or {}, recall.counts(conn), parse_time(last) if last else None)


def panel(state: State) -> Html:
    """The state as facts. With its own id, so that a new one can take its place."""
    rows = [
        ("Indexer", _running(state)),
        ("Behind", _behind(state)),
        ("To compress", many(state.made.pending_sessions, "session") if state.made.pending_sessions else "nothing"),
        ("Budget", "rules, without a model: 0 tokens today"),
        ("Last stored", when(state.last)),
        ("Trouble", tag("span", state.said["reason"], class_="failed") if state.said.get("reason") else None),
        ("What to do", coded(str(state.said["remedy"])) if state.said.get("remedy") else None),
    ]
    facts = [join(tag("dt", name), tag("dd", value)) for name, value in rows if value]
    return tag("dl", facts, class_="facts", id="state")


def _running(state: State) -> Html:
    if state.writer is None:
        return aside(
            tag("span", "not running", class_="failed"),
            coded("`transcript-indexer service install` starts it for good"),
        )
    return aside(tag("span", "running", class_="good"), str(state.said.get("mode") or ""))


def _behind(state: State) -> str:
    lag, files = state.said.get("lag_bytes"), state.said.get("pending_files")
    if not isinstance(lag, int):
        return "not known" if state.writer is None else ""
    return (
        f"{size(lag)} in {many(files, 'file')}" if lag and isinstance(files, int) else size(lag) if lag else "nothing"
    )


def behind(known: list[health.File]) -> dict[str, int]:
    """Unread bytes of each transcript that has any, by a look at each: 3 µs a file."""
    found = {}
    for file in known:
        now = _bytes_of(file.path) if file.status == "active" else 0
        unread = now - file.offset if now >= file.offset else now
        if unread > 0:
            found[file.path] = unread
    return found


def _bytes_of(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0
