"""Keeps every vector in SQLite, and what of the memory it is of: what Chroma holds can be made anew from here.

See vectors.sql for the tables and why they stand in a file of their own. Everything that belongs together
commits together, so that a kill at any moment leaves either the row as it was or the row as it is.

Room: 1.2 kB a document and model, all tables together, and a log of up to 4 MB (benchmarks/vectors.py).
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from indexer.store.connection import prepare_home, private_file, transaction

FOLDER = "vectors"
DATABASE = "vectors.db"
PAGE_SIZE = 16_384
"""A vector of 1 kB would take an overflow page of its own in pages of 4 kB."""
LAYOUT = 1
"""Version of the tables; another one means a file to be made anew."""


class Held(NamedTuple):
    """A row as it is to be taken in: columns of vector_sync, and its documents (name, hash, latin)."""

    id: int
    kind: str
    project_key: str
    merged: str | None
    type: str | None
    time: int | None
    session: int
    stamp: bytes
    documents: tuple[tuple[str, bytes, bool], ...]


class Place(NamedTuple):
    """A document and the columns of its row that filters use. row: search_texts.id."""

    id: int
    row: int
    kind: str
    project_key: str
    merged: str | None
    type: str | None
    time: int | None
    session: int


class Entry(NamedTuple):
    """A document with its vector, as the index is to hold it."""

    name: str
    mark: bytes
    vector: bytes
    place: Place


class Coverage(NamedTuple):
    """Of one model: documents it should have, has vectors of, has in the index; names the index is to be
    told of; rows that wait."""

    documents: int
    vectors: int
    indexed: int
    unindexed: int
    waiting: int


def folder(home: Path) -> Path:
    """Where all that belongs to vectors stands."""
    return home / FOLDER


def path(home: Path) -> Path:
    """Where the database of vectors stands."""
    return folder(home) / DATABASE


def open_store(home: Path) -> Vectors:
    """The vectors of `home`, made if there are none, made anew if they cannot be read.

    The caller holds the worker's lock."""
    prepare_home(home)
    prepare_home(folder(home))
    try:
        return Vectors(_open(path(home)))
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and not _damaged(error):
            raise
    set_aside(path(home))
    return Vectors(_open(path(home)))


def _damaged(error: sqlite3.Error) -> bool:
    return any(word in str(error) for word in ("malformed", "not a database", "disk image", "layout"))


def set_aside(file: Path) -> None:
    """Move a database out of the way; the one moved before goes."""
    for suffix in ("", "-wal", "-shm"):
        one = file.with_name(file.name + suffix)
        if one.exists():
            one.replace(file.with_name(f"{file.name}.damaged{suffix}"))


def _open(file: Path) -> sqlite3.Connection:
    private_file(file)
    conn = sqlite3.connect(file, isolation_level=None, timeout=10, check_same_thread=False)
    try:
        conn.execute(f"PRAGMA page_size = {PAGE_SIZE}")
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = NORMAL")
        conn.execute("PRAGMA secure_delete = ON")
        conn.execute("PRAGMA journal_size_limit = 4194304")
        _refuse_other_layout(conn)
        conn.executescript(Path(__file__).with_name("vectors.sql").read_text(encoding="utf-8"))
        conn.execute(f"PRAGMA user_version = {LAYOUT}")
    except BaseException:
        conn.close()
        raise
    return conn


def _refuse_other_layout(conn: sqlite3.Connection) -> None:
    """Raises DatabaseError for tables that another version made, and for a file that is not whole."""
    layout = conn.execute("PRAGMA user_version").fetchone()[0]
    if layout not in (0, LAYOUT):
        raise sqlite3.DatabaseError(f"layout {layout} is not known")
    if conn.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise sqlite3.DatabaseError("vectors.db is malformed")


_OF_MODEL = "(NOT :latin OR d.latin)"
_PLACES = """
SELECT d.id, d.row, s.kind, s.project_key, s.merged, s.type, s.time, s.session
FROM documents d JOIN vector_sync s ON s.id = d.row"""


