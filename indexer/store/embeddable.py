"""What of the memory can have a vector: prompts, answers, observations and summaries, with their texts.

Tool calls have none: their output is looked up by its words, and would be nine tenths of all vectors.
Rows are named by `search_texts.id`, as everywhere behind a search. Each statement takes a JSON list of
such ids, so that it is a constant, and reads rows of one table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from indexer.store.connection import Connection
from indexer.store.filters import Filters, where

CODES = (0, 1, 3, 4)
"""Codes of the tables (search_texts.id % 8) whose rows have vectors."""


class Row(NamedTuple):
    """A row as vectors know it.

    id: of search_texts. native: a name that a rebuild does not change. merged: the key of the project that
    its own was merged into. type: of an observation. fields: name and text of each, in a fixed order, as
    stored; `facts` is a JSON list.
    """

    id: int
    kind: str
    native: str
    project_key: str
    merged: str | None
    type: str | None
    time: int | None
    session: int
    fields: tuple[tuple[str, str], ...]


IDS = """
SELECT id FROM search_texts INDEXED BY idx_search_texts_session
WHERE id >= :low AND id < :high AND id % 8 <> 2"""
LAST = "SELECT coalesce(max(id), 0) FROM search_texts"
LAST_OF_TABLES = """
SELECT coalesce((SELECT max(id) FROM user_prompts), 0) * 8,
       coalesce((SELECT max(id) FROM assistant_messages), 0) * 8 + 1,
       coalesce((SELECT max(id) FROM observations), 0) * 8 + 3,
       coalesce((SELECT max(id) FROM session_summaries), 0) * 8 + 4"""
_ROWS = """
SELECT s.id, s.kind, {native}, s.project_key, {merged}, s.detail, s.created_at_epoch, s.session_db_id, {columns}
FROM json_each(:ids) i CROSS JOIN search_texts s ON s.id = i.value CROSS JOIN {table} b ON b.id = s.id / 8
WHERE s.id % 8 = {code}"""
_OBSERVED = ("title", "subtitle", "narrative", "text", "facts")
_SUMMED = ("request", "investigated", "learned", "completed", "next_steps", "notes")
PROMPTS = _ROWS.format(
    table="user_prompts", code=0, native="'prompt:' || b.native_prompt_id", merged="NULL", columns="b.prompt_text"
)
ANSWERS = _ROWS.format(
    table="assistant_messages",
    code=1,
    native="'assistant:' || b.message_id",
    merged="NULL",
    columns="""(SELECT group_concat(text, char(10)) FROM
       (SELECT text FROM assistant_texts WHERE message_row_id = b.id ORDER BY position, uuid))""",
)
OBSERVATIONS = _ROWS.format(
    table="observations",
    code=3,
    native="'observation:' || b.memory_session_id || ':' || b.content_hash",
    merged="b.merged_into_project",
    columns=", ".join(f"b.{name}" for name in _OBSERVED),
)
SUMMARIES = _ROWS.format(
    table="session_summaries",
    code=4,
    native="'summary:' || b.memory_session_id || ':' || b.id",
    merged="b.merged_into_project",
    columns=", ".join(f"b.{name}" for name in _SUMMED),
)
_STATEMENTS = (
    (PROMPTS, ("text",)),
    (ANSWERS, ("text",)),
    (OBSERVATIONS, _OBSERVED),
    (SUMMARIES, _SUMMED),
)
PASSING = "SELECT s.id FROM json_each(:ids) i CROSS JOIN search_texts s ON s.id = i.value WHERE {where}"
AMONG = "SELECT s.id FROM search_texts s WHERE s.id IN ({among}) AND {where}"
COUNT = "SELECT count(*) FROM search_texts INDEXED BY idx_search_texts_session WHERE id % 8 <> 2"
VERSION = "PRAGMA data_version"


def last_id(conn: Connection) -> int:
    """The largest id of a row that can be found, 0 if there is none."""
    return int(conn.execute(LAST).fetchone()[0])


def last_ids(conn: Connection) -> tuple[int, ...]:
    """The largest id of each table whose rows can have vectors, in the order of CODES."""
    return tuple(conn.execute(LAST_OF_TABLES).fetchone())


def ids(conn: Connection, low: int, high: int) -> set[int]:
    """Ids from `low` up to `high` (excluded) of rows that can have vectors."""
    return {row[0] for row in conn.execute(IDS, {"low": low, "high": high})}


def count(conn: Connection) -> int:
    """How many rows can have vectors."""
    return int(conn.execute(COUNT).fetchone()[0])


def rows(conn: Connection, wanted: Sequence[int]) -> Iterator[Row]:
    """The rows of these ids that there are, table by table."""
    values = {"ids": json.dumps(list(wanted))}
    for statement, names in _STATEMENTS:
        for row in conn.execute(statement, values):
            about, texts = tuple(row)[:8], tuple(row)[8:]
            yield Row._make((*about, tuple((name, text) for name, text in zip(names, texts, strict=True) if text)))


def passing(conn: Connection, filters: Filters, wanted: Sequence[int]) -> set[int]:
    """Those of `wanted` that pass all filters."""
    condition = where(filters)
    if condition.among:
        found = conn.execute(AMONG.format(among=condition.among, where=condition.sql), condition.values)
        return {row[0] for row in found}.intersection(wanted)
    statement = PASSING.format(where=condition.sql)
    return {row[0] for row in conn.execute(statement, {**condition.values, "ids": json.dumps(list(wanted))})}


def version(conn: Connection) -> int:
    """A number that changes whenever another process has written to the database."""
    return int(conn.execute(VERSION).fetchone()[0])
