"""From the state of a memory: how healthy it is in one word, and what a person can do next. Pure.

Health follows progress, not a heartbeat: a service that says every five seconds that it lives, and has read
nothing for five minutes though something waits, is stalled. Each piece of advice is a command as it can be typed,
or, for what only the system can grant, the exact words of what to do.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

from indexer.cli.render import duration, many, one_line, size
from indexer.cli.state import State

SILENT_SECONDS = 120
"""After which a service that rewrites its status every 5 s counts as hung."""
STALLED_SECONDS = 300
RECENT_MS = 24 * 3600 * 1000
"""Of a service that runs for months, only today's troubles are worth a look."""
SHOWN = 3
"""Things of one kind that are advised on one by one."""
SERVICE = "transcript-indexer service install"
LOGS = "transcript-indexer service logs"


class Advice(NamedTuple):
    """about: stable, kebab-case. message: what is so. command: what to do about it."""

    about: str
    message: str
    command: str


class Health(NamedTuple):
    """state: ok | reading | stalled | hung | trouble | writing | unwatched. command: "" if nothing is to be done."""

    state: str
    message: str
    command: str = ""


def health(found: State) -> Health:
    """How the memory's service is."""
    said = found.watcher
    if found.writer is None:
        late = f", and {many(len(found.behind), 'file')} not read" if found.behind else ""
        return Health("unwatched", f"nothing keeps it up to date{late}", SERVICE)
    if said is None:
        return Health("writing", "a command is writing to it")
    silent = (found.at - (said["updated_at"] or found.at)) / 1000
    if silent > SILENT_SECONDS:
        return Health("hung", f"the service has said nothing for {_span(silent)}", LOGS)
    if said["reason"]:
        return Health("trouble", one_line(said["reason"]), one_line(said["remedy"] or LOGS))
    waiting = _number(said["pending_files"]) or len(found.behind)
    idle = (found.at - (said["progress_at"] or found.at)) / 1000
    if waiting and _number(said["lag_bytes"]) and idle > STALLED_SECONDS:
        return Health("stalled", f"{many(waiting, 'file')} to read, and nothing was read for {_span(idle)}", LOGS)
    return _reading(said, waiting) if waiting else Health("ok", "up to date")


def _reading(said: dict[str, Any], waiting: int) -> Health:
    lag, left = _number(said["lag_bytes"]), said["eta_seconds"]
    parts = [many(waiting, "file"), size(lag) if lag else "", f"about {_span(left)} left" if left else ""]
    return Health("reading", ", ".join(part for part in parts if part))


def advice(found: State, home: str | None = None) -> list[Advice]:
    """What is to be done, the most urgent first; nothing where all is well. home: the `--home` that was given,
    which the commands then need too."""
    verdict = health(found)
    first = [Advice(f"service-{verdict.state}", verdict.message, verdict.command)] if verdict.command else []
    every = [*first, *_of_files(found), *_of_memory(found), *_of_vectors(found), *_of_service(found)]
    return every if home is None else [one._replace(command=_at(one.command, home)) for one in every]


def _at(command: str, home: str) -> str:
    ours = command.startswith("transcript-indexer ") and command != LOGS
    return f"{command} --home {shlex.quote(one_line(home))}" if ours else command


def _of_files(found: State) -> Iterator[Advice]:
    if found.behind and found.writer is None:
        yield Advice(
            "behind", f"{many(len(found.behind), 'transcript')} with something new", "transcript-indexer rescan"
        )
    unreadable = [file for file in found.files if file.status == "unreadable"]
    for file in unreadable[:SHOWN]:
        yield Advice("unreadable", f"{one_line(file.path)}: {one_line(file.error)}", _readable(file.path))
    if len(unreadable) > SHOWN:
        yield Advice("unreadable", f"{many(len(unreadable) - SHOWN, 'more file')}", "transcript-indexer doctor")
    if found.counts.dead_letters:
        number = min(found.counts.dead_letters, 100)
        message = f"{many(found.counts.dead_letters, 'dead letter')}: where and why"
        yield Advice("dead-letters", message, f"transcript-indexer status --dead-letters {number}")


def _readable(path: str) -> str:
    return f"chmod u+r {shlex.quote(one_line(path))}"


def _of_memory(found: State) -> Iterator[Advice]:
    if found.failed:
        session, error = found.failed[0]
        message = f"{many(found.made.failed_sessions, 'session')} not made into memory ({one_line(error)})"
        yield Advice("not-compressed", message, f"transcript-indexer show {shlex.quote(one_line(session))}")
    if found.made.pending_sessions and found.writer is None:
        yield Advice(
            "to-compress", f"{many(found.made.pending_sessions, 'session')} to compress", "transcript-indexer compress"
        )
    if found.forgetting.rows or found.forgetting.bytes:
        yield Advice("forgetting", "something forgotten is not all gone yet", "transcript-indexer rescan")
    if found.archive_full:
        yield Advice("archive-full", "the archive is full", "transcript-indexer archive status")


def _of_vectors(found: State) -> Iterator[Advice]:
    state = found.vectors
    if state is None:
        return
    if state["trouble"]:
        yield Advice("vectors", one_line(state["trouble"]), "transcript-indexer vectors status")
    elif not state["worker"] and (state["rows"] > state["taken_in"] or not all(arm["whole"] for arm in state["arms"])):
        yield Advice("vectors", "not every text has its vectors yet", "transcript-indexer vectors sync")


def _of_service(found: State) -> Iterator[Advice]:
    troubles = found.watcher["troubles"] if found.watcher else []
    if any(found.at - _number(one.get("at")) < RECENT_MS for one in troubles):
        yield Advice("last-errors", "the last troubles of the service", LOGS)


def trouble_text(trouble: dict[str, Any]) -> str:
    """One of the service's last troubles, on one line, its time left out."""
    about = [str(value) for name, value in trouble.items() if name not in ("event", "level", "at", "seconds")]
    return one_line(f"{str(trouble.get('event', '')).replace('_', ' ')}: {', '.join(about)}".rstrip(": "))


def _span(seconds: float) -> str:
    return duration(int(seconds * 1000)) or "0 s"


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
