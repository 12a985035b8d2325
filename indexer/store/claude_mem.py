"""What a claude-mem database holds, in one vocabulary for all its eras.

Names have changed over its versions: the agent's session is `claude_session_id`, later `content_session_id`;
the observer's is `sdk_session_id`, later `memory_session_id`; a session's start is `created_at_epoch` or
`started_at_epoch`. Each of our columns takes the first of theirs that is there, or NULL. Rows are sorted to
their sessions by ids alone, kept in memory (some 100 bytes a row), and fetched whole a session at a time:
nothing is presumed of its indexes. A row whose session is not there has a session made for it, under the id
that it names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from indexer.errors import CorruptDatabase
from indexer.store.connection import Connection
from indexer.store.foreign import tables
from indexer.store.membership import in_chunks

Row: TypeAlias = dict[str, Any]
Names: TypeAlias = Mapping[str, tuple[str, ...]]

_CONTENT, _MEMORY = ("content_session_id", "claude_session_id"), ("memory_session_id", "sdk_session_id")
_TIMES = {"time": ("created_at_epoch",), "time_text": ("created_at",)}
_ORIGIN = {"device": ("origin_device_id",), "local": ("origin_local_id",)}
_SESSIONS = {
    "id": ("id",), "content": _CONTENT, "memory": _MEMORY, "project": ("project",), "platform": ("platform_source",),
    "title": ("custom_title",), "cwd": ("cwd",),
}  # fmt: skip
_PROMPTS = {
    "id": ("id",), "content": _CONTENT, "memory": _MEMORY, "number": ("prompt_number",), "text": ("prompt_text",),
    "parent": ("session_db_id",), "project": ("project",), **_TIMES,
}  # fmt: skip
_TOOL_USES = {
    "id": ("id",), "content": _CONTENT, "memory": _MEMORY, "project": ("project",), "call": ("tool_use_id",),
    "name": ("tool_name",), "input": ("tool_input",), "response": ("tool_response",), "cwd": ("cwd",),
    "agent": ("agent_id",), "observation": ("observation_id",), "parent": ("session_db_id",), **_TIMES,
}  # fmt: skip
_OBSERVATIONS = {
    "id": ("id",), "content": _CONTENT, "memory": _MEMORY, "project": ("project",), **_TIMES, **_ORIGIN,
    **{name: (name,) for name in (
        "type", "title", "subtitle", "narrative", "text", "facts", "concepts", "files_read", "files_modified",
        "discovery_tokens", "generated_by_model", "agent_type", "agent_id", "reinforcement_dates", "last_reinforced",
    )},
}  # fmt: skip
_SUMMARIES = {
    "id": ("id",), "content": _CONTENT, "memory": _MEMORY, "project": ("project",), **_TIMES, **_ORIGIN,
    **{name: (name,) for name in (
        "request", "investigated", "learned", "completed", "next_steps", "notes", "files_read", "discovery_tokens",
    )},
    "files_edited": ("files_edited", "files_modified"),
}  # fmt: skip
_WORK = {"id": ("id",), "project": ("project",), "list_name": ("list_name",), "fields": ("fields",), **_TIMES}
_KEYS = ("id", "content", "memory", "parent", "project")
_CHILDREN = {
    "prompts": ("user_prompts", _PROMPTS),
    "tool_uses": ("tool_uses", _TOOL_USES),
    "observations": ("observations", _OBSERVATIONS),
    "summaries": ("session_summaries", _SUMMARIES),
}


class Session(NamedTuple):
    """A session and what belongs to it, whole. about: a row of sdk_sessions, or what a stub knows."""

    about: Row
    prompts: Sequence[Row]
    tool_uses: Sequence[Row]
    observations: Sequence[Row]
    summaries: Sequence[Row]


class Database:
    """A claude-mem database, opened to be read. Raises CorruptDatabase for one of another program."""

    def __init__(self, conn: Connection) -> None:
        self._conn, self._tables = conn, tables(conn)
        known = self._tables.get("sdk_sessions", set())
        if not known.intersection(_CONTENT) or "observations" not in self._tables or "ingest_files" in self._tables:
            raise CorruptDatabase(
                "this is not a database of claude-mem",
                "nothing was imported; a copy of another machine's index.db goes without the word claude-mem",
            )

    def sessions(self) -> Iterator[Session]:
        """Every session, in the order of their ids, then those that only their rows know of."""
        abouts, homes = self._homes()
        members = {kind: self._members(kind, homes, abouts) for kind in _CHILDREN}
        for content in list(abouts):
            rows = {kind: self._whole(kind, members[kind].get(content, ())) for kind in _CHILDREN}
            yield Session(abouts[content], **rows)

    def work(self) -> Iterator[Row]:
        """Entries of the agents' to-do lists, in order."""
        if "work_state_entries" in self._tables:
            sql = f"SELECT {self._columns('work_state_entries', _WORK)} FROM work_state_entries ORDER BY id"
            yield from (_row(row, _WORK) for row in self._conn.execute(sql))

    def _homes(self) -> tuple[dict[str, Row], dict[object, str]]:
        """Sessions by content id, and by whatever a row may name them: (kind of name, name) -> content id."""
        abouts: dict[str, Row] = {}
        homes: dict[object, str] = {}
        sql = f"SELECT {self._columns('sdk_sessions', _SESSIONS)} FROM sdk_sessions ORDER BY id"
        for row in (_row(found, _SESSIONS) for found in self._conn.execute(sql)):
            content = _name(row["content"]) or _name(row["memory"])
            if content is None:
                continue
            abouts.setdefault(content, row | {"content": content})
            homes["content", content] = homes["id", row["id"]] = content
            if (memory := _name(row["memory"])) is not None:
                homes.setdefault(("memory", memory), content)
        return abouts, homes

    def _members(self, kind: str, homes: dict[object, str], abouts: dict[str, Row]) -> dict[str, list[int]]:
        """Row ids of a table by the content id of their session; makes stubs of sessions that are missing."""
        table, names = _CHILDREN[kind]
        found: dict[str, list[int]] = defaultdict(list)
        if table not in self._tables:
            return found
        keys = {name: names[name] for name in _KEYS if name in names}
        sql = f"SELECT {self._columns(table, keys)} FROM {table} ORDER BY id"
        for row in (_row(got, keys) for got in self._conn.execute(sql)):
            content = self._home(row, homes)
            if content is None:
                continue
            if content not in abouts:
                abouts[content] = {"content": content, "project": row.get("project"), "stub": True}
                homes["content", content] = homes["memory", content] = content
            found[content].append(row["id"])
        return found

    @staticmethod
    def _home(row: Row, homes: dict[object, str]) -> str | None:
        named, memory = _name(row.get("content")), _name(row.get("memory"))
        for key in (("content", named), ("memory", memory), ("id", row.get("parent"))):
            if key in homes:
                return homes[key]
        return named or memory

    def _whole(self, kind: str, ids: Sequence[int]) -> list[Row]:
        table, names = _CHILDREN[kind]
        if not ids:
            return []
        sql = f"SELECT {self._columns(table, names)} FROM {table} WHERE id IN ({{}})"
        rows = [_row(row, names) for row in in_chunks(self._conn, sql, list(ids))]
        return sorted(rows, key=lambda row: int(row["id"]))

    def _columns(self, table: str, names: Names) -> str:
        """Our columns as this database spells them; of two spellings that are there the first that is filled."""
        there = self._tables[table]
        chosen = {name: [one for one in theirs if one in there] for name, theirs in names.items()}
        return ", ".join(_spelled(found) for found in chosen.values())


def _spelled(columns: Sequence[str]) -> str:
    quoted = [f'"{name}"' for name in columns]
    return f"coalesce({', '.join(quoted)})" if len(quoted) > 1 else quoted[0] if quoted else "NULL"


def _row(row: Any, names: Names) -> Row:
    return dict(zip(names, tuple(row), strict=True))


def _name(value: object) -> str | None:
    """A session's id; None for what is none."""
    return value.strip() or None if isinstance(value, str) else None
