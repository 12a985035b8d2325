"""Everything worth knowing about a running service: one function an event, which counts it once and
logs it once.

Counters always work; a line is logged only after `configure`, which the service calls and the command
line does not: structlog costs 55 ms of CPU to import, half of what a whole search may take.

Lines hold paths, sizes, ids, kinds and reasons, and never a word of a transcript: of an exception
only its type and place are logged, since the message of a parse error quotes what it could not parse.
A line that cannot be written (a closed terminal, a full disk) is counted, and the work goes on.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol, TextIO, cast

from indexer.errors import IndexerError

KEPT = 5
"""Warnings and errors that `troubles` gives."""

_counts: Counter[str] = Counter()
_troubles: deque[dict[str, object]] = deque(maxlen=KEPT)
_lock = threading.Lock()


class _Logger(Protocol):
    def debug(self, event: str, **fields: object) -> object: ...
    def info(self, event: str, **fields: object) -> object: ...
    def warning(self, event: str, **fields: object) -> object: ...
    def error(self, event: str, **fields: object) -> object: ...


_logger: _Logger | None = None


def configure(level: str, style: str, stream: TextIO | None = None) -> None:
    """Log from now on: `level` and `style` are the settings log.level and log.format; to standard error
    unless `stream` says otherwise. systemd keeps standard error in the journal, launchd in a file."""
    global _logger
    import structlog  # noqa: PLC0415 - see the module's docstring

    out = stream or sys.stderr
    plain = style == "text" or (style == "auto" and out.isatty())
    _logger = cast(
        "_Logger",
        structlog.wrap_logger(
            structlog.PrintLogger(out),
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                _as_text if plain else _as_json,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(level),
        ),
    )


def silence() -> None:
    """Stop logging; go on counting."""
    global _logger
    _logger = None


def snapshot() -> dict[str, int]:
    """How often each event has happened in this process. Events that have not are absent."""
    with _lock:
        return dict(_counts)


def troubles() -> list[dict[str, object]]:
    """The last warnings and errors of this process, the newest last: `event`, `level`, `at` (ms since 1970), and
    what was said of them. The same event about the same thing stands once, at its last time."""
    with _lock:
        return list(_troubles)


# --- the service ------------------------------------------------------------------------------------


def started(home: str, roots: tuple[str, ...]) -> None:
    """The service holds the lock and begins."""
    _info("started", home=home, roots=list(roots))


def stopped(seconds: float) -> None:
    """The service ends in good order, after so many seconds."""
    _info("stopped", seconds=round(seconds, 3))


def busy(what: str) -> None:
    """Another process holds the lock or the database; this one tries again or gives up."""
    _warning("busy", what=what)


def failed(loop: str, error: BaseException) -> None:
    """A loop caught what nobody expected, and goes on after a pause."""
    _error("failed", loop=loop, **_described(error))


def stalled(what: str, seconds: float) -> None:
    """There is work, and for so many seconds none of it got done."""
    _warning("stalled", what=what, seconds=round(seconds, 1))


def recovered(what: str) -> None:
    """Work that had stalled or failed gets done again."""
    _info("recovered", what=what)


# --- reading transcripts ----------------------------------------------------------------------------


def ingested(path: str, *, lines: int, rows: int, size: int) -> None:
    """A batch of one file is committed: lines read, rows new, bytes moved past."""
    _debug("ingested", path=path, lines=lines, rows=rows, bytes=size)


def dead_letter(path: str, *, offset: int, length: int, reason: str) -> None:
    """Bytes that are no record. The rest of the file goes on; the place is kept, the bytes are not."""
    _warning("dead_letter", path=path, offset=offset, length=length, reason=reason)


def ignored(path: str, kind: str) -> None:
    """A record type that is not known: read, counted, holding nothing for the memory."""
    _debug("ignored", path=path, kind=kind)


def conflict(identity: str, what: str) -> None:
    """A known id came with other content: the first is kept. what: the column that differs."""
    _debug("conflict", id=identity, what=what)


def file_reset(path: str, why: str) -> None:
    """A file is not the one read before, or shrank: read again from its start. Nothing is deleted."""
    _warning("file_reset", path=path, why=why)


def file_moved(old: str, new: str) -> None:
    """A file known by its content stands at another path: its checkpoint goes along."""
    _info("file_moved", old=old, new=new)


def file_gone(path: str) -> None:
    """A file is not there any more. What was read of it stays."""
    _info("file_gone", path=path)


def unreadable(path: str, error: OSError) -> None:
    """A file or folder cannot be opened or read; it is tried again later."""
    _warning("unreadable", path=path, **_described(error))


# --- memory ----------------------------------------------------------------------------------------


def compressed(*, sessions: int, turns: int, observations: int) -> None:
    """Sessions were looked at for finished turns; observations were put."""
    _debug("compressed", sessions=sessions, turns=turns, observations=observations)


def not_compressed(session: str, error: str) -> None:
    """A session's turns could not be made into memory. They stay searchable as they are."""
    _warning("not_compressed", session=session, error=error)


