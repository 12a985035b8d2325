"""Archives what was read before: with the archive switched off or full, or by a version without one.

Only lines that were read and committed, of a file that still holds them: the archive is never ahead.
"""

from __future__ import annotations

import os

from indexer.archive.keep import Archive, Raw
from indexer.files.fingerprint import Fingerprint, matches
from indexer.files.tail import Oversize, open_source, read_lines
from indexer.sources.base import Source
from indexer.store import archive as rows
from indexer.store.checkpoints import FileRow, by_id
from indexer.store.connection import Connection, transaction


def catch_up(conn: Connection, archive: Archive, source: Source, file_id: int) -> int:
    """Archive what a file holds between the archive's place in it and the reader's; returns the bytes.

    0 where nothing can be done: the file is gone, or no longer holds what was read, or the cap is reached."""
    row = by_id(conn, file_id)
    try:
        fd = open_source(row.path)
    except OSError:  # the next look at the folder tells what has become of it
        return 0
    try:
        first = before = rows.reached(conn, row.id, row.generation)[0]
        if not _still_holds(row, fd, archive.key):
            return 0
        while before < (now := _turn(conn, archive, source, row, fd)):
            before = now
    finally:
        os.close(fd)
    return before - first


def _still_holds(row: FileRow, fd: int, key: bytes) -> bool:
    marks = Fingerprint(row.head_len, row.head_hash, row.tail_len, row.tail_hash)
    return matches(fd, os.fstat(fd).st_size, row.offset, marks, key)


def _turn(conn: Connection, archive: Archive, source: Source, row: FileRow, fd: int) -> int:
    """Archive some lines; returns how far the archive has come in the file."""
    begin, number = rows.reached(conn, row.id, row.generation)
    raw = []
    named, guard = row.source_file(), archive.guard(row)
    for line in read_lines(fd, begin, number, size=row.offset):
        data = None if isinstance(line, Oversize) else archive.clean(line.data)
        kept = data is not None and archive.wants(source.parse(data, named), guard)
        raw.append(Raw(line.start, line.end, data if kept else None))
    whole = bool(raw) and raw[-1].end >= row.offset
    taken = archive.take(row, raw, whole=whole)
    if taken is not None:
        with transaction(conn):
            archive.note(taken)
    return rows.reached(conn, row.id, row.generation)[0]
