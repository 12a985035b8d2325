"""Chroma: nearest neighbours over everything, on disk. Only the vector worker loads it.

No document text (it is in SQLite; Chroma would keep a full-text copy of its own, 55 instead of 26 MB for
10,000 documents), no embedding function (the default one downloads a model at its first use), one collection
a model with all projects in each, updates in place (a delete and an add leave the old vector in the HNSW
file for good). Adding costs 2 ms of CPU a document, in batches; 5 kB of disk.

A damaged file may kill the process that opens it (a random `data_level0.bin`: SIGSEGV at the query), so a
mark stands beside the folder while it is opened and asked: found at the next start, the folder goes. Other
damage is silent (a deleted segment gives partial answers, a deleted database none): what it holds is
compared with SQLite by count and by canaries, in sync.py. A kill while it is written to loses at most the
batch in hand, so the mark of a write counts only when it is found twice. Each generation has a folder of its own, since
chromadb caches a client by its path and would write to a deleted file.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from indexer.embedders.base import unpacked
from indexer.obstacles import Obstacle, obstacle
from indexer.store.vectors import Entry
from indexer.trim import trim
from indexer.vectors.base import IndexBlocked, IndexBusy, IndexDamaged, IndexMissing

_PAGE = 5_000
_HNSW = {"space": "cosine", "ef_search": 200}
_LAYOUT = 1
_INFO = "made-by.json"
_MARKS = (".asked", ".written", ".again")
_PROBE = 1 << 20
_PATIENCE = 0.05
"""Seconds a question waits for a batch that is being written; the exact scan answers then."""


class Chroma:
    """The index in `folder`, which is made if it is not there.

    Raises IndexMissing without chromadb; IndexBlocked where it cannot be written; IndexDamaged when it cannot
    be opened, was written by another version, or killed the process that opened it last.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._lock = folder, threading.Lock()
        self._asked, self._written, self._again = (folder.with_name(folder.name + end) for end in _MARKS)
        chromadb, settings = _load()
        with _judged(folder.parent):
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            self._look_at_marks()
        self._collections: dict[str, Any] = {}
        with self._guarded(self._asked):
            _claim(folder, str(chromadb.__version__))
            self._client = chromadb.PersistentClient(
                path=str(folder), settings=settings(anonymized_telemetry=False, allow_reset=False)
            )

    def _look_at_marks(self) -> None:
        """What the last process was doing when it was killed."""
        if self._asked.exists() or (self._written.exists() and self._again.exists()):
            raise IndexDamaged("the vector index killed the process that asked it")
        if self._written.exists():
            self._written.rename(self._again)

    @contextmanager
    def _guarded(self, mark: Path, wait: float = -1) -> Iterator[None]:
        """A mark stands while Chroma is asked, by one thread at a time; whatever it raises is one error."""
        if not self._lock.acquire(timeout=wait):
            raise IndexBusy("the vector index is being written to")
        try:
            with _judged(self._folder.parent):
                mark.touch(0o600)
                yield
        finally:
            with suppress(OSError):
                mark.unlink(missing_ok=True)
            self._lock.release()

    def _collection(self, model: str) -> Any:
        if model not in self._collections:
            self._collections[model] = self._client.get_or_create_collection(
                _collection_name(model),
                configuration={"hnsw": _HNSW},
                metadata={"model": model},
                embedding_function=None,
            )
        return self._collections[model]

    def count(self, model: str) -> int:
        """See Index."""
        with self._guarded(self._asked):
            return int(self._collection(model).count())

    def names(self, model: str) -> Iterator[str]:
        """See Index."""
        offset = 0
        while True:
            with self._guarded(self._asked):
                found = self._collection(model).get(include=[], limit=_PAGE, offset=offset)["ids"]
            yield from found
            if len(found) < _PAGE:
                return
            offset += _PAGE

    def put(self, model: str, entries: Sequence[Entry]) -> None:
        """See Index."""
        if not entries:
            return
        with self._guarded(self._written):
            self._collection(model).upsert(
                ids=[entry.name for entry in entries],
                embeddings=[list(unpacked(entry.vector)) for entry in entries],
                metadatas=[_metadata(entry) for entry in entries],
            )
        self._again.unlink(missing_ok=True)

    def remove(self, model: str, names: Sequence[str]) -> None:
        """See Index."""
        if names:
            with self._guarded(self._written):
                self._collection(model).delete(ids=list(names))

    def nearest(self, model: str, vector: bytes, limit: int, project: str | None = None) -> list[tuple[str, float]]:
        """See Index. project: what `scope` says, one equality; anything else costs twice as much."""
        with self._guarded(self._asked, _PATIENCE):
            found = self._collection(model).query(
                query_embeddings=[list(unpacked(vector))],
                n_results=limit,
                where=None if project is None else {"scope": project},
                include=["distances"],
            )
        pairs = zip(found["ids"][0], found["distances"][0], strict=True)
        return [(name, 1.0 - float(distance)) for name, distance in pairs if math.isfinite(distance)]

    def drop(self, model: str) -> None:
        """See Index."""
        with self._guarded(self._written):
            self._collections.pop(model, None)
            known = {one if isinstance(one, str) else one.name for one in self._client.list_collections()}
            if _collection_name(model) in known:
                self._client.delete_collection(_collection_name(model))

    def close(self) -> None:
        """See Index."""
        closing: Callable[[], None] | None = getattr(self._client, "close", None)
        if closing is not None:
            with self._guarded(self._written):
                closing()
        trim()


