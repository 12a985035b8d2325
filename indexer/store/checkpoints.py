"""Which file is this, and how far has it been read: the rows of ingest_files.

Identity decides cost, the unique keys of the content decide correctness (tailing.md 0.3): an offset
is only gone on from when the bytes before it are still the ones that were read, on any doubt the file
is read again from 0. The order of the candidates is that of tailing.md 3.2: the row of this path, a
row of the same (dev, ino) at another path (moved), a row that is gone with the same head (restored).
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from indexer.records import SourceFile
from indexer.store.tombstones import VEIL, Tombstones

_COLUMNS = (
    "id, path, folder, session_id, agent_id, dev, ino, size, mtime_ns, ctime_ns, offset, line_no, head_len, "
    "head_hash, tail_len, tail_hash, generation, status, parser_version, first_epoch, last_epoch, last_version, "
    "ignored, last_error"
)


_IGNORED = [name.strip() for name in _COLUMNS.split(",")].index("ignored")

_NAMED = f"path NOT GLOB '{VEIL}*'"

IMPORTED = "import:"
"""Begins the path of what was never a file here: an import of a session, by where it came from. Its rows have
status `gone`, since nobody can read them again."""

UNREAD = -1
"""Size of a file that was not read to its end, or whose row has to be written anew."""

STALE = 1 << 40
"""Taken from a record's position when its file starts over: what is seen again gets its place back,
what is not keeps its order before everything else."""


KINDS = 200
"""Kinds of ignored records counted one by one in a file; the real ones are about 60 over all clients."""


@dataclass(slots=True)
class FileRow:
    """A row of ingest_files in hand; `id` is 0 until it is saved. Mutable: a turn moves it on."""

    id: int
    path: str
    folder: str
    session_id: str | None
    agent_id: str | None
    dev: int = 0
    ino: int = 0
    size: int = -1
    mtime_ns: int = 0
    ctime_ns: int = 0
    offset: int = 0
    line_no: int = 0
    head_len: int = 0
    head_hash: bytes = b""
    tail_len: int = 0
    tail_hash: bytes = b""
    generation: int = 0
    status: str = "active"
    parser_version: int = 0
    first_epoch: int | None = None
    last_epoch: int | None = None
    last_version: str | None = None
    ignored: dict[str, int] = field(default_factory=dict)
    last_error: str | None = None
    replaces: int = 0
    """Row that loses this path to the present one when that is saved."""
    reread: bool = False
    """Set when the file has to be read from 0 once more after the present turn."""
    veil: str = ""
    """What stands for its path in the store, when it holds nothing but what was forgotten."""
    refused: bool = False
    """Set when something in it was not stored because it was forgotten."""
    stale: bool = False
    """Its rows were made under another redaction rule set: what is read again refreshes them."""

    def pass_over(self, kind: str) -> None:
        """Count a record that holds nothing. Its kind is whatever a file says: no more than `KINDS` are kept."""
        if kind not in self.ignored and len(self.ignored) >= KINDS:
            kind = "other"
        self.ignored[kind] = self.ignored.get(kind, 0) + 1

    @property
    def is_agent(self) -> bool:
        """Whether the file is a sub-agent's own."""
        return self.agent_id is not None

    @property
    def imported(self) -> bool:
        """Whether it stands for an import and not for a file of this machine."""
        return self.path.startswith(IMPORTED)

    def source_file(self) -> SourceFile:
        """The file as a source knows it."""
        return SourceFile(self.path, self.folder, self.session_id, self.agent_id)

    def start_over(self) -> None:
        """Read from 0 again: another generation of the file's content."""
        self.generation += 1
        self.offset = self.line_no = self.head_len = self.tail_len = 0
        self.head_hash = self.tail_hash = b""
        self.first_epoch = self.last_epoch = self.last_version = None
        self.ignored = {}
        self.size = -1


