"""Reads transcripts into the store: lines become rows, and the offset that covers them commits with them.

A turn is what is read of one file in one go (4 MiB or 1,000 lines); a batch is the turns of one
transaction. Files are
opened for one turn and closed, so nothing is held of a file that may be replaced. Whatever happens
between two commits, the next reader finds the offset before the rows it lacks: reading a line again is
always safe, skipping one never is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from indexer import events
from indexer.archive.keep import Archive, Kept, Raw
from indexer.exclude import Exclusion
from indexer.failpoints import passing
from indexer.files.discover import Found
from indexer.files.fingerprint import TAIL, Fingerprint, matches, take
from indexer.files.tail import LONGEST, NotARegularFile, Oversize, last_line, open_source, read_lines
from indexer.files.walk import Stat
from indexer.project import Resolver
from indexer.records import Entry, Line, SourceFile, Unreadable
from indexer.redact import Redactor
from indexer.sources.base import Source
from indexer.store import checkpoints
from indexer.store.checkpoints import FileRow
from indexer.store.connection import Connection, transaction
from indexer.store.tools import unanswered
from indexer.store.writer import NOTHING_EXCLUDED, Placed, Turn, Writer, Written


class Size(NamedTuple):
    """When a batch is full: entries, bytes of transcript, seconds since it began; and the bytes that
    are read of one file in a turn."""

    rows: int
    data: int
    seconds: float
    turn: int


LIVE = Size(1_000, 8 << 20, 0.25, 4 << 20)
"""Beyond 1,000 rows SQLite gets no faster, and readers wait."""
BULK = Size(4_000, 6 << 20, 60.0, 4 << 20)
"""Nobody waits for a side file; fewer, larger batches save a tenth. Beyond 6 MiB only memory grows."""


class Progress(NamedTuple):
    """One commit: bytes and entries it covered, and what it added."""

    files: int
    size: int
    entries: int
    written: Written


class _Mark(NamedTuple):
    """Where a file's checkpoint moves once its rows are in."""

    row: FileRow
    offset: int
    line_no: int
    fingerprint: Fingerprint


@dataclass(slots=True)
class _Open:
    """A transcript held open for one turn; answers what the checkpoint asks of its content."""

    fd: int
    size: int
    key: bytes

    def holds(self, row: FileRow) -> bool:
        """See checkpoints.Probe."""
        marks = Fingerprint(row.head_len, row.head_hash, row.tail_len, row.tail_hash)
        return matches(self.fd, self.size, row.offset, marks, self.key)

    def head(self, length: int) -> bytes | None:
        """See checkpoints.Probe."""
        return take(self.fd, length, self.key).head_hash if length <= self.size else None

    @staticmethod
    def stands(path: str) -> bool:
        """See checkpoints.Probe."""
        return os.path.lexists(path)


@dataclass(slots=True)
class _Batch:
    """Turns that will share a transaction, and where their checkpoints then stand."""

    turns: list[Turn] = field(default_factory=list)
    marks: list[_Mark] = field(default_factory=list)
    rows: int = 0
    size: int = 0
    began: float = field(default_factory=time.monotonic)
    kept: list[Kept] = field(default_factory=list)

    def keep(self, kept: Kept | None) -> None:
        """Have what the archive has taken noted with the rows."""
        if kept is not None:
            self.kept.append(kept)

    def full(self, limit: Size) -> bool:
        """Whether it is time to commit."""
        late = time.monotonic() - self.began > limit.seconds
        return bool(self.turns) and (late or self.rows >= limit.rows or self.size >= limit.data)

    def concerns(self, row: FileRow) -> bool:
        """Whether a row in hand is also one of another turn (two files have swapped names)."""
        ids = {mark.row.id for mark in self.marks} - {0}
        return row.id in ids or row.replaces in ids


