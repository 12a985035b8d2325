"""Rows by time alone: the newest that pass the filters, and the search that needs no index.

Each table is read along its index (project, newest first), one branch a project, and the branches are
merged here: nothing is sorted or walked as a whole. Without a project filter the projects are visited
in the order of their newest row, and as soon as enough is found that none of the others can be newer,
they are left alone. A session's rows are found at their owners, since a fork shows rows it does not own.

A damaged or missing full-text index leaves `scan`: the same walk with a look into every text on the way,
newest first, until a second is over (about 100,000 texts of 850 characters).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

from indexer.store.filters import Filters, Term, Wanted, Where, codes, where
from indexer.store.reads import Connection

SECONDS = 1.0
_OPCODES = 1_000
"""Virtual machine steps between two looks at the clock: about a hundred texts."""
_LATEST = 1 << 62

TABLES = ("user_prompts", "assistant_messages", "tool_uses", "observations", "session_summaries")
"""By code: search_texts.id = row id * 8 + code (schema.sql)."""
MERGEABLE = (3, 4)

_NEWEST = """
SELECT s.id, b.created_at_epoch AS time FROM {table} b CROSS JOIN search_texts s ON s.id = b.id * 8 + {code}
WHERE b.{column} = :key AND {window} AND {where}
ORDER BY b.created_at_epoch DESC, b.id LIMIT :limit
"""
# Each project of a table by a jump in its index, with the time of its newest row.
PROJECTS = """
WITH RECURSIVE keys(key) AS (
  SELECT min(project_key) FROM {table}
  UNION ALL
  SELECT (SELECT min(project_key) FROM {table} WHERE project_key > key) FROM keys WHERE key IS NOT NULL)
SELECT key, (SELECT max(created_at_epoch) FROM {table} WHERE project_key = key) AS time
FROM keys WHERE key IS NOT NULL
"""
SESSION = """
SELECT s.id, s.created_at_epoch AS time FROM search_texts s
WHERE s.id IN ({among}) AND {where} ORDER BY time DESC, s.id LIMIT :limit
"""
_HOLDS = "(instr(lower(s.title), ?) > 0 OR instr(lower(s.body), ?) > 0)"


class _Branch(NamedTuple):
    """Rows of one project in one table. newest: no row of it is newer; None: all are undated."""

    code: int
    column: str
    key: str
    newest: int | None


_Place: TypeAlias = tuple[bool, int, int]
"""Where a row stands in the list: undated, time backwards, id."""


def kept_codes(conn: Connection) -> set[int]:
    """Codes of the tables that hold any row."""
    return {code for code, table in enumerate(TABLES) if conn.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()}


def newest(conn: Connection, filters: Filters, condition: Where, limit: int) -> list[int]:
    """Ids of the newest rows that meet the condition, undated ones last; equal times by id."""
    found: list[_Place] = []
    _collect(conn, filters, condition, limit, found)
    return _first(found, limit)


def scan(conn: Connection, query: Wanted, limit: int) -> tuple[list[int], bool]:
    """Ids of the newest rows whose search text holds all words, or any of them when none holds all;
    and whether every text was looked at before `SECONDS` were over."""
    found: list[_Place] = []
    whole = True
    for joint in (" AND ", " OR ")[: max(1, len(query.terms))]:
        with _in_time(conn, time.monotonic() + SECONDS) as late:
            _collect(conn, query.filters, _holding(query, joint), limit, found)
        whole = whole and not late()
        if found:
            break
    return _first(found, limit), whole


def _first(found: list[_Place], limit: int) -> list[int]:
    return [place[2] for place in sorted(set(found))[:limit]]


def _collect(conn: Connection, filters: Filters, condition: Where, limit: int, found: list[_Place]) -> None:
    """Fill `found`, row by row, so that what was found remains when the search is stopped."""
    values = {**condition.values, "limit": limit}
    if condition.among:
        statement = SESSION.format(among=condition.among, where=condition.sql)
        found.extend(map(_place, conn.execute(statement, values)))
        return
    window = " AND ".join(["1", *_window(filters)])
    for branch in _branches(conn, filters):
        if _settled(found, limit, branch.newest):
            break
        statement = _NEWEST.format(
            table=TABLES[branch.code],
            code=branch.code,
            column=branch.column,
            window=window,
            where=condition.sql,
        )
        found.extend(map(_place, conn.execute(statement, {**values, "key": branch.key})))


def _place(row: Sequence[int | None]) -> _Place:
    return row[1] is None, -(row[1] or 0), row[0] or 0


def _settled(found: list[_Place], limit: int, next_newest: int | None) -> bool:
    """Whether the first `limit` are known: no row that is still to come is as new as the last of them."""
    found.sort()
    if len(found) < limit:
        return False
    undated, back, _ = found[limit - 1]
    return not undated and (next_newest is None or next_newest < -back)


def _window(filters: Filters) -> Iterator[str]:
    if filters.since is not None:
        yield "b.created_at_epoch >= :since"
    if filters.until is not None:
        yield "b.created_at_epoch <= :until"


def _branches(conn: Connection, filters: Filters) -> list[_Branch]:
    """Those that may hold hits, the one with the newest row first."""
    if filters.project is not None:
        keys = dict.fromkeys(filters.project)
        return [
            _Branch(code, column, key, _LATEST)
            for code in codes(filters)
            for column in (("project_key", "merged_into_project") if code in MERGEABLE else ("project_key",))
            for key in keys
        ]
    rows = [
        _Branch(code, "project_key", row[0], row[1])
        for code in codes(filters)
        for row in conn.execute(PROJECTS.format(table=TABLES[code]))
    ]
    return sorted(rows, key=lambda branch: (branch.newest is None, -(branch.newest or 0)))


def _holding(query: Wanted, joint: str) -> Where:
    """The filters and, as substrings of the search text, the words."""
    condition = where(query.filters)
    values: dict[str, object] = {}

    def holds(term: Term) -> str:
        names = [f"needle{len(values) + i}" for i in range(len(term.needles))]
        values.update(zip(names, term.needles, strict=True))
        return "(" + " AND ".join(_HOLDS.replace("?", f":{name}") for name in names) + ")"

    held = joint.join(map(holds, query.terms)) or "1"
    sql = " AND NOT ".join((f"({held})", *map(holds, query.excluded)))
    return condition.and_also(sql, **values)


@contextmanager
def _in_time(conn: Connection, deadline: float) -> Iterator[Callable[[], bool]]:
    """Stop whatever runs inside at the deadline; yields what tells whether it was stopped."""
    stopped = False

    def check() -> bool:
        nonlocal stopped
        stopped = time.monotonic() > deadline
        return stopped

    conn.set_progress_handler(check, _OPCODES)
    try:
        yield lambda: stopped
    except sqlite3.OperationalError:
        if not stopped:
            raise
    finally:
        conn.set_progress_handler(None, 0)
