"""The way out: a Query becomes hits in ranked order, each with a title, a snippet and where it stands.

What answered is said in `via` and what was missing in `notes`; a search fails for nothing behind it but
the database itself. Hits keep the order of their ranking through everything that is looked up for them:
sorting again by date afterwards is how a best hit gets lost.

A session ranks by its best hit; the others do not add, or long sessions would come first for being long.
On 855 modules of Python's library as sessions, each found by the first line of its docstring, the best hit
alone gave hit@10 0.73 and MRR 0.47, a tenth of the others added 0.70 and 0.41, the sum 0.56 and 0.26; on
those of benchmarks/sessions.py 0.57 and 0.40, half of each further one 0.53 and 0.37, the sum 0.50 and 0.26.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from indexer.query import Filters, Query, parse, plain
from indexer.ranking import Meaning, Ranking, alike, ranked
from indexer.store import listing
from indexer.store.around import anchor, around
from indexer.store.browse import find_sessions
from indexer.store.filters import where
from indexer.store.hydrate import Shown, hydrate
from indexer.store.items import Place, showing
from indexer.store.lexical import Match
from indexer.store.reads import Connection
from indexer.text import glance, snippet

SESSION_DEPTH = 600
"""Of each list when sessions are ranked: a long session may hold most of the first rows."""
HITS_OF_A_SESSION = 5
MOST_OF_A_FILE = 5_000
_UNDATED = "it has no time, so nothing stands before or after it"


class Hit(NamedTuple):
    """One thing found.

    kind, id: as `prompt` and `prompt:12`. project: display name; project_key: what filters use.
    session, platform, cwd: of the session that owns it. time: epoch milliseconds, None if undated.
    title: on one line; of its own, else its session's. snippet: one line around the words, a short text
    whole. score: higher is better, 0.0 where nothing was ranked. source: file and line, None if it was
    not read from a file.
    """

    kind: str
    id: str
    project: str
    project_key: str
    session: str
    platform: str
    cwd: str | None
    time: int | None
    title: str
    session_title: str
    snippet: str
    score: float
    source: Place | None


class Results(NamedTuple):
    """The answer to one query. via: what answered: `lexical`, the embedders (`use`, `minilm` ...) and what
    searched their vectors (`exact`, `chroma`), `newest`, `scan`; notes: for people; more: whether there are
    hits beyond the limit."""

    hits: tuple[Hit, ...]
    via: tuple[str, ...]
    notes: tuple[str, ...]
    more: bool = False


class Group(NamedTuple):
    """A session that shows hits. row_id: of sdk_sessions. hits: ids, the best first. total: of its hits
    among those that were ranked."""

    row_id: int
    hits: tuple[str, ...]
    total: int


def search(conn: Connection, query: Query, meaning: Meaning | None = None, mode: str = "hybrid") -> Results:
    """The hits of `query` within its filters' limit and offset, the best first.

    meaning: who is asked for nearness; None: words alone. mode: `hybrid`, `lexical` or `semantic`.
    Raises sqlite3.DatabaseError only when the tables themselves cannot be read.
    """
    return _page(conn, query, ranked(conn, query, _end(query.filters), meaning, mode))


def search_sessions(
    conn: Connection, query: Query, meaning: Meaning | None = None, mode: str = "hybrid"
) -> tuple[Results, tuple[Group, ...]]:
    """Sessions in the order of their best hits, within limit and offset, and a few hits of each.

    A fork shows the history it was copied from, so that a hit may stand in two groups. Raises as `search`.
    """
    filters = query.filters
    ranking = ranked(conn, query, SESSION_DEPTH, meaning, mode, SESSION_DEPTH, tiers=False)
    groups = _grouped(conn, ranking.rows, filters.session)
    page = groups[filters.offset : _end(filters)]
    best = {row.id for _, rows in page for row in rows[:HITS_OF_A_SESSION]}
    in_order = [row for row in ranking.rows if row.id in best]
    shown = hydrate(conn, [row.id for row in in_order])
    hits = tuple(_hit(shown[row.id], row.score, query.words) for row in in_order if row.id in shown)
    notes = (*query.notes, *ranking.notes)
    results = Results(hits, ranking.via, notes, len(groups) > _end(filters))
    return results, tuple(_group(row_id, rows, shown) for row_id, rows in page)


def similar(conn: Connection, row_id: int, filters: Filters, meaning: Meaning | None = None) -> Results:
    """What is like the row `row_id` (of search_texts), itself left out. Empty when there is no such row."""
    rows = hydrate(conn, [row_id])
    if row_id not in rows:
        return Results((), (), ())
    row = rows[row_id]
    query = plain(f"{row.title or ''} {_text(row)}", filters)
    return _page(conn, query, alike(conn, row_id, query, meaning))


def by_file(conn: Connection, query: Query, meaning: Meaning | None = None) -> Results:
    """What touched the file of the filters: the rows that answer the words of `query`, the best first, then
    all others, the newest first. A path is exact (`filters.file`): nothing else is near enough to count."""
    rest = listing.newest(conn, query.filters, where(query.filters), MOST_OF_A_FILE)
    if not query.terms:
        return _page(conn, query, Ranking(tuple(Match(row_id, 0.0) for row_id in rest), ("newest",), ()))
    ranking = ranked(conn, query, _end(query.filters), meaning)
    seen = {row.id for row in ranking.rows}
    behind = tuple(Match(row_id, 0.0) for row_id in rest if row_id not in seen)
    return _page(conn, query, ranking._replace(rows=(*ranking.rows, *behind)))


def timeline(conn: Connection, row_id: int, filters: Filters, before: int, after: int) -> Results:
    """The row `row_id` (of search_texts) and what stands around it in time, the earliest first. Without a
    project in the filters, in its own. Empty when there is no such row."""
    middle = anchor(conn, row_id)
    if middle is None:
        return Results((), (), ())
    ids = around(conn, middle, filters, before, after)
    notes = () if middle.time is not None else (_UNDATED,)
    ranking = Ranking(tuple(Match(one, 0.0) for one in ids), ("timeline",), notes)
    return _shown(conn, parse("", filters), ranking.rows, ranking, False)


def _end(filters: Filters) -> int:
    return filters.offset + filters.limit


def _page(conn: Connection, query: Query, ranking: Ranking) -> Results:
    start, end = query.filters.offset, _end(query.filters)
    more = ranking.more or len(ranking.rows) > end
    return _shown(conn, query, ranking.rows[start:end], ranking, more)


def _shown(conn: Connection, query: Query, page: Sequence[Match], ranking: Ranking, more: bool) -> Results:
    rows = hydrate(conn, [row.id for row in page])
    hits = tuple(_hit(rows[row.id], row.score, query.words) for row in page if row.id in rows)
    return Results(hits, ranking.via, (*query.notes, *ranking.notes), more)


def _grouped(conn: Connection, rows: Sequence[Match], only: str | None) -> list[tuple[int, list[Match]]]:
    """Sessions by row id in the order of their best rows, each with its rows; `only` the one with this id."""
    shown_in = showing(conn, [row.id for row in rows])
    groups: dict[int, list[Match]] = {}
    for row in rows:
        for session in shown_in.get(row.id, ()):
            groups.setdefault(session, []).append(row)
    if only is None:
        return list(groups.items())
    wanted = {session.row_id for session in find_sessions(conn, only)}
    return [(row_id, found) for row_id, found in groups.items() if row_id in wanted]


def _group(row_id: int, rows: Sequence[Match], shown: Mapping[int, Shown]) -> Group:
    ids = tuple(shown[row.id].id for row in rows[:HITS_OF_A_SESSION] if row.id in shown)
    return Group(row_id, ids, len(rows))


def _hit(row: Shown, score: float, words: tuple[str, ...]) -> Hit:
    session_title = glance(row.name.strip().partition("\n")[0])
    title = glance(row.title) if row.title else session_title
    text = _text(row)
    return Hit(
        row.kind,
        row.id,
        row.project or row.project_key,
        row.project_key,
        row.session,
        row.platform,
        row.cwd,
        row.time,
        title,
        session_title,
        snippet(text, words),
        score,
        row.place,
    )


def _text(row: Shown) -> str:
    return "\n".join(piece for stored in row.texts for piece in _plain(stored))


def _plain(stored: str) -> Iterator[str]:
    """A stored text as one reads it: of JSON (tool inputs, facts) the strings it holds."""
    if stored[0] in "[{":
        try:
            yield from _strings(json.loads(stored))
        except (ValueError, RecursionError):
            yield stored  # cut at 64 KiB, or text that only looks like JSON
    else:
        yield stored


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
