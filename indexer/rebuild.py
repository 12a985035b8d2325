"""Rebuilds a filled memory in a side file: what to read from disk, what from the archive, what to carry.

A transcript that stands on disk is read from there, one that does not is read from the archive, and the
records of those that stand nowhere are carried over (store/rebuild.py). The archive's own rows are carried
too, so that what it holds already is neither compressed nor written again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from indexer import events
from indexer.archive.keep import Archive
from indexer.errors import DamagedArchive
from indexer.files.discover import Found
from indexer.files.fingerprint import Fingerprint, matches
from indexer.files.tail import open_source
from indexer.ingest import Progress
from indexer.project import Resolver
from indexer.records import AgentLink, Entry, Ignored
from indexer.sources.base import Source
from indexer.store import archive as archived
from indexer.store import checkpoints, rebuild
from indexer.store.checkpoints import FileRow
from indexer.store.connection import Connection, database_path, transaction
from indexer.store.numbering import settle
from indexer.store.sessions import Sessions
from indexer.store.writer import Placed, Turn, Writer

TURN_LINES = 4_000
_LEFT_OUT = Entry(None, None, None, None, None, None, False, None, None, (Ignored("progress"),))


class _Line(NamedTuple):
    """A line of the archive at its place. stop: the offset behind it."""

    placed: Sequence[Placed]
    stop: int
    number: int
    is_open: bool


class Feed:
    """Reads transcripts from the archive, as far as nobody can read them from disk. files: their rows."""

    def __init__(self, conn: Connection, source: Source, resolver: Resolver, archive: Archive) -> None:
        self._conn, self._source, self._resolver, self._archive = conn, source, resolver, archive
        self.files: list[FileRow] = []
        self.problems: list[tuple[str, str]] = []
        """Transcripts of which the archive is damaged, and how."""
        self._schema = "main"

    def adopt(self) -> None:
        """Take in an archive that outlived its database."""
        adopted, damaged = self._archive.adopt()
        self.problems += damaged
        self.files = [checkpoints.by_id(self._conn, file_id) for file_id in adopted]
        for row in self.files:
            row.offset = archived.reached(self._conn, row.id, max(archived.layers(self._conn, row.id)))[0]

    def unfinished(self) -> bool:
        """Whether `fed` has more to do: others have come to own records of a file."""
        return any(checkpoints.by_id(self._conn, row.id).size < 0 for row in self.files)

    def fed(self) -> Iterator[Progress]:
        """Read the transcripts that only the archive has; after each commit, says what it brought."""
        for before in self.files:
            row = checkpoints.by_id(self._conn, before.id)
            if row.size >= 0:
                continue
            row.status = "active"
            try:
                yield from self._feed(row, before)
            except DamagedArchive as error:
                events.failed("archive", error)  # what it held is carried over
                self.problems.append((row.path, error.message))

    def _feed(self, row: FileRow, before: FileRow) -> Iterator[Progress]:
        lines = self._lines(row)
        links: list[Placed] = [Placed(0, 0, entry) for entry in self._note_beside(row)]
        while chunk := list(islice(lines, TURN_LINES)):
            whole = [line for line in chunk if not line.is_open]
            turns = [Turn(row, [*links, *(placed for line in whole for placed in line.placed)])]
            turns += [Turn(row, line.placed, provisional=True) for line in chunk if line.is_open]
            links, began = [], row.offset
            with transaction(self._conn):
                writer = Writer(self._conn, self._source.platform, self._resolver.resolve)
                written = writer.write(turns)
                if whole:
                    row.offset, row.line_no = whole[-1].stop, whole[-1].number
                row.size = before.offset if len(chunk) < TURN_LINES else checkpoints.UNREAD
                again = self._move_on(row)
            yield Progress(int(row.size >= 0), max(0, row.offset - began), len(chunk), written)
            if again:
                return  # the next pass reads it from its start

    def _move_on(self, row: FileRow) -> bool:
        """Save where the file has come to; says whether it has to be read again, since others have come to
        own its records."""
        again, row.reread = row.reread, False
        if again:
            row.start_over()
            row.generation -= 1  # it is the same reading of the same archive
            checkpoints.restart(self._conn, row.id)
        checkpoints.save(self._conn, row)
        self._note_fed(row)
        return again

    def _note_fed(self, row: FileRow) -> None:
        """Nobody else has to know."""

    def _lines(self, row: FileRow) -> Iterator[_Line]:
        """What the archive holds of a file's last reading, as the source would give it."""
        named = row.source_file()
        layer = max(archived.layers(self._conn, row.id), default=row.generation)
        for stretch, is_open in self._archive.stretches(row.id, layer):
            offset, number = stretch.start, stretch.line_no
            for data, lines, size in stretch.items:
                number += lines
                entries = [_LEFT_OUT] * lines if data is None else self._source.parse(self._archive.clean(data), named)
                yield _Line([Placed(number, offset, entry) for entry in entries], offset + size, number, is_open)
                offset += size

    def _note_beside(self, row: FileRow) -> list[Entry]:
        """The link of a sub-agent to its call, which stood in a file beside the transcript."""
        note = archived.agent_note(self._conn, row.session_id, row.agent_id, self._schema)
        if note is None or row.agent_id is None:
            return []
        link = AgentLink(row.agent_id, *note)
        return [Entry(None, row.session_id, None, None, None, None, True, row.agent_id, None, (link,))]


class Rebuild(Feed):
    """One rebuild of the memory in `home` in the side file `conn`. `begin` before anything is read, `fed` for
    what the archive has, `end` after everything."""

    def __init__(self, conn: Connection, home: Path, source: Source, resolver: Resolver, archive: Archive) -> None:
        super().__init__(conn, source, resolver, archive)
        rebuild.attach(conn, database_path(home))
        self._schema = "old"

    def begin(self, old: Sequence[FileRow], kept: set[int], found: Iterable[Found]) -> None:
        """Say of each file that the old memory knows where it is read from. kept: ids of those that the
        archive holds. In the caller's transaction."""
        standing = {checkpoints.stored(each.file.path): each.file.path for each in found}
        unread, changed = [], []
        for row in old:
            if row.path in standing and row.status != "replaced":
                if not _still_holds(row, standing[row.path], self._archive.key):
                    changed.append(row.id)
            elif row.id in kept and row.status != "replaced":
                self.files.append(row)
            else:
                unread.append(row.id)
        rebuild.begin(self._conn, unread, changed)

    def _note_fed(self, row: FileRow) -> None:
        rebuild.note_fed(self._conn, row.id)

    def end(self) -> None:
        """Give rows their old ids and carry over what is still missing.

        Raises IndexerError if anything would be lost; the old memory then stays."""
        with rebuild.unjournaled(self._conn):
            rebuild.take_old_ids(self._conn)
            grown = rebuild.carry_rest(self._conn)
            sessions = Sessions(self._conn, self._source.platform, self._resolver.resolve)
            held = [sessions.get(content_id) for content_id in grown]
            for session in held:
                session.renumber = session.renumber_agents = True
            settle(self._conn, held)
            rebuild.check_nothing_lost(self._conn)
        rebuild.finish(self._conn)


def _still_holds(row: FileRow, path: str, key: bytes) -> bool:
    """Whether a file on disk holds, up to where it was read, what was read of it."""
    try:
        fd = open_source(path)
    except OSError:
        return True  # nobody knows; what cannot be read now is carried over
    try:
        marks = Fingerprint(row.head_len, row.head_hash, row.tail_len, row.tail_hash)
        return matches(fd, os.fstat(fd).st_size, row.offset, marks, key)
    finally:
        os.close(fd)
