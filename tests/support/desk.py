"""Entries put straight into the store: for tests of one rule, without files and lines.

desk = Desk()
file = desk.file("a")                                  # the main file of session `a`
desk.write(file, entry("u1", Prompt("hello"), session="a"))
assert desk.rows("SELECT prompt_text FROM user_prompts") == [("hello",)]
"""

from __future__ import annotations

import sqlite3
from typing import Any

from indexer.project import Resolution
from indexer.records import AssistantText, Entry, Record, ToolResult, ToolUse
from indexer.store import checkpoints
from indexer.store.checkpoints import FileRow
from indexer.store.connection import configure, transaction
from indexer.store.migrations import migrate
from indexer.store.writer import Placed, Turn, Writer, Written

NOON = 1_795_176_000_000


def entry(uuid: str | None, *records: Record, session: str | None = "a", time: int | None = 0, **more: Any) -> Entry:
    """An entry as a source makes it. time: milliseconds after NOON, None for a record without one."""
    fields: dict[str, Any] = {"cwd": "/w/a", "version": "2.1.240", "git_branch": "main", "sidechain": False}
    fields |= {"agent_id": None, "forked_from": None} | more
    return Entry(uuid, session, None if time is None else NOON + time, records=records, **fields)


def said(
    key: str, text: str = "", model: str | None = "m1", tokens: tuple[int, int, int, int] = (1, 2, 3, 4)
) -> Record:
    """A line of an assistant message."""
    return AssistantText(key, text, model, *tokens)


def call(identity: str, name: str = "Bash", given: object = None, path: str | None = None) -> ToolUse:
    """A tool call; a weak id's identity is `<uuid>:<id>`."""
    return ToolUse(identity, identity.rpartition(":")[2], name, {"command": "ls"} if given is None else given, path)


def result(identity: str, text: str = "ok", is_error: bool | None = None, side_file: str | None = None) -> ToolResult:
    """The answer to a call."""
    return ToolResult(identity, identity.rpartition(":")[2], text, is_error, side_file)


def resolve(cwd: str, folder: str) -> Resolution:
    """A project by its path alone."""
    return Resolution((cwd or folder).lower(), (cwd or folder).rpartition("/")[2], "path" if cwd else "guess", None)


class Desk:
    """A memory without disk. `writes` shares a transaction; `write` is one of its own."""

    def __init__(self, *, index_text: bool = True) -> None:
        self.conn = sqlite3.connect(":memory:", isolation_level=None)
        configure(self.conn)
        migrate(self.conn)
        self.index_text = index_text
        self._files: dict[str, FileRow] = {}

    def file(self, session: str = "a", *, agent: str | None = None, folder: str = "-w-a", name: str = "") -> FileRow:
        """A file as far as it was read, at first not at all; `name` if it is not that of the session."""
        stem = name or (f"agent-{agent}" if agent else session)
        path = f"/root/{folder}/{stem}.jsonl"
        if path not in self._files:
            named = None if agent else (name or session)
            self._files[path] = FileRow(0, path, folder, named, agent, size=0)
        return self._files[path]

    def write(self, file: FileRow, *entries: Entry, provisional: bool = False) -> Written:
        """The next lines of a file, one an entry, in a transaction of their own."""
        return self.writes((file, *entries), provisional=provisional)

    def writes(self, *turns: Any, provisional: bool = False) -> Written:
        """The next lines of several files in one transaction: (file, entry, …) each."""
        made = [Turn(file, _placed(file, entries), provisional) for file, *entries in turns]
        with transaction(self.conn):
            written = Writer(self.conn, "claude", resolve, index_text=self.index_text).write(made)
            for turn in made:
                self._move_on(turn)
        return written

    def _move_on(self, turn: Turn) -> None:
        file = turn.file
        if file.reread:
            file.start_over()
        elif not turn.provisional:
            file.line_no += len(turn.placed)
            file.offset = file.size = file.line_no * 100
        checkpoints.save(self.conn, file)
        file.reread = False

    def again(self, file: FileRow, *entries: Entry) -> Written:
        """The file from its first line once more."""
        file.start_over()
        checkpoints.save(self.conn, file)
        return self.write(file, *entries)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        return [tuple(row) for row in self.conn.execute(sql, values)]

    def one(self, sql: str, *values: object) -> Any:
        """The only value of a query."""
        ((value,),) = self.rows(sql, *values)
        return value

    def to_read_again(self) -> list[str]:
        """Names of files that the next sweep has to read from the start."""
        paths = self.rows("SELECT path FROM ingest_files WHERE size < 0 ORDER BY path")
        return [path.rpartition("/")[2] for (path,) in paths]


def _placed(file: FileRow, entries: list[Entry]) -> list[Placed]:
    first = file.line_no + 1
    return [Placed(number, (number - 1) * 100, one) for number, one in enumerate(entries, first)]
