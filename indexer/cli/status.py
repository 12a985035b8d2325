"""`status`: what the memory holds, how far behind the transcripts it is, and what could not be read.

How far behind is measured now, by a stat of each transcript that is being followed (3 µs a file), not
taken from the last report of a service that may be dead: status must not lie. Transcripts that nobody
has seen yet are not looked for.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from indexer import app, config, status_file
from indexer.cli import views
from indexer.cli.output import Output
from indexer.cli.render import aside, facts, many, one_line, size, when
from indexer.config import Config
from indexer.store import archive, exclusions, health, recall, sizes
from indexer.store.connection import Connection, database_path, writer_alive
from indexer.store.items import Place
from indexer.store.reads import Counts, counts, reading
from indexer.text import iso, parse_time

_HOME_AND_CLEAR = "\x1b[H\x1b[2J"
_MALFORMED = ("malformed-message", "malformed-tool-use", "malformed-tool-result", "not-an-object")
_SPOILT = "invalid-utf-8"
"""Counted though it was kept: a character of it was lost (sources/salvage.py)."""
TABLES = 5
"""Tables shown by name."""
_WATCHER = ("mode", "reason", "remedy", "pending_files", "lag_bytes", "updated_at")


class _Status(NamedTuple):
    counts: Counts
    made: recall.Counts
    failed: list[tuple[str, str]]
    database: Path
    size: int
    wal: int
    free: int
    sizes: sizes.Sizes | None
    files: list[health.File]
    behind: dict[str, int]
    dead_letters: list[health.DeadLetter]
    unmatched: int
    last_commit: str | None
    forgetting: health.Forgetting
    excluded: int
    writer: int | None
    watcher: dict[str, Any] | None
    archive: int
    archive_full: bool
    vectors: dict[str, Any] | None


def status(args: Namespace, out: Output) -> int:
    """Print the state of the memory; with --watch again and again. Raises NoDatabase when there is none."""
    settings = config.load(args.home, args.roots)
    _print(settings, args, out)
    while args.watch:
        time.sleep(args.watch)
        if sys.stdout.isatty() and not out.as_json:
            out.lines([_HOME_AND_CLEAR])
        _print(settings, args, out)
    return 0


def _print(settings: config.Config, args: Namespace, out: Output) -> None:
    with reading(settings.home) as conn:
        found = _look(conn, settings, args.dead_letters, args.sizes)
    if out.as_json:
        out.data(_status_json(found))
    else:
        out.lines(_status_lines(found, out))
    sys.stdout.flush()


def _look(conn: Connection, settings: Config, limit: int, all_sizes: bool) -> _Status:
    home = settings.home
    database = database_path(home)
    archived, cap = archive.total(conn) if archive.present(conn) else 0, settings.archive_max_mb * 1_000_000
    known = health.files(conn)
    writer = writer_alive(home)
    return _Status(
        counts=counts(conn),
        made=recall.counts(conn),
        failed=recall.failed(conn, limit),
        database=database,
        size=_bytes_of(database),
        wal=_bytes_of(database.with_name(database.name + "-wal")),
        free=health.free_bytes(conn),
        sizes=sizes.by_table(conn) if all_sizes or _bytes_of(database) <= sizes.QUICK else None,
        files=known,
        behind=_behind(known),
        dead_letters=health.dead_letters(conn, limit),
        unmatched=health.unmatched_results(conn),
        last_commit=health.last_commit(conn),
        forgetting=health.forgetting(conn),
        excluded=exclusions.count(conn),
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
    state = app.vector_state(settings)
    index = (state.get("index") or {}).get("trouble")
    trouble = state.get("trouble")
    wrong = [f"{trouble[0]} ({trouble[1]})"] if trouble else []
    wrong += [f"not installed: {', '.join(state['missing'])}"] if state["missing"] else []
    return state | {"trouble": "; ".join([*wrong, *([index] if index else [])]) or None}


def _bytes_of(path: str | Path) -> int:
    """The size of a file, 0 if it cannot be asked."""
    try:
        return Path(path).stat().st_size
    except (OSError, ValueError):
        return 0


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
    at = said.get("updated_at")
    return {name: said.get(name) for name in _WATCHER} | {"updated_at": at if isinstance(at, int) else None}


def _status_json(found: _Status) -> dict[str, object]:
    statuses = Counter(file.status for file in found.files)
    return {
        "counts": found.counts._asdict() | _made_json(found.made),
        "failed": [{"session": session, "error": error} for session, error in found.failed],
        "budget": {"provider": "rules", "tokens_today": 0, "calls_today": 0},
        "database": {
            "path": str(found.database),
            "size_bytes": found.size,
            "wal_bytes": found.wal,
            "free_bytes": found.free,
            "tables": found.sizes and {"bytes": found.sizes.tables, "exact": found.sizes.exact},
        },
        "archive": {"size_bytes": found.archive, "full": found.archive_full},
        "files": {"known": len(found.files)} | {name: statuses[name] for name in ("active", "gone", "unreadable")},
        "behind": {"files": len(found.behind), "bytes": sum(found.behind.values())},
        "unreadable": [{"file": f.path, "reason": f.error} for f in found.files if f.status == "unreadable"],
        "dead_letters": [letter._asdict() for letter in found.dead_letters],
        "unmatched_results": found.unmatched,
        "ignored": health.ignored(found.files),
        "last_commit": found.last_commit,
        "forgetting": found.forgetting._asdict(),
        "excluded_sessions": found.excluded,
        "writer": {"running": found.writer is not None, "pid": found.writer or None},
        "watcher": found.watcher and found.watcher | {"updated_at": iso(found.watcher["updated_at"])},
        "vectors": found.vectors,
    }


def _status_lines(found: _Status, out: Output) -> Iterator[str]:
    statuses = Counter(file.status for file in found.files)
    active, gone = f"{statuses['active']:,} followed", f"{statuses['gone']:,} gone (their memory stays)"
    behind = aside(size(sum(found.behind.values())), many(len(found.behind), "file")) if found.behind else "nothing"
    ignored = health.ignored(found.files)
    spoilt = ignored.get(_SPOILT, 0)
    lines = [
        (
            "memory",
            aside(one_line(found.database), size(found.size), _extra(found)),
        ),
        ("of that", _sizes(found.sizes)),
        ("archive", size(found.archive) if found.archive else ""),
        ("holds", _holds(found.counts)),
        ("remembers", _remembers(found.made)),
        ("transcripts", aside(many(len(found.files), "file"), active, gone)),
        ("unread", behind),
        ("last written", when(parse_time(found.last_commit)) if found.last_commit else "never"),
        ("writer", _writer(found.writer)),
        ("watcher", _watcher_text(found.watcher)),
        ("trouble", _said(found.watcher, "reason")),
        ("what to do", _said(found.watcher, "remedy")),
        ("forgotten", _forgetting_text(found.forgetting)),
        ("excluded", f"{many(found.excluded, 'session')} by your settings" if found.excluded else ""),
        ("vectors", _vectors_text(found.vectors)),
        ("not kept", _ignored_text(ignored)),
        ("spoilt characters", many(spoilt, "record") if spoilt else ""),
        ("results without a call", f"{found.unmatched:,}" if found.unmatched else ""),
    ]
    yield from facts(lines, out.style, indent="")
    if found.archive_full:
        yield f"{out.style.bad('the archive is full')}: see `transcript-indexer archive status`"
    for file in found.files:
        if file.status == "unreadable":
            yield f"{out.style.bad('unreadable')} {one_line(file.path)}: {one_line(file.error)}"
    for session, error in found.failed:
        yield f"{out.style.bad('not compressed')} {one_line(session)}: {one_line(error)}"
    yield from _letters(found)


def _vectors_text(state: dict[str, Any] | None) -> str:
    """The share of documents that have a vector, by model; what is wrong with the index."""
    if state is None:
        return "switched off"
    shares = [
        f"{row['arm']} {100 * row['vectors'] // row['documents'] if row['documents'] else 100} %"
        for row in state["arms"]
    ]
    behind = state["rows"] - state["taken_in"]
    return aside(
        *shares,
        f"{many(behind, 'row')} not taken in yet" if behind > 0 else "",
        one_line(state["trouble"] or ""),
        "" if state["worker"] else "no worker running",
    )


def _extra(found: _Status) -> str:
    return aside(
        f"{size(found.wal)} log" if found.wal else "",
        f"{size(found.free)} to give back" if found.free else "",
    )


def _sizes(found: sizes.Sizes | None) -> str:
    """The tables that matter for the size, and the rest as one."""
    if found is None:
        return "sizes by table: --sizes"
    largest = [(name, taken) for name, taken in found.tables.items() if taken][:TABLES]
    rest = sum(found.tables.values()) - sum(taken for _, taken in largest)
    shown = [f"{name} {size(taken)}" for name, taken in largest]
    return aside(*shown, f"the rest {size(rest)}" if rest else "", "" if found.exact else "without indexes")


def _holds(counts: Counts) -> str:
    return aside(
        many(counts.sessions, "session"),
        many(counts.prompts, "prompt"),
        many(counts.tool_uses, "tool use"),
        many(counts.assistant_messages, "answer"),
        many(counts.projects, "project"),
    )


def _made_json(made: recall.Counts) -> dict[str, int]:
    """Sessions are compressed whole: those with turns to look at, and those that could not be."""
    return {
        "observations": made.observations,
        "summaries": made.summaries,
        "pending_turns": made.pending_sessions,
        "failed_turns": made.failed_sessions,
    }


def _remembers(made: recall.Counts) -> str:
    summaries = f"{made.summaries:,} summaries" if made.summaries != 1 else "1 summary"
    return aside(
        many(made.observations, "observation"),
        summaries,
        f"{many(made.pending_sessions, 'session')} to compress" if made.pending_sessions else "",
        f"{many(made.failed_sessions, 'session')} could not be" if made.failed_sessions else "",
    )


def _writer(pid: int | None) -> str:
    if pid is None:
        return "none; `transcript-indexer watch` keeps the memory up to date"
    return f"running, pid {pid}" if pid else "running"


def _watcher_text(said: dict[str, Any] | None) -> str:
    if not said:
        return ""
    lag = said["lag_bytes"]
    behind = f"{size(lag)} behind" if isinstance(lag, int) and lag else ""
    at = f"as of {when(said['updated_at'])}" if said["updated_at"] else ""
    return aside(one_line(said["mode"]), behind, at)


def _said(said: dict[str, Any] | None, name: str) -> str:
    return one_line(said[name]) if said and said[name] else ""


def _forgetting_text(left: health.Forgetting) -> str:
    if left.rows:
        return "not all gone yet: the next rescan, forget or watch takes it up"
    return "bytes of it are left until the next idle moment, when nobody reads" if left.bytes else ""


def _ignored_text(kinds: dict[str, int]) -> str:
    """Counts, since most kinds are the client's own bookkeeping; those that were no proper records apart."""
    malformed = sum(number for kind, number in kinds.items() if kind in _MALFORMED)
    plain = sum(kinds.values()) - malformed - kinds.get(_SPOILT, 0)
    return aside(
        f"{many(plain, 'record')} without prompt, answer or tool call (--json has the kinds)" if plain else "",
        f"{many(malformed, 'record')} of an unknown form" if malformed else "",
    )


def _letters(found: _Status) -> Iterator[str]:
    total = found.counts.dead_letters
    if total == 0:
        return
    yield ""
    hidden = total - len(found.dead_letters)
    more = f" ({hidden:,} more: --dead-letters {total})" if hidden > 0 else ""
    yield f"{many(total, 'dead letter')}: bytes that are no record{more}"
    for letter in found.dead_letters:
        where = views.place_text(Place(letter.file, letter.line))
        yield f"  {where}  byte {letter.offset:,}, {many(letter.length, 'byte')}: {one_line(letter.reason)}"
