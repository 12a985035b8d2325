"""Which titles say the same: decided here, written elsewhere. Pure.

Level 0, by `memories.dedup_key`: equal but for case, punctuation and spaces. Level 1: so alike that a
person may want to merge them, by the cosine of their words' rarities (idf = ln(1 + N / (df + 0.5)), per
project), at least two words shared, 0.80 and more. The veto: a word that only one of the two holds and
that stands in few titles makes them two things (`ffmpeg-7.1.conf`, `ffmpeg-6.0.conf`). In a project of
fewer than 10 titles every word is rare, so nothing is asked there.

Words are cut at spaces only: an identifier or version is one rare word. Where a script has no spaces, a
run of it is cut into its bigrams, as the index does, or a whole Chinese title would be one word.

All figures follow from the set of titles, not from the order in which they came.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from indexer.text import bigrams, segments

LEAST_TITLES, NEWEST = 10, 2_000
"""Titles below which nothing is compared; the newest of a project that are compared at all."""
SHARED_LEAST, ALIKE, RARE_DF = 2, 0.80, 10


def tokens(title: str) -> frozenset[str]:
    """The words of a title."""
    found: set[str] = set()
    for word in title.lower().split():
        parts = segments(word)
        found.update(part for part in parts[::2] if part)
        for run in parts[1::2]:
            found.update(bigrams(run) or [run])
    return frozenset(found)


def frequencies(titles: Sequence[frozenset[str]]) -> Counter[str]:
    """In how many titles each word stands."""
    return Counter(word for words in titles for word in words)


def idf(number: int, df: int) -> float:
    """How rare a word is that stands in `df` of `number` titles."""
    return math.log(1 + number / (df + 0.5))


def likeness(first: frozenset[str], second: frozenset[str], df: Mapping[str, int], number: int) -> float:
    """The cosine of two titles, 0.0 if a rule speaks against it."""
    shared = first & second
    if len(shared) < SHARED_LEAST:
        return 0.0
    limit = idf(number, RARE_DF)
    if any(idf(number, df.get(word, 0)) > limit for word in first ^ second):
        return 0.0
    squares = {word: idf(number, df.get(word, 0)) ** 2 for word in first | second}
    norm = math.sqrt(sum(squares[word] for word in first) * sum(squares[word] for word in second))
    return sum(squares[word] for word in shared) / norm if norm else 0.0


def candidates(titles: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Pairs of places of titles that are alike and not the same, each once, the smaller place first."""
    number = len(titles)
    if number < LEAST_TITLES:
        return
    words = [tokens(title) for title in titles]
    df = frequencies(words)
    most = 4 * math.ceil(math.sqrt(number))
    postings: dict[str, list[int]] = defaultdict(list)
    for place, held in enumerate(words):
        met = {other for word in held if 2 <= df[word] <= most for other in postings[word]}
        for other in sorted(met):
            score = likeness(words[other], held, df, number)
            if score >= ALIKE and words[other] != held:
                yield other, place, score
        for word in held:
            postings[word].append(place)
