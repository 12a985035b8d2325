"""A memory over one folder of transcripts, and what must hold of any memory whatever has happened."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from stores import check, content, read, store

from indexer.files.discover import Found, discover
from indexer.ingest import Ingest, Progress
from indexer.project import Resolver
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode
from indexer.store import checkpoints
from indexer.store.connection import transaction

# Each gives nothing but what is wrong.
_FAULTS = {
    "prompt counter is not the number of prompts shown": """
        SELECT s.content_session_id, s.prompt_counter, count(p.id) FROM sdk_sessions s
        LEFT JOIN session_records r ON r.session_db_id = s.id AND NOT r.flags & 1
        LEFT JOIN user_prompts p ON p.native_prompt_id = r.uuid AND p.prompt_kind = 'prompt'
        GROUP BY s.id HAVING s.prompt_counter <> count(p.id)""",
    "two prompts of a session have one number": """
        SELECT content_session_id, prompt_number, count(*) FROM user_prompts WHERE prompt_kind = 'prompt'
        GROUP BY session_db_id, prompt_number HAVING count(*) > 1""",
    "a record has no owner, or several": """
        SELECT uuid, sum(flags & 4 > 0) FROM session_records GROUP BY uuid HAVING sum(flags & 4 > 0) <> 1""",
    "a prompt is not where its record is": """
        SELECT p.native_prompt_id FROM user_prompts p WHERE NOT EXISTS (SELECT 1 FROM session_records r
        WHERE r.uuid = p.native_prompt_id AND r.session_db_id = p.session_db_id AND r.flags & 4)""",
    "a call is not where its record is": """
        SELECT t.identity FROM tool_uses t WHERE NOT EXISTS (SELECT 1 FROM session_records r
        WHERE r.uuid = t.record_uuid AND r.session_db_id = t.session_db_id AND r.flags & 4)""",
    "a record is of a file that is not known": """
        SELECT r.uuid FROM session_records r WHERE r.file_id NOT IN (SELECT id FROM ingest_files)""",
    "a prompt cannot be searched": """
        SELECT p.native_prompt_id FROM user_prompts p LEFT JOIN search_texts x ON x.id = p.id * 8 WHERE x.id IS NULL""",
    "a call cannot be searched": """
        SELECT t.identity FROM tool_uses t LEFT JOIN search_texts x ON x.id = t.id * 8 + 2 WHERE x.id IS NULL""",
}


def consistent(conn: sqlite3.Connection) -> None:
    """The database hangs together, counters and ownership included, and offsets stand at line borders."""
    check(conn)
    wrong = {fault: found for fault, sql in _FAULTS.items() if (found := conn.execute(sql).fetchall())}
    assert wrong == {}
    sql = "SELECT path, offset, line_no, mtime_ns FROM ingest_files WHERE status = 'active'"
    for path, offset, line_no, mtime_ns in conn.execute(sql):
        file = Path(path)
        if file.is_file() and file.stat().st_mtime_ns == mtime_ns:
            data = file.read_bytes()[:offset]
            assert (len(data), data[-1:] in (b"", b"\n"), data.count(b"\n")) == (offset, True, line_no), path


def prompts(conn: sqlite3.Connection) -> list[str]:
    """Every prompt's text, session by session, in order."""
    sql = "SELECT prompt_text FROM user_prompts ORDER BY session_db_id, prompt_number, id"
    return [text for (text,) in conn.execute(sql)]


class Memory:
    """A new memory in `folder`/home, and the transcripts in `folder`/projects that it reads."""

    reader: type[Ingest] = Ingest

    def __init__(self, folder: Path, home: str = "home") -> None:
        self.home, self.root = folder / home, folder / "projects"
        self.root.mkdir(parents=True, exist_ok=True)
        self.conn = store(self.home)

    def ingest(self, source: Source | None = None, **how: Any) -> Ingest:
        """A reader for one pass."""
        return self.reader(self.conn, source or ClaudeCode(), Resolver(), **how)

    def found(self) -> list[Found]:
        """All transcripts that stand on disk."""
        return list(discover([str(self.root)], ClaudeCode()))

    def sweep(self, source: Source | None = None, **how: Any) -> list[Progress]:
        """Read every file once, noting first which are gone."""
        found = self.found()
        with transaction(self.conn):
            checkpoints.mark_gone(self.conn, {one.file.path for one in found})
        return list(self.ingest(source, **how).run(found))

    def read(self, source: Source | None = None, **how: Any) -> list[Progress]:
        """Sweep, and look whether the memory hangs together."""
        done = self.sweep(source, **how)
        consistent(self.conn)
        return done

    def bytes_read(self, **how: Any) -> int:
        """Read every file once; returns the bytes that took."""
        return sum(done.size for done in self.read(**how))

    @property
    def prompts(self) -> list[str]:
        """Texts of all prompts, in order."""
        return prompts(self.conn)

    def file(self, path: Path) -> dict[str, Any]:
        """The row that stands for a path now."""
        cursor = self.conn.execute("SELECT * FROM ingest_files WHERE path = ? AND status <> 'replaced'", (str(path),))
        return dict(zip([column[0] for column in cursor.description], cursor.fetchone(), strict=True))

    def one(self, sql: str) -> Any:
        """A single value."""
        return self.conn.execute(sql).fetchone()[0]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """All rows, as tuples."""
        return [tuple(row) for row in self.conn.execute(sql)]

    def differences(self) -> dict[str, list[tuple[object, ...]]]:
        """What a new memory of the same folder would hold otherwise, files and places apart."""
        other = store(self.home.with_name("other"))
        read(other, self.root)
        mine, fresh = content(self.conn), content(other)
        for held in (mine, fresh):
            held["texts"] = [(*row[:3], row[4]) for row in held["texts"]]
        other.close()
        parts = mine.keys() - {"files", "members", "dead letters"}
        return {part: wrong for part in parts if (wrong := [row for row in mine[part] if row not in fresh[part]])}

    def close(self) -> None:
        """Close the database."""
        self.conn.close()
