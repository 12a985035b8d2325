"""Sees to it that what was forgotten has no vector any more, before `forget` reports success.

A running worker does it; where none runs, it is done here, under the worker's lock: rows that the memory
does not hold as they were taken in leave vectors.db (secure_delete is on), and Chroma's folder goes whole,
since its own deletions leave the bytes in the HNSW file. It is filled again from SQLite in the background.
"""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from indexer.documents import documents, stamp
from indexer.errors import IndexerError
from indexer.obstacles import obstacle
from indexer.store import embeddable
from indexer.store.connection import Connection
from indexer.store.reads import reading
from indexer.store.vectors import Vectors, folder, open_store, path
from indexer.sync import WINDOW
from indexer.worker import client
from indexer.worker.server import Lock

CHROMA = "chroma"
_POLL = 0.1


def forget(home: Path, timeout: float = 120.0) -> bool:
    """Take out the vectors of what is no longer in the memory; says whether that is done. Raises nothing
    that a worker or its absence can cause; sqlite3.Error for a database that cannot be written to."""
    try:
        if not path(home).is_file():
            return True
    except OSError:
        return False
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        if obstacle(folder(home)):
            return False
        try:
            if _by_worker(home, until) if client.alive(home) else _by_us(home):
                return True
        except _Impossible:
            return False
        time.sleep(_POLL)
    return False


class _Impossible(IndexerError):
    """What stands on disk cannot be deleted: to wait is in vain."""


def _by_worker(home: Path, until: float) -> bool:
    """Have the worker do it. False: it did not answer, or ended before it was done. Raises _Impossible."""
    try:
        order = int(client.request(home, {"op": "forget"})["order"])
        while time.monotonic() < until:
            if _carried_out(client.request(home, {"op": "status"}), order):
                return True
            time.sleep(_POLL)
    except _Impossible:
        raise
    except (IndexerError, KeyError, ValueError):
        return False
    return False


def _carried_out(state: dict[str, Any], order: int) -> bool:
    if state.get("trouble"):
        raise _Impossible(*state["trouble"])
    return int(state["done"]) >= order


def _by_us(home: Path) -> bool:
    """Do it without a worker. False: one has come up just now."""
    try:
        lock = Lock(home)
    except (IndexerError, OSError):
        return False
    try:
        with closing(open_store(home)) as vectors, reading(home) as memory:
            drop_changed(vectors, memory)
            vectors.index_lost()
            vectors.scrub()
        shutil.rmtree(folder(home) / CHROMA, ignore_errors=True)
        if (folder(home) / CHROMA).exists():
            raise _Impossible(f"{folder(home) / CHROMA} cannot be deleted")
    finally:
        lock.release()
    return True


def drop_changed(vectors: Vectors, memory: Connection) -> int:
    """Take out rows that the memory does not hold as they were taken in; returns how many."""
    number = 0
    for low in range(0, vectors.last_row() + 1, WINDOW):
        held = vectors.stamps(low, low + WINDOW)
        there = {row.id: stamp(row, documents(row)) for row in embeddable.rows(memory, list(held))}
        gone = [row for row, mark in held.items() if there.get(row) != mark]
        vectors.remove(gone)
        number += len(gone)
    return number
