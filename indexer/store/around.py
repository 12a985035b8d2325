"""What stands before and after one row in time, among rows that meet the filters.

Each table is read from the row's moment on along its index (project, time), in both directions, one
branch a project; the branches are merged here. Rows of one moment stand by their ids.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from indexer.store.filters import Filters, codes, where
from indexer.store.listing import MERGEABLE, TABLES
from indexer.store.reads import Connection

_BRANCH = """
SELECT s.id, b.created_at_epoch AS time FROM {table} b CROSS JOIN search_texts s ON s.id = b.id * 8 + {code}
WHERE b.{column} = :key AND b.created_at_epoch {op}= :time AND (b.created_at_epoch {op} :time OR s.id {op} :id)
AND {where} ORDER BY b.created_at_epoch {order}, b.id {order} LIMIT :limit
"""
_SESSION = """
SELECT s.id, s.created_at_epoch AS time FROM search_texts s
WHERE s.id IN ({among}) AND s.created_at_epoch {op}= :time AND (s.created_at_epoch {op} :time OR s.id {op} :id)
AND {where} ORDER BY s.created_at_epoch {order}, s.id {order} LIMIT :limit
"""
ANCHOR = "SELECT project_key, created_at_epoch FROM search_texts WHERE id = :id"


class Anchor(NamedTuple):
    """A row of search_texts as the middle of a timeline. time: epoch milliseconds, None if undated."""

    id: int
    project_key: str
    time: int | None


def anchor(conn: Connection, row_id: int) -> Anchor | None:
    """The row with this id of search_texts."""
    row = conn.execute(ANCHOR, {"id": row_id}).fetchone()
    return Anchor(row_id, *row) if row else None


def around(conn: Connection, middle: Anchor, filters: Filters, before: int, after: int) -> list[int]:
    """Ids of up to `before` rows up to the anchor, of the anchor, and of up to `after` rows from it on, in
    order of time. Without a project in the filters, of the anchor's own. An undated anchor stands alone."""
    if middle.time is None:
        return [middle.id]
    keys = filters.project or (middle.project_key,)
    earlier = _nearest(conn, middle, filters, keys, "<", before)
    later = _nearest(conn, middle, filters, keys, ">", after)
    return [*earlier[::-1], middle.id, *later]


def _nearest(
    conn: Connection, middle: Anchor, filters: Filters, keys: tuple[str, ...], op: str, limit: int
) -> list[int]:
    order = "DESC" if op == "<" else "ASC"
    condition = where(filters)
    values = {**condition.values, "time": middle.time, "id": middle.id, "limit": limit}
    found: set[tuple[int, int]] = set()
    for statement, key in _statements(filters, keys, condition.among):
        sql = statement.format(op=op, order=order, where=condition.sql, among=condition.among)
        found.update((row[1], row[0]) for row in conn.execute(sql, {**values, "key": key}))
    return [row_id for _, row_id in sorted(found, reverse=op == "<")][:limit]


def _statements(filters: Filters, keys: tuple[str, ...], among: str) -> Iterator[tuple[str, str]]:
    if among:
        yield _SESSION, ""
        return
    for code in codes(filters):
        for column in ("project_key", "merged_into_project") if code in MERGEABLE else ("project_key",):
            named = {"table": TABLES[code], "code": code, "column": column}
            branch = _BRANCH
            for name, value in named.items():
                branch = branch.replace("{" + name + "}", str(value))
            for key in dict.fromkeys(keys):
                yield branch, key
