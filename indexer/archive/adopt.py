"""Takes in an archive whose database was lost: all that its files hold is known again, and none is swept.

Of a transcript that stands no more, the last reading becomes a file of the new database that is read from the
archive. What else there is, earlier readings, what a standing transcript held before it was rewritten, files
that forgetting has left without a name, becomes a file of its own beside it, marked as replaced. Once the
standing ones have been read, whatever they hold too is let go again (`let_go`), so that nothing stands twice.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from indexer.archive.chunks import unpack
from indexer.archive.keep import Archive, Stretch
from indexer.errors import DamagedArchive
from indexer.store import archive as rows
from indexer.store.archive import Extent
from indexer.store.checkpoints import FileRow, by_id, by_path, save
from indexer.store.connection import Connection, transaction
from indexer.store.tombstones import VEIL


class _Head(NamedTuple):
    path: str
    generation: int
    start: int
    stop: int
    name: str
    line: int
    lines: int
    origin: dict[str, Any]


def adopt(conn: Connection, archive: Archive) -> tuple[list[int], list[tuple[str, str]]]:
    """Know all files of the archive that the database does not know. Returns ids of transcripts to be read from
    it, and which of its own files say nothing, and why."""
    heads: list[_Head] = []
    damaged: list[tuple[str, str]] = []
    for name in archive.shelf.names():
        if rows.knows(conn, name):
            continue
        try:
            heads.append(_head(archive, name))
        except DamagedArchive as error:
            damaged.append((str(archive.shelf.path(name)), error.message))
    last: dict[str, int] = {}
    for head in heads:
        last[head.path] = max(head.generation, last.get(head.path, 0))
    adopted: dict[tuple[str, int], FileRow] = {}
    with transaction(conn):
        for head in sorted(heads, key=lambda head: head[:5]):
            key = (head.path, head.generation)
            if key not in adopted:
                beside = head.generation < last[head.path] or os.path.lexists(head.path)
                adopted[key] = _row(conn, head, beside=beside)
            size = archive.shelf.path(head.name).stat().st_size
            chunk_id = rows.put_chunk(conn, head.name, head.stop - head.start, size)
            place = (adopted[key].id, head.generation, head.start, head.stop, head.line, head.lines)
            rows.put_extents(conn, [Extent(*place, chunk_id)])
    return [row.id for row in adopted.values()], damaged


def _head(archive: Archive, name: str) -> _Head:
    """Where a chunk came from, also one that does not say it any more. Raises DamagedArchive."""
    origin, items = archive.shelf.origin(name), list(unpack(archive.shelf.get(name)))
    start, line = int(origin.get("start", 0)), int(origin.get("line", 0))
    stop = int(origin.get("stop", start + sum(item.size for item in items)))
    lines = int(origin.get("lines", sum(item.lines for item in items)))
    path = str(origin.get("path", "/"))
    if path == "/" or path.startswith(VEIL):
        path = VEIL + name
    return _Head(path, int(origin.get("generation", 0)), start, stop, name, line, lines, origin)


def _row(conn: Connection, head: _Head, *, beside: bool) -> FileRow:
    known = None if beside else by_path(conn, head.path)
    if known is not None:
        return known
    origin = head.origin
    row = FileRow(0, head.path, str(origin.get("folder", "")), origin.get("session"), origin.get("agent"))
    row.generation, row.status = head.generation, "replaced" if beside else "active"
    save(conn, row)
    return row


def let_go(conn: Connection, archive: Archive, adopted: Sequence[int]) -> list[int]:
    """Let go of what standing transcripts hold too; returns the ids of the files that are left."""
    left = []
    for file_id in adopted:
        row = by_id(conn, file_id)
        standing = by_path(conn, row.path) if row.status == "replaced" else None
        if standing is not None:
            _let_go(conn, archive, file_id, standing)
        if rows.layers(conn, file_id):
            left.append(file_id)
        else:
            with transaction(conn):
                rows.drop_file(conn, file_id)
    archive.clear()
    return left


def _let_go(conn: Connection, archive: Archive, file_id: int, standing: FileRow) -> None:
    for generation in rows.layers(conn, file_id):
        for stretch, _ in list(archive.stretches(file_id, generation)):
            if _within(archive, standing, stretch):
                with transaction(conn):
                    rows.drop(conn, file_id, generation, stretch.start)


def _within(archive: Archive, standing: FileRow, stretch: Stretch) -> bool:
    """Whether all lines of a stretch stand in the archived reading of the file too."""
    now = {item.data for each, _ in archive.stretches(standing.id, standing.generation) for item in each.items}
    return all(item.data is None or item.data in now for item in stretch.items)
