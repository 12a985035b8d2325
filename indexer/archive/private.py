"""Keeps out of the archive what the store keeps out: what follows a wholly private prompt, up to the next one.

Which lines these are is known once their transaction is settled (store/private.py), so they are taken out when
it is noted what was archived (`without`). What an earlier transaction has archived, before anyone could know
(a sub-agent's file that was read first, an archive of an older version), goes by `blank`. In a private turn
only what was typed, titles and the lines of the prompt queue stay, as they do in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import orjson

from indexer import events
from indexer.archive.chunks import Item, Shelf, deflate, inflate, pack, unpack
from indexer.errors import DamagedArchive
from indexer.store import archive as rows
from indexer.store.connection import Connection, transaction
from indexer.store.private import Hidden, any_private, hidden

_NAMELESS = frozenset({"custom-title", "ai-title", "summary", "queue-operation"})
"""Lines without a uuid that the store keeps, whatever turn they stand in."""


def without(secret: Hidden, items: Iterable[Item], line_no: int | None) -> tuple[list[Item], int]:
    """The lines without those of private turns, and how many these were. line_no: lines of the file before
    the first; None if they were read before the file was read anew: then only uuids tell."""
    kept, gone, number = [], 0, line_no
    for item in items:
        number = None if number is None else number + item.lines
        if item.data is not None and _goes(secret, item.data, number):
            gone, item = gone + 1, Item(None, 1, item.size)
        kept.append(item)
    return kept, gone


def _goes(secret: Hidden, data: bytes, number: int | None) -> bool:
    if secret.whole:
        return True
    within = number is not None and any(begin < number < end for begin, end in secret.ranges)
    if not within and not secret.uuids:
        return False
    try:
        record = orjson.loads(data)
    except orjson.JSONDecodeError:
        return within
    uuid = record.get("uuid") if isinstance(record, dict) else None
    if isinstance(uuid, str):
        return uuid not in secret.typed and (within or uuid in secret.uuids)
    return within and not (isinstance(record, dict) and record.get("type") in _NAMELESS)


def blank(conn: Connection, shelf: Shelf, file_ids: Sequence[int] | None = None) -> int:
    """Take private turns out of what is archived of these files (None: of all); returns how many lines. In a
    transaction of the caller's or its own; chunks that are in no use any more are for `Archive.clear`."""
    if not any_private(conn):
        return 0
    if file_ids is None:
        file_ids = [held.file_id for held in rows.held(conn)]
    return sum(_blank(conn, shelf, file_id, secret) for file_id in file_ids if (secret := hidden(conn, file_id)))


def _blank(conn: Connection, shelf: Shelf, file_id: int, secret: Hidden) -> int:
    gone = 0
    layers = rows.layers(conn, file_id)
    for generation in layers:
        last = generation == layers[-1]
        for piece in rows.pieces(conn, file_id, generation):
            items, count = without(secret, unpack(inflate(piece.data)), piece.line_no if last else None)
            if count:
                with _joined(conn):
                    rows.put_pieces(conn, [piece._replace(data=deflate(pack(items)))])
            gone += count
        for extent in rows.extents(conn, file_id, generation):
            if extent.chunk_id is not None:
                gone += _blank_chunk(conn, shelf, extent, secret, last=last)
    return gone


def _blank_chunk(conn: Connection, shelf: Shelf, extent: rows.Extent, secret: Hidden, *, last: bool) -> int:
    chunk = rows.chunk(conn, extent.chunk_id or 0)
    try:
        items, count = without(secret, unpack(shelf.get(chunk.hash)), extent.line_no if last else None)
        origin = shelf.origin(chunk.hash)
    except DamagedArchive as error:
        events.failed("archive", error)
        return 0
    if count:
        holds = any(item.data is not None for item in items)
        name, size = shelf.put(pack(items), origin) if holds else ("", 0)
        with _joined(conn):
            chunk_id = rows.put_chunk(conn, name, chunk.raw, size) if holds else None
            rows.put_extents(conn, [extent._replace(chunk_id=chunk_id)])
    return count


def _joined(conn: Connection) -> AbstractContextManager[object]:
    """The caller's transaction, or one of its own."""
    return nullcontext() if conn.in_transaction else transaction(conn)