class Ingest:
    """Reads files of one source into one database. The caller holds the writer lock.

    quiet(path) says whether a last line that has no newline has stood long enough to be taken for
    complete. It is stored then, but the offset stays before it: the newline may still come.
    Every line goes through `redactor` before anything else sees it; the flows give it the home's own.
    """

    def __init__(
        self,
        conn: Connection,
        source: Source,
        resolver: Resolver,
        *,
        quiet: Callable[[str], bool] = lambda _: True,
        index_text: bool = True,
        limit: Size = LIVE,
        archive: Archive | None = None,
        exclusion: Exclusion = NOTHING_EXCLUDED,
        redactor: Redactor | None = None,
    ) -> None:
        self._exclusion = exclusion
        self._conn, self._source, self._resolve = conn, source, resolver.resolve
        self._archive = archive
        self._quiet, self._index_text, self._limit = quiet, index_text, limit
        self._redactor = redactor or Redactor()
        self._batch = _Batch()
        self._recalled: set[int] = set()
        self.unfinished: set[str] = set()
        """Files whose last line has no newline and is not read yet: it has to stand for a while."""
        self.excluded = False
        """Whether a session has turned out to be excluded: what was stored of it is to be taken back."""
        self.behind: list[int] = []
        """Ids of files of which the archive has yet to take what was read."""
        self.failed: set[str] = set()
        """Files that could not be read when they were tried last."""

    def run(self, files: Iterable[Found]) -> Iterator[Progress]:
        """Read every file to its end, one after the other; yields after each commit."""
        for found in files:
            while self._turn(found):
                yield self._commit()  # the next turn goes on from the row that this one saves
            if self._batch.full(self._limit):
                yield self._commit()
        if self._batch.turns:
            yield self._commit()

    def round(self, files: Iterable[Found]) -> list[Found]:
        """Give every file one turn, so that a long one starves no other; returns those with more."""
        self._batch = _Batch()  # what a round that failed had in hand is read again
        rest = [found for found in files if self._turn(found, commit_full=True)]
        if self._batch.turns:
            self._commit()
        return rest

    # -- one turn ----------------------------------------------------------------------------------

    def _turn(self, found: Found, *, commit_full: bool = False) -> bool:
        """Read one turn of a file into the batch; says whether there is more."""
        if commit_full and self._batch.full(self._limit):
            self._commit()
        try:
            fd = open_source(found.file.path)
        except (NotARegularFile, FileNotFoundError):
            return False  # it changed since it was found: the next sweep tells what it is now
        except OSError as error:
            self._unreadable(found.file, error)
            return False
        try:
            more = self._read(fd, found.file, _storable(found.file))
        except OSError as error:
            self._unreadable(found.file, error)
            return False
        finally:
            os.close(fd)
        self.failed.discard(found.file.path)
        return more

    def _read(self, fd: int, named: SourceFile, file: SourceFile) -> bool:
        stat = Stat.of(os.fstat(fd))
        row = self._identify(fd, file, stat)
        passing("ingest.opened")
        self._recall(row)
        begin = row.offset
        beside = self._source.side_entries(file._replace(path=named.path))
        placed = [Placed(row.line_no, begin, self._redactor.entry(entry)) for entry in beside]
        end, number = begin, row.line_no
        rows, data = self._limit.rows, self._limit.turn
        parse, redact, line = self._source.parse, self._redactor.line, None
        raw: list[Raw] = []
        archive = self._archive
        guard = archive.guard(row) if archive is not None else None
        for line in read_lines(fd, begin, number, size=stat.size, max_bytes=data, max_lines=rows):
            end, number = line.end, line.number
            if isinstance(line, Oversize):
                placed.append(Placed(number, line.start, _oversize(line)))
                raw.append(Raw(line.start, end, None))
                continue
            cleaned = redact(line.data)
            entries = parse(cleaned, file)
            if cleaned is not line.data:
                entries = list(map(self._redactor.entry, entries))
            # Placed(...) goes through a Python-level __new__, once a line.
            placed.extend([tuple.__new__(Placed, (number, line.start, entry)) for entry in entries])
            if archive is not None:
                kept = cleaned if archive.wants(entries, guard) else None
                raw.append(tuple.__new__(Raw, (line.start, end, kept)))
        more = number - row.line_no >= rows or end - begin >= data
        news = bool(placed) or end > begin or _stat_of(row) != stat
        if news:
            self._note(row, stat, complete=not more)
            self._batch.turns.append(Turn(row, placed))
            self._batch.marks.append(_Mark(row, end, number, _marks(fd, end, line, self._redactor.key)))
            self._batch.rows += len(placed)
            self._batch.size += end - begin
        unended = None if more else self._last_line(fd, file, row, end, number, stat.size, news)
        if archive is not None:
            open_line = unended and Raw(unended.start, unended.end, unended.data)
            self._batch.keep(archive.take(row, raw, whole=not more, open_line=open_line))
        return more

    def _recall(self, row: FileRow) -> None:
        """A call on a secret file may have been read before this process began, and be answered now."""
        if row.offset and row.id not in self._recalled:
            for tool_use_id, given in unanswered(self._conn, row.id):
                self._redactor.recall(tool_use_id, given)
        self._recalled.add(row.id)

    def _identify(self, fd: int, file: SourceFile, stat: Stat) -> FileRow:
        probe = _Open(fd, stat.size, self._redactor.key)
        row = checkpoints.identify(self._conn, file, stat.dev, stat.ino, probe)
        if self._batch.concerns(row):
            self._commit()
            row = checkpoints.identify(self._conn, file, stat.dev, stat.ino, probe)
        if row.offset and row.parser_version != self._source.parser_version:
            row.start_over()
        row.stale = checkpoints.is_stale(self._conn, row)
        return row

    def _note(self, row: FileRow, stat: Stat, *, complete: bool) -> None:
        """What stat said; a size is only kept of a file that was read to its end."""
        row.dev, row.ino, row.parser_version = stat.dev, stat.ino, self._source.parser_version
        row.size = stat.size if complete else -1
        row.mtime_ns, row.ctime_ns = stat.mtime_ns, stat.ctime_ns

    def _last_line(
        self, fd: int, file: SourceFile, row: FileRow, end: int, number: int, size: int, news: bool
    ) -> Line | None:
        """A last line without newline: 211 of 7,240 real files end so, complete. Returns it if it was taken. One
        that is too long already is said to be, though its end is not in sight."""
        if end < size and not self._quiet(file.path):
            if news:
                self.unfinished.add(file.path)
                row.size = -1  # whoever reads next has to wait for it too
            return None
        self.unfinished.discard(file.path)
        if end >= size:
            return None
        if size - end > LONGEST:
            endless = _oversize(Oversize(end, size, number + 1, size - end))
            self._batch.turns += [Turn(row, [Placed(number + 1, end, endless)], provisional=True)] if news else []
            return None
        line = last_line(fd, end, number, size)
        cleaned = self._redactor.line(line.data) if line is not None else b""
        entries = list(map(self._redactor.entry, self._source.parse(cleaned, file)))
        if line is not None and all(entry.uuid and not _damaged(entry) for entry in entries):
            placed = [Placed(line.number, line.start, entry) for entry in entries]
            self._batch.turns.append(Turn(row, placed, provisional=True))
            return line._replace(data=cleaned)
        return None

    # -- one transaction ---------------------------------------------------------------------------

    def _commit(self) -> Progress:
        batch, self._batch = self._batch, _Batch()
        passing("ingest.begin")
        with transaction(self._conn):
            writer = Writer(
                self._conn, self._source.platform, self._resolve, index_text=self._index_text, exclusion=self._exclusion
            )
            written = writer.write(batch.turns)
            self.excluded = self.excluded or bool(writer.excluded)
            passing("ingest.rows")
            self._archive_batch(batch, writer)
            for mark in batch.marks:
                self._move_on(mark)
                passing("ingest.checkpoint")
        passing("ingest.committed")
        for turn in batch.turns:
            events.ingested(turn.file.path, lines=len(turn.placed), rows=len(turn.placed), size=turn.file.offset)
        return Progress(len(batch.marks), batch.size, batch.rows, written)

    def _archive_batch(self, batch: _Batch, writer: Writer) -> None:
        """Note what the archive has taken of a batch. Where a session of it turned out to be excluded, nothing
        is: its files are caught up with, now that it is known."""
        if self._archive is None:
            return
        for kept in batch.kept:
            if writer.excluded:
                self._archive.discard(kept)
                self.behind.append(kept.row.id)
            else:
                self._archive.note(kept)

    def _move_on(self, mark: _Mark) -> None:
        row = mark.row
        checkpoints.cover(self._conn, row)
        if row.reread:
            row.reread = False
            row.start_over()
            checkpoints.restart(self._conn, row.id)
        else:
            row.offset, row.line_no = mark.offset, mark.line_no
            row.head_len, row.head_hash, row.tail_len, row.tail_hash = mark.fingerprint
        checkpoints.save(self._conn, row)
        if row.stale and row.size >= 0:
            checkpoints.refreshed(self._conn, row)

    def _unreadable(self, file: SourceFile, error: OSError) -> None:
        if file.path not in self.failed:
            events.unreadable(file.path, error)
            self.failed.add(file.path)
        with transaction(self._conn):
            checkpoints.mark_unreadable(self._conn, _storable(file), error.strerror or str(error))


