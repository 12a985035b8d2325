"""The archive's rows: which chunk holds which stretch of which transcript, and the tails not yet in one.

A stretch and the checkpoint that covers it commit together, so that the archive is never ahead of what
was read. A chunk's references are counted by an index, not kept in a column: there is no counter that a
crash or a cascade could leave wrong.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Extent(NamedTuple):
    """A stretch of a transcript that a chunk holds. chunk_id None: left out by `archive prune`."""

    file_id: int
    generation: int
    start: int
    stop: int
    line_no: int
    lines: int
    chunk_id: int | None


class Piece(NamedTuple):
    """A stretch that is not in a chunk yet. is_open: a last line without newline."""

    file_id: int
    generation: int
    start: int
    stop: int
    line_no: int
    lines: int
    is_open: int
    data: bytes


class Chunk(NamedTuple):
    """A file of the archive. raw: bytes of transcript; size: bytes on disk."""

    id: int
    hash: str
    raw: int
    size: int


class Held(NamedTuple):
    """What the archive holds of one transcript, in its last reading. last_epoch: its last record's time."""

    file_id: int
    path: str
    folder: str
    session_id: str | None
    agent_id: str | None
    status: str
    generation: int
    offset: int
    stop: int
    raw: int
    last_epoch: int | None


_EXTENT = "file_id, generation, start, stop, line_no, lines, chunk_id"
_PIECE = "file_id, generation, start, stop, line_no, lines, is_open, data"
_LAYER = "file_id = ? AND generation = ?"
_DEAD = "NOT EXISTS (SELECT 1 FROM archive_extents e WHERE e.chunk_id = archive_chunks.id)"


def present(conn: sqlite3.Connection) -> bool:
    """Whether the database has an archive: one that an older version wrote has none."""
    return conn.execute("SELECT 1 FROM sqlite_master WHERE name = 'archive_chunks'").fetchone() is not None


def reached(conn: sqlite3.Connection, file_id: int, generation: int) -> tuple[int, int]:
    """How far the archive has come in this reading of a file: offset, and lines before it."""
    found = [(0, 0)]
    for table, closed in (("archive_extents", ""), ("archive_tails", "AND NOT is_open")):
        sql = f"SELECT stop, line_no + lines FROM {table} WHERE {_LAYER} {closed} ORDER BY start DESC LIMIT 1"
        found += conn.execute(sql, (file_id, generation)).fetchall()
    return max(found)


def extents(conn: sqlite3.Connection, file_id: int, generation: int, since: int = 0) -> list[Extent]:
    """The stretches of one reading of a file that begin at an offset or behind it, in order."""
    sql = f"SELECT {_EXTENT} FROM archive_extents WHERE {_LAYER} AND start >= ? ORDER BY start"
    return [Extent(*row) for row in conn.execute(sql, (file_id, generation, since))]


def pieces(conn: sqlite3.Connection, file_id: int, generation: int, since: int = 0) -> list[Piece]:
    """The tail of one reading of a file, in order."""
    sql = f"SELECT {_PIECE} FROM archive_tails WHERE {_LAYER} AND start >= ? ORDER BY start"
    return [Piece(*row) for row in conn.execute(sql, (file_id, generation, since))]


def every_extent(conn: sqlite3.Connection, chunk_id: int) -> list[Extent]:
    """All that refer to a chunk."""
    sql = f"SELECT {_EXTENT} FROM archive_extents WHERE chunk_id = ?"
    return [Extent(*row) for row in conn.execute(sql, (chunk_id,))]


def every_piece(conn: sqlite3.Connection) -> list[tuple[int, int, int]]:
    """The keys of all tails: file, generation, start."""
    return conn.execute("SELECT file_id, generation, start FROM archive_tails").fetchall()


def find_piece(conn: sqlite3.Connection, key: tuple[int, int, int]) -> Piece | None:
    """One tail; None if it is there no more."""
    sql = f"SELECT {_PIECE} FROM archive_tails WHERE {_LAYER} AND start = ?"
    found = conn.execute(sql, key).fetchone()
    return Piece(*found) if found else None


def piece(conn: sqlite3.Connection, key: tuple[int, int, int]) -> Piece:
    """One tail that is there."""
    sql = f"SELECT {_PIECE} FROM archive_tails WHERE {_LAYER} AND start = ?"
    return Piece(*conn.execute(sql, key).fetchone())


