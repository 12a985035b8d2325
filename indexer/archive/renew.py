"""Takes the archive through redaction rules that are newer than it is.

A chunk in which something comes out otherwise is written anew, as when lines of it are forgotten (erase):
killed between any two steps, the next call finds what is left to do, and doing it twice changes nothing.
Private turns that an older version has archived go too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from indexer import events
from indexer.archive.chunks import Item, deflate, inflate, pack, unpack
from indexer.archive.keep import Archive, Redactor
from indexer.archive.private import blank
from indexer.errors import DamagedArchive
from indexer.store import archive as rows
from indexer.store.connection import Connection, transaction


def renew(conn: Connection, archive: Archive, redactor: Redactor) -> Iterator[int]:
    """Redact every line of the archive; yields after each chunk and tail how many lines came out otherwise.
    Not within a transaction; the caller holds the writer lock. What is damaged is told of and left."""
    # Tails first: one that becomes a chunk between two steps is met there.
    for key in list(rows.every_piece(conn)):
        piece = rows.find_piece(conn, key)
        if piece is None:
            continue  # it has become a chunk meanwhile
        try:
            items, changed = _redacted(unpack(inflate(piece.data)), redactor)
        except DamagedArchive as error:
            events.failed("archive", error)
            continue
        if changed:
            with transaction(conn):
                rows.put_pieces(conn, [piece._replace(data=deflate(pack(items)))])
        yield changed
    for chunk in list(rows.chunks(conn)):
        extents = rows.every_extent(conn, chunk.id)
        if not extents:
            continue  # about to go as it is
        try:
            payload, origin = archive.shelf.get(chunk.hash), archive.shelf.origin(chunk.hash)
        except DamagedArchive as error:
            events.failed("archive", error)
            continue
        items, changed = _redacted(unpack(payload), redactor)
        if changed:
            name, size = archive.shelf.put(pack(items), origin)
            with transaction(conn):
                chunk_id = rows.put_chunk(conn, name, chunk.raw, size)
                rows.put_extents(conn, [extent._replace(chunk_id=chunk_id) for extent in extents])
            archive.clear()
        yield changed
    if gone := blank(conn, archive.shelf):
        yield gone
    archive.clear()


def _redacted(items: Iterable[Item], redactor: Redactor) -> tuple[list[Item], int]:
    kept, changed = [], 0
    for item in items:
        data = item.data if item.data is None else redactor.line(item.data)
        changed += data != item.data
        kept.append(item._replace(data=data))
    return kept, changed
