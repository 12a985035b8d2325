"""The relevance set of our own is what its script makes, and search by words does on it what it did."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest
from searchable import Searchable

from indexer.query import Filters, parse
from indexer.ranking import ranked
from indexer.search import search_sessions

FOLDER = Path(__file__).parent / "fixtures" / "retrieval"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = spec_from_file_location("make", FOLDER / "make.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(name: str) -> list[dict[str, Any]]:
    lines = (FOLDER / "mixed" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_the_files_are_those_that_the_script_makes(script: Any) -> None:
    assert list(script.records()) == [stored("docs"), stored("queries"), stored("qrels")]


def test_there_are_enough_passages_and_questions_of_every_kind() -> None:
    kinds = Counter(query["kind"] for query in stored("queries"))
    assert len(stored("docs")) >= 1_500
    assert kinds.total() >= 150
    assert kinds.keys() == {"question", "paraphrase", "code", "zh question", "zh paraphrase"}
    assert min(kinds.values()) >= 30


def test_every_question_has_its_answer_and_no_two_passages_are_one() -> None:
    names = [doc["id"] for doc in stored("docs")]
    assert len(set(names)) == len(names)
    assert {row["did"] for row in stored("qrels")} <= set(names)
    assert [row["qid"] for row in stored("qrels")] == [query["id"] for query in stored("queries")]


def test_words_alone_find_what_they_found() -> None:
    """recall@10 of lexical search, by kind, a little below what was measured (benchmarks/RETRIEVAL.md)."""
    memory = Searchable()
    rows = {doc["id"]: memory.observation(doc["title"], doc["text"]) for doc in stored("docs")}
    answers = {row["qid"]: rows[row["did"]] for row in stored("qrels")}
    found: Counter[str] = Counter()
    for query in stored("queries"):
        hits = ranked(memory.conn, parse(query["text"], Filters(limit=10)), 10).rows[:10]
        found[query["kind"]] += answers[query["id"]] in [row.id for row in hits]
    memory.conn.close()
    assert found["question"] >= 20
    assert found["code"] >= 26
    assert found["zh question"] >= 21


# --- sessions by titles


def titles() -> list[str]:
    lines = (FOLDER / "titles.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def topics(script: Any) -> list[tuple[str, list[str]]]:
    """Passage and questions of each topic, in the order of the titles."""
    return [(text, questions) for language in script.KINDS for _, text, questions in script.written(language)]


def test_every_topic_has_a_title_as_a_model_gives_it(script: Any) -> None:
    assert len(set(titles())) == len(topics(script)) == 72


@pytest.fixture
def sessions(script: Any) -> Iterator[tuple[Searchable, list[int]]]:
    """A session a topic, sought by its title, and two others on the same parts for each."""
    memory, chance, rows = Searchable(), random.Random(3), []
    for number, (text, questions) in enumerate(topics(script)):
        row = memory.session(f"topic {number}")
        rows.append(row)
        memory.prompt(questions[1], session=row)
        memory.prompt(questions[0], session=row)
        memory.assistant(text, session=row)
        for passage in (script.english, script.chinese):
            other = memory.session(f"{passage.__name__} {number}")
            title, said = passage(chance)
            memory.prompt(title, session=other)
            memory.assistant(said, session=other)
    yield memory, rows
    memory.conn.close()


def test_a_title_that_is_not_indexed_finds_its_session(sessions: tuple[Searchable, list[int]]) -> None:
    memory, rows = sessions
    ranks = []
    for title, row in zip(titles(), rows, strict=True):
        _, groups = search_sessions(memory.conn, parse(title, Filters(limit=10)))
        found = [group.row_id for group in groups]
        ranks.append(1 / (found.index(row) + 1) if row in found else 0.0)
    assert sum(rank > 0 for rank in ranks) / len(ranks) >= 0.86
    assert sum(ranks) / len(ranks) >= 0.68
