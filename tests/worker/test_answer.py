"""Which of scan and index is asked, and what passes the filters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from meaning import MODEL, Meaning, spec

from indexer.embedders.base import NoEmbedder
from indexer.embedders.hashing import Hashing
from indexer.store.filters import Filters
from indexer.vectors.base import IndexBusy, IndexDamaged
from indexer.worker import answer
from indexer.worker.answer import Answers, Found, Question, as_json


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Meaning]:
    made = Meaning(tmp_path, index=True)
    yield made
    made.sync.close()


def find(meaning: Meaning, text: str = "shed", limit: int = 5, **more: Any) -> Found:
    asked = {name: more.pop(name) for name in ("among", "like") if name in more}
    answers = Answers(meaning.home, meaning.sync.scan, lambda: meaning.vectors, lambda: meaning.sync.index)
    found = answers.find(Question(text, Filters(**more), limit, **asked), meaning.sync.arms)
    answers.close()
    return found


def rows(found: Found) -> list[int]:
    return [row for row, _ in found.arms.get("hashing", [])]


def test_few_documents_are_compared_one_by_one(meaning: Meaning) -> None:
    row = meaning.memory.prompt("paint the shed")
    meaning.settle()
    found = find(meaning)
    assert (rows(found), found.via) == ([row], ["exact"])


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three documents are many."""
    monkeypatch.setattr(answer, "EXACTLY", 2)


@pytest.fixture
def many(meaning: Meaning, few: None) -> list[int]:
    made = [meaning.memory.prompt(f"paint the shed {number}") for number in range(5)]
    meaning.settle()
    return made


def test_many_are_looked_up_in_the_index(meaning: Meaning, many: list[int]) -> None:
    found = find(meaning)
    assert (sorted(rows(found)), found.via) == (many, ["chroma"])


def test_behind_a_filter_the_scan_answers_all_the_same(meaning: Meaning, many: list[int]) -> None:
    found = find(meaning, kinds=("prompt",))
    assert (sorted(rows(found)), found.via) == (many, ["exact"])


def test_among_some_rows_the_scan_answers(meaning: Meaning, many: list[int]) -> None:
    found = find(meaning, among=many[:4])
    assert (sorted(rows(found)), found.via) == (many[:4], ["exact"])


def test_what_the_index_was_not_told_of_yet_is_in_its_answer(meaning: Meaning, many: list[int]) -> None:
    row = meaning.memory.prompt("paint the shed and nothing else")
    meaning.now += 3
    assert meaning.sync._find(meaning.now)
    meaning.sync._embed(meaning.sync.arms[0], meaning.now)
    assert meaning.vectors.untold(MODEL, 9) == 1
    found = find(meaning, limit=9)
    assert (sorted(rows(found)), found.via) == ([*many, row], ["chroma"])


def test_an_index_that_is_behind_is_not_asked(
    meaning: Meaning, many: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(meaning.vectors), "unindexed_rows", lambda *_: None)
    assert find(meaning).via == ["exact"]


@pytest.mark.parametrize("error", [IndexBusy("busy"), IndexDamaged("broken")])
def test_an_index_that_fails_is_done_without(
    meaning: Meaning, many: list[int], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(meaning.shelf, "nearest", fail)
    found = find(meaning)
    assert (sorted(rows(found)), found.via) == (many, ["exact"])


def test_an_index_that_says_nothing_is_not_believed(
    meaning: Meaning, many: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meaning.shelf, "nearest", lambda *_: [])
    assert find(meaning).via == ["exact"]


def test_what_the_index_still_holds_of_a_row_that_is_gone_is_not_found(meaning: Meaning, many: list[int]) -> None:
    meaning.memory.conn.execute("DELETE FROM search_texts WHERE id = ?", (many[0],))
    held = dict(meaning.shelf.held[MODEL])
    meaning.sweep()
    meaning.shelf.held[MODEL] = held
    assert sorted(rows(find(meaning))) == many[1:]


def test_a_needle_in_one_project_is_not_lost_to_500_near_ones_elsewhere(meaning: Meaning) -> None:
    far = meaning.memory.session("far", "/home/dev/far")
    for number in range(500):
        meaning.memory.prompt(f"paint the shed {number % 7}", session=far)
    needle = meaning.memory.prompt("the shed needs some other colour now")
    meaning.settle()
    assert rows(find(meaning, project=("/home/dev/shop",))) == [needle]


@pytest.mark.parametrize("filters", [{"session": "second"}, {"agent": "a1"}, {"platform": "codex"}, {"file": "a.py"}])
def test_filters_that_only_the_memory_knows_hold_too(meaning: Meaning, filters: dict[str, Any]) -> None:
    meaning.memory.prompt("paint the shed")
    second = meaning.memory.session("second", platform_source="codex")
    wanted = {
        "session": meaning.memory.prompt("shed two", session=second),
        "platform": meaning.memory.assistant("shed three", session=second),
        "agent": meaning.memory.assistant("shed four", agent_id="a1"),
        "file": meaning.memory.observation("shed", files_read='["src/a.py"]'),
    }
    meaning.settle()
    (name,) = filters
    assert wanted[name] in rows(find(meaning, **filters))
    assert 8 not in rows(find(meaning, **filters))


def test_a_tool_leaves_nothing_and_costs_nothing(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    assert find(meaning, tool="Bash") == Found({}, [], None)


def test_like_a_row_it_is_not_among_its_own_neighbours(meaning: Meaning) -> None:
    first, second = (meaning.memory.prompt(f"paint the shed {number}") for number in range(2))
    meaning.settle()
    assert rows(find(meaning, text="", like=first)) == [second]


def test_like_a_row_that_is_not_there_nothing_is(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    assert find(meaning, text="", like=8000).arms == {}


def test_a_latin_model_is_not_asked_in_other_scripts(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, spec(latin_only=True))
    meaning.memory.prompt("paint the shed 时区")
    meaning.settle()
    assert find(meaning, text="时区 shed").arms == {}
    assert "hashing" in find(meaning, text="shed").arms
    meaning.sync.close()


def test_a_model_that_fails_leaves_the_others(tmp_path: Path) -> None:
    class Failing(Hashing):
        def embed_query(self, text: str) -> bytes:
            raise NoEmbedder("the URL is out", "wait")

        def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
            return Hashing().embed_documents(texts)

    meaning = Meaning(tmp_path, spec(), spec("url", "url@1", Failing()))
    meaning.sync.arms[1].load(0.0)
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    found = find(meaning)
    assert list(found.arms) == ["hashing"]
    assert found.trouble is not None
    meaning.sync.close()


def test_a_memory_that_was_replaced_is_read_anew(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    answers = Answers(meaning.home, meaning.sync.scan, lambda: None, lambda: None)
    asked = Question("shed", Filters(session="first"), 5)
    assert answers.find(asked, meaning.sync.arms).arms
    meaning.memory.conn.close()
    for one in meaning.home.glob("index.db*"):
        one.unlink()
    assert answers.find(asked, meaning.sync.arms).arms == {}
    answers.close()


def test_an_answer_as_it_is_sent() -> None:
    assert as_json(Found({"use": [(8, 0.5)]}, ["exact"], None), ["n"]) == {
        "arms": {"use": [(8, 0.5)]},
        "via": ["exact"],
        "notes": ["n"],
    }
