"""Vectors follow the memory: every row, every change, every loss, and an index that is not trusted."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from meaning import MODEL, Counting, Meaning, Shelf, spec
from searchable import Searchable

from indexer.embedders.base import NoEmbedder
from indexer.store.connection import open_writer
from indexer.store.vectors import path
from indexer.sync import CHECK_SECONDS, LATEST, REST_AFTER, RETRY_SECONDS, Arm
from indexer.vectors.base import IndexBlocked, IndexMissing


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Meaning]:
    made = Meaning(tmp_path, index=True)
    yield made
    made.sync.close()


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def counted(tmp_path: Path, embedder: Counting) -> Iterator[Meaning]:
    """A memory whose embedder can be watched and stopped."""
    made = Meaning(tmp_path, spec(embedder=embedder), index=True)
    yield made
    made.sync.close()


# --- rows


def test_everything_that_can_have_a_vector_is_found_by_it(meaning: Meaning) -> None:
    memory = meaning.memory
    rows = [
        memory.prompt("fix the login"),
        memory.assistant("the login works"),
        memory.observation("login", "it timed out"),
        memory.summary("repair the login"),
    ]
    meaning.settle()
    assert sorted(meaning.found("login")) == sorted(rows)
    meaning.in_step()


def test_tool_calls_are_left_to_words(meaning: Meaning) -> None:
    meaning.memory.tool("Bash", {"command": "login"}, "login failed")
    meaning.settle()
    assert meaning.vectors.rows() == 0


def test_a_new_row_is_seen_within_seconds(meaning: Meaning) -> None:
    meaning.settle()
    row = meaning.memory.prompt("paint the shed")
    meaning.settle(3)
    assert meaning.found("shed") == [row]


def test_a_row_that_has_grown_is_embedded_again(meaning: Meaning) -> None:
    row = meaning.memory.assistant("first")
    meaning.settle()
    meaning.memory.conn.execute("UPDATE assistant_texts SET text = 'paint the shed'")
    meaning.settle()
    assert meaning.found("shed") == [row]
    assert meaning.found("first") == []


def test_an_old_row_that_changed_is_found_out_by_the_sweep(meaning: Meaning) -> None:
    row = meaning.memory.prompt("first")
    for _ in range(80):
        meaning.memory.prompt("other words")
    meaning.settle()
    meaning.memory.conn.execute("UPDATE user_prompts SET prompt_text = 'paint the shed' WHERE id = 1")
    meaning.settle()
    assert meaning.found("shed") == []
    meaning.sweep()
    assert meaning.found("shed") == [row]


def test_a_row_that_is_gone_leaves_no_vector(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    kept = meaning.memory.prompt("fix the login")
    meaning.settle()
    meaning.memory.conn.execute("DELETE FROM search_texts WHERE id = 8")
    meaning.sweep()
    assert meaning.found("paint the shed login") == [kept]
    meaning.in_step()
    assert meaning.vectors.coverage(MODEL, False).vectors == 1


def test_a_change_of_project_reaches_the_index(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.memory.conn.execute("UPDATE search_texts SET project_key = 'moved'")
    meaning.sweep()
    assert [entry.place.project_key for entry in meaning.shelf.held[MODEL].values()] == ["moved"]


def test_a_row_that_failed_once_is_no_hole(counted: Meaning, embedder: Counting) -> None:
    embedder.failing = True
    first = counted.memory.prompt("paint the shed")
    counted.settle()
    embedder.failing = False
    second = counted.memory.prompt("fix the login")
    counted.settle(RETRY_SECONDS + 1)
    assert (counted.found("shed")[0], counted.found("login")[0]) == (first, second)
    counted.in_step()


def test_nothing_is_embedded_twice(counted: Meaning, embedder: Counting) -> None:
    counted.memory.prompt("paint the shed")
    counted.memory.prompt("paint the shed")
    counted.settle()
    counted.sweep()
    assert embedder.texts == ["paint the shed"]


def test_twenty_syncs_of_the_same_rows_do_nothing(counted: Meaning, embedder: Counting) -> None:
    for number in range(30):
        counted.memory.prompt(f"prompt number {number}")
    counted.settle()
    held, texts = dict(counted.shelf.held[MODEL]), len(embedder.texts)
    for _ in range(20):
        counted.sync.sweep()
        counted.sweep()
    assert (counted.shelf.held[MODEL], len(embedder.texts)) == (held, texts)


def test_an_idle_memory_is_not_read_again(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()

    def refuse(*_: object) -> None:
        raise AssertionError("read for nothing")

    monkeypatch.setattr("indexer.store.embeddable.rows", refuse)
    assert meaning.sweep() == 0


def test_without_a_memory_there_is_nothing_to_do(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path)
    meaning.memory.conn.close()
    for one in meaning.home.glob("index.db*"):
        one.unlink()
    assert meaning.settle() == 0
    meaning.sync.close()


def test_a_memory_that_was_replaced_is_read_anew_and_keeps_its_vectors(
    counted: Meaning, embedder: Counting, tmp_path: Path
) -> None:
    counted.memory.prompt("paint the shed")
    counted.settle()
    other = Searchable(open_writer(tmp_path / "other"))
    other.prompt("fix the login", uuid="u9")
    row = other.prompt("paint the shed", uuid="u1")
    other.conn.close()
    counted.memory.conn.close()
    shutil.copy(tmp_path / "other" / "index.db", counted.home / "new.db")
    for suffix in ("-wal", "-shm"):  # as store.bulk does
        (counted.home / f"index.db{suffix}").unlink(missing_ok=True)
    (counted.home / "new.db").replace(counted.home / "index.db")
    counted.settle()
    assert counted.found("shed") == [row]
    assert sorted(embedder.texts) == ["fix the login", "paint the shed"]
    counted.in_step()


# --- models


def test_the_first_model_is_served_before_the_second_gets_anything(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    meaning = Meaning(tmp_path, spec("a", "a@1", first), spec("b", "b@1", second))
    for number in range(40):
        meaning.memory.prompt(f"prompt number {number}")
    meaning.now = 3.0
    while not second.texts:
        assert meaning.sync.step()
    assert len(first.texts) == 40
    meaning.sync.close()


def test_a_new_row_goes_to_the_first_model_while_the_second_is_behind(tmp_path: Path) -> None:
    first, second = Counting(), Counting()
    meaning = Meaning(tmp_path, spec("a", "a@1", first), spec("b", "b@1", second))
    for number in range(40):
        meaning.memory.prompt(f"prompt number {number}")
    meaning.settle()
    for number in range(40):
        meaning.memory.prompt(f"another {number}")
    meaning.now += 3
    behind = len(second.texts)
    while len(first.texts) < 80:
        assert meaning.sync.step()
    assert len(second.texts) == behind
    meaning.sync.close()


def test_a_latin_model_is_spared_other_scripts(tmp_path: Path) -> None:
    embedder = Counting()
    meaning = Meaning(tmp_path, spec(embedder=embedder, latin_only=True))
    meaning.memory.prompt("修改时区设置")
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    assert embedder.texts == ["paint the shed"]
    meaning.in_step()
    meaning.sync.close()


def test_a_model_is_whole_once_every_row_was_looked_at(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    before = [arm.whole for arm in meaning.sync.arms]
    meaning.settle()
    assert (before, [arm.whole for arm in meaning.sync.arms]) == ([False], [True])
    assert meaning.vectors.models()[MODEL][1]


def test_another_model_is_made_beside_the_old_one_which_then_goes(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, spec("a", "a@1"), index=True)
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync.close()
    sync = meaning.begin(spec("b", "b@1"), old=[spec("a", "a@1")])
    assert [arm.whole for arm in (*sync.arms, *sync.old)] == [False, True]
    assert meaning.found("shed", model="a@1")
    meaning.settle()
    assert (list(meaning.vectors.models()), sync.old) == (["b@1"], [])
    assert list(meaning.shelf.held) == ["b@1"]
    sync.close()


def test_a_model_that_nobody_knows_any_more_goes_at_once(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, spec("a", "a@1"))
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync.close()
    meaning.begin(spec("a", "a@2"))
    assert list(meaning.vectors.models()) == ["a@2"]
    meaning.sync.close()


def test_a_model_that_is_not_installed_keeps_nothing_else_from_work(tmp_path: Path) -> None:
    def missing() -> Counting:
        raise NoEmbedder("it is not installed", "install it")

    meaning = Meaning(tmp_path, spec("a", "a@1", load=missing), spec("b", "b@1"))
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    assert meaning.found("shed", model="b@1")
    assert [bool(arm.trouble) for arm in meaning.sync.arms] == [True, False]
    meaning.sync.close()


def test_a_model_that_failed_is_loaded_again_after_a_while() -> None:
    tries: Iterator[NoEmbedder | Counting] = iter([NoEmbedder("not yet"), Counting()])

    def load() -> Counting:
        found = next(tries)
        if isinstance(found, NoEmbedder):
            raise found
        return found

    arm = Arm(spec(load=load))
    assert [arm.load(0.0), arm.load(1.0), arm.load(RETRY_SECONDS + 1)] == [False, False, True]
    assert arm.trouble is None


# --- the index


def lose_everything(meaning: Meaning) -> None:
    meaning.shelf.held.clear()


def lose_one(meaning: Meaning) -> None:
    meaning.shelf.held[MODEL].popitem()


def break_down(meaning: Meaning) -> None:
    meaning.shelf.broken = "InternalError"


def swap_vectors(meaning: Meaning) -> None:
    """It says that it holds everything, and finds something else."""
    held = meaning.shelf.held[MODEL]
    other = next(iter(held.values())).vector[::-1]
    held.update({name: entry._replace(vector=other) for name, entry in held.items()})


@pytest.mark.parametrize("damage", [lose_everything, lose_one, break_down, swap_vectors])
@pytest.mark.parametrize("restart", [True, False])
def test_a_damaged_index_is_found_out_put_aside_and_filled_again(tmp_path: Path, damage: object, restart: bool) -> None:
    meaning = Meaning(tmp_path, index=True)
    for number in range(20):
        meaning.memory.prompt(f"prompt number {number}")
    meaning.settle()
    damage(meaning)  # type: ignore[operator]
    if restart:
        meaning.sync.close()
        meaning.begin()
    meaning.sweep()
    assert meaning.aside == [1]
    assert meaning.sync.generation == 2
    meaning.in_step()
    meaning.sync.close()


def test_one_document_that_hnsw_does_not_find_is_no_damage(meaning: Meaning) -> None:
    for number in range(20):
        meaning.memory.prompt(f"prompt number {number}")
    meaning.settle()
    held = meaning.shelf.held[MODEL]
    name = meaning.vectors.canaries(MODEL, 8)[0][0]
    held[name] = held[name]._replace(vector=held[name].vector[::-1])
    meaning.sweep()
    assert meaning.aside == []


def test_while_it_is_filled_again_it_is_said_so(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync.rebuild()
    assert "being rebuilt" in meaning.sync.index_trouble
    meaning.settle()
    assert meaning.sync.index_trouble == ""
    meaning.in_step()


def test_an_index_that_is_lost_again_and_again_is_not_opened_again_and_again(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    for _ in range(5):
        meaning.sync.lose_index()
    before = meaning.now
    meaning.settle(1)
    assert meaning.sync.index is None
    meaning.settle(before + 60)
    meaning.in_step()


def test_an_index_that_is_not_installed_is_done_without(tmp_path: Path) -> None:
    def missing(_: int) -> Shelf:
        raise IndexMissing("chromadb is not installed", "`pip install chromadb`")

    meaning = Meaning(tmp_path)
    meaning.sync._open_index = missing
    row = meaning.memory.prompt("paint the shed")
    meaning.settle()
    assert meaning.found("shed") == [row]
    assert meaning.sync.index_trouble == "chromadb is not installed: `pip install chromadb`"
    meaning.sync.close()


def blocked(*_: object) -> Any:
    raise IndexBlocked("chroma cannot be written", "`chmod u+w chroma`")


@pytest.mark.parametrize("method", ["put", "count"])
def test_an_index_that_cannot_be_written_is_left_alone_until_it_can(
    meaning: Meaning, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    meaning.memory.prompt("paint the shed")
    monkeypatch.setattr(meaning.shelf, method, blocked)
    meaning.settle()
    assert (meaning.sync.index, meaning.aside) == (None, [])
    assert meaning.sync.index_trouble == "chroma cannot be written: `chmod u+w chroma`"
    monkeypatch.undo()
    meaning.settle(RETRY_SECONDS + 1)
    assert meaning.sync.index_trouble == ""
    meaning.in_step()


def test_an_index_that_is_blocked_later_is_no_damage_either(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    monkeypatch.setattr(meaning.shelf, "nearest", blocked)
    meaning.settle(CHECK_SECONDS + 1)
    assert (meaning.sync.index, meaning.aside) == (None, [])
    assert "chmod" in meaning.sync.index_trouble


# --- the index rests


def test_an_index_that_nobody_asks_is_closed(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    assert meaning.sync.index is not None
    meaning.settle(REST_AFTER + 1)
    index: Any = meaning.sync.index
    assert (index, meaning.shelf.closed, meaning.sync.index_trouble) == (None, True, "")


def test_a_question_has_it_opened_again_and_keeps_it(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.settle(REST_AFTER + 1)
    assert meaning.sync.wanted() is None
    meaning.settle(1)
    assert meaning.sync.wanted() is not None
    meaning.settle(REST_AFTER - 1)
    assert meaning.sync.index is not None


def test_opened_again_it_is_looked_at(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.settle(REST_AFTER + 1)
    lose_everything(meaning)
    meaning.sync.wanted()
    meaning.settle(1)
    assert meaning.aside == [1]
    meaning.in_step()


def test_little_news_waits_and_much_does_not(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    meaning.settle()
    meaning.settle(REST_AFTER + 1)
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    assert (meaning.sync.index, meaning.vectors.untold(MODEL, 9)) == (None, 1)
    monkeypatch.setattr("indexer.sync.INDEXED", 2)
    meaning.memory.prompt("fix the login")
    meaning.settle()
    meaning.in_step()


def test_news_is_told_in_the_end(meaning: Meaning) -> None:
    meaning.settle()
    meaning.settle(REST_AFTER + 1)
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.settle(LATEST)
    meaning.in_step()


def test_an_index_of_too_much_for_the_scan_does_not_rest(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.sync.RESTFUL", 0)
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.settle(REST_AFTER + 1)
    assert meaning.sync.index is not None


def test_what_failed_is_looked_at_again(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Any:
        raise OSError(28, "No space left on device")

    meaning.memory.prompt("paint the shed")
    monkeypatch.setattr(meaning.vectors, "take_in", fail)
    with pytest.raises(OSError, match="No space"):
        meaning.settle()
    monkeypatch.undo()
    meaning.sync.look_again()
    meaning.settle()
    meaning.in_step()


def test_an_index_that_was_away_is_told_what_it_missed(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, index=True)
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync.close()
    meaning.index = False
    meaning.begin()
    meaning.memory.prompt("fix the login")
    meaning.settle()
    meaning.sync.close()
    meaning.index = True
    meaning.begin()
    meaning.sweep()
    meaning.in_step()
    meaning.sync.close()


def test_a_batch_that_sqlite_did_not_hear_of_is_no_damage(meaning: Meaning) -> None:
    for number in range(20):
        meaning.memory.prompt(f"prompt number {number}")
    meaning.settle()
    new = meaning.memory.prompt("paint the shed")
    held = dict(meaning.shelf.held[MODEL])
    meaning.settle()
    known = meaning.vectors._conn
    known.execute("INSERT INTO unindexed SELECT model, name FROM indexed WHERE name LIKE '%u21:%'")
    known.execute("DELETE FROM indexed WHERE name LIKE '%u21:%'")
    meaning.sweep()
    assert (meaning.aside, len(held) + 1) == ([], len(meaning.shelf.held[MODEL]))
    assert meaning.found("shed") == [new]


# --- forgetting and restarts


def test_forgetting_leaves_no_vector_and_no_old_index(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.memory.conn.execute("DELETE FROM search_texts")
    meaning.sync.forget()
    assert meaning.vectors.coverage(MODEL, False)[:3] == (0, 0, 0)
    assert meaning.aside == [1, 1, 0]


def test_forgetting_what_cannot_be_deleted_is_no_success(meaning: Meaning) -> None:
    def fail(_: int) -> None:
        raise PermissionError(13, "Permission denied")

    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync._set_aside = fail
    with pytest.raises(PermissionError):
        meaning.sync.forget()


def test_killed_at_any_piece_of_work_the_next_process_finishes(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, index=True)
    for number in range(30):
        meaning.memory.prompt(f"prompt number {number}")
    for pieces in range(12):
        meaning.now += 3
        for _ in range(pieces % 3):
            meaning.sync.step()
        meaning.begin()  # the one before is not closed: as after a kill
    meaning.sweep()
    meaning.in_step()
    meaning.sync.close()


def test_vectors_that_are_lost_are_made_again(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, index=True)
    row = meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync.close()
    path(meaning.home).write_bytes(b"no database" * 500)
    meaning.begin()
    meaning.sweep()
    assert meaning.found("shed") == [row]
    meaning.in_step()
    meaning.sync.close()
