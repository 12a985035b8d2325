"""What there is to say of the vectors: how far each model has come, and whether the index holds what it should.

Counts come from SQLite, the index's own names from the index; nothing here changes anything.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from indexer.embedders.base import Spec
from indexer.errors import IndexerError
from indexer.store import embeddable
from indexer.store.reads import reading
from indexer.store.vectors import Vectors, folder
from indexer.sync import Sync
from indexer.text import many

NAMED = 10
"""Differences that are named, of each kind and model."""


def report(home: Path, vectors: Vectors | None, sync: Sync) -> dict[str, Any]:
    """The state as a running worker knows it; keys as those of `at_rest`, and what only it can say."""
    arms = {arm.spec.arm: arm for arm in sync.arms}
    said = at_rest(home, vectors, [arm.spec for arm in sync.arms])
    for row in said["arms"]:
        arm = arms[row["arm"]]
        trouble = arm.trouble
        row["loaded"] = arm.embedder is not None
        row["trouble"] = f"{trouble.message} ({trouble.hint})" if trouble else None
    index = {"open": sync.index is not None, "trouble": sync.index_trouble or None}
    return said | {"swept": sync.swept, "old": [arm.spec.arm for arm in sync.old], "index": index}


def at_rest(home: Path, vectors: Vectors | None, specs: list[Spec]) -> dict[str, Any]:
    """The state as SQLite has it: rows of the memory and rows taken in, and how far each model is."""
    rows = 0
    with suppress(IndexerError), reading(home) as memory:
        rows = embeddable.count(memory)
    if vectors is None:
        return {"rows": rows, "taken_in": 0, "bytes": size_of(folder(home)), "arms": []}
    known = vectors.models()
    arms = [
        {"arm": spec.arm, "model": spec.model, "whole": known.get(spec.model, ("", False))[1]}
        | vectors.coverage(spec.model, spec.latin_only)._asdict()
        for spec in specs
    ]
    return {"rows": rows, "taken_in": vectors.rows(), "bytes": size_of(folder(home)), "arms": arms}


def compared(sync: Sync) -> dict[str, Any]:
    """What the index holds against what it should, by model. Opens the index; {} when there is none."""
    index = sync.opened()
    found = {}
    if index is not None:
        for arm in sync.arms:
            try:
                found[arm.spec.model] = _difference(sync, arm.spec.model)
            except IndexerError as error:
                sync.lose_index(error)
                break
    return found


def _difference(sync: Sync, model: str) -> dict[str, Any]:
    index = sync.index
    held = set(index.names(model)) if index is not None else set()
    given = {name for name, _ in sync.vectors.indexed(model)}
    return {
        "held": len(held),
        "should": len(given),
        "missing": sorted(given - held)[:NAMED],
        "stray": sorted(held - given)[:NAMED],
        "different": len(given ^ held),
    }


def progress(sync: Sync) -> str:
    """`use: 45 % of 1,200 rows have vectors`, of the first model that is not whole."""
    for arm in sync.arms:
        if not arm.whole:
            rows = sync.vectors.rows()
            done = rows - sync.vectors.coverage_waiting(arm.spec.model)
            # Never 100: it is not whole before every row was looked at.
            have = "has" if rows == 1 else "have"
            share = f"{min(99, 100 * done // rows)} % of {many(rows, 'row')}" if rows else ""
            return f"{share} {have} vectors of {arm.spec.arm}" if rows else ""
    return ""


def size_of(path: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for one in path.rglob("*"):
        with suppress(OSError):
            total += one.lstat().st_size if one.is_file() else 0
    return total