class Vectors:
    """The database, on one connection; one thread at a time."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn

    def close(self) -> None:
        """Fold the log back and close."""
        self._conn.close()

    # -- rows --------------------------------------------------------------------------------------

    def stamps(self, low: int, high: int) -> dict[int, bytes]:
        """Row id -> stamp of the rows from `low` up to `high` (excluded) that were taken in."""
        sql = "SELECT id, stamp FROM vector_sync WHERE id >= ? AND id < ?"
        return dict(self._conn.execute(sql, (low, high)).fetchall())

    def stamps_of(self, rows: Sequence[int]) -> dict[int, bytes]:
        """The same of these rows."""
        sql = "SELECT s.id, s.stamp FROM json_each(?) i CROSS JOIN vector_sync s ON s.id = i.value"
        return dict(self._conn.execute(sql, (json.dumps(list(rows)),)).fetchall())

    def last_row(self) -> int:
        """The largest id of a row taken in, 0 if there is none."""
        return int(self._conn.execute("SELECT coalesce(max(id), 0) FROM vector_sync").fetchone()[0])

    def take_in(self, rows: Sequence[Held], models: Iterable[str]) -> None:
        """Put rows as they are now; what they said before and say no more goes. Documents are told apart
        by name and text: what has not changed keeps its vector."""
        models = tuple(models)
        with transaction(self._conn):
            for row in rows:
                self._forget_documents(row.id, {name for name, _, _ in row.documents})
                self._put(row)
                self._conn.executemany(
                    "INSERT OR IGNORE INTO waiting VALUES (?, ?)", [(model, row.id) for model in models]
                )

    def _put(self, row: Held) -> None:
        self._conn.execute("INSERT OR REPLACE INTO vector_sync VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row[:8])
        about = hashlib.sha256(repr(row[1:7]).encode("utf-8", "surrogatepass")).digest()[:8]
        for name, digest, latin in row.documents:
            mark = digest[:8] + about
            before = self._conn.execute("SELECT hash, row FROM documents WHERE name = ?", (name,)).fetchone()
            if before is None:
                values = (row.id, name, digest, latin, mark)
                self._conn.execute(
                    "INSERT INTO documents (row, name, hash, latin, mark) VALUES (?, ?, ?, ?, ?)", values
                )
                continue
            changes = (row.id, digest, latin, mark, name)
            self._conn.execute("UPDATE documents SET row = ?, hash = ?, latin = ?, mark = ? WHERE name = ?", changes)
            if before[0] != digest:
                self._drop_unused(before[0])

    def remove(self, rows: Iterable[int]) -> None:
        """Take rows out that the memory does not hold any more, their vectors too."""
        with transaction(self._conn):
            for row in rows:
                self._forget_documents(row, set())
                self._conn.execute("DELETE FROM waiting WHERE row = ?", (row,))
                self._conn.execute("DELETE FROM vector_sync WHERE id = ?", (row,))

    def _forget_documents(self, row: int, kept: set[str]) -> None:
        for name, digest in self._conn.execute("SELECT name, hash FROM documents WHERE row = ?", (row,)).fetchall():
            if name in kept:
                continue
            self._conn.execute("DELETE FROM documents WHERE name = ?", (name,))
            self._conn.execute(
                "INSERT OR IGNORE INTO unindexed SELECT model, name FROM indexed WHERE name = ? AND model IN"
                " (SELECT model FROM models)",
                (name,),
            )
            self._drop_unused(digest)

    def _drop_unused(self, digest: bytes) -> None:
        """A text that no document says any more needs no vector."""
        self._conn.execute(
            "DELETE FROM vectors WHERE hash = :hash AND model IN (SELECT model FROM models)"
            " AND NOT EXISTS (SELECT 1 FROM documents WHERE hash = :hash)",
            {"hash": digest},
        )

    # -- models ------------------------------------------------------------------------------------

    def models(self) -> dict[str, tuple[str, bool]]:
        """Model -> its arm, and whether it once had all vectors."""
        found = self._conn.execute("SELECT model, arm, whole FROM models")
        return {model: (arm, bool(whole)) for model, arm, whole in found}

    def add_model(self, model: str, arm: str) -> None:
        """Know a model; all rows wait for it when it is new. What it was given before is used again."""
        with transaction(self._conn):
            added = self._conn.execute("INSERT OR IGNORE INTO models VALUES (?, ?, 0)", (model, arm)).rowcount
            if added:
                self._conn.execute("INSERT OR IGNORE INTO waiting SELECT ?, id FROM vector_sync", (model,))

    def set_whole(self, model: str) -> None:
        """The model has all vectors: from now on it answers for its arm."""
        self._conn.execute("UPDATE models SET whole = 1 WHERE model = ? AND NOT whole", (model,))

    def drop_model(self, model: str) -> None:
        """Take out a model and its vectors."""
        with transaction(self._conn):
            for table in ("vectors", "waiting", "indexed", "unindexed", "models"):
                self._conn.execute(f"DELETE FROM {table} WHERE model = ?", (model,))

    # -- vectors -----------------------------------------------------------------------------------

    def waiting(self, model: str, limit: int) -> list[int]:
        """Rows whose documents may lack a vector, the last stored first."""
        sql = "SELECT row FROM waiting WHERE model = ? ORDER BY row DESC LIMIT ?"
        return [row for (row,) in self._conn.execute(sql, (model, limit))]

    def lacking(self, model: str, rows: Sequence[int], latin: bool) -> dict[str, bytes]:
        """Name -> hash of the documents of these rows that lack a vector. latin: the model knows no more."""
        sql = f"""
        SELECT d.name, d.hash FROM json_each(:rows) i CROSS JOIN documents d ON d.row = i.value
        WHERE {_OF_MODEL} AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.model = :model AND v.hash = d.hash)"""
        values = {"rows": json.dumps(list(rows)), "latin": latin, "model": model}
        return dict(self._conn.execute(sql, values).fetchall())

    def add_vectors(self, model: str, made: Mapping[bytes, bytes], rows: Sequence[int], latin: bool) -> None:
        """Keep vectors by hash; these rows wait no more, and the index is to be told of their documents."""
        values = {"rows": json.dumps(list(rows)), "latin": latin, "model": model}
        with transaction(self._conn):
            self._conn.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
                [(model, digest, vector) for digest, vector in made.items()],
            )
            self._conn.execute(
                f"""INSERT OR IGNORE INTO unindexed
                SELECT :model, d.name FROM json_each(:rows) i CROSS JOIN documents d ON d.row = i.value
                LEFT JOIN indexed x ON x.model = :model AND x.name = d.name
                WHERE {_OF_MODEL} AND x.mark IS NOT d.mark""",
                values,
            )
            sql = "DELETE FROM waiting WHERE model = :model AND row IN (SELECT value FROM json_each(:rows))"
            self._conn.execute(sql, {"rows": values["rows"], "model": model})

    def vectors_of(self, model: str, documents: Sequence[int]) -> dict[int, bytes]:
        """Document id -> vector, of those that have one."""
        sql = """
        SELECT d.id, v.vector FROM json_each(?) i CROSS JOIN documents d ON d.id = i.value
        JOIN vectors v ON v.model = ? AND v.hash = d.hash"""
        return dict(self._conn.execute(sql, (json.dumps(list(documents)), model)).fetchall())

    def places(self, rows: Sequence[int] | None = None) -> Iterator[Place]:
        """All documents with what filters ask of them; of these rows alone, if given."""
        if rows is None:
            return map(Place._make, self._conn.execute(_PLACES))
        sql = f"{_PLACES} JOIN json_each(?) i ON i.value = d.row"
        return map(Place._make, self._conn.execute(sql, (json.dumps(list(rows)),)))

    # -- the index ---------------------------------------------------------------------------------

    def unindexed(self, model: str, limit: int) -> tuple[list[Entry], list[str]]:
        """What the index is to be told: documents to put, and names to take away."""
        sql = """
        SELECT u.name, d.mark, v.vector, d.id, d.row, s.kind, s.project_key, s.merged, s.type, s.time, s.session
        FROM (SELECT name FROM unindexed WHERE model = :model LIMIT :limit) u
        LEFT JOIN documents d ON d.name = u.name
        LEFT JOIN vector_sync s ON s.id = d.row
        LEFT JOIN vectors v ON v.model = :model AND v.hash = d.hash"""
        put, gone = [], []
        for name, mark, vector, *place in self._conn.execute(sql, {"model": model, "limit": limit}):
            if vector is None:
                gone.append(name)
            else:
                put.append(Entry(name, mark, vector, Place._make(place)))
        return put, gone

    def set_indexed(self, model: str, put: Sequence[Entry], gone: Sequence[str]) -> None:
        """The index holds these and not those."""
        with transaction(self._conn):
            sql = "INSERT OR REPLACE INTO indexed VALUES (?, ?, ?)"
            self._conn.executemany(sql, [(model, entry.name, entry.mark) for entry in put])
            names = [(model, name) for name in gone]
            self._conn.executemany("DELETE FROM indexed WHERE model = ? AND name = ?", names)
            names += [(model, entry.name) for entry in put]
            self._conn.executemany("DELETE FROM unindexed WHERE model = ? AND name = ?", names)

    def match_index(self) -> None:
        """The index is to be told of all that differs from what it was given: after a while without it."""
        with transaction(self._conn):
            self._conn.execute(
                """INSERT OR IGNORE INTO unindexed SELECT v.model, d.name FROM documents d
                JOIN models m JOIN vectors v ON v.model = m.model AND v.hash = d.hash
                LEFT JOIN indexed x ON x.model = v.model AND x.name = d.name WHERE x.mark IS NOT d.mark"""
            )
            self._conn.execute(
                """INSERT OR IGNORE INTO unindexed SELECT x.model, x.name FROM indexed x
                WHERE NOT EXISTS (SELECT 1 FROM documents d WHERE d.name = x.name)"""
            )

    def index_lost(self) -> None:
        """The index is empty: it is to be told everything again."""
        with transaction(self._conn):
            self._conn.execute("DELETE FROM indexed")
            self._conn.execute("DELETE FROM unindexed")
        self.match_index()

    def indexed(self, model: str) -> Iterator[tuple[str, bytes]]:
        """Name and mark of what the index was given."""
        return iter(self._conn.execute("SELECT name, mark FROM indexed WHERE model = ?", (model,)).fetchall())

    def names(self, latin: bool) -> Iterator[str]:
        """The documents that a model should have vectors of. latin: it knows Latin letters alone."""
        return (
            name
            for (name,) in self._conn.execute(f"SELECT d.name FROM documents d WHERE {_OF_MODEL}", {"latin": latin})
        )

    def rows_named(self, names: Sequence[str]) -> dict[str, int]:
        """Document name -> row, of those that there are."""
        sql = "SELECT d.name, d.row FROM json_each(?) i CROSS JOIN documents d ON d.name = i.value"
        return dict(self._conn.execute(sql, (json.dumps(list(names)),)).fetchall())

    def canaries(self, model: str, number: int) -> list[tuple[str, bytes]]:
        """Some names that the index holds, with their vectors: spread over all of them."""
        sql = """
        SELECT d.name, v.vector FROM indexed x JOIN documents d ON d.name = x.name AND d.mark = x.mark
        JOIN vectors v ON v.model = x.model AND v.hash = d.hash
        WHERE x.model = :model AND x.name NOT IN (SELECT name FROM unindexed WHERE model = :model)
        LIMIT 1 OFFSET :skip"""
        many = self.coverage(model, False).indexed
        found = (
            self._conn.execute(sql, {"model": model, "skip": many * place // number}).fetchone()
            for place in range(min(number, many))
        )
        return [(row[0], row[1]) for row in found if row]

    # -- what there is -----------------------------------------------------------------------------

    def coverage(self, model: str, latin: bool) -> Coverage:
        """How far a model has come."""
        sql = f"""
        SELECT (SELECT count(*) FROM documents d WHERE {_OF_MODEL}),
               (SELECT count(*) FROM documents d WHERE {_OF_MODEL}
                 AND EXISTS (SELECT 1 FROM vectors v WHERE v.model = :model AND v.hash = d.hash)),
               (SELECT count(*) FROM indexed WHERE model = :model),
               (SELECT count(*) FROM unindexed WHERE model = :model),
               (SELECT count(*) FROM waiting WHERE model = :model)"""
        return Coverage(*self._conn.execute(sql, {"model": model, "latin": latin}).fetchone())

    def unindexed_rows(self, model: str, most: int) -> list[int] | None:
        """Rows with a document that the index is still to be told of; None when more than `most` documents are."""
        sql = """
        SELECT d.row FROM (SELECT name FROM unindexed WHERE model = ? LIMIT ?) u
        LEFT JOIN documents d ON d.name = u.name"""
        found = self._conn.execute(sql, (model, most + 1)).fetchall()
        return None if len(found) > most else sorted({row for (row,) in found if row is not None})

    def untold(self, model: str, most: int) -> int:
        """How many names the index is still to be told of, up to `most`."""
        sql = "SELECT count(*) FROM (SELECT 1 FROM unindexed WHERE model = ? LIMIT ?)"
        return int(self._conn.execute(sql, (model, most)).fetchone()[0])

    def coverage_waiting(self, model: str) -> int:
        """How many rows wait for the model."""
        return int(self._conn.execute("SELECT count(*) FROM waiting WHERE model = ?", (model,)).fetchone()[0])

    def documents(self) -> int:
        """Documents of the rows taken in."""
        return int(self._conn.execute("SELECT count(*) FROM documents").fetchone()[0])

    def rows(self) -> int:
        """Rows taken in."""
        return int(self._conn.execute("SELECT count(*) FROM vector_sync").fetchone()[0])

    def setting(self, name: str) -> str | None:
        """A single value, None if it was never set."""
        row = self._conn.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_setting(self, name: str, value: str) -> None:
        """Keep a single value."""
        self._conn.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def scrub(self) -> None:
        """What was deleted leaves the log and the file too."""
        self._conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def at_rest(home: Path) -> Vectors | None:
    """The vectors for reading alone, None when there are none that can be read."""
    file = path(home)
    try:
        if not file.is_file():
            return None
        conn = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=1)
        conn.execute("SELECT 1 FROM models LIMIT 1")
    except (sqlite3.Error, OSError):
        return None
    return Vectors(conn)