class Probe(Protocol):
    """An open file, asked about its content; what a path says now is asked of the disk."""

    def holds(self, row: FileRow) -> bool:
        """Whether the file still holds, before the row's offset, what was read."""
        ...

    def head(self, length: int) -> bytes | None:
        """Hash of the first `length` bytes; None when the file is shorter."""
        ...

    def stands(self, path: str) -> bool:
        """Whether a file stands at `path` (then the open one is its copy, not the same file moved)."""
        ...


def _row(values: tuple[Any, ...]) -> FileRow:
    row = FileRow(*values)
    row.ignored = orjson.loads(values[_IGNORED])
    row.head_hash, row.tail_hash = row.head_hash or b"", row.tail_hash or b""
    row.veil = row.path if row.path.startswith(VEIL) else ""
    return row


def stored(name: str) -> str:
    """A path or a name as it stands in the store: bytes that are no UTF-8 as `\\xe9`."""
    if name.isascii():
        return name
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def by_path(conn: sqlite3.Connection, path: str) -> FileRow | None:
    """The row that stands for this path now."""
    sql = f"SELECT {_COLUMNS} FROM ingest_files WHERE path = ? AND status <> 'replaced'"
    found = conn.execute(sql, (path,)).fetchone()
    if found is not None:
        return _row(found)
    found = conn.execute(sql, (veil,)).fetchone() if (veil := _veil(conn, path)) else None
    if found is None:
        return None
    row = _row(found)
    row.path = path
    return row


def _veil(conn: sqlite3.Connection, path: str) -> str:
    """What would stand for the path if all in it were forgotten; "" while nothing ever was."""
    stones = Tombstones(conn)
    return stones.veil(path) if stones.any else ""


def cover(conn: sqlite3.Connection, row: FileRow) -> None:
    """Decide whether the path of a file in hand is stored: not if all that was stored of it is forgotten,
    or if it was refused as such."""
    if row.veil or row.refused:
        held = conn.execute("SELECT 1 FROM session_files WHERE file_id = ? LIMIT 1", (row.id,)).fetchone()
        row.veil = "" if held else _veil(conn, row.path)


def cover_stored(conn: sqlite3.Connection, file_id: int) -> None:
    """Take away what the row of a file tells of it, when all in it has been forgotten."""
    row = _row(conn.execute(f"SELECT {_COLUMNS} FROM ingest_files WHERE id = ?", (file_id,)).fetchone())
    row.refused = True
    if not row.veil:
        cover(conn, row)
    if row.veil:
        row.ignored, row.last_error = {}, None
        row.first_epoch = row.last_epoch = row.last_version = None
        conn.execute("DELETE FROM dead_letters WHERE file_id = ?", (file_id,))
        save(conn, row)


def by_id(conn: sqlite3.Connection, file_id: int) -> FileRow:
    """A file's row, whatever stands for its path now."""
    return _row(conn.execute(f"SELECT {_COLUMNS} FROM ingest_files WHERE id = ?", (file_id,)).fetchone())


def _others(conn: sqlite3.Connection, path: str, dev: int, ino: int, probe: Probe) -> Iterator[FileRow]:
    """Rows that may be this file under another name, likeliest first."""
    same_inode = f"SELECT {_COLUMNS} FROM ingest_files WHERE ino = ? AND dev = ? AND path <> ? AND offset > 0"
    yield from map(_row, conn.execute(same_inode, (ino, dev, path)).fetchall())
    lengths = "SELECT DISTINCT head_len FROM ingest_files WHERE status IN ('gone', 'replaced') AND head_len > 0"
    lost = (
        f"SELECT {_COLUMNS} FROM ingest_files WHERE status IN ('gone', 'replaced') AND head_len = ? AND head_hash = ?"
    )
    for (length,) in conn.execute(lengths).fetchall():
        if head := probe.head(length):
            yield from map(_row, conn.execute(lost, (length, head)).fetchall())


