"""`vectors status | sync | rebuild | serve`: see how far the vectors are, hurry them, mend them.

The first three ask the vector worker, and start one when none runs; `status` falls back to what SQLite
says when the worker does not come up. `serve` is what they and `watch` start.
"""

from __future__ import annotations

import signal
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from indexer import app, config, events
from indexer.cli.output import Output
from indexer.cli.render import aside, duration, facts, many, one_line, size
from indexer.config import Config
from indexer.errors import Busy, IndexerError, UsageError
from indexer.store.reads import reading
from indexer.worker import client
from indexer.worker.wire import Unreachable

READY_SECONDS = 30.0
POLL_SECONDS = 0.2
TELL_SECONDS = 5.0
PATIENCE = 10.0
"""Seconds an answer may take while the worker counts."""


def status(args: Namespace, out: Output) -> int:
    """Print how far vectors are. Returns 1 when the index does not hold what it should."""
    settings = _settings(args)
    if settings is None:
        return _off(out)
    try:
        state = _ordered(settings.home, "check", READY_SECONDS)
    except Unreachable as error:
        state = app.vector_state(settings) | {"worker": None, "trouble": error.message}
    _show(out, state)
    return 1 if different(state) else 0


def sync(args: Namespace, out: Output) -> int:
    """Have every row looked at and wait until all have vectors and the index knows them; says how it goes."""
    settings = _settings(args)
    if settings is None:
        return _off(out)
    return _until_done(settings.home, "sync", out)


def rebuild(args: Namespace, out: Output) -> int:
    """Have the index made anew from the vectors in SQLite, and wait for it."""
    settings = _settings(args)
    if settings is None:
        return _off(out)
    if settings.vectors_store != "chroma":
        raise UsageError("there is no index to rebuild", 'vectors.store is "exact": vectors are compared one by one')
    return _until_done(settings.home, "rebuild", out)


def serve(args: Namespace, _: Output) -> int:
    """Be the vector worker until there is nothing to do. Another one already there is no error."""
    settings = config.load(args.home, args.roots)
    if settings.vectors_store == "none":
        return 0
    stop = threading.Event()
    _take_signals(stop)
    events.configure(settings.log_level, settings.log_format)
    try:
        app.serve_vectors(settings, stop)
    except Busy:
        return 0
    return 0


def _take_signals(stop: threading.Event) -> None:
    """End in good order when told to."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())


def _settings(args: Namespace) -> Config | None:
    """The settings; None when vectors are switched off. Raises NoDatabase when nothing has been indexed."""
    settings = config.load(args.home, args.roots)
    if settings.vectors_store == "none":
        return None
    with reading(settings.home):
        return settings


def _off(out: Output) -> int:
    if out.as_json:
        out.data({"store": "none"})
    else:
        out.lines(['vectors are switched off: vectors.store is "none", and only keywords are searched'])
    return 0


# --- asking the worker -------------------------------------------------------------------------------


def _ordered(home: Path, operation: str, seconds: float) -> dict[str, Any]:
    """Give an order and wait until it is carried out; the state after it. Raises Unreachable."""
    until = time.monotonic() + seconds
    order: int | None = None
    while True:
        try:
            if order is None:
                order = int(client.request(home, {"op": operation})["order"])
            state = client.request(home, {"op": "status"}, PATIENCE)
            if int(state["done"]) >= order and (state["swept"] or operation != "check"):
                return state
        except (Unreachable, KeyError) as error:
            order = None  # it ended: the next one has not heard of it
            if time.monotonic() >= until:
                raise Unreachable(
                    "the vector worker does not come up", "`transcript-indexer vectors serve` says why"
                ) from error
            if not client.alive(home):
                client.start(home)
        if time.monotonic() >= until:
            raise Unreachable("the vector worker is busy")
        time.sleep(POLL_SECONDS)


def _until_done(home: Path, operation: str, out: Output) -> int:
    """Order, then watch until nothing waits. Raises Unreachable when the worker will not come up."""
    began = time.monotonic()
    state = _ordered(home, operation, READY_SECONDS)
    first, told = left(state), began
    while left(state) or not state["swept"]:
        if trouble := _hopeless(state):
            raise IndexerError(trouble)
        time.sleep(POLL_SECONDS)
        try:
            state = client.request(home, {"op": "status"}, PATIENCE)
        except Unreachable:
            state = _ordered(home, operation if operation == "sync" else "sync", READY_SECONDS)
        first = max(first, left(state))
        if time.monotonic() - told >= TELL_SECONDS and not out.as_json:
            told = time.monotonic()
            out.note(_progress(left(state), first, told - began))
    _show(out, _ordered(home, "check", READY_SECONDS))
    return 0


def left(state: dict[str, Any]) -> int:
    """Pieces of work that wait, of all models."""
    index = bool(state["index"]["open"] or state["index"]["trouble"])
    return sum(row["waiting"] + (row["unindexed"] if index else 0) for row in state["arms"])


def _hopeless(state: dict[str, Any]) -> str:
    """Why waiting is in vain: a model that has work does not load."""
    return next((row["trouble"] for row in state["arms"] if row["trouble"] and row["waiting"]), "")


def _progress(now: int, first: int, seconds: float) -> str:
    done = first - now
    eta = duration(int(1000 * seconds * now / done)) + " left" if done > 0 else ""
    return aside(f"{now:,} of {first:,} to go", eta)


def different(state: dict[str, Any]) -> int:
    """Documents that the index should hold and does not, or the other way round."""
    return sum(int(found["different"]) for found in state.get("compared", {}).values())


# --- for people --------------------------------------------------------------------------------------


def _show(out: Output, state: dict[str, Any]) -> None:
    if out.as_json:
        out.data(state)
    else:
        out.lines(facts(list(_lines(state)), out.style, indent=""))


def _lines(state: dict[str, Any]) -> Iterator[tuple[str, str]]:
    behind = state["rows"] - state["taken_in"]
    yield (
        "rows",
        aside(f"{state['rows']:,} in the memory", f"{behind:,} not taken in yet" if behind > 0 else "all taken in"),
    )
    for row in state["arms"]:
        yield row["arm"], _arm(row)
    yield "index", _index(state)
    for model, found in state.get("compared", {}).items():
        yield (
            "",
            aside(
                f"{one_line(model)}: {many(found['held'], 'document')} in Chroma",
                f"{found['should']:,} in SQLite",
                "no difference" if not found["different"] else f"{found['different']:,} differ",
            ),
        )
        for what in ("missing", "stray"):
            if found[what]:
                yield "", f"{what}: {one_line(', '.join(found[what]))}"
    yield "on disk", size(state["bytes"])
    yield (
        "worker",
        f"running, pid {state['pid']}" if state.get("pid") else one_line(state.get("trouble") or "not running"),
    )


def _arm(row: dict[str, Any]) -> str:
    share = 100 * row["vectors"] // row["documents"] if row["documents"] else 100
    return aside(
        f"{row['vectors']:,} of {many(row['documents'], 'document')} ({share} %)",
        f"{many(row['waiting'], 'row')} waiting" if row["waiting"] else "",
        "answers" if row["whole"] else "does not answer yet",
        one_line(row.get("trouble") or ""),
    )


def _index(state: dict[str, Any]) -> str:
    index = state.get("index") or {"open": False, "trouble": None}
    waiting = sum(row["unindexed"] for row in state["arms"])
    said = "open" if index["open"] else "not open"
    return aside(
        said, f"{many(waiting, 'document')} to be told of" if waiting else "", one_line(index["trouble"] or "")
    )
