"""What doctor looks at of whoever writes the memory, and of the vectors beside it. Pure.

A search needs neither, but a person who asks doctor wants to know why yesterday's session is not found, or
why only words are: so a service that lives and does nothing is a problem, and vectors that are on their way
a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from indexer.errors import IndexerError
from indexer.finding import NOTE, OK, PROBLEM, Finding
from indexer.text import many

SILENT_SECONDS = 120
"""After which a service that rewrites its status every 5 s counts as hung."""
STALLED_SECONDS = 300
"""Without anything read though something waits, after which it counts as stalled."""
LONG_SECONDS = 3600
"""For which a command may well write: a rescan of years of transcripts takes minutes."""
_LOGS = "`transcript-indexer service logs` may say why"


def locks(pid: int | None, said: Mapping[str, Any], held: float | None, broken: str) -> Iterator[Finding]:
    """Of the right to write. pid: who has it (writer_alive). said: what the service said. held: for how many
    seconds. broken: why the lock cannot be asked for, "" if it can."""
    if broken:
        remedy = "set `storage.home` to a folder on a local disk, or move what stands there away"
        yield Finding("locks", PROBLEM, f"the lock of the memory does not work: {broken}", remedy)
    elif pid is None:
        yield Finding("locks", OK, "nobody is writing")
    elif said.get("pid") != pid and held is not None and held > LONG_SECONDS:
        minutes = int(held // 60)
        yield Finding(
            "locks",
            NOTE,
            f"process {pid or 'unknown'}, which is no service, has been writing for {many(minutes, 'minute')}",
            f"`ps -p {pid}` says what it is; all other writing waits for it" if pid else "see what writes there",
        )
    else:
        yield Finding("locks", OK, f"process {pid or 'unknown'} has the right to write")


def service(pid: int | None, said: Mapping[str, Any], now: float) -> Iterator[Finding]:
    """Of the process that holds that right. now: seconds since 1970."""
    if pid is None:
        yield Finding(
            "no-watcher",
            NOTE,
            "nothing keeps the memory up to date",
            "`transcript-indexer service install`, or `transcript-indexer watch` in a terminal",
        )
        return
    if said.get("pid") != pid:  # a rescan, or a service that has only just begun
        yield Finding("no-watcher", OK, f"process {pid} is writing")
        return
    silent = now - _number(said.get("updated_at")) / 1000
    idle = now - _number(said.get("progress_at"), now * 1000) / 1000
    if silent > SILENT_SECONDS:
        message = f"the service (process {pid}) has said nothing for {silent:,.0f} s"
        yield Finding("hung", PROBLEM, message, f"{_LOGS}; `kill {pid}`, then start it anew")
    elif _number(said.get("lag_bytes")) and idle > STALLED_SECONDS:
        message = f"the service (process {pid}) has read nothing for {idle:,.0f} s though something waits"
        yield Finding("stalled", PROBLEM, message, str(said.get("remedy") or _LOGS))
    elif said.get("mode") == "polling":
        reason, remedy = said.get("reason"), str(said.get("remedy") or "none is needed")
        yield Finding("polling", NOTE, f"the service looks for changes by polling: {reason}", remedy)
    elif said.get("reason"):
        yield Finding("trouble", PROBLEM, f"the service says: {said['reason']}", str(said.get("remedy") or _LOGS))
    else:
        yield Finding("no-watcher", OK, f"the service (process {pid}) keeps the memory up to date")


def _number(value: object, otherwise: float = 0.0) -> float:
    return float(value) if isinstance(value, int | float) else otherwise


def models(absent: Sequence[tuple[str, IndexerError]]) -> Iterator[Finding]:
    """Of what vectors need to be installed: a name, and what is wrong with it."""
    for name, error in absent:
        yield Finding("model", PROBLEM, f"{name}: {error.message}", error.hint or "install it anew")
    if not absent:
        yield Finding("model", OK, "all that vectors need is installed")


def vectors(state: Mapping[str, Any]) -> Iterator[Finding]:
    """Of how far vectors are (worker.report.at_rest)."""
    behind = state["rows"] - state["taken_in"]
    missing = [(arm["arm"], arm["documents"] - arm["vectors"]) for arm in state["arms"]]
    lacking = [f"{many(number, 'document')} without a vector of {arm}" for arm, number in missing if number > 0]
    if behind > 0:
        lacking.insert(0, f"{many(behind, 'row')} not taken in yet")
    if lacking:
        message = f"not everything is found by meaning yet: {', '.join(lacking)}"
        yield Finding("vectors", NOTE, message, "`transcript-indexer vectors sync` brings them up to date")
    else:
        yield Finding("vectors", OK, f"{many(state['rows'], 'row')} with all their vectors")
