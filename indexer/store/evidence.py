"""From what was made to what it was made of: the calls behind an observation, and what is to be done."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from indexer.store.connection import Connection

CALLS = "SELECT id FROM tool_uses WHERE observation_id = :id ORDER BY created_at_epoch, id LIMIT :limit"
_WORK = "SELECT id, project, project_key, list_name, fields, created_at_epoch FROM work_state_entries"
WORK = f"{_WORK} ORDER BY id DESC LIMIT :limit"
PROJECT_WORK = f"{_WORK} WHERE project_key = :key ORDER BY id DESC LIMIT :limit"
LOOKED_AT = 5_000
"""Entries, the last ones; each is a state of a to-do, of which the last counts."""


class Work(NamedTuple):
    """The last state of a to-do. list: the session it belongs to. time: epoch milliseconds or None."""

    project: str
    project_key: str
    list: str
    fields: dict[str, object]
    time: int | None


def calls_of(conn: Connection, observation: int, limit: int) -> list[int]:
    """Row ids of the tool uses that an observation was made of, the oldest first."""
    return [row[0] for row in conn.execute(CALLS, {"id": observation, "limit": limit})]


def work(conn: Connection, keys: Sequence[str] | None) -> list[Work]:
    """Each to-do of the projects `keys`, or of all (None), in its last state; what changed last comes first.

    Entries whose JSON is broken are left out: they are the agent's own words, not evidence.
    """
    if keys is None:
        rows = conn.execute(WORK, {"limit": LOOKED_AT}).fetchall()
    else:
        found = (conn.execute(PROJECT_WORK, {"key": key, "limit": LOOKED_AT}) for key in dict.fromkeys(keys))
        rows = [row for branch in found for row in branch]
    rows.sort(key=lambda row: (-(row["created_at_epoch"] or 0), -row["id"]))
    last: dict[tuple[str, str, str], Work] = {}
    for row in rows:
        fields = _fields(row["fields"])
        if fields is not None:
            one = Work(row["project"], row["project_key"], row["list_name"], fields, row["created_at_epoch"])
            last.setdefault((one.project_key, one.list, str(fields.get("key", row["id"]))), one)
    return list(last.values())


def _fields(text: str) -> dict[str, object] | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
