"""An archive with its memory, and what stands in it, for tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from daemons import settings
from memories import Memory, consistent
from stores import Content, content, store

from indexer.archive.keep import Archive
from indexer.config import Config
from indexer.ingest import Ingest
from indexer.redact import Redactor
from indexer.rescan import Report, rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store import archive as rows
from indexer.store.connection import Connection

LONG_AGO = 10**9
"""Seconds since 1970, of files that nobody waits for."""


def everything(conn: Connection, archive: Archive) -> bytes:
    """All lines of all chunk files, known or not, and of all tails."""
    found = [archive.shelf.get(name) for name in archive.shelf.names()]
    for key in rows.every_piece(conn):
        found += [item.data or b"" for each, _ in archive.stretches(*key[:2]) for item in each.items]
    return b"\n".join(found)


class Archived(Memory):
    """A memory that archives what it reads. archive: the one in use; a new one after a restart."""

    def __init__(self, folder: Path, **how: Any) -> None:
        super().__init__(folder)
        self.how = {"redactor": Redactor(), **how}
        self.start()

    def start(self) -> None:
        """As after a restart of the process."""
        self.archive = Archive(self.conn, self.home, **self.how)
        self.archive.tidy()

    def ingest(self, source: Any = None, **how: Any) -> Ingest:
        """A reader that archives."""
        return super().ingest(source, archive=self.archive, **how)

    def seal(self, before_ns: int = 1 << 62) -> int:
        """Nothing is waited for any more."""
        self.archive.idle_before = before_ns
        sealed = self.archive.seal()
        self.archive.idle_before = 0
        return sealed

    @property
    def chunks(self) -> list[Path]:
        """The files of the archive."""
        return sorted(self.archive.shelf.folder.rglob("*.chunk"))

    def text(self, path: Path) -> bytes:
        """What the archive holds of a file's last reading, as a transcript."""
        row = self.file(path)
        layer = max(rows.layers(self.conn, row["id"]))
        out = b""
        for stretch, is_open in self.archive.stretches(row["id"], layer):
            out += b"".join(item.data + b"\n" for item in stretch.items if item.data is not None)
            out = out[:-1] if is_open else out
        return out

    def everything(self) -> bytes:
        """All lines of all chunks and tails."""
        return everything(self.conn, self.archive)


def old(path: Path) -> Path:
    """Make a transcript look as if it had not been written for years."""
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


class Library:
    """A memory filled by `rescan`, as the command does."""

    def __init__(self, folder: Path, **changed: Any) -> None:
        self.root, self.home = folder / "projects", folder / "home"
        self.root.mkdir(parents=True, exist_ok=True)
        self.config: Config = settings(self.home, self.root, **changed)

    def rescan(self, **how: Any) -> Report:
        """Read what is there."""
        return rescan(self.config, ClaudeCode(), {}, **how)

    def age(self) -> None:
        """Nobody has written to any transcript for years: all is in chunks."""
        for path in self.root.rglob("*.jsonl"):
            old(path)
        self.rescan()

    @property
    def chunks(self) -> list[Path]:
        """The files of the archive."""
        return sorted((self.home / "archive").rglob("*.chunk"))

    @property
    def held(self) -> Content:
        """What the memory holds; it must hang together."""
        conn = store(self.home)
        consistent(conn)
        found = content(conn)
        conn.close()
        return found

    def ids(self) -> dict[str, list[tuple[object, ...]]]:
        """Row ids by native identity."""
        conn = store(self.home)
        columns = {
            "sdk_sessions": "content_session_id", "user_prompts": "native_prompt_id", "tool_uses": "identity",
            "assistant_messages": "message_id", "ingest_files": "path", "projects": "project_key",
        }  # fmt: skip
        found = {
            table: [tuple(row) for row in conn.execute(f"SELECT id, {name} FROM {table} ORDER BY 1")]
            for table, name in columns.items()
        }
        conn.close()
        return found

    @property
    def everything(self) -> bytes:
        """All lines in the archive."""
        conn = store(self.home)
        found = everything(conn, Archive(conn, self.home))
        conn.close()
        return found

    def connect(self) -> Connection:
        """The memory's database."""
        return store(self.home)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows of a query, sorted."""
        conn = self.connect()
        found = sorted(tuple(row) for row in conn.execute(sql))
        conn.close()
        return found

    def execute(self, sql: str, *values: object) -> None:
        """Change the memory by one statement."""
        conn = store(self.home)
        conn.execute(sql, values)
        conn.close()
