"""A memory to search, row by row: base rows, membership and search text as ingest writes them."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from indexer.query import Filters, parse
from indexer.search import Results, search
from indexer.store.migrations import migrate
from indexer.text import search_tokens

NOON = 1_795_176_000_000
"""2026-11-20T12:00:00Z. The n-th row of a memory is n seconds later unless a test says otherwise."""
HOME = "/home/dev/shop"


class Searchable:
    """An empty memory with one session, `first`, of the project HOME. Rows return their search ids."""

    def __init__(self, conn: sqlite3.Connection | None = None) -> None:
        self.conn = conn or sqlite3.connect(":memory:", isolation_level=None)
        self.conn.row_factory = sqlite3.Row
        migrate(self.conn)
        self.count = 0
        self.session("first")

    def session(self, name: str, project: str = HOME, **columns: Any) -> int:
        """A session and the file it stands in, both of the same row id."""
        given = {
            "content_session_id": name,
            "memory_session_id": f"claude:{name}",
            "project": project.rpartition("/")[2],
            "project_key": project,
            **columns,
        }
        row_id = self._insert("sdk_sessions", given)
        self._insert("ingest_files", {"id": row_id, "path": f"/home/dev/.claude/projects/{name}.jsonl"})
        return row_id

    def prompt(self, text: str, session: int = 1, kind: str = "prompt", **columns: Any) -> int:
        row = self._row(session, columns)
        given = {"prompt_text": text, "prompt_kind": kind, "native_prompt_id": row["uuid"], "native_prompt_hash": ""}
        return self._add("user_prompts", 0, kind, row, given, body=text)

    def assistant(self, *texts: str, session: int = 1, **columns: Any) -> int:
        row = self._row(session, columns)
        given = {"message_id": row["uuid"], "record_uuid": row["uuid"]}
        found = self._add("assistant_messages", 1, "assistant", row, given, body="\n".join(texts))
        for i, text in enumerate(texts):
            values = {"uuid": f"{row['uuid']}/{i}", "message_row_id": found // 8, "position": i, "text": text}
            self._insert("assistant_texts", values)
        return found

    def tool(
        self,
        name: str,
        values: object = "",
        response: str = "",
        session: int = 1,
        file: str | None = None,
        **columns: Any,
    ) -> int:
        row = self._row(session, columns)
        text = json.dumps(values, ensure_ascii=False)
        given = {
            "identity": row["uuid"],
            "tool_use_id": row["uuid"],
            "record_uuid": row["uuid"],
            "tool_name": name,
            "file_path": file,
            "tool_input": text,
            "tool_response": response,
        }
        body = f"{text}\n{response}"
        return self._add("tool_uses", 2, "tool_use", row, given, title=name, body=body, detail=name)

    def observation(self, title: str, narrative: str = "", session: int = 1, **columns: Any) -> int:
        row = self._row(session, columns)
        given = {"type": "discovery", "title": title, "narrative": narrative, "content_hash": row["uuid"]}
        return self._add("observations", 3, "observation", row, given, title, narrative, detail="discovery")

    def summary(self, request: str, learned: str = "", session: int = 1, **columns: Any) -> int:
        row = self._row(session, columns)
        given = {"request": request, "learned": learned}
        return self._add("session_summaries", 4, "summary", row, given, request, learned)

    def shows(self, session: int, *rows: int) -> None:
        """Make `session` show rows that another session owns, as a fork does."""
        for row in rows:
            uuid = self.conn.execute("SELECT uuid FROM search_texts WHERE id = ?", (row,)).fetchone()[0]
            self._insert("session_records", {"uuid": uuid, "session_db_id": session, "file_id": session, "position": 1})

    def search(self, text: str, **filters: Any) -> Results:
        """What `search` answers."""
        return search(self.conn, parse(text, Filters(**filters)))

    def found(self, text: str, **filters: Any) -> list[int]:
        """Ids of search_texts of the hits, in order."""
        codes = {"prompt": 0, "command": 0, "shell": 0, "assistant": 1, "tool_use": 2, "observation": 3, "summary": 4}
        hits = (hit.id.split(":") for hit in self.search(text, **filters).hits)
        return [int(number) * 8 + codes[kind] for kind, number in hits]

    def _row(self, session: int, columns: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        time = columns.pop("time", NOON + self.count * 1000)
        uuid = columns.pop("uuid", f"u{self.count}")
        owner = self.conn.execute("SELECT * FROM sdk_sessions WHERE id = ?", (session,)).fetchone()
        return {"session": session, "time": time, "uuid": uuid, "owner": owner, "columns": columns}

    def _add(
        self,
        table: str,
        code: int,
        kind: str,
        row: dict[str, Any],
        given: dict[str, Any],
        title: str = "",
        body: str = "",
        detail: str | None = None,
    ) -> int:
        owner, given = row["owner"], {**given, **row["columns"]}
        made = code in (3, 4)
        if made:
            given |= {"memory_session_id": owner["memory_session_id"], "project": owner["project"]}
        else:
            given |= {"session_db_id": row["session"], "content_session_id": owner["content_session_id"]}
            values = {"uuid": row["uuid"], "session_db_id": row["session"], "file_id": row["session"]}
            self._insert("session_records", {**values, "position": self.count, "flags": 4})
        given |= {"project_key": owner["project_key"], "created_at_epoch": row["time"]}
        search_id = self._insert(table, given) * 8 + code
        values = {
            "id": search_id,
            "kind": kind,
            "uuid": None if made else row["uuid"],
            "session_db_id": row["session"],
            "project_key": owner["project_key"],
            "created_at_epoch": row["time"],
            "detail": given.get("type", detail),
            "title": search_tokens(title),
            "body": search_tokens(body),
        }
        self._insert("search_texts", values)
        return search_id

    def _insert(self, table: str, values: dict[str, Any]) -> int:
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})"
        return self.conn.execute(sql, tuple(values.values())).lastrowid or 0