def asked(*, model: str, tokens: int, state: str) -> None:
    """A model was asked about a turn: what that cost, and what came of it."""
    _info("asked", model=model, tokens=tokens, state=state)


# --- watching ---------------------------------------------------------------------------------------


def sweep(*, files: int, changed: int, missed: int, seconds: float) -> None:
    """All files were looked at: how many, changed since the last look, changed without a hint."""
    _debug("sweep", files=files, changed=changed, missed=missed, seconds=round(seconds, 3))


def watch_degraded(why: str) -> None:
    """File system events are not to be had: transcripts are looked at every few seconds instead."""
    _warning("watch_degraded", why=why)


def watch_restored() -> None:
    """File system events work again."""
    _info("watch_restored")


def hints_lost(count: int) -> None:
    """The system or our queue dropped hints; a sweep follows at once."""
    _warning("hints_lost", count=count)


# --- vectors ----------------------------------------------------------------------------------------


def embedder_failed(arm: str, error: BaseException) -> None:
    """A model cannot be loaded or does not answer; it is tried again."""
    _warning("embedder_failed", arm=arm, **_described(error))


def index_lost(why: str) -> None:
    """The vector index is damaged: put aside, and filled again from SQLite."""
    _warning("index_lost", why=why)


def worker_started(pid: int) -> None:
    """The process that holds models and the vector index was started."""
    _info("worker_started", pid=pid)


def worker_ended(pid: int, code: int) -> None:
    """It ended: 0 for want of work, less than 0 by that signal."""
    (_info if code == 0 else _warning)("worker_ended", pid=pid, code=code)


# --- the one way out --------------------------------------------------------------------------------


def _debug(event: str, **fields: object) -> None:
    _happened("debug", event, fields)


def _info(event: str, **fields: object) -> None:
    _happened("info", event, fields)


def _warning(event: str, **fields: object) -> None:
    _happened("warning", event, fields)


def _error(event: str, **fields: object) -> None:
    _happened("error", event, fields)


def _happened(level: str, event: str, fields: Mapping[str, object]) -> None:
    _count(event)
    if level in ("warning", "error"):
        _keep(level, event, fields)
    if _logger is not None:
        try:
            getattr(_logger, level)(event, **fields)
        except (OSError, ValueError):  # ValueError: the stream is closed
            _count("log_lost")


def _count(event: str) -> None:
    # Counter's += is a read and a write: two threads would lose one.
    with _lock:
        _counts[event] += 1


def _keep(level: str, event: str, fields: Mapping[str, object]) -> None:
    trouble = {"event": event, "level": level, **fields}
    with _lock:
        for kept in list(_troubles):
            if all(kept.get(name) == value for name, value in trouble.items() if name not in _CHANGING):
                _troubles.remove(kept)
        _troubles.append(trouble | {"at": int(time.time() * 1000)})


_CHANGING = ("seconds", "offset", "length", "count", "pid")


def _described(error: BaseException) -> dict[str, object]:
    """What may be said of an exception: its type, where it was raised, and the text of those whose
    text is ours or the operating system's."""
    fields: dict[str, object] = {"error": type(error).__name__}
    if isinstance(error, OSError) and error.strerror:
        fields["reason"] = error.strerror
    elif isinstance(error, IndexerError):
        fields["reason"] = error.message
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    if trace:
        fields["at"] = f"{trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"
    return fields


def _as_json(_logger: object, _method: str, line: MutableMapping[str, Any]) -> str:
    # ASCII: paths may hold lone surrogates, which no stream can encode.
    order = {"time": line.pop("time"), "level": line.pop("level"), "event": line.pop("event")}
    return json.dumps({**order, **line})


def _as_text(_logger: object, _method: str, line: MutableMapping[str, Any]) -> str:
    head = f"{line.pop('time')} {line.pop('level'):<7} {line.pop('event')}"
    # As JSON strings, values cannot carry terminal escapes or line breaks.
    return " ".join([head, *(f"{name}={json.dumps(value)}" for name, value in line.items())])
