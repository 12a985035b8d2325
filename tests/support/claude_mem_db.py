"""Databases as claude-mem leaves them, one for each era of its schema, about the same two sessions.

`shop` is a session whose transcript a test may lay beside it (`transcript`); of `gone` nothing else is left. An
observation without a session, a summary, a to-do list and a prompt of over 4,000 characters are there too.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from transcripts import START, Transcript, uid

FIRST = int(START.timestamp() * 1000)
SHOP, GONE = uid("session", "shop"), uid("session", "gone")
LONG = "please read all of this: " + "lorem ipsum dolor " * 400
SECRET = "sk-ant-api03-" + "a1B2c3D4" * 12
CALL = "toolu_01AbCdEfGhIjKlMnOpQr"
CALL_GONE = "toolu_01ZyXwVuTsRqPoNmLkJi"

_V13 = """
CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version INTEGER UNIQUE NOT NULL, applied_at TEXT NOT NULL);
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL,
  memory_session_id TEXT UNIQUE, project TEXT NOT NULL, platform_source TEXT NOT NULL DEFAULT 'claude',
  user_prompt TEXT, started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL, status TEXT DEFAULT 'active',
  prompt_counter INTEGER DEFAULT 0, custom_title TEXT, cwd TEXT, project_key_source TEXT);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session_db_id INTEGER,
  content_session_id TEXT NOT NULL, prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, native_prompt_id TEXT,
  native_prompt_hash TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE tool_uses (id INTEGER PRIMARY KEY AUTOINCREMENT, tool_use_id TEXT NOT NULL,
  content_session_id TEXT NOT NULL, memory_session_id TEXT, session_db_id INTEGER, project TEXT NOT NULL,
  platform_source TEXT NOT NULL DEFAULT 'claude', tool_name TEXT NOT NULL, tool_input TEXT, tool_response TEXT,
  cwd TEXT, prompt_number INTEGER, agent_type TEXT, agent_id TEXT, observation_id INTEGER, content_hash TEXT,
  created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL, UNIQUE (content_session_id, tool_use_id));
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
  project TEXT NOT NULL, type TEXT NOT NULL, title TEXT, subtitle TEXT, narrative TEXT, text TEXT, facts TEXT,
  concepts TEXT, files_read TEXT, files_modified TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0,
  content_hash TEXT, generated_by_model TEXT, agent_type TEXT, agent_id TEXT, merged_into_project TEXT,
  occurrence_count INTEGER DEFAULT 1, reinforcement_dates TEXT, last_reinforced TEXT, origin_device_id TEXT,
  origin_local_id INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL,
  project TEXT NOT NULL, request TEXT, investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, notes TEXT,
  files_read TEXT, files_edited TEXT, prompt_number INTEGER, discovery_tokens INTEGER DEFAULT 0,
  created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE work_state_entries (id INTEGER PRIMARY KEY AUTOINCREMENT, project TEXT NOT NULL, list_name TEXT NOT NULL,
  fields TEXT NOT NULL, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
"""
_OLD = """
CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT UNIQUE, claude_session_id TEXT,
  project TEXT NOT NULL, prompt_counter INTEGER DEFAULT 0, status TEXT NOT NULL DEFAULT 'active',
  created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL, completed_at TEXT, completed_at_epoch INTEGER);
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, sdk_session_id TEXT NOT NULL,
  claude_session_id TEXT, project TEXT NOT NULL, prompt_number INTEGER, tool_name TEXT, correlation_id TEXT,
  title TEXT, subtitle TEXT, narrative TEXT, text TEXT, facts TEXT, concepts TEXT, type TEXT, files_read TEXT,
  files_modified TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE session_summaries (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL,
  claude_session_id TEXT, project TEXT NOT NULL, prompt_number INTEGER, request TEXT, investigated TEXT, learned TEXT,
  completed TEXT, next_steps TEXT, notes TEXT, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, sdk_session_id TEXT NOT NULL, claude_session_id TEXT,
  project TEXT NOT NULL, prompt_number INTEGER, prompt_text TEXT NOT NULL, created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL);
