"""`status`: what the memory holds, how far behind the transcripts it is, and what could not be read.

What is looked at stands in state.py, what it comes to and what to do about it in advice.py.
"""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from typing import Any

from indexer import config
from indexer.cli import compress, views
from indexer.cli.advice import Advice, Health, advice, health, trouble_text
from indexer.cli.output import Output
from indexer.cli.render import aside, duration, facts, many, one_line, size, when
from indexer.cli.state import State, look
from indexer.store import recall, sizes
from indexer.store.health import Forgetting, ignored
from indexer.store.items import Place
from indexer.store.reads import Counts, reading
from indexer.text import iso, parse_time

_HOME_AND_CLEAR = "\x1b[H\x1b[2J"
_MALFORMED = ("malformed-message", "malformed-tool-use", "malformed-tool-result", "not-an-object")
_SPOILT = "invalid-utf-8"
"""Counted though it was kept: a character of it was lost (sources/salvage.py)."""
TABLES = 5
"""Tables shown by name."""


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
        found = look(conn, settings, args.dead_letters, args.sizes)
    if out.as_json:
        out.data(_status_json(found, args.home))
    else:
        out.lines(_status_lines(found, out, args.home))
    sys.stdout.flush()


def _status_json(found: State, home: str | None) -> dict[str, object]:
    statuses = Counter(file.status for file in found.files)
    return {
        "health": health(found)._asdict(),
        "next": [one._asdict() for one in advice(found, home)],
        "counts": found.counts._asdict() | _made_json(found.made, found.no_answer),
        "failed": [{"session": session, "error": error} for session, error in found.failed]
        + [{"session": one.session, "turn": one.turn, "error": one.error} for one in found.failed_turns],
        "budget": found.budget,
        "database": {
            "path": str(found.database),
            "size_bytes": found.size,
            "wal_bytes": found.wal,
            "free_bytes": found.free,
            "tables": found.sizes and {"bytes": found.sizes.tables, "exact": found.sizes.exact},
        },
        "archive": {"size_bytes": found.archive, "full": found.archive_full},
        "files": {"known": len(found.files)} | {name: statuses[name] for name in ("active", "gone", "unreadable")},
        "behind": {
            "files": len(found.behind),
            "bytes": sum(found.behind.values()),
            "oldest_seconds": found.oldest and round(found.oldest),
        },
        "unreadable": [{"file": f.path, "reason": f.error} for f in found.files if f.status == "unreadable"],
        "dead_letters": [letter._asdict() for letter in found.dead_letters],
        "unmatched_results": found.unmatched,
        "ignored": ignored(found.files),
        "last_commit": found.last_commit,
        "forgetting": found.forgetting._asdict(),
        "excluded_sessions": found.excluded,
        "imported": [
            {"origin_device_id": device, "records": records, "memories": memories}
            for device, records, memories in found.imported
        ],
        "writer": {"running": found.writer is not None, "pid": found.writer or None},
        "watcher": found.watcher and found.watcher | _times(found.watcher),
        "vectors": found.vectors,
    }


