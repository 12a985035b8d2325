"""A Query -> the ids of its hits in order: words, nearness in meaning, or both.

Words are asked of SQLite and nearness of whoever was passed in as `meaning`; where that is absent, late or
broken, words alone answer and a note says so. Both arms apply the filters before they cut, so that a hit
here is not lost to closer ones elsewhere, and both give 200 rows: with 100, nDCG@10 on s_reactzh is 0.413
instead of 0.419. Age is no part of it.

What a person requires ("a phrase", title:word) or leaves out (-word) binds nearness too. Where the rows
that hold the phrase are few, only they are ranked by nearness; else its list is sifted.

A category (prompts, answers, observations, summaries) with no hit on the first page of 20 gets its best
hit by words from place 17 on, from any time: the first 16 places are never given away, and the list stays
the same one whatever the limit and offset.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from indexer.fusion import LATIN_ONLY, LEXICAL, Ranked, fuse, weights
from indexer.query import Filters, Query
from indexer.store.filters import codes
from indexer.store.items import CODES
from indexer.store.lexical import Match, beginnings, bound, holders, holding, match, times
from indexer.store.listing import kept_codes
from indexer.store.reads import Connection
from indexer.text import unspaced_share

MODES = ("hybrid", "lexical", "semantic")
DEPTH = 200
PAGE, KEPT = 20, 16
FEW = 2_000
"""Rows that hold what a query requires are handed to nearness one by one up to so many."""
MIXED = 0.2
"""From this share of letters in scripts without spaces a text is not one for a model of Latin letters."""
CATEGORIES = (0, 1, 3, 4)

_NEAREST = "no text holds these words: what is nearest in meaning is shown"
_WORDS_ONLY = "nothing could be ranked by meaning: these hold the words"


class Nearness(Protocol):
    """What is near in meaning. arms: embedder -> rows, the best first, each once; an embedder that could
    not answer is not among them. via: what searched. notes: for people."""

    @property
    def arms(self) -> Mapping[str, Sequence[Ranked]]: ...
    @property
    def via(self) -> Sequence[str]: ...
    @property
    def notes(self) -> Sequence[str]: ...


class Meaning(Protocol):
    """Asks what is near to a text, or to the row `like`, within the filters (their limit apart), and of
    the rows `among` only. Never raises."""

    def __call__(
        self,
        text: str,
        filters: Filters,
        *,
        limit: int = DEPTH,
        among: Sequence[int] | None = None,
        like: int | None = None,
    ) -> Nearness: ...


class Ranking(NamedTuple):
    """Rows in order, the best first. via: what answered; notes: for people; more: whether there are rows
    beyond these."""

    rows: tuple[Match, ...]
    via: tuple[str, ...]
    notes: tuple[str, ...]
    more: bool = False


class _Near(NamedTuple):
    arms: dict[str, list[Ranked]]
    via: tuple[str, ...]
    notes: tuple[str, ...]


_NOTHING = _Near({}, (), ())


def ranked(
    conn: Connection,
    query: Query,
    need: int,
    meaning: Meaning | None = None,
    mode: str = "hybrid",
    depth: int = DEPTH,
    *,
    tiers: bool = True,
) -> Ranking:
    """At least the first `need` rows of the answer, if there are so many.

    mode: one of MODES. depth: of each arm's list; it must be the same for every page of an answer.
    tiers: of words alone; see lexical.match.
    Raises sqlite3.DatabaseError only when the tables themselves cannot be read.
    """
    if not query.terms or meaning is None or mode == "lexical":
        return _by_words(conn, query, need, (), tiers)
    near = _near(conn, query, meaning, depth)
    if not near.arms:
        notes = near.notes or ((_WORDS_ONLY,) if mode == "semantic" else ())
        return _by_words(conn, query, need, notes, tiers)
    if mode == "semantic":
        return Ranking(tuple(_fused(conn, query, near.arms)), _via(near, ()), near.notes)
    return _hybrid(conn, query, need, near, depth)


def alike(conn: Connection, row_id: int, query: Query, meaning: Meaning | None) -> Ranking:
    """Rows like the row `row_id`, itself left out. query: its own text, read by `query.plain`."""
    near = _as_near(meaning("", query.filters, limit=DEPTH, like=row_id)) if meaning else _NOTHING
    found = match(conn, query, DEPTH, tiers=False) if query.terms else None
    words = [row for row in found.matches if row.id != row_id] if found else []
    arms: dict[str, Sequence[Ranked]] = {**near.arms}
    if words:
        arms[LEXICAL] = words
    notes = (*near.notes, *(found.notes if found else ()))
    return Ranking(tuple(_fused(conn, query, arms)), _via(near, (LEXICAL,) if words else ()), notes)


# --- words


def _by_words(conn: Connection, query: Query, need: int, notes: tuple[str, ...], tiers: bool) -> Ranking:
    need = need if need <= KEPT else max(need, PAGE)
    found = match(conn, query, need, tiers=tiers)
    rows = list(found.matches)
    if query.terms and found.via == LEXICAL:
        rows = _with_all_categories(conn, query, rows)
    return Ranking(tuple(rows), (found.via,), (*notes, *found.notes), found.more)


# --- words and meaning


def _hybrid(conn: Connection, query: Query, need: int, near: _Near, depth: int) -> Ranking:
    found = match(conn, query, max(need, depth), tiers=False)
    words, beyond = found.matches[:depth], found.matches[depth:]
    arms: dict[str, Sequence[Ranked]] = {**near.arms}
    if words:
        arms[LEXICAL] = words
    rows = _fused(conn, query, arms)
    seen = {row.id for row in rows}
    # Beyond the lists' ends, words alone: deep pages go on, below everything that was ranked.
    rows += [Match(row.id, 0.0) for row in beyond if row.id not in seen]
    rows = _with_all_categories(conn, query, rows)
    notes = (*near.notes, *found.notes, *(() if words else (_NEAREST,)))
    return Ranking(tuple(rows), _via(near, (found.via,) if words else ()), notes, found.more)


def _near(conn: Connection, query: Query, meaning: Meaning, depth: int) -> _Near:
    """What is near and, where the query binds, may be a hit at all."""
    if not bound(query):
        return _as_near(meaning(query.question, query.filters, limit=depth))
    among = holders(conn, query, FEW)
    if among is not None and not among:
        return _NOTHING
    near = _as_near(meaning(query.question, query.filters, limit=depth if among else depth * 2, among=among))
    kept = holding(conn, query, sorted({row.id for rows in near.arms.values() for row in rows}))
    arms = {arm: [row for row in rows if row.id in kept][:depth] for arm, rows in near.arms.items()}
    return near._replace(arms={arm: rows for arm, rows in arms.items() if rows})


def _as_near(answer: Nearness) -> _Near:
    arms = {arm: list(rows) for arm, rows in answer.arms.items() if rows}
    return _Near(arms, tuple(answer.via), tuple(answer.notes))


def _fused(conn: Connection, query: Query, arms: Mapping[str, Sequence[Ranked]]) -> list[Match]:
    weighed = weights(query.question, arms)
    ids = sorted({row.id for arm in weighed for row in arms[arm]})
    written = times(conn, ids)
    unread, instead = _unread(conn, ids, arms) if LATIN_ONLY in weighed else set[int](), arms.keys() - {LATIN_ONLY}
    found = fuse(arms, weighed, written, unread, weights(query.question, instead) or weighed)
    # A row that nothing knows any more died since the vectors were made.
    return [Match(row_id, score) for row_id, score in found if row_id in written]


def _unread(conn: Connection, ids: Sequence[int], arms: Mapping[str, Sequence[Ranked]]) -> set[int]:
    """Rows that the embedder of Latin texts has no vectors of, or poor ones: it did not find them, and they
    are to a good part in another script (with a half instead of a fifth, 0.409 instead of 0.420)."""
    read = {row.id for row in arms[LATIN_ONLY]}
    texts = beginnings(conn, [row_id for row_id in ids if row_id not in read])
    return {row_id for row_id, text in texts.items() if unspaced_share(text) > MIXED}


def _via(near: _Near, words: tuple[str, ...]) -> tuple[str, ...]:
    return (*words, *sorted(near.arms), *(near.via if near.arms else ()))


# --- categories


def _with_all_categories(conn: Connection, query: Query, rows: list[Match]) -> list[Match]:
    """The rows, and from place KEPT on the best hit of each category that the first page lacks."""
    if len(rows) <= KEPT:
        return rows
    shown = {row.id % 8 for row in rows[:PAGE]}
    lacking = [code for code in CATEGORIES if code in codes(query.filters) and code not in shown]
    lacking = [code for code in lacking if code in kept_codes(conn)] if lacking else []
    added = list(_best_of_each(conn, query, rows, lacking))
    moved = {row.id for row in added}
    return [*rows[:KEPT], *added, *(row for row in rows[KEPT:] if row.id not in moved)]


def _best_of_each(conn: Connection, query: Query, rows: Sequence[Match], lacking: Sequence[int]) -> Iterator[Match]:
    for code in lacking:
        best = next((row for row in rows[PAGE:] if row.id % 8 == code), None)
        if best is None:
            kinds = tuple(kind for kind, of in CODES.items() if of == code)
            asked = tuple(kind for kind in kinds if query.filters.kinds is None or kind in query.filters.kinds)
            only = replace(query, filters=replace(query.filters, kinds=asked))
            best = next((Match(row.id, 0.0) for row in match(conn, only, 1).matches), None)
        if best is not None:
            yield best
