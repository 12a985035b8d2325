"""What has been forgotten, so that it does not come back: keyed hashes, never the ids themselves.

A session and a record are known by 16 bytes of BLAKE2b under the memory's own key (`keyfile`), told
apart by kind. With a copy of the database alone nobody can ask whether a given session was ever in it.
A stone named `check` tells the right key from another one: with a wrong key nothing would be found
forgotten, and all of it would be read again, so that is refused.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from indexer import keyfile
from indexer.errors import IndexerError
from indexer.store.membership import in_chunks
from indexer.text import prompt_hash

Kind: TypeAlias = Literal["session", "record", "queued", "file", "check", "excluded", "memory", "prompt", "call"]
"""queued: time and text of a line of the prompt queue, which has no id. file: a path. memory: identity of an
imported one. prompt, call: how claude-mem would name a record that was forgotten by itself."""

VEIL = "forgotten:"
"""Begins the stored path of a file that holds nothing but what was forgotten: the rest is its hash."""
LONGEST = 3_999
"""Characters of a prompt that claude-mem keeps in any case."""
_BYTES = 16
_MEMORY_ONLY = b"a database without a file keeps no secret"


class Tombstones:
    """The stones of one database. Reads the key only when there is something to compare or to hide.

    Raises IndexerError when stones were made with a key that is not there any more."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self.any = bool(conn.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone())
        """Whether anything was ever forgotten."""
        self._key: bytes | None = None

    def hash(self, kind: Kind, value: str) -> bytes:
        """The hash under which a thing of this kind is known."""
        if self._key is None:
            self._key = self._the_key()
        data = value.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_BYTES, key=self._key, person=kind.encode()).digest()

    def _the_key(self) -> bytes:
        home = _home(self._conn)
        if home is None:
            return _MEMORY_ONLY
        key = keyfile.existing(home) if self.any else keyfile.secret(home)
        check = hashlib.blake2b(b"", digest_size=_BYTES, key=key or b"", person=b"check").digest()
        if self.any and not self._conn.execute("SELECT 1 FROM tombstones WHERE hash = ?", (check,)).fetchone():
            raise IndexerError(
                f"{home / keyfile.NAME} is not the key that things were forgotten with",
                "put that file back: without it, what was forgotten would be read again",
            )
        return key or b""

    def buried(self, kind: Kind, values: Iterable[str]) -> set[str]:
        """Those of the values that were forgotten."""
        if not self.any:
            return set()
        hashes = {self.hash(kind, value): value for value in values}
        sql = "SELECT hash FROM tombstones WHERE hash IN ({})"
        return {hashes[found] for (found,) in in_chunks(self._conn, sql, list(hashes))}

    def bury(self, kind: Kind, values: Iterable[str]) -> None:
        """Note that these are forgotten; in the caller's transaction."""
        hashes = [(self.hash(kind, value),) for value in values]
        if hashes and not self.any:
            hashes.append((self.hash("check", ""),))
        sql = "INSERT OR IGNORE INTO tombstones (hash) VALUES (?)"
        self._conn.executemany(sql, hashes)
        self.any = self.any or bool(hashes)

    def veil(self, path: str) -> str:
        """What stands in place of the path of a file that holds nothing but what was forgotten."""
        return VEIL + self.hash("file", path).hex()


def queued(time: int | None, text: str | None) -> str:
    """What tells a line of the prompt queue from others, wherever it is repeated."""
    return f"{time} {text}"


def foreign_prompt(session: str, text: str) -> str:
    """What tells a prompt from others where it has no id: its session, and how it begins."""
    return f"{session} {prompt_hash(text.strip()[:LONGEST])}"


def carry_over(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    """Give a database that is to take another's place what that one has forgotten."""
    new.executemany("INSERT OR IGNORE INTO tombstones (hash) VALUES (?)", old.execute("SELECT hash FROM tombstones"))


def _home(conn: sqlite3.Connection) -> Path | None:
    """The folder of the database; None if it has no file."""
    path = conn.execute("SELECT file FROM pragma_database_list WHERE name = 'main'").fetchone()[0]
    return Path(path).parent if path else None
