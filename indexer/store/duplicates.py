"""Observations that say the same under one title: which of them stands for all, and who may.

Rows are never thrown away for it. Those of one title key point at the earliest (by event time and native
identity, whatever was read first), which counts them and their days; what says the very same there leaves
the index, what says something else stays in it, and in the view `observation_variants`. So switching dedup
off, or forgetting the session of the earliest, takes nothing from the others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from indexer.store.memories import OBSERVATION_CODE, index_row, merged_days

_GROUP = """
SELECT o.id, o.created_at_epoch, g.turn_id, g.slot, o.narrative, g.days, g.canonical_id, o.occurrence_count,
       o.reinforcement_dates
FROM observations o JOIN observation_origins g ON g.observation_id = o.id WHERE o.title_norm_key = ?
"""
_KEYS = """
SELECT o.title_norm_key FROM observations o JOIN observation_origins g ON g.observation_id = o.id
WHERE o.title_norm_key IS NOT NULL
GROUP BY 1 HAVING count(*) > 1 OR max(g.canonical_id) IS NOT NULL OR max(o.occurrence_count) > 1
"""
_TITLES = """
SELECT o.id, o.title FROM observations o JOIN observation_origins g ON g.observation_id = o.id
WHERE o.project_key = ? AND g.canonical_id IS NULL AND o.title IS NOT NULL
ORDER BY o.created_at_epoch DESC, g.turn_id, g.slot LIMIT ?
"""
_CANDIDATES = """
SELECT d.first_id, d.second_id, d.score, d.status, a.title AS first, b.title AS second, a.project
FROM observation_dedup_candidates d JOIN observations a ON a.id = d.first_id JOIN observations b ON b.id = d.second_id
WHERE d.status = 'pending' ORDER BY d.score DESC, d.first_id, d.second_id LIMIT ?
"""


class Candidate(NamedTuple):
    """Two observations whose titles are alike. score: 0.80 to 1."""

    first: int
    second: int
    score: float
    status: str
    first_title: str
    second_title: str
    project: str


def merge(conn: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Let the earliest observation of each of these title keys stand for all. In the caller's transaction."""
    for key in sorted(keys):
        rows = _group(conn, key)
        if len(rows) > 1 or any(map(_is_merged, rows)):
            _settle(conn, rows)
    _accept(conn)


def settle(conn: sqlite3.Connection, keys: Iterable[str]) -> None:
    """Say again who stands for all, where something was merged and some of it may be gone. What was never
    merged stays apart: dedup may be off."""
    for key in sorted(keys):
        rows = _group(conn, key)
        if any(map(_is_merged, rows)):
            _settle(conn, rows)
    _accept(conn)


def merge_all(conn: sqlite3.Connection) -> None:
    """`merge` for every key that may need it."""
    merge(conn, [key for (key,) in conn.execute(_KEYS).fetchall()])


def _group(conn: sqlite3.Connection, key: str) -> list[Any]:
    return sorted(conn.execute(_GROUP, (key,)).fetchall(), key=lambda row: (row[1] or 0, row[2], row[3]))


def _is_merged(row: Any) -> bool:
    return row[6] is not None or row[7] != 1


def _settle(conn: sqlite3.Connection, rows: Sequence[Any]) -> None:
    first = rows[0]
    days = merged_days(day for row in rows for day in json.loads(row[5] or "[]"))
    for place, row in enumerate(rows):
        canonical = None if place == 0 else first[0]
        same = place > 0 and (row[4] or "") == (first[4] or "")
        if row[6] != canonical:
            conn.execute(
                "UPDATE observation_origins SET canonical_id = ? WHERE observation_id = ?", (canonical, row[0])
            )
        due = days if place == 0 else json.loads(row[5] or "[]")
        if json.loads(row[8] or "[]") != due:
            _set_days(conn, row[0], due)
        count = len(rows) if place == 0 else 1
        if row[7] != count:
            conn.execute("UPDATE observations SET occurrence_count = ? WHERE id = ?", (count, row[0]))
        if same:
            conn.execute("DELETE FROM search_texts WHERE id = ?", (row[0] * 8 + OBSERVATION_CODE,))
        elif row[6] != canonical:
            index_row(conn, row[0])