def identify(conn: sqlite3.Connection, file: SourceFile, dev: int, ino: int, probe: Probe) -> FileRow:
    """The row to go on from for the open file (dev, ino) at `file.path`; its id is 0 if it is new."""
    row = by_path(conn, file.path)
    if row is not None and row.veil:
        row.folder, row.session_id, row.agent_id = file.folder, file.session_id, file.agent_id
    if row is not None and probe.holds(row):
        if row.status != "active":
            row.status, row.last_error, row.size = "active", None, UNREAD
        return row
    for other in _others(conn, file.path, dev, ino, probe):
        if probe.holds(other) and (other.status in ("gone", "replaced") or not probe.stands(other.path)):
            return _moved(other, file, row)
    if row is None:
        return _new(file)
    if (row.dev, row.ino) == (dev, ino) or row.offset == 0:
        row.start_over()
        row.status, row.last_error = "active", None
        return row
    # Another inode under an old name: the old content may yet turn up elsewhere, so its row is kept.
    fresh = _new(file)
    fresh.replaces, fresh.generation = row.id, row.generation + 1
    return fresh


def is_stale(conn: sqlite3.Connection, row: FileRow) -> bool:
    """Whether the file was last read to its end under another redaction rule set."""
    return bool(row.id and conn.execute("SELECT 1 FROM stale_files WHERE file_id = ?", (row.id,)).fetchone())


def refreshed(conn: sqlite3.Connection, row: FileRow) -> None:
    """The file has been read to its end by the present rules. In the caller's transaction."""
    conn.execute("DELETE FROM stale_files WHERE file_id = ?", (row.id,))
    row.stale = False


def _new(file: SourceFile) -> FileRow:
    return FileRow(0, file.path, file.folder, file.session_id, file.agent_id)


def _moved(row: FileRow, file: SourceFile, loser: FileRow | None) -> FileRow:
    row.path, row.folder, row.session_id, row.agent_id = (
        file.path,
        file.folder,
        file.session_id,
        file.agent_id,
    )
    row.status, row.last_error, row.size = "active", None, UNREAD
    row.replaces = loser.id if loser is not None and loser.id != row.id else 0
    return row


def save(conn: sqlite3.Connection, row: FileRow) -> None:
    """Write the row; gives it an id. In the caller's transaction, after the rows its offset covers."""
    if row.replaces:
        conn.execute("UPDATE ingest_files SET status = 'replaced' WHERE id = ?", (row.replaces,))
        row.replaces = 0
    named = (row.veil, "", None, None) if row.veil else (row.path, row.folder, row.session_id, row.agent_id)
    values = (
        *named, row.dev, row.ino, row.size, row.mtime_ns, row.ctime_ns,
        row.offset, row.line_no, row.head_len, row.head_hash, row.tail_len, row.tail_hash, row.generation,
        row.status, row.parser_version, row.first_epoch, row.last_epoch, row.last_version,
        orjson.dumps(row.ignored).decode(), row.last_error,
    )  # fmt: skip
    now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
    if row.id:
        names = ", ".join(f"{name.strip()} = ?" for name in _COLUMNS.split(",")[1:])
        conn.execute(f"UPDATE ingest_files SET {names}, committed_at = {now} WHERE id = ?", (*values, row.id))
        return
    marks = ", ".join("?" * len(values))
    names = _COLUMNS.partition(",")[2]
    sql = f"INSERT INTO ingest_files ({names}, committed_at) VALUES ({marks}, {now})"
    row.id = conn.execute(sql, values).lastrowid or 0


def known_stats(conn: sqlite3.Connection, parser_version: int) -> dict[str, tuple[int, int, int, int, int]]:
    """path as stored -> (dev, ino, size, mtime_ns, ctime_ns) of every file that was read to its end, for
    the sweep: a file whose stat is equal needs nothing but that stat."""
    sql = (
        "SELECT path, dev, ino, size, mtime_ns, ctime_ns FROM ingest_files "
        "WHERE status = 'active' AND size >= 0 AND parser_version = ?"
    )
    return {path: tuple(rest) for path, *rest in conn.execute(sql, (parser_version,))}


