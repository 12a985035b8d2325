"""How much was said and done, counted: by time, project, tool and model.

Times come in quarters of an hour: every time zone's offset is a multiple of one, so that whoever shows them can
make days of them in any zone, and 180,000 rows a year become at most 35,000 buckets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from indexer.store.connection import Connection

QUARTER = 900_000
"""Milliseconds."""
_WITHIN = "created_at_epoch >= :since AND created_at_epoch <= :until"
_BY_TIME = "SELECT created_at_epoch / 900000 AS slot, project_key, count(*) AS number FROM {table} WHERE {where}"
PROMPTS = _BY_TIME.format(table="user_prompts", where=f"prompt_kind = 'prompt' AND {_WITHIN}")
TOOLS = f"""
SELECT created_at_epoch / 900000 AS slot, project_key, tool_name AS name, count(*) AS number,
       count(CASE WHEN is_error THEN 1 END) AS errors
FROM tool_uses WHERE {_WITHIN}
"""
MODELS = f"""
SELECT created_at_epoch / 900000 AS slot, project_key, coalesce(model, '') AS name, count(*) AS number,
       sum(input_tokens) AS input, sum(output_tokens) AS output, sum(cache_creation_tokens) AS written,
       sum(cache_read_tokens) AS cached
FROM assistant_messages WHERE {_WITHIN}
"""
_GROUPS = {PROMPTS: "slot, project_key", TOOLS: "slot, project_key, name", MODELS: "slot, project_key, name"}
SPAN = (-(1 << 62), 1 << 62)


class Slot(NamedTuple):
    """What happened in a quarter of an hour of one project. start: epoch milliseconds.

    name: of the tool or model, "" for prompts. tokens: input, output, written to the cache, read from it.
    """

    start: int
    project_key: str
    name: str
    number: int
    errors: int = 0
    tokens: tuple[int, int, int, int] = (0, 0, 0, 0)


class Window(NamedTuple):
    """What is counted. keys: projects, None for all. since, until: epoch milliseconds."""

    keys: tuple[str, ...] | None = None
    since: int | None = None
    until: int | None = None


def prompts(conn: Connection, window: Window) -> list[Slot]:
    """Prompts of people; undated ones are left out, as in all counts here."""
    return [Slot(row[0] * QUARTER, row[1], "", row[2]) for row in _rows(conn, PROMPTS, window)]


def tools(conn: Connection, window: Window) -> list[Slot]:
    """Tool calls by tool, with how many failed."""
    return [Slot(row[0] * QUARTER, row[1], row[2], row[3], row[4]) for row in _rows(conn, TOOLS, window)]


def models(conn: Connection, window: Window) -> list[Slot]:
    """Answers by model, with their tokens."""
    return [
        Slot(row[0] * QUARTER, row[1], row[2], row[3], 0, (row[4], row[5], row[6], row[7]))
        for row in _rows(conn, MODELS, window)
    ]


def _rows(conn: Connection, query: str, window: Window) -> Iterator[Any]:
    since, until = window.since, window.until
    values = {"since": SPAN[0] if since is None else since, "until": SPAN[1] if until is None else until}
    group = f" GROUP BY {_GROUPS[query]}"
    if window.keys is None:
        yield from conn.execute(query + group, values)
        return
    for key in dict.fromkeys(window.keys):
        yield from conn.execute(f"{query} AND project_key = :key{group}", values | {"key": key})
