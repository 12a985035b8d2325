"""Somebody who half remembers a turn finds what was observed of it.

The searches stand with the turns (support/turn_cases.py) and were written without a look at the index. The
bar is that of the issue; raw prompts alone are what a memory without observations would answer with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from remembered import remember
from stores import read, store
from turn_cases import CASES

from indexer.query import parse
from indexer.search import search as find
from indexer.store.connection import Connection
from indexer.store.filters import Filters
from indexer.store.reads import reading

TOP, BAR, MARGIN = 5, 0.85, 0.3
GISTS = [(case, gist) for case in CASES for gist in case.gists]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("gists")
    for case in CASES:
        case.transcript().write(folder / "projects")
    conn = store(folder)
    read(conn, folder / "projects")
    remember(conn)
    conn.close()
    with reading(folder) as opened:
        yield opened


def found(memory: Connection, gist: str, kind: str, session: str) -> bool:
    """Whether a row of this kind and session is among the first five."""
    hits = find(memory, parse(gist, Filters(kinds=(kind,), limit=TOP))).hits
    return any(hit.session == session for hit in hits)


def share(memory: Connection, kind: str) -> float:
    hits = [found(memory, gist, kind, case.transcript().session_id) for case, gist in GISTS]
    return sum(hits) / len(hits)


def test_there_are_forty_searches() -> None:
    assert len(GISTS) >= 40


def test_no_search_is_made_of_the_titles_words_alone() -> None:
    same = [gist for case, gist in GISTS if all(gist.lower() in note.title.lower() for note in case.notes)]
    assert len(same) <= len(GISTS) // 10


def test_observations_are_found_and_beat_raw_prompts(memory: Connection, say: Callable[[str], None]) -> None:
    observed, raw = share(memory, "observation"), share(memory, "prompt")
    say(f"{len(GISTS)} gists: observation in the top {TOP}: {observed:.0%}, prompt alone: {raw:.0%}")
    assert observed >= BAR
    assert observed - raw >= MARGIN


def test_among_all_kinds_the_turn_is_still_found(memory: Connection, say: Callable[[str], None]) -> None:
    hits = [
        any(hit.session == case.transcript().session_id for hit in find(memory, parse(gist, Filters(limit=TOP))).hits)
        for case, gist in GISTS
    ]
    say(f"{len(GISTS)} gists: anything of the turn in the top {TOP} of all kinds: {sum(hits) / len(hits):.0%}")
    assert sum(hits) / len(hits) >= BAR