def names(conn: sqlite3.Connection) -> Callable[[str], tuple[str, ...]]:
    """Under which names a file at a path may stand in the store."""
    stones = Tombstones(conn)
    return lambda path: (stored(path), stones.veil(stored(path))) if stones.any else (stored(path),)


def mark_gone(conn: sqlite3.Connection, present: set[str], hidden: Sequence[str] = ()) -> int:
    """Note which active files are no longer on disk; what they held stays. Returns how many.

    present: what a look at some roots has found; other files may stand below other roots.
    hidden: folders that could not be read; nobody knows of what is below them."""
    active = conn.execute(
        f"SELECT id, path FROM ingest_files WHERE status IN ('active', 'unreadable') AND {_NAMED}"
    ).fetchall()
    standing, below = set(map(stored, present)), tuple(f"{stored(path)}/" for path in hidden)
    unseen = [(row_id, path) for row_id, path in active if path not in standing and not path.startswith(below)]
    gone = [(row_id,) for row_id, path in unseen if not os.path.lexists(path)]
    conn.executemany("UPDATE ingest_files SET status = 'gone' WHERE id = ?", gone)
    return len(gone)


def mark_lost(conn: sqlite3.Connection, paths: Iterable[str]) -> None:
    """`mark_gone` for files that are known to have gone."""
    sql = "UPDATE ingest_files SET status = 'gone' WHERE path = ? AND status IN ('active', 'unreadable')"
    conn.executemany(sql, [(stored(path),) for path in paths])


def unfinished(conn: sqlite3.Connection, parser_version: int) -> list[str]:
    """Stored paths of files that have to be read again, or could not be read to their end."""
    sql = (
        f"SELECT path FROM ingest_files WHERE status IN ('active', 'unreadable') AND {_NAMED} "
        "AND (size < 0 OR status = 'unreadable' OR parser_version <> ?)"
    )
    return [path for (path,) in conn.execute(sql, (parser_version,))]


def lag(conn: sqlite3.Connection, sizes: Mapping[str, int]) -> int:
    """Bytes of these files (path -> size now) that have not been read."""
    read = dict(conn.execute("SELECT path, offset FROM ingest_files WHERE status = 'active'")) if sizes else {}
    return sum(max(0, size - read.get(stored(path), 0)) for path, size in sizes.items())


def mark_unreadable(conn: sqlite3.Connection, file: SourceFile, reason: str) -> None:
    """Note that a file cannot be opened, and why; it is tried again at every sweep."""
    row = by_path(conn, file.path) or _new(file)
    if (row.status, row.last_error) != ("unreadable", reason):
        row.status, row.last_error, row.size = "unreadable", reason, UNREAD
        save(conn, row)


def unreadable(conn: sqlite3.Connection) -> list[tuple[str, str]]:
    """(path, reason) of the files that stand on disk and could not be read the last time."""
    sql = "SELECT path, coalesce(last_error, '') FROM ingest_files WHERE status = 'unreadable' ORDER BY path"
    return [tuple(row) for row in conn.execute(sql)]


def restart(conn: sqlite3.Connection, file_id: int) -> None:
    """What was noted of a file's lines no longer holds: it is about to be read from 0 again.

    Its records keep their rows; their places are set aside until they are seen again.
    """
    conn.execute(
        "UPDATE session_records SET position = position - ?1 WHERE file_id = ?2 AND position > 0 "
        "AND session_db_id IN (SELECT session_db_id FROM session_files WHERE file_id = ?2)",
        (STALE, file_id),
    )
    conn.execute("DELETE FROM dead_letters WHERE file_id = ?", (file_id,))
    conn.execute("DELETE FROM queue_operations WHERE file_id = ?", (file_id,))


def read_again(conn: sqlite3.Connection, file_id: int) -> None:
    """Have a file that is not in hand read from 0 at the next sweep."""
    row = by_id(conn, file_id)
    if row.imported:
        return  # what it gave is all there is of it
    row.start_over()
    restart(conn, file_id)
    save(conn, row)