def undo(conn: sqlite3.Connection) -> None:
    """Take back all merging of equal titles: what nobody accepted stands for itself."""
    first = conn.execute(
        "SELECT DISTINCT canonical_id FROM observation_origins WHERE canonical_id IS NOT NULL"
    ).fetchall()
    merged = [
        row[0] for row in conn.execute("SELECT observation_id FROM observation_origins WHERE canonical_id IS NOT NULL")
    ]
    conn.execute("UPDATE observation_origins SET canonical_id = NULL WHERE canonical_id IS NOT NULL")
    conn.execute("UPDATE observations SET occurrence_count = 1 WHERE occurrence_count <> 1")
    for row_id in merged:
        index_row(conn, row_id)
    own = "SELECT days FROM observation_origins WHERE observation_id = ?"
    for (row_id,) in first:
        if days := conn.execute(own, (row_id,)).fetchone():
            _set_days(conn, row_id, json.loads(days[0] or "[]"))
    _accept(conn)


def titles(conn: sqlite3.Connection, project_key: str, limit: int) -> list[tuple[int, str]]:
    """Ids and titles of a project's newest observations that stand for themselves."""
    return [tuple(row) for row in conn.execute(_TITLES, (project_key, limit))]


def propose(conn: sqlite3.Connection, project_key: str, pairs: Iterable[tuple[int, int, float]]) -> int:
    """Make the pending candidates of a project these, as (earlier, later, score); decided ones stay."""
    old = "first_id IN (SELECT id FROM observations WHERE project_key = ?)"
    conn.execute(f"DELETE FROM observation_dedup_candidates WHERE status = 'pending' AND {old}", (project_key,))
    sql = "INSERT OR IGNORE INTO observation_dedup_candidates (first_id, second_id, score) VALUES (?, ?, ?)"
    return conn.executemany(sql, list(pairs)).rowcount


def pending(conn: sqlite3.Connection, limit: int) -> list[Candidate]:
    """Candidates that nobody has decided on, the most alike first."""
    return [Candidate(*row) for row in conn.execute(_CANDIDATES, (limit,))]


def decide(conn: sqlite3.Connection, first: int, second: int, *, merge: bool) -> bool:
    """Keep what a person decided on a pair; says whether there is such a pair."""
    status = "merged" if merge else "dismissed"
    sql = "UPDATE observation_dedup_candidates SET status = ? WHERE (first_id, second_id) IN (VALUES (?, ?), (?, ?))"
    found = conn.execute(sql, (status, first, second, second, first)).rowcount > 0
    if found and merge:
        _accept(conn)
    return found


def _ordered(conn: sqlite3.Connection, first: int, second: int) -> tuple[int, int]:
    sql = (
        "SELECT o.id FROM observations o JOIN observation_origins g ON g.observation_id = o.id WHERE o.id IN (?, ?) "
        "ORDER BY coalesce(o.created_at_epoch, 0), g.turn_id, g.slot"
    )
    earlier, later = (row[0] for row in conn.execute(sql, (first, second)))
    return earlier, later


def _accept(conn: sqlite3.Connection) -> None:
    """Let the earlier of each accepted pair stand for the later, whatever else was merged or taken back."""
    pairs = conn.execute("SELECT first_id, second_id FROM observation_dedup_candidates WHERE status = 'merged'")
    for first, second in pairs.fetchall():
        earlier, later = _ordered(conn, first, second)
        sql = "SELECT coalesce(canonical_id, observation_id) FROM observation_origins WHERE observation_id = ?"
        (root,) = conn.execute(sql, (earlier,)).fetchone()
        conn.execute("UPDATE observation_origins SET canonical_id = ? WHERE observation_id = ?", (root, later))
        sql = "SELECT days FROM observation_origins WHERE observation_id = ?1 OR canonical_id = ?1"
        group = conn.execute(sql, (root,)).fetchall()
        conn.execute("UPDATE observations SET occurrence_count = ? WHERE id = ?", (len(group), root))
        _set_days(conn, root, merged_days(day for (text,) in group for day in json.loads(text or "[]")))


def _set_days(conn: sqlite3.Connection, row_id: int, days: Sequence[str]) -> None:
    sql = "UPDATE observations SET reinforcement_dates = ?, last_reinforced = ? WHERE id = ?"
    conn.execute(sql, (json.dumps(days) if days else None, days[-1] if days else None, row_id))