def _marks(fd: int, end: int, last: Line | Oversize | None, key: bytes) -> Fingerprint:
    """The marks of a turn that ended with this line. Of a file that was rewritten under the turn they
    would be those of bytes that nobody has read: it gets some that fit nothing."""
    if isinstance(last, Line):
        tail = (last.data[-TAIL:] + b"\n")[-TAIL:]
        if os.pread(fd, len(tail), end - len(tail)) != tail:
            return Fingerprint(0, b"", 0, b"")
    return take(fd, end, key)


def _stat_of(row: FileRow) -> Stat:
    """The stat of a file's last complete reading."""
    return Stat(row.dev, row.ino, row.size, row.mtime_ns, row.ctime_ns)


def _storable(file: SourceFile) -> SourceFile:
    """Names that are no UTF-8 as text that SQLite takes; the file is opened by its own name."""
    if file.path.isascii():
        return file
    session, agent = (name and checkpoints.stored(name) for name in (file.session_id, file.agent_id))
    return SourceFile(checkpoints.stored(file.path), checkpoints.stored(file.folder), session, agent)


def _oversize(line: Oversize) -> Entry:
    reason = Unreadable(f"line of {line.length} bytes is longer than the limit", 0, line.length)
    return Entry(None, None, None, None, None, None, False, None, None, (reason,))


def _damaged(entry: Entry) -> bool:
    return any(isinstance(record, Unreadable) for record in entry.records)