@contextmanager
def _judged(folder: Path) -> Iterator[None]:
    """Whatever Chroma raises is one of two errors: it cannot write where it is, or it is damaged.

    Its own words for a full disk or a folder that is read-only change with its versions: so the folder is
    looked at, and a little is written there."""
    try:
        yield
    except IndexDamaged:
        raise
    except Exception as error:
        blocked = obstacle(folder, deep=True) or _refused(folder)
        if blocked:
            raise IndexBlocked(f"the vector index cannot be used: {blocked.message}", blocked.remedy) from error
        raise IndexDamaged(f"the vector index failed: {type(error).__name__}") from error


def _refused(folder: Path) -> Obstacle | None:
    probe = folder / "probe"
    try:
        probe.write_bytes(bytes(_PROBE))
    except OSError as error:
        return Obstacle(f"{folder} takes no file: {error.strerror}", "make room there, or look for a quota or a limit")
    finally:
        with suppress(OSError):
            probe.unlink(missing_ok=True)
    return None


def _load() -> tuple[Any, Any]:
    try:
        return import_module("chromadb"), import_module("chromadb.config").Settings
    except ImportError as error:
        raise IndexMissing("chromadb is not installed", "`pip install chromadb`") from error


def _claim(folder: Path, version: str) -> None:
    """Note who makes the folder. What another version of Chroma or of us made is made anew: that takes
    2 ms a document, a migration that fails halfway takes an evening."""
    mine = {"chromadb": version, "layout": _LAYOUT}
    info = folder / _INFO
    if not folder.exists():
        folder.mkdir(mode=0o700, parents=True)
        info.write_text(json.dumps(mine), encoding="utf-8")
    elif not info.is_file() or json.loads(info.read_text(encoding="utf-8")) != mine:
        raise IndexDamaged("the vector index was made by another version")


def _collection_name(model: str) -> str:
    plain = re.sub("[^a-z0-9]+", "-", model.lower()).strip("-")[:40]
    return f"{plain}-{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def _metadata(entry: Entry) -> dict[str, str | int]:
    """What filters may ask of a document. What is None is left out: Chroma refuses it."""
    place = entry.place
    told: dict[str, str | int] = {"row": place.row, "kind": place.kind, "session": place.session}
    told |= {"project": place.project_key, "scope": place.merged or place.project_key}
    for name, value in (("merged", place.merged), ("type", place.type), ("time", place.time)):
        if value is not None:
            told[name] = value
    return told


def clear(folder: Path) -> None:
    """Put a generation's folder aside: the one put aside before goes, and so do its marks."""
    aside = folder.parent / "damaged"
    if folder.exists():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    for end in _MARKS:
        folder.with_name(folder.name + end).unlink(missing_ok=True)
