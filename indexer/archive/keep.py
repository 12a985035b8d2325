"""Keeps what is read of transcripts: lines go into windows of 1 MiB, a full window becomes a chunk.

A window is the stretch of a file between two multiples of 1 MiB, as far as its lines begin there: where
it ends follows from the file alone, so a copy, a restored file and a second reading make the same chunks.
What does not fill a window waits in the database, piece by piece, until its file has been quiet for a
while; then it becomes a chunk too, which the next window of that file replaces. So a service that
commits a line at a time makes no more files than a rescan.

Chunk files stand on disk before the transaction that names them commits; what a crash leaves is known to
nobody and swept at the next start. The archive has a place in each file of its own (the end of what it
holds), so that it can be behind what was read (it was switched off, or full, or the memory is older than
the archive) and catch up, but never ahead. Lines of `progress` records, which are copies of what
sub-agents' files hold, are counted and not kept; nor are lines too long to be read at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

from indexer import events
from indexer.archive.chunks import Item, Shelf, deflate, inflate, pack, unpack
from indexer.archive.private import without
from indexer.errors import DamagedArchive
from indexer.failpoints import passing
from indexer.records import Entry, Ignored
from indexer.store import archive as rows
from indexer.store.archive import Extent, Piece
from indexer.store.checkpoints import FileRow, by_id
from indexer.store.connection import Connection, transaction
from indexer.store.private import Hidden, hidden
from indexer.store.refusals import Guard
from indexer.store.tombstones import VEIL

WINDOW = 20
"""Windows are 2**20 bytes."""
_LEFT_OUT = (Ignored("progress"),)


class Redactor(Protocol):
    """What is asked of indexer.redact.Redactor. key: of the fingerprints of what was read."""

    key: bytes

    def line(self, data: bytes) -> bytes:
        """A line as it may be written."""
        ...


Guards: TypeAlias = Callable[[FileRow], Guard | None]
"""What says, line by line, whether something in a file is never to be kept; None: nothing is."""


class Raw(NamedTuple):
    """A line as read. data None: it is not to be kept."""

    start: int
    end: int
    data: bytes | None


class Stretch(NamedTuple):
    """A stretch of a file with what is kept of it."""

    start: int
    stop: int
    line_no: int
    items: list[Item]

    @property
    def window(self) -> int:
        """The window that it belongs to."""
        return self.start >> WINDOW

    @property
    def lines(self) -> int:
        """How many lines of the transcript it stands for."""
        return sum(item.lines for item in self.items)

    @property
    def holds(self) -> bool:
        """Whether any of these is kept."""
        return any(item.data is not None for item in self.items)


class _Stored(NamedTuple):
    """A stretch that a chunk holds; not its lines, of which a batch may have many."""

    start: int
    stop: int
    line_no: int
    lines: int
    name: str
    size: int


class Kept(NamedTuple):
    """What was taken of one turn, to be noted in the transaction that commits it."""

    row: FileRow
    generation: int
    stored: Sequence[_Stored]
    tails: Sequence[tuple[Stretch, bool]]
    """Stretches that wait for more, and whether they are an open line."""


class Archive:
    """The archive of one memory. The caller holds the writer lock.

    redactor: what lines from disk go through before they are taken (`clean`). guards: what keeps lines out that were
    forgotten or are excluded. cap: bytes it may take on disk, 0 for no limit: beyond it nothing
    more is taken, and nothing goes. lazily: see `Shelf`.
    """

    def __init__(
        self,
        conn: Connection,
        home: Path,
        redactor: Redactor | None = None,
        *,
        guards: Guards | None = None,
        cap: int = 0,
        lazily: bool = False,
    ) -> None:
        self._conn, self._redactor, self._guards, self._cap = conn, redactor, guards, cap
        self.idle_before = 0
        """Files written before this time (ns since 1970) are not waited for: their ends become chunks."""
        self.shelf = Shelf(home, lazily=lazily)
        self._size = rows.total(conn)

    @property
    def full(self) -> bool:
        """Whether the cap is reached."""
        return 0 < self._cap <= self._size

    # -- what is read ------------------------------------------------------------------------------

    def guard(self, row: FileRow) -> Guard | None:
        """To be asked for once a turn, and handed to `wants` with each line."""
        return self._guards(row) if self._guards is not None else None

    @staticmethod
    def wants(entries: Sequence[Entry], guard: Guard | None) -> bool:
        """Whether a line that says this is kept."""
        if len(entries) == 1 and entries[0].records and entries[0].records[0] in _LEFT_OUT:
            return False
        return guard is None or not guard(entries)

    def take(self, row: FileRow, lines: Sequence[Raw], *, whole: bool, open_line: Raw | None = None) -> Kept | None:
        """Keep what a turn has read of a file; None when there is nothing to note.

        Chunk files are written at once, rows by `note`. whole: the file was read to its end. open_line: its
        last line, without newline. Lines that are kept already are passed over; where some before them are
        not, nothing is taken, and they are for a later catching up."""
        if self.full:
            return None
        stop, number = rows.reached(self._conn, row.id, row.generation) if row.id else (0, 0)
        fresh = [line for line in lines if line.start >= stop]
        begins = fresh[0].start if fresh else open_line.start if open_line else stop
        if begins != stop:
            return None
        stored: list[_Stored] = []
        tails: list[tuple[Stretch, bool]] = []
        for stretch in self._windows(fresh, number):
            if stretch.stop >> WINDOW != stretch.window or (whole and row.mtime_ns < self.idle_before):
                stored.append(self._store(row, self._with_earlier(row, stretch)))
            else:
                tails.append((stretch, False))
            stop, number = stretch.stop, stretch.line_no + stretch.lines
        if open_line is not None and open_line.data is not None:
            item = Item(_one_line(open_line.data), 1, open_line.end - open_line.start)
            tails.append((Stretch(stop, stop + item.size, number, [item]), True))
        return Kept(row, row.generation, stored, tails) if stored or tails else None

    def discard(self, kept: Kept) -> None:
        """Let go of what was taken and is not to be noted after all."""
        names = [each.name for each in kept.stored if each.name and not rows.knows(self._conn, each.name)]
        self.shelf.remove(names)

    def _windows(self, lines: Iterable[Raw], number: int) -> Iterator[Stretch]:
        for _, group in groupby(lines, lambda line: line.start >> WINDOW):
            held = list(group)
            items = [Item(None if data is None else _one_line(data), 1, end - start) for start, end, data in held]
            yield Stretch(held[0].start, held[-1].end, number, items)
            number += len(held)

    @property
    def key(self) -> bytes:
        """Of the fingerprints of what was read."""
        return self._redactor.key if self._redactor is not None else b""

    def clean(self, data: bytes) -> bytes:
        """A line as it may be kept. Lines of a file go through in their order: what answers a call that reads
        a file of secrets is known by the call."""
        return data if self._redactor is None else self._redactor.line(data)

    def _with_earlier(self, row: FileRow, stretch: Stretch) -> Stretch:
        """The stretch with what is already kept of its window: a chunk that is not full, then pieces.

        Where that chunk is damaged, it goes on without: what is read must not wait for what is lost."""
        if not row.id or stretch.start == stretch.window << WINDOW:
            return stretch
        known = [each for each, is_open in self._pieces(row.id, row.generation, stretch.window) if not is_open]
        try:
            known = [each for each, _ in self._chunks(row.id, row.generation, stretch.window)] + known
        except DamagedArchive as error:
            events.failed("archive", error)
        before = [each for each in known if each.stop <= stretch.start]
        if not before:
            return stretch
        items = [item for each in (*before, stretch) for item in each.items]
        return Stretch(before[0].start, stretch.stop, before[0].line_no, items)

    def _store(self, row: FileRow, stretch: Stretch) -> _Stored:
        if not stretch.holds:
            return _Stored(stretch.start, stretch.stop, stretch.line_no, stretch.lines, "", 0)
        passing("archive.chunk")
        origin = {
            "path": row.path, "folder": row.folder, "session": row.session_id, "agent": row.agent_id,
            "generation": row.generation, "start": stretch.start, "stop": stretch.stop, "line": stretch.line_no,
            "lines": stretch.lines,
        }  # fmt: skip
        name, size = self.shelf.put(pack(stretch.items), origin)
        passing("archive.written")
        return _Stored(stretch.start, stretch.stop, stretch.line_no, stretch.lines, name, size)

    def note(self, kept: Kept) -> None:
        """Note what was taken, in the caller's transaction; the file's row has its id by now."""
        file_id, generation = kept.row.id, kept.generation
        secret = hidden(self._conn, file_id)
        if secret is not None:
            kept = self._without_private(kept, secret)
        for start, stop, line_no, lines, name, size in kept.stored:
            if not name:
                self._leave_out(Extent(file_id, generation, start, stop, line_no, lines, None))
                continue
            chunk_id = rows.put_chunk(self._conn, name, stop - start, size)
            rows.put_extents(self._conn, [Extent(file_id, generation, start, stop, line_no, lines, chunk_id)])
            rows.drop_pieces(self._conn, file_id, generation, stop)
            self._size += size
        for stretch, is_open in kept.tails:
            data = deflate(pack(stretch.items))
            place = (file_id, generation, stretch.start, stretch.stop, stretch.line_no, stretch.lines)
            rows.put_pieces(self._conn, [Piece(*place, is_open, data)])
            self._size += len(data)
        if generation:
            self._fold(file_id, generation)
        passing("archive.noted")

    def _leave_out(self, extent: Extent) -> None:
        """Note a stretch of which nothing is kept: it is done with, and takes no room."""
        rows.put_extents(self._conn, [extent])
        rows.drop_pieces(self._conn, extent.file_id, extent.generation, extent.stop)

    def _without_private(self, kept: Kept, secret: Hidden) -> Kept:
        """What was taken without the turns of wholly private prompts, which nobody could tell before."""
        stored = []
        for each in kept.stored:
            items, gone = without(secret, unpack(self.shelf.get(each.name)), each.line_no) if each.name else ([], 0)
            if gone:
                if not rows.knows(self._conn, each.name):
                    self.shelf.remove([each.name])
                each = self._store(kept.row, Stretch(each.start, each.stop, each.line_no, items))
            stored.append(each)
        tails = [
            (tail._replace(items=without(secret, tail.items, tail.line_no)[0]), is_open) for tail, is_open in kept.tails
        ]
        return kept._replace(stored=stored, tails=tails)

    def _fold(self, file_id: int, generation: int) -> None:
        """Let go of what an earlier reading of the file held when the present one holds it too."""
        rows.supersede(self._conn, file_id, generation)
        for older in rows.older_layers(self._conn, file_id, generation):
            try:
                covered = [
                    each.start for each, _ in self.stretches(file_id, older) if self._holds(file_id, generation, each)
                ]
            except DamagedArchive as error:
                events.failed("archive", error)
                continue
            for start in covered:
                rows.drop(self._conn, file_id, older, start)

    def _holds(self, file_id: int, generation: int, stretch: Stretch) -> bool:
        """Whether a reading of a file holds, in one window, the lines of another reading."""
        now = [item for each, _ in self.stretches(file_id, generation, stretch.window) for item in each.items]
        return now[: len(stretch.items)] == stretch.items

    # -- what is kept ------------------------------------------------------------------------------

    def stretches(self, file_id: int, generation: int, window: int | None = None) -> Iterator[tuple[Stretch, bool]]:
        """What is kept of one reading of a file, in order, and whether it is an open line; of one window
        only, if that is given. Raises DamagedArchive."""
        yield from self._chunks(file_id, generation, window)
        yield from self._pieces(file_id, generation, window)

    def _chunks(self, file_id: int, generation: int, window: int | None) -> Iterator[tuple[Stretch, bool]]:
        for extent in rows.extents(self._conn, file_id, generation, (window or 0) << WINDOW):
            if extent.chunk_id is not None and window in (None, extent.start >> WINDOW):
                name = rows.chunk(self._conn, extent.chunk_id).hash
                items = list(unpack(self.shelf.get(name)))
                yield Stretch(extent.start, extent.stop, extent.line_no, items), False

    def _pieces(self, file_id: int, generation: int, window: int | None) -> Iterator[tuple[Stretch, bool]]:
        for piece in rows.pieces(self._conn, file_id, generation, (window or 0) << WINDOW):
            if window in (None, piece.start >> WINDOW):
                items = list(unpack(inflate(piece.data)))
                yield Stretch(piece.start, piece.stop, piece.line_no, items), bool(piece.is_open)

    # -- upkeep ------------------------------------------------------------------------------------

    def seal(self) -> int:
        """Make chunks of the ends of files that have been quiet; returns how many."""
        sealed = 0
        for file_id, generation in rows.idle_tails(self._conn, self.idle_before):
            row = by_id(self._conn, file_id)
            row.generation = generation
            last = [each for each, is_open in self._pieces(file_id, generation, None) if not is_open][-1]
            stored = self._store(row, self._with_earlier(row, last._replace(start=last.stop, items=[])))
            with transaction(self._conn):
                self.note(Kept(row, generation, [stored], []))
            sealed += 1
        self.clear()
        return sealed

    def clear(self) -> None:
        """Take away chunks that nothing refers to. Files go first: a row says what is left to do."""
        dead = rows.dead_chunks(self._conn)
        if dead:
            self.shelf.remove(each.hash for each in dead)
            passing("archive.removed")
            with transaction(self._conn):
                rows.bury(self._conn, dead)
        self.measure()

    def measure(self) -> None:
        """Find out how large the archive is."""
        self._size = rows.total(self._conn)

    def tidy(self) -> None:
        """At the start: tighten modes, and sweep what a crash has left: files whose rows were never
        committed. Their transcripts are read again; where one is gone, the file is left alone (`adopt`), and so is
        all of them beside a database that knows no transcript: there it is the database that was lost."""
        self.shelf.tighten()
        if rows.knows_files(self._conn):
            unknown = [name for name in list(self.shelf.names()) if not rows.knows(self._conn, name)]
            self.shelf.remove([name for name in unknown if self._read_again(name)])
        self.clear()

    def _read_again(self, name: str) -> bool:
        try:
            path = str(self.shelf.origin(name).get("path"))
        except DamagedArchive as error:
            events.failed("archive", error)  # it may be all that is left of something
            return False
        return path.startswith(VEIL) or os.path.lexists(path)


def _one_line(data: bytes) -> bytes:
    return data.replace(b"\n", b" ")
