"""Full-text search: which rows hold the words of a query, the best first.

Two tiers. Of one to three words, rows that hold all come first; a longer query is a question, which AND
hardly ever answers (retrieval.md section 4: nDCG@10 0.00 to 0.04 on five sets of questions). When that
finds too little, rows are ranked by how many of the words they hold and how rare those are: OR and bm25,
title thrice the body.

Cost is bounded by the number of rows that bm25 must look at (1.2 us each, 2.1 with the join; 100,000 rows):

* A question is asked with its 12 rarest words, without those in more than a tenth of all rows when
  others are left (20 ms instead of 39, nDCG within 0.002 on five sets of six), and with no more words
  than stand in 40,000 rows together. How many rows hold a word is counted up to the limit that matters
  (0.07 us a row): fts5vocab would need a TEMP table, which a query_only connection may not have.
* Rows with the words of a keyword query are ranked when they are up to 10,000; of more, the 2,000 last
  stored of each table (20 ms on 500 MB of transcripts), and a note says so. Where so much matches, rank
  says little.

Filters are part of the statement. Equal scores are ordered by time, the newer first, then by id. Where the
index is missing (an SQLite without FTS5), damaged or silent, `listing.scan` looks through the newest texts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from indexer.store import listing
from indexer.store.filters import ANYTHING, Term, Wanted, Where, codes, where
from indexer.store.reads import Connection

_UNFILTERED = Where(ANYTHING, {})
FEW_WORDS = 3
RAREST = 12
COMMON = 2_000, 10
"""A word is common in more rows than the first and than one in so many of all."""
TOGETHER = 40_000
RANKED = 10_000
LAST_STORED = 2_000
PAGE, LONG = 20, 200

_RANK = "bm25(search_fts, 3.0, 1.0)"
_JOINED = f"""
SELECT s.id, {_RANK} AS score, s.created_at_epoch AS time
FROM search_fts CROSS JOIN search_texts s ON s.id = search_fts.rowid
WHERE search_fts MATCH :match AND search_fts.rowid % 8 IN ({{codes}}) AND {{where}}"""
# `+` keeps FTS5 from being asked anew for each id.
_AMONG = "+search_fts.rowid IN ({among}) AND {where}"
RANKED_ROWS = f"{_JOINED} ORDER BY score, time DESC, s.id LIMIT :limit"
LAST_ROWS = f"""
SELECT *, count(*) OVER () AS ranked FROM ({_JOINED} ORDER BY search_fts.rowid DESC LIMIT :last)
ORDER BY score, time DESC, id LIMIT :limit"""
HOLDERS = """
SELECT s.id FROM search_fts CROSS JOIN search_texts s ON s.id = search_fts.rowid
WHERE search_fts MATCH :match AND search_fts.rowid % 8 IN ({codes}) AND {where} LIMIT :limit"""
MATCHING = """
SELECT rowid FROM search_fts WHERE search_fts MATCH :match AND +rowid IN (SELECT value FROM json_each(:ids))"""
TOP_ROWS = f"""
SELECT rowid, {_RANK} AS score FROM search_fts WHERE search_fts MATCH :match ORDER BY score LIMIT :limit"""
TIMES = """
SELECT s.id, s.created_at_epoch FROM json_each(:ids) i CROSS JOIN search_texts s ON s.id = i.value"""
BEGINNINGS = """
SELECT s.id, substr(s.body, 1, 200) FROM json_each(:ids) i CROSS JOIN search_texts s ON s.id = i.value"""
COUNT = "SELECT count(*) FROM (SELECT 1 FROM search_fts WHERE search_fts MATCH :match LIMIT :limit)"
LAST_TEXT = "SELECT id, substr(body, 1, 400) FROM search_texts WHERE body <> '' ORDER BY id DESC LIMIT 1"
HOLDS = "SELECT 1 FROM search_fts WHERE search_fts MATCH :match AND rowid = :id"
SIZE = "SELECT count(*) FROM search_texts"
_COMMON = f"over {RANKED:,} rows match: the best of the {LAST_STORED:,} last stored of each kind"
_NO_INDEX = "the full-text index is missing or damaged: the newest texts were searched for the words as typed"
_STOPPED = f"stopped after {listing.SECONDS:g} s: older texts were not searched"
_EXCLUDED = "NOT EXISTS (SELECT 1 FROM search_fts WHERE search_fts MATCH :excluded AND rowid = s.id)"


class Match(NamedTuple):
    """A row found. id: of search_texts. score: higher is better; 0.0 where nothing was ranked."""

    id: int
    score: float


class Found(NamedTuple):
    """What answered: via is `lexical`, `newest` (no words) or `scan` (no index); notes are for people;
    more: whether there are rows beyond the limit."""

    matches: tuple[Match, ...]
    via: str
    notes: tuple[str, ...]
    more: bool


def match(conn: Connection, query: Wanted, limit: int, offset: int = 0, *, tiers: bool = True) -> Found:
    """Rows that answer the query, from the `offset`-th best on. Without words: the newest that pass the
    filters. tiers: rows with all words first; without, every score is of one kind and may be combined
    with others. Raises what SQLite raises, but for a missing or damaged index."""
    end = offset + limit
    need = end + 1  # the one beyond tells whether there is more
    try:
        if not query.terms:
            ids = _newest(conn, query, need)
            return Found(_unranked(ids[offset:end]), "newest", (), len(ids) > end)
        rows, notes = _search(conn, query, need, FEW_WORDS if tiers or not _loosened(query.terms) else 0)
        if rows or _index_answers(conn):
            return Found(tuple(rows[offset:end]), "lexical", notes, len(rows) > end)
    except sqlite3.DatabaseError as error:
        if not _is_of_the_index(error):
            raise
    ids, whole = listing.scan(conn, query, need)
    notes = (_NO_INDEX,) if whole else (_NO_INDEX, _STOPPED)
    return Found(_unranked(ids[offset:end]), "scan", notes, len(ids) > end)


def times(conn: Connection, ids: Sequence[int]) -> dict[int, int | None]:
    """When the rows with these ids were written, in epoch milliseconds."""
    return {row[0]: row[1] for row in conn.execute(TIMES, {"ids": json.dumps(list(ids))})}


def beginnings(conn: Connection, ids: Sequence[int]) -> dict[int, str]:
    """How the search texts of the rows with these ids begin."""
    return dict(conn.execute(BEGINNINGS, {"ids": json.dumps(list(ids))}).fetchall())


def bound(query: Wanted) -> bool:
    """Whether the query says what every hit must hold, or must not: then nearness alone is no hit."""
    return bool(query.excluded) or any(term.required for term in query.terms)


def holders(conn: Connection, query: Wanted, limit: int) -> list[int] | None:
    """Ids of all rows that meet the filters and a `bound` query's conditions; None when they are more
    than `limit`, or when nothing is required and they are left to `holding`."""
    required = [f"({term.match})" for term in query.terms if term.required]
    if not required:
        return None
    statement, values = _filtered(HOLDERS, query, _without(query, " AND ".join(required)), limit + 1)
    ids = _ids(conn, statement, values)
    return ids if len(ids) <= limit else None


def holding(conn: Connection, query: Wanted, ids: Sequence[int]) -> set[int]:
    """Those of `ids` that hold what a `bound` query requires, and nothing that it leaves out."""
    kept = set(ids)
    for term in query.terms:
        if term.required:
            kept &= _matching(conn, term.match, ids)
    for term in query.excluded:
        kept -= _matching(conn, term.match, ids)
    return kept


def _matching(conn: Connection, expression: str, ids: Sequence[int]) -> set[int]:
    return set(_ids(conn, MATCHING, {"match": expression, "ids": json.dumps(list(ids))}))


def _ids(conn: Connection, statement: str, values: dict[str, object]) -> list[int]:
    """The first column; empty where the index is missing or damaged."""
    try:
        return [row[0] for row in conn.execute(statement, values)]
    except sqlite3.DatabaseError as error:
        if not _is_of_the_index(error):
            raise
        return []


def _newest(conn: Connection, query: Wanted, need: int) -> list[int]:
    condition = where(query.filters)
    if query.excluded:
        excluded = " OR ".join(f"({term.match})" for term in query.excluded)
        condition = condition.and_also(_EXCLUDED, excluded=excluded)
    return listing.newest(conn, query.filters, condition, need)


def _unranked(ids: Iterable[int]) -> tuple[Match, ...]:
    return tuple(Match(row_id, 0.0) for row_id in ids)


def _is_of_the_index(error: sqlite3.DatabaseError) -> bool:
    """No such table or module, or a virtual table whose content is malformed."""
    return error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT)


def _index_answers(conn: Connection) -> bool:
    """Whether the index finds the row stored last. Asked when it found nothing: an index that lost its
    pages, or was never filled, says so by silence (tests: zeroed pages raise nothing)."""
    row = conn.execute(LAST_TEXT).fetchone()
    word = next((word for word in row[1].split() if any(map(str.isalnum, word))), "") if row else ""
    if not word:
        return True
    values = {"match": '"' + word.replace('"', "") + '"', "id": row[0]}
    return conn.execute(HOLDS, values).fetchone() is not None


def _search(conn: Connection, query: Wanted, need: int, few: int) -> tuple[list[Match], tuple[str, ...]]:
    """The best rows. few: up to so many words, rows with all of them come first."""
    first: list[Match] = []
    notes: tuple[str, ...] = ()
    if len(query.terms) <= few:
        expression = _without(query, query.all)
        if _count(conn, expression, RANKED) > RANKED:
            first, more = _last_stored(conn, query, expression, need)
            notes = (_COMMON,) if more else ()
        else:
            first = _ranked(conn, query, expression, need)
    loose = _any(conn, query.terms) if len(first) < need and _loosened(query.terms) else ""
    if not loose:
        return first, notes
    seen = {row.id for row in first}
    some = _ranked(conn, query, _without(query, loose), need + len(seen))
    rest = [row for row in some if row.id not in seen]
    shown = min(len(rest), need - 1 - len(first))
    if first and shown:
        notes = (*notes, _all_and_some(len(first), shown))
    return [*first, *rest][:need], notes


def _all_and_some(first: int, rest: int) -> str:
    have = "the first holds" if first == 1 else f"the first {first} hold"
    return f"{have} all words, {'the other' if rest == 1 else 'the others'} some of them"


def _without(query: Wanted, expression: str) -> str:
    """The expression, and none of what the query leaves out."""
    if not query.excluded:
        return expression
    return f"({expression}) NOT ({' OR '.join(f'({term.match})' for term in query.excluded)})"


def _ranked(conn: Connection, query: Wanted, expression: str, limit: int) -> list[Match]:
    statement, values = _filtered(RANKED_ROWS, query, expression, limit)
    rows = _unfiltered(conn, expression, limit) if where(query.filters) == _UNFILTERED else None
    if rows is None:
        rows = conn.execute(statement, values).fetchall()
    return [Match(row[0], -row[1]) for row in rows]


def _filtered(statement: str, query: Wanted, expression: str, limit: int) -> tuple[str, dict[str, object]]:
    condition, values = _asked(query, expression, limit)
    return statement.format(codes=", ".join(map(str, codes(query.filters))), where=condition), values


def _asked(query: Wanted, expression: str, limit: int) -> tuple[str, dict[str, object]]:
    """The filters as the statements above take them, and all values."""
    found = where(query.filters)
    sql = _AMONG.format(among=found.among, where=found.sql) if found.among else found.sql
    return sql, {**found.values, "match": expression, "limit": limit, "last": LAST_STORED}


def _unfiltered(conn: Connection, expression: str, limit: int) -> list[tuple[int, float, int | None]] | None:
    """The best rows without a look at the others' times, at half the cost; None when the last place is
    shared, so that times decide who has it. In a list much longer than a page, whose end counts for
    nothing, only when the place of the first page's end is shared with it."""
    best = conn.execute(TOP_ROWS, {"match": expression, "limit": limit + 1}).fetchall()
    last = limit if limit < LONG else PAGE
    if len(best) > limit and best[last - 1][1] == best[limit][1]:
        return None
    scores = {row[0]: row[1] for row in best[:limit]}
    rows = [(row_id, scores[row_id], time) for row_id, time in times(conn, list(scores)).items()]
    return sorted(rows, key=_order)