def _status_lines(found: State, out: Output, home: str | None) -> Iterator[str]:
    statuses = Counter(file.status for file in found.files)
    active, gone = f"{statuses['active']:,} followed", f"{statuses['gone']:,} gone (their memory stays)"
    passed = ignored(found.files)
    spoilt = passed.get(_SPOILT, 0)
    lines = [
        ("health", _health_text(health(found), out)),
        (
            "memory",
            aside(one_line(found.database), size(found.size), _extra(found)),
        ),
        ("of that", _sizes(found.sizes)),
        ("archive", size(found.archive) if found.archive else ""),
        ("holds", _holds(found.counts)),
        ("remembers", _remembers(found.made)),
        ("imported", _imported_text(found.imported)),
        *compress.budget_lines(found.budget),
        ("transcripts", aside(many(len(found.files), "file"), active, gone)),
        ("unread", _unread(found)),
        ("last written", when(parse_time(found.last_commit)) if found.last_commit else "never"),
        ("writer", _writer(found.writer)),
        ("watcher", _watcher_text(found.watcher)),
        ("trouble", _said(found.watcher, "reason")),
        ("what to do", _said(found.watcher, "remedy")),
        ("last errors", "; ".join(_troubles(found.watcher))),
        ("forgotten", _forgetting_text(found.forgetting)),
        ("excluded", f"{many(found.excluded, 'session')} by your settings" if found.excluded else ""),
        ("vectors", _vectors_text(found.vectors)),
        ("not kept", _ignored_text(passed)),
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
    for one in found.failed_turns:
        yield f"{out.style.bad('no model answered for')} a turn of {one_line(one.session)}: {one_line(one.error)}"
    yield from _letters(found)
    yield from _next_lines(advice(found, home), out)


def _times(said: dict[str, Any]) -> dict[str, Any]:
    """What stands in ms, as JSON has times."""
    troubles = [one | {"at": iso(one["at"] if isinstance(one.get("at"), int) else None)} for one in said["troubles"]]
    return {name: iso(said[name]) for name in ("updated_at", "progress_at")} | {"troubles": troubles}


def _health_text(verdict: Health, out: Output) -> str:
    text = verdict.message if verdict.state in ("ok", "writing") else f"{verdict.state}: {verdict.message}"
    return text if verdict.state in ("ok", "reading", "writing", "unwatched") else out.style.bad(text)


def _unread(found: State) -> str:
    if not found.behind:
        return "nothing"
    since = duration(int((found.oldest or 0) * 1000))
    return aside(size(sum(found.behind.values())), many(len(found.behind), "file"), f"the oldest for {since}")


def _troubles(said: dict[str, Any] | None) -> Iterator[str]:
    """The last troubles of a service that runs, the newest first."""
    for one in reversed(said["troubles"] if said else []):
        at = one.get("at")
        yield f"{trouble_text(one)} ({when(at if isinstance(at, int) else None)})"


def _next_lines(found: list[Advice], out: Output) -> Iterator[str]:
    """What to do, each on a line of its own that can be copied."""
    if found:
        yield ""
        yield "next"
    for one in found:
        yield f"  {one.message}"
        yield f"    {out.style.name(one.command)}"


def _imported_text(found: list[tuple[str, int, int]]) -> str:
    """What is known from elsewhere alone, by where it comes from."""
    return "; ".join(
        f"{one_line(device)}: {many(records, 'record')}, {memories:,} {'memory' if memories == 1 else 'memories'}"
        for device, records, memories in found
    )


def _vectors_text(state: dict[str, Any] | None) -> str:
    """The share of documents that have a vector, by model; what is wrong with the index."""
    if state is None:
        return "switched off"
    behind = state["rows"] - state["taken_in"]
    none = 0 if behind > 0 else 100
    shares = [
        f"{row['arm']} {100 * row['vectors'] // row['documents'] if row['documents'] else none} %"
        for row in state["arms"]
    ]
    return aside(
        *shares,
        f"{many(behind, 'row')} not taken in yet" if behind > 0 else "",
        one_line(state["trouble"] or ""),
        "" if state["worker"] else "no worker running",
    )


def _extra(found: State) -> str:
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


def _made_json(made: recall.Counts, no_answer: int) -> dict[str, int]:
    """Turns that are still to be compressed; sessions that could not be, and turns that no model answered for."""
    return {
        "observations": made.observations,
        "summaries": made.summaries,
        "pending_turns": made.pending_turns,
        "failed_turns": made.failed_sessions + no_answer,
    }


def _remembers(made: recall.Counts) -> str:
    return aside(
        many(made.observations, "observation"),
        many(made.summaries, "summary", "summaries"),
        f"{many(made.pending_turns, 'turn')} to compress" if made.pending_turns else "",
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


def _forgetting_text(left: Forgetting) -> str:
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


def _letters(found: State) -> Iterator[str]:
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
