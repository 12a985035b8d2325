"""Fills databases and takes them apart for comparison: what a memory holds, row ids apart."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from indexer.files.discover import Found, discover
from indexer.ingest import Ingest
from indexer.project import Resolver
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import open_writer
from indexer.store.migrations import migrate

Content: TypeAlias = dict[str, list[tuple[object, ...]]]

_CONTENT = {
    "sessions": "SELECT content_session_id, memory_session_id, project, project_key, platform_source, user_prompt, "
    "prompt_counter, custom_title, ai_title, summary_title, observed_model, cwd, project_key_source, project_rank, "
    "git_branch, client_version, forked_from, origin_epoch, origin_rank, started_at_epoch, last_at_epoch "
    "FROM sdk_sessions",
    "prompts": "SELECT content_session_id, project_key, prompt_number, prompt_kind, prompt_text, native_prompt_id, "
    "native_prompt_hash, is_private, is_queued, time_source, cwd, created_at_epoch FROM user_prompts",
    "tool uses": "SELECT identity, tool_use_id, content_session_id, memory_session_id, project, project_key, "
    "record_uuid, result_uuid, tool_name, file_path, is_error, prompt_number, agent_type, agent_id, input_hash, "
    "content_hash, cwd, created_at_epoch, result_at_epoch, side_file, tool_input, tool_response FROM tool_uses",
    "messages": "SELECT message_id, content_session_id, project_key, record_uuid, prompt_number, agent_id, model, "
    "input_tokens, output_tokens, cache_creation_tokens, cache_read_tokens, created_at_epoch FROM assistant_messages",
    "texts": "SELECT t.uuid, m.message_id, t.created_at_epoch, t.position, t.text FROM assistant_texts t "
    "JOIN assistant_messages m ON m.id = t.message_row_id",
    "members": "SELECT r.uuid, s.content_session_id, f.path, r.position, r.flags FROM session_records r "
    "JOIN sdk_sessions s ON s.id = r.session_db_id JOIN ingest_files f ON f.id = r.file_id",
    "events": "SELECT e.uuid, e.ordinal, s.content_session_id, e.created_at_epoch, e.kind, e.data FROM turn_events e "
    "JOIN sdk_sessions s ON s.id = e.session_db_id",
    "agents": "SELECT s.content_session_id, a.agent_id, a.tool_use_id, a.agent_type, a.description "
    "FROM session_agents a JOIN sdk_sessions s ON s.id = a.session_db_id",
    "unmatched": "SELECT uuid, identity, tool_response FROM unmatched_results",
    "queue": "SELECT s.content_session_id, f.path, q.position, q.operation, q.text FROM queue_operations q "
    "JOIN sdk_sessions s ON s.id = q.session_db_id JOIN ingest_files f ON f.id = q.file_id",
    "dead letters": "SELECT f.path, d.offset, d.length, d.line, d.reason FROM dead_letters d "
    "JOIN ingest_files f ON f.id = d.file_id",
    "files": "SELECT path, offset, line_no, status, first_epoch, last_epoch, ignored FROM ingest_files",
    "projects": "SELECT project_key, display, source FROM projects",
    "search": "SELECT x.id % 8, x.kind, x.uuid, s.content_session_id, x.project_key, x.created_at_epoch, x.detail, "
    "x.title, x.body FROM search_texts x JOIN sdk_sessions s ON s.id = x.session_db_id WHERE x.id % 8 < 3",
}


def content(conn: sqlite3.Connection) -> Content:
    """All that the memory holds, in an order that does not depend on row ids."""
    return {name: sorted(map(tuple, conn.execute(sql)), key=repr) for name, sql in _CONTENT.items()}


def check(conn: sqlite3.Connection) -> None:
    """The database hangs together: pages, foreign keys, and the full-text index with its content."""
    assert [tuple(row) for row in conn.execute("PRAGMA integrity_check")] == [("ok",)]
    assert conn.execute("PRAGMA foreign_key_check").fetchall() == []
    conn.execute("INSERT INTO search_fts(search_fts) VALUES ('integrity-check')")
    orphans = (
        "SELECT count(*) FROM search_texts WHERE id % 8 = 0 AND id / 8 NOT IN (SELECT id FROM user_prompts) "
        "OR id % 8 = 1 AND id / 8 NOT IN (SELECT id FROM assistant_messages) "
        "OR id % 8 = 2 AND id / 8 NOT IN (SELECT id FROM tool_uses) "
        "OR id % 8 = 3 AND id / 8 NOT IN (SELECT id FROM observations) "
        "OR id % 8 = 4 AND id / 8 NOT IN (SELECT id FROM session_summaries)"
    )
    assert conn.execute(orphans).fetchone()[0] == 0


def store(home: Path) -> sqlite3.Connection:
    """A database with its schema, new or not."""
    conn = open_writer(home)
    migrate(conn)
    return conn


def read(
    conn: sqlite3.Connection,
    root: Path,
    order: Callable[[list[Found]], Sequence[Found]] = list,
    *,
    apart: bool = False,
) -> None:
    """Read every transcript below `root`. order: of the files; apart: each in a transaction of its own."""
    source = ClaudeCode()
    found = order(list(discover([str(root)], source)))
    groups: Iterable[Sequence[Found]] = [[one] for one in found] if apart else [found]
    for group in groups:
        for _ in Ingest(conn, source, Resolver()).run(group):
            pass
    # Files that others made to be read again, as a rescan does.
    for _ in range(3):
        if not conn.execute("SELECT 1 FROM ingest_files WHERE size < 0 AND status = 'active'").fetchone():
            break
        for _ in Ingest(conn, source, Resolver()).run(found):
            pass


def memory_of(home: Path, root: Path, **how: object) -> Content:
    """What a new memory holds after reading everything below `root`."""
    conn = store(home)
    read(conn, root, **how)  # type: ignore[arg-type]
    check(conn)
    held = content(conn)
    conn.close()
    return held