def _last_stored(conn: Connection, query: Wanted, expression: str, limit: int) -> tuple[list[Match], bool]:
    """The best of the last stored rows of each table, and whether there were more."""
    condition, values = _asked(query, expression, limit)
    rows = [
        row
        for code in codes(query.filters)
        for row in conn.execute(LAST_ROWS.format(codes=code, where=condition), values)
    ]
    rows.sort(key=_order)
    return [Match(row[0], -row[1]) for row in rows[:limit]], any(row[3] >= LAST_STORED for row in rows)


def _order(row: Sequence[Any]) -> tuple[float, bool, int, int]:
    """The better, then the newer (undated ones last), then the smaller id."""
    return row[1], row[2] is None, -(row[2] or 0), row[0]


def _loosened(terms: Sequence[Term]) -> bool:
    """Whether a ranked search can find more than all words together do."""
    return len(terms) > 1 or terms[0].loose != (terms[0].match,)


def _any(conn: Connection, terms: Sequence[Term]) -> str:
    """The ranked expression: what is required, and of the rest the words worth asking for; "" for none."""
    required = " AND ".join(f"({term.match})" for term in terms if term.required)
    asked = _rarest(conn, dict.fromkeys(form for term in terms if not term.required for form in term.loose))
    if required:
        return f"{required} AND ({' OR '.join([f'({required})', *asked])})" if asked else required
    return " OR ".join(asked)


def _rarest(conn: Connection, forms: Iterable[str]) -> list[str]:
    """The rarest of `forms` that stand in any row at all."""
    floor, share = COMMON
    common = max(floor, conn.execute(SIZE).fetchone()[0] // share)
    counted = sorted((_count(conn, form, common), place, form) for place, form in enumerate(forms))
    counted = [row for row in counted if row[0]]
    rare = [row for row in counted if row[0] <= common] or counted[:1]
    asked: list[str] = []
    rows = 0
    for count, _, form in rare[:RAREST]:
        rows += count
        if asked and rows > TOGETHER:
            break
        asked.append(form)
    return asked


def _count(conn: Connection, expression: str, most: int) -> int:
    """How many rows match; `most` + 1 when there are more."""
    row = conn.execute(COUNT, {"match": expression, "limit": most + 1}).fetchone()
    return int(row[0])
