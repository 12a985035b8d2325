"""Memories that move: exports, imports, and all that a memory holds, for comparison."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claude_mem_db import v13
from daemons import settings
from memories import consistent
from stores import Content, content, read, store
from transcripts import Transcript

from indexer import app, compress
from indexer.cli import main
from indexer.compressors.rules import Rules
from indexer.exchange.transfer import Report
from indexer.keyfile import secret
from indexer.store.connection import transaction
from indexer.store.sessions import complete_idle

_MEMORIES = {
    "observations": "SELECT s.content_session_id, o.project_key, o.type, o.title, o.subtitle, o.narrative, o.text, "
    "o.facts, o.concepts, o.files_read, o.files_modified, o.discovery_tokens, o.generated_by_model, o.agent_id, "
    "o.content_hash, o.created_at_epoch, (SELECT group_concat(t.identity) FROM observation_tool_uses l "
    "JOIN tool_uses t ON t.id = l.tool_use_row WHERE l.observation_id = o.id) "
    "FROM observations o JOIN sdk_sessions s ON s.memory_session_id = o.memory_session_id",
    "summaries": "SELECT s.content_session_id, y.project_key, y.request, y.investigated, y.learned, y.completed, "
    "y.next_steps, y.notes, y.files_read, y.files_edited, y.created_at_epoch FROM session_summaries y "
    "JOIN sdk_sessions s ON s.memory_session_id = y.memory_session_id",
    "work": "SELECT project_key, list_name, fields, created_at_epoch FROM work_state_entries",
    "imported records": "SELECT uuid, origin_device_id, origin_local_id FROM imported_records",
    "imported memories": "SELECT identity, kind, turn_id, origin_device_id, origin_local_id FROM imported_memories",
    "index": "SELECT x.kind, x.uuid, s.content_session_id, x.project_key, x.created_at_epoch, x.detail, x.title, "
    "x.body FROM search_texts x JOIN sdk_sessions s ON s.id = x.session_db_id WHERE x.id % 8 > 2",
}
PLACES = {"files", "members", "imported records", "imported memories"}
"""What says where things come from, rather than what they are."""


def everything(home: Path) -> Content:
    """All that a memory holds, row ids and reading places apart; it hangs together."""
    conn = store(home)
    consistent(conn)
    held = content(conn)
    held |= {name: sorted(map(tuple, conn.execute(sql)), key=repr) for name, sql in _MEMORIES.items()}
    conn.close()
    del held["files"]
    held["texts"] = [(*row[:3], row[4]) for row in held["texts"]]
    return held


def itself(home: Path) -> Content:
    """`everything` but where it comes from."""
    return {name: rows for name, rows in everything(home).items() if name not in PLACES}


def differing(one: Content, other: Content) -> dict[str, Any]:
    """What one holds and the other does not, and the reverse, by kind."""
    return {name: (_lacking(one[name], other[name]), _lacking(other[name], one[name])) for name in one
            if one[name] != other[name]}  # fmt: skip


def _lacking(rows: Sequence[object], others: Sequence[object]) -> list[object]:
    return [row for row in rows if row not in others]


def share_key(home: Path, other: Path) -> None:
    """Have marks of redaction be the same in both memories."""
    other.mkdir(mode=0o700, exist_ok=True)
    (other / "key").write_bytes(secret(home))
    (other / "key").chmod(0o600)


def rescanned(home: Path, *transcripts: Transcript) -> Path:
    """A memory that has (also) read these transcripts, and made memory of them."""
    root = home.parent / "projects"
    for transcript in transcripts:
        transcript.write(root)
    conn = store(home)
    read(conn, root)
    remember_all(conn)
    conn.close()
    return home


def remember_all(conn: sqlite3.Connection) -> None:
    """All sessions are over, and compressed."""
    with transaction(conn):
        complete_idle(conn, 1 << 60)
    compress.all_of(conn, Rules())


def export(home: Path, to: Path, *options: str) -> Path:
    """Write an export."""
    assert main(["export", "--output", str(to), "--home", str(home), *options]) == 0
    return to


def take(home: Path, file: Path, **how: Any) -> Report:
    """Import a file. how: settings."""
    return app.import_file(settings(home, **how), file)


def take_claude_mem(home: Path, path: Path | None = None, **how: Any) -> Report:
    """Import a claude-mem database, made here if none is given."""
    return app.import_claude_mem(settings(home, **how), path or v13(home.parent / "cm" / "claude-mem.db"))


def rewritten(file: Path, lines: Sequence[dict[str, Any] | str]) -> Path:
    """A file of these lines."""
    texts = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", errors="surrogatepass")
    return file


def lines_of(file: Path) -> list[dict[str, Any]]:
    """The lines of an export."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