"""


def transcript() -> Transcript:
    """What the client wrote of `shop`: the same two prompts and call, and a third that claude-mem never saw."""
    session = Transcript("shop", "/home/dev/shop")
    session.user("fix the login")
    session.call("Bash", {"command": "pytest"}, CALL)
    session.result(CALL, "2 passed")
    session.text("done")
    session.user(LONG)
    session.text("read")
    session.user("claude-mem was off by now")
    session.text("so it was")
    return session


def v13(path: Path) -> Path:
    """A database of version 13."""
    path.parent.mkdir(parents=True, exist_ok=True)
    conn = sqlite3.connect(path)
    conn.executescript(_V13)
    sessions = ((1, SHOP, "mem-shop", "shop", "/home/dev/shop"), (2, GONE, "mem-gone", "attic", None))
    for row, content, memory, project, cwd in sessions:
        add(conn, "sdk_sessions", id=row, content_session_id=content, memory_session_id=memory, project=project,
            cwd=cwd, started_at=_text(0), started_at_epoch=FIRST)  # fmt: skip
    _prompts(conn, "content_session_id", session_db_id=True)
    for call, session, project, response in (
        (CALL, SHOP, "shop", json.dumps({"stdout": "2 passed", "stderr": ""})),
        (CALL_GONE, GONE, "attic", json.dumps({"stdout": f"token {SECRET}", "stderr": ""})),
    ):
        add(conn, "tool_uses", tool_use_id=call, content_session_id=session, project=project, tool_name="Bash",
            tool_input='{"command":"pytest"}', tool_response=response, observation_id=1 if session == SHOP else 2,
            created_at=_text(3), created_at_epoch=FIRST + 3000)  # fmt: skip
    _observations(conn, "memory_session_id")
    _summary(conn, "memory_session_id")
    for status, second in (("open", 5), ("done", 6)):
        fields = json.dumps({"key": "1", "subject": "sweep the attic", "status": status})
        add(conn, "work_state_entries", project="attic", list_name="chores", fields=fields,
            created_at=_text(second), created_at_epoch=FIRST + second * 1000)  # fmt: skip
    conn.commit()
    conn.close()
    return path


def old(path: Path) -> Path:
    """A database of the era of `sdk_session_id`: no tool uses, no to-dos."""
    path.parent.mkdir(parents=True, exist_ok=True)
    conn = sqlite3.connect(path)
    conn.executescript(_OLD)
    for content, memory, project in ((SHOP, "mem-shop", "shop"), (GONE, "mem-gone", "attic")):
        add(conn, "sdk_sessions", claude_session_id=content, sdk_session_id=memory, project=project,
            created_at=_text(0), created_at_epoch=FIRST)  # fmt: skip
    _prompts(conn, "claude_session_id", session_db_id=False)
    _observations(conn, "sdk_session_id")
    _summary(conn, "sdk_session_id")
    conn.commit()
    conn.close()
    return path


def add(conn: sqlite3.Connection, table: str, **values: Any) -> None:
    """A row."""
    marks = ", ".join("?" * len(values))
    conn.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def _prompts(conn: sqlite3.Connection, column: str, *, session_db_id: bool) -> None:
    cut = LONG[:3999] + "…"
    for number, session, text, second in (
        (1, SHOP, "fix the login", 1),
        (2, SHOP, cut, 5),
        (1, GONE, "why is the attic dark", 1),
        (2, GONE, "go on", 2),
        (3, GONE, "go on", 4),
    ):
        more: dict[str, Any] = {} if session_db_id else {"sdk_session_id": "mem", "project": "p"}
        if session_db_id:
            more["session_db_id"] = 1 if session == SHOP else 2
        values = {column: session, "prompt_number": number, "prompt_text": text, "created_at": _text(second)}
        add(conn, "user_prompts", **values, created_at_epoch=FIRST + second * 1000 - 7, **more)


def _observations(conn: sqlite3.Connection, column: str) -> None:
    for number, memory, title, narrative in (
        (1, "mem-shop", "Login fixed", "The token had expired."),
        (2, "mem-gone", "The attic lamp is broken", f"Its key was {SECRET}."),
        (3, "mem-lost", "Nobody knows whose", "Its session is not there."),
    ):
        values = {column: memory, "project": "attic", "type": "bugfix", "title": title, "narrative": narrative}
        values |= {"facts": '["one fact"]', "files_read": '["a.py"]', "created_at": _text(9)}
        add(conn, "observations", **values, created_at_epoch=FIRST + 9000 + number)


def _summary(conn: sqlite3.Connection, column: str) -> None:
    values = {column: "mem-gone", "project": "attic", "request": "Light in the attic", "learned": "Lamps break."}
    add(conn, "session_summaries", **values, created_at=_text(10), created_at_epoch=FIRST + 10_000)


def _text(second: int) -> str:
    return f"2026-11-01T09:00:{second:02}.000Z"
