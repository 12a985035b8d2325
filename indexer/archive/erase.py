"""Takes out of the archive what is forgotten, for good: every line of some sessions and records.

A line is known by what it says, its own `sessionId` and `uuid`, and where it names no session by the
session of its file; a line that is no JSON dies with any id that it shows. A chunk with such a line is
written anew without it, the rows that name it move to the new one in one transaction, and its file goes.
Killed between any two of these steps, the next call finds what is left to do: the old chunk by its lines,
or its file by a row that nothing refers to. Files that no row knows are looked at too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Any, NamedTuple

import orjson

from indexer.archive.chunks import Item, deflate, inflate, pack, unpack
from indexer.archive.keep import Archive
from indexer.errors import DamagedArchive
from indexer.failpoints import passing
from indexer.store import archive as rows
from indexer.store.archive import Chunk, Extent
from indexer.store.connection import Connection, transaction
from indexer.store.tombstones import VEIL

_UUID = re.compile(rb"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")


def _nowhere(extent: Extent) -> dict[str, Any]:
    """Where a chunk came from, without the path, which would name the session: a database that is made anew
    can still tell what it holds (adopt)."""
    places = {"start": extent.start, "stop": extent.stop, "line": extent.line_no, "lines": extent.lines}
    return {"path": VEIL, "generation": extent.generation, **places}


class Erased(NamedTuple):
    """Lines that were taken out, chunks written anew or removed for it, and bytes of transcript they were."""

    lines: int
    chunks: int
    size: int


class _Doomed:
    """Says of a line whether it dies."""

    def __init__(self, sessions: Set[str], uuids: Set[str]) -> None:
        self._sessions, self._uuids = sessions, uuids
        names = [name.encode() for name in (*sessions, *uuids)]
        self._usual = {name.lower() for name in names if _UUID.fullmatch(name)}
        self._others = [name for name in names if not _UUID.fullmatch(name)]

    def shows(self, payload: bytes, of_file: bool) -> bool:
        """Whether a payload may hold such a line; of_file: its file's session dies."""
        return of_file or self._names(payload)

    def _names(self, data: bytes) -> bool:
        """Whether one of the ids stands there. A thousand are looked for at once: one by one they would take
        seconds for each megabyte."""
        if any(name in data for name in self._others):
            return True
        return bool(self._usual) and any(found.lower() in self._usual for found in _UUID.findall(data))

    def without(self, payload: bytes, of_file: bool) -> tuple[bytes, int, int]:
        """The payload without lines that die; how many they were, and how many bytes."""
        items, lines, size = [], 0, 0
        for item in unpack(payload):
            if item.data is not None and self._dies(item.data, of_file):
                lines, size = lines + 1, size + item.size
                item = Item(None, 1, item.size)
            items.append(item)
        return (pack(items), lines, size) if lines else (payload, 0, 0)

    def _dies(self, data: bytes, of_file: bool) -> bool:
        try:
            record = orjson.loads(data)
        except orjson.JSONDecodeError:
            return self._names(data)
        if not isinstance(record, dict):
            return of_file
        names = [record.get(key) for key in ("uuid", "leafUuid", "messageId")]
        if any(isinstance(name, str) and name in self._uuids for name in names):
            return True
        session = record.get("sessionId")
        return session in self._sessions if isinstance(session, str) else of_file


def erase(conn: Connection, archive: Archive, sessions: Set[str], uuids: Set[str]) -> Erased:
    """Take out every line of these sessions and records. Not within a transaction; the caller holds the
    writer lock. Safe to call again. Raises DamagedArchive for a chunk that cannot be read: it may hold what
    is to be forgotten."""
    doomed = _Doomed(sessions, uuids)
    done = [_erase_chunk(conn, archive, doomed, sessions, chunk) for chunk in rows.chunks(conn)]
    done += [_erase_piece(conn, doomed, sessions, key) for key in rows.every_piece(conn)]
    archive.clear()
    done += list(_erase_unknown(conn, archive, doomed, sessions))
    return Erased(*(sum(each) for each in zip(*done, strict=True))) if done else Erased(0, 0, 0)


def _erase_chunk(conn: Connection, archive: Archive, doomed: _Doomed, sessions: Set[str], chunk: Chunk) -> Erased:
    extents = rows.every_extent(conn, chunk.id)
    if not extents:
        return Erased(0, 0, 0)  # about to go as it is
    files = {rows.session_of(conn, extent.file_id) for extent in extents}
    of_file = bool(files & sessions)
    payload = archive.shelf.get(chunk.hash)
    if not doomed.shows(payload, of_file):
        return Erased(0, 0, 0)
    rest, lines, size = doomed.without(payload, of_file)
    if not lines:
        if of_file and archive.shelf.origin(chunk.hash) != _nowhere(extents[0]):
            archive.shelf.relabel(chunk.hash, _nowhere(extents[0]))
        return Erased(0, 0, 0)
    holds = any(item.data is not None for item in unpack(rest))
    name, on_disk = archive.shelf.put(rest, _nowhere(extents[0])) if holds else ("", 0)
    passing("erase.written")
    with transaction(conn):
        chunk_id = rows.put_chunk(conn, name, chunk.raw, on_disk) if holds else None
        rows.put_extents(conn, [extent._replace(chunk_id=chunk_id) for extent in extents])
    passing("erase.noted")
    archive.clear()
    return Erased(lines, 1, size)


def _erase_piece(conn: Connection, doomed: _Doomed, sessions: Set[str], key: tuple[int, int, int]) -> Erased:
    piece = rows.piece(conn, key)
    payload, of_file = inflate(piece.data), rows.session_of(conn, piece.file_id) in sessions
    rest, lines, size = doomed.without(payload, of_file) if doomed.shows(payload, of_file) else (payload, 0, 0)
    if lines:
        with transaction(conn):
            rows.put_pieces(conn, [piece._replace(data=deflate(rest))])
    return Erased(lines, 0, size)


def _erase_unknown(conn: Connection, archive: Archive, doomed: _Doomed, sessions: Set[str]) -> Iterator[Erased]:
    """Files that a crash left, or a database that is no more: nothing refers to them, so they go whole."""
    for name in list(archive.shelf.names()):
        if rows.knows(conn, name):
            continue
        try:
            origin, payload = archive.shelf.origin(name), archive.shelf.get(name)
        except DamagedArchive:
            origin, payload = {}, b""
        of_file = origin.get("session") in sessions
        if not payload or doomed.without(payload, of_file)[1]:
            archive.shelf.remove([name])
            yield Erased(0, 1, 0)