def put_extents(conn: sqlite3.Connection, rows: Iterable[Extent]) -> None:
    """Note stretches; one of the same start gives way."""
    conn.executemany(f"INSERT OR REPLACE INTO archive_extents ({_EXTENT}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def put_pieces(conn: sqlite3.Connection, rows: Iterable[Piece]) -> None:
    """Keep tails; one of the same start gives way (an open line that has been finished)."""
    conn.executemany(f"INSERT OR REPLACE INTO archive_tails ({_PIECE}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)


def drop_pieces(conn: sqlite3.Connection, file_id: int, generation: int, before: int) -> None:
    """Take away the tails that begin before an offset: a chunk holds them now."""
    conn.execute(f"DELETE FROM archive_tails WHERE {_LAYER} AND start < ?", (file_id, generation, before))


def drop(conn: sqlite3.Connection, file_id: int, generation: int, start: int) -> None:
    """Take a stretch away, wherever it is."""
    for table in ("archive_extents", "archive_tails"):
        conn.execute(f"DELETE FROM {table} WHERE {_LAYER} AND start = ?", (file_id, generation, start))


def put_chunk(conn: sqlite3.Connection, name: str, raw: int, size: int) -> int:
    """The row of a chunk whose file stands on disk; its id."""
    sql = "INSERT INTO archive_chunks (hash, raw, size) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET size = ?"
    conn.execute(sql, (name, raw, size, size))
    return int(conn.execute("SELECT id FROM archive_chunks WHERE hash = ?", (name,)).fetchone()[0])


def chunk(conn: sqlite3.Connection, chunk_id: int) -> Chunk:
    """A chunk by its id."""
    return Chunk(*conn.execute("SELECT id, hash, raw, size FROM archive_chunks WHERE id = ?", (chunk_id,)).fetchone())


def chunks(conn: sqlite3.Connection) -> list[Chunk]:
    """Every chunk."""
    return [Chunk(*row) for row in conn.execute("SELECT id, hash, raw, size FROM archive_chunks ORDER BY id")]


def knows(conn: sqlite3.Connection, name: str) -> bool:
    """Whether a chunk of this name is in use or about to go."""
    return conn.execute("SELECT 1 FROM archive_chunks WHERE hash = ?", (name,)).fetchone() is not None


def knows_files(conn: sqlite3.Connection) -> bool:
    """Whether the database knows any transcript at all."""
    return conn.execute("SELECT 1 FROM ingest_files LIMIT 1").fetchone() is not None


def drop_file(conn: sqlite3.Connection, file_id: int) -> None:
    """Forget a file of which nothing is kept, and which nothing was read of."""
    conn.execute("DELETE FROM ingest_files WHERE id = ? AND offset = 0", (file_id,))


def dead_chunks(conn: sqlite3.Connection) -> list[Chunk]:
    """Chunks that nothing refers to any more."""
    return [Chunk(*row) for row in conn.execute(f"SELECT id, hash, raw, size FROM archive_chunks WHERE {_DEAD}")]


def bury(conn: sqlite3.Connection, dead: Sequence[Chunk]) -> None:
    """Take away the rows of chunks whose files are gone."""
    conn.executemany("DELETE FROM archive_chunks WHERE id = ?", [(each.id,) for each in dead])


def supersede(conn: sqlite3.Connection, file_id: int, generation: int) -> None:
    """Take away what earlier readings of a file hold when the present one holds the same chunks."""
    conn.execute(
        "DELETE FROM archive_extents WHERE file_id = ?1 AND generation < ?2 AND chunk_id IN "
        "(SELECT chunk_id FROM archive_extents WHERE file_id = ?1 AND generation = ?2)",
        (file_id, generation),
    )


def older_layers(conn: sqlite3.Connection, file_id: int, generation: int) -> list[int]:
    """Earlier readings of a file of which something is still kept."""
    sql = (
        "SELECT generation FROM archive_extents WHERE file_id = ?1 AND generation < ?2 UNION "
        "SELECT generation FROM archive_tails WHERE file_id = ?1 AND generation < ?2 ORDER BY 1"
    )
    return [row[0] for row in conn.execute(sql, (file_id, generation))]


def layers(conn: sqlite3.Connection, file_id: int) -> list[int]:
    """The readings of a file of which something is kept, in order."""
    return older_layers(conn, file_id, 1 << 62)


def idle_tails(conn: sqlite3.Connection, before_ns: int) -> list[tuple[int, int]]:
    """File and generation of tails worth a chunk: of files not written since (mtime), gone, or read anew."""
    sql = (
        "SELECT DISTINCT t.file_id, t.generation FROM archive_tails t JOIN ingest_files f ON f.id = t.file_id "
        "WHERE NOT t.is_open AND (f.mtime_ns < ? OR f.status <> 'active' OR f.generation <> t.generation)"
    )
    return conn.execute(sql, (before_ns,)).fetchall()


def total(conn: sqlite3.Connection) -> int:
    """Bytes that the archive takes on disk, tails included."""
    sums = ("sum(size) FROM archive_chunks", "sum(length(data)) FROM archive_tails")
    return sum(int(conn.execute(f"SELECT {each}").fetchone()[0] or 0) for each in sums)


_HELD = """
WITH kept AS (
  SELECT file_id, generation, stop, CASE WHEN chunk_id IS NULL THEN 0 ELSE stop - start END AS raw FROM archive_extents
  UNION ALL SELECT file_id, generation, stop, stop - start FROM archive_tails
), last AS (
  SELECT file_id, max(generation) AS generation FROM kept GROUP BY file_id
)
SELECT f.id, f.path, f.folder, f.session_id, f.agent_id, f.status, l.generation, f.offset, max(k.stop), sum(k.raw),
  f.last_epoch
FROM last l JOIN kept k ON k.file_id = l.file_id AND k.generation = l.generation JOIN ingest_files f ON f.id = l.file_id
GROUP BY f.id ORDER BY f.last_epoch, f.id
"""


def held(conn: sqlite3.Connection) -> list[Held]:
    """Every transcript that the archive holds something of, the oldest first."""
    return [Held(*row) for row in conn.execute(_HELD)]


def behind(conn: sqlite3.Connection) -> list[int]:
    """Transcripts that stand on disk and have been read further than they are archived."""
    reach = "coalesce((SELECT max(stop) FROM {} a WHERE a.file_id = f.id AND a.generation = f.generation{}), 0)"
    sql = (
        "SELECT f.id FROM ingest_files f WHERE f.status = 'active' AND f.offset > "
        f"max({reach.format('archive_extents', '')}, {reach.format('archive_tails', ' AND NOT a.is_open')})"
    )
    return [file_id for (file_id,) in conn.execute(sql)]


def prune(conn: sqlite3.Connection, file_id: int) -> None:
    """Let go of everything kept of a file, and remember how far that was: it is not to be archived again."""
    generation = max(layers(conn, file_id), default=0)
    stop, lines = reached(conn, file_id, generation)
    for table in ("archive_extents", "archive_tails"):
        conn.execute(f"DELETE FROM {table} WHERE file_id = ?", (file_id,))
    if stop:
        put_extents(conn, [Extent(file_id, generation, 0, stop, 0, lines, None)])


def sessions(conn: sqlite3.Connection) -> int:
    """How many sessions stand in the transcripts that are archived."""
    sql = (
        "SELECT count(DISTINCT session_db_id) FROM session_files WHERE file_id IN "
        "(SELECT file_id FROM archive_extents WHERE chunk_id IS NOT NULL UNION SELECT file_id FROM archive_tails)"
    )
    return int(conn.execute(sql).fetchone()[0])


def projects_of(conn: sqlite3.Connection, file_id: int) -> list[tuple[str, str]]:
    """content_session_id and project_key of the sessions that stand in a file."""
    sql = (
        "SELECT s.content_session_id, s.project_key FROM session_files x JOIN sdk_sessions s ON s.id = x.session_db_id "
        "WHERE x.file_id = ? ORDER BY s.id"
    )
    return conn.execute(sql, (file_id,)).fetchall()


def agent_note(
    conn: sqlite3.Connection, session_id: str | None, agent_id: str | None, schema: str = "main"
) -> tuple[str | None, str | None, str | None] | None:
    """tool_use_id, agent_type and description of a sub-agent; None if it is not known."""
    sql = (
        f"SELECT a.tool_use_id, a.agent_type, a.description FROM {schema}.session_agents a "
        f"JOIN {schema}.sdk_sessions s ON s.id = a.session_db_id "
        "WHERE s.content_session_id = ? AND a.agent_id = ? LIMIT 1"
    )
    found: tuple[str | None, str | None, str | None] | None = conn.execute(sql, (session_id, agent_id)).fetchone()
    return found


def session_of(conn: sqlite3.Connection, file_id: int) -> str | None:
    """The session that a file is named for."""
    found: str | None = conn.execute("SELECT session_id FROM ingest_files WHERE id = ?", (file_id,)).fetchone()[0]
    return found
