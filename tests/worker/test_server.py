"""The worker: one a home, a private socket, two threads, and it leaves when there is nothing to do."""

from __future__ import annotations

import os
import socket
import sqlite3
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from meaning import Meaning, spec
from workers import say, serving, worker

from indexer.embedders.base import NoEmbedder, Spec
from indexer.embedders.hashing import Hashing
from indexer.errors import Busy, CorruptDatabase, IndexerError
from indexer.store.filters import Filters
from indexer.store.vectors import folder
from indexer.worker import client, wire
from indexer.worker.conversation import REST_SECONDS
from indexer.worker.server import STUCK, STUCK_SECONDS, Lock, Parts, Worker, listen


@pytest.fixture
def meaning(tmp_path: Path) -> Iterator[Meaning]:
    made = Meaning(tmp_path, index=True)
    yield made
    made.sync.close()


def ask(one: Worker, text: str = "shed") -> dict[str, object]:
    return dict(say(one, op="ask", text=text, filters={}, limit=5))


# --- one worker, one socket


def test_there_is_one_worker_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.worker.server._LOCK_PAUSE", 0)
    lock = Lock(tmp_path)
    with pytest.raises(Busy):
        Lock(tmp_path)
    lock.release()
    Lock(tmp_path).release()


def test_the_socket_is_for_its_owner_alone(tmp_path: Path) -> None:
    Lock(tmp_path).release()
    with listen(wire.socket_path(tmp_path)):
        info = wire.socket_path(tmp_path).stat()
        assert (stat.S_ISSOCK(info.st_mode), stat.S_IMODE(info.st_mode)) == (True, 0o600)


def test_the_socket_of_a_worker_that_died_is_in_nobodys_way(tmp_path: Path) -> None:
    Lock(tmp_path).release()
    listen(wire.socket_path(tmp_path)).close()
    listen(wire.socket_path(tmp_path)).close()


def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    with pytest.raises(IndexerError, match="yours alone"):
        listen(tmp_path / "open" / "s.sock")


def test_only_unix_sockets_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    families: list[int] = []
    init = socket.socket.__init__

    def note(self: socket.socket, family: int = -1, *args: int, **kwargs: object) -> None:
        families.append(family)
        init(self, family, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "__init__", note)
    meaning = Meaning(tmp_path)
    with serving(worker(meaning), meaning.home):
        client.ask(meaning.home, "x", Filters())
    assert set(families) <= {socket.AF_UNIX, -1}
    meaning.sync.close()


# --- what it says


def test_until_it_is_warm_it_says_so(meaning: Meaning) -> None:
    assert ask(worker(meaning)) == {"arms": {}, "via": [], "notes": [client.WARMING]}


def test_until_every_row_has_a_vector_it_says_how_far_it_is(meaning: Meaning) -> None:
    one = worker(meaning)
    one.warm.set()
    for number in range(20):
        meaning.memory.prompt(f"prompt {number}")
    for _ in range(2):
        meaning.now += 4
        one._turn()
    note = str(ask(one)["notes"])
    assert "% of 20 rows have vectors of hashing" in note
    assert ask(one)["arms"] == {}


def test_in_step_it_answers_without_a_note(meaning: Meaning) -> None:
    row = meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    one.warm.set()
    meaning.settle()
    answer = ask(one)
    assert answer["notes"] == []
    assert answer["arms"]["hashing"][0][0] == row  # type: ignore[index]


def test_a_model_that_does_not_load_is_named_with_its_remedy(tmp_path: Path) -> None:
    def missing() -> Hashing:
        raise NoEmbedder("it is not installed", "install it")

    meaning = Meaning(tmp_path, spec("a", "a@1", load=missing), spec())
    meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    one.warm.set()
    meaning.settle()
    answer = ask(one)
    assert answer["notes"] == ["a does not take part: it is not installed (install it)"]
    assert list(answer["arms"]) == ["hashing"]  # type: ignore[call-overload]
    meaning.sync.close()


def test_while_the_index_is_rebuilt_the_scan_answers_with_one_note(meaning: Meaning) -> None:
    row = meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    one.warm.set()
    meaning.settle()
    meaning.sync.lose_index()
    answer = ask(one)
    assert len(answer["notes"]) == 1  # type: ignore[arg-type]
    assert "rebuilt" in answer["notes"][0]  # type: ignore[index]
    assert answer["arms"]["hashing"][0][0] == row  # type: ignore[index]


def test_what_is_to_be_said_once_is_said_once(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    one = worker(meaning, notes=("texts are sent away",))
    one.warm.set()
    meaning.settle()
    assert [ask(one)["notes"] for _ in range(2)] == [["texts are sent away"], []]


def test_old_models_answer_until_the_new_is_whole(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, spec("a", "a@1"))
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync.close()
    meaning.begin(spec("b", "b@1"), old=[spec("a", "a@1")])
    meaning.sync.old[0].load(0.0)
    one = worker(meaning)
    one.warm.set()
    assert list(ask(one)["arms"]) == ["a"]  # type: ignore[call-overload]
    meaning.settle()
    assert list(ask(one)["arms"]) == ["b"]  # type: ignore[call-overload]
    meaning.sync.close()


def behind(meaning: Meaning, one: Worker) -> None:
    """A row is taken in, and not embedded yet."""
    meaning.settle()
    meaning.memory.prompt("fix the login")
    meaning.now += 3
    meaning.sync._find(meaning.now)
    assert one.warm.is_set()


def test_rows_that_have_no_vector_yet_are_told_of(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    one.warm.set()
    behind(meaning, one)
    answer = ask(one)
    assert answer["notes"] == ["1 rows have no vectors of hashing yet: those were found by keywords alone"]
    assert list(answer["arms"]) == ["hashing"]  # type: ignore[call-overload]


def half_way(folder: Path, second: Spec) -> Meaning:
    """Two rows that the first model knows, and the second one of them."""
    meaning = Meaning(folder, spec("a", "a@1"), second)
    for number in range(2):
        meaning.memory.prompt(f"paint the shed {number}")
    for _ in range(3):  # found, embedded by the first, one by the second
        meaning.now += 3
        meaning.sync.step()
    return meaning


def test_a_second_model_that_is_not_whole_is_told_of(tmp_path: Path) -> None:
    meaning = half_way(tmp_path, spec("b", "b@1", batch=1))
    one = worker(meaning)
    one.warm.set()
    answer = ask(one)
    assert answer["notes"] == ["1 rows have no vectors of b yet: those were found by keywords alone"]
    meaning.sync.close()


def test_a_model_that_is_not_asked_is_not_told_of(tmp_path: Path) -> None:
    meaning = half_way(tmp_path, spec("b", "b@1", batch=1, latin_only=True))
    one = worker(meaning)
    one.warm.set()
    assert ask(one, "\u68da\u5c4b")["notes"] == []
    meaning.sync.close()


def test_until_every_row_was_looked_at_that_is_said(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    meaning.settle()
    meaning.sync.close()
    meaning.begin()
    one = worker(meaning)
    one.warm.set()
    assert "still being looked through" in ask(one)["notes"][0]  # type: ignore[index]
    meaning.settle()
    assert ask(one)["notes"] == []


# --- what cannot be written


def full(meaning: Meaning) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    meaning.sync.vectors.take_in = fail  # type: ignore[method-assign, assignment]


def test_a_full_disk_ends_nothing_and_is_told_of_until_there_is_room(meaning: Meaning) -> None:
    row = meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    one.warm.set()
    meaning.settle()
    meaning.memory.prompt("fix the login")
    full(meaning)
    meaning.now += 3
    rest(one)
    answer = ask(one)
    assert "the disk is full (make room" in answer["notes"][0]  # type: ignore[index]
    assert answer["arms"]["hashing"][0][0] == row  # type: ignore[index]
    assert say(one, op="status")["trouble"][0] == "the disk is full"


def test_with_room_again_it_goes_on(meaning: Meaning) -> None:
    one = worker(meaning)
    one.warm.set()
    meaning.settle()
    meaning.memory.prompt("paint the shed")
    full(meaning)
    while one._trouble is None:
        meaning.now += 3
        rest(one)
    del meaning.sync.vectors.take_in
    for _ in range(9):
        meaning.now += 3
        rest(one)
    assert (say(one, op="status")["trouble"], ask(one)["notes"]) == (None, [])
    assert meaning.vectors.rows() == 1
    meaning.in_step()


def test_an_order_that_fails_is_carried_out_all_the_same_and_told_of(meaning: Meaning) -> None:
    one = worker(meaning)
    meaning.memory.prompt("paint the shed")
    full(meaning)
    number = say(one, op="check")["order"]
    rest(one)
    state = say(one, op="status")
    assert (state["done"], state["trouble"][0]) == (number, "the disk is full")


def test_an_order_is_the_next_try(meaning: Meaning) -> None:
    one = worker(meaning)
    one._trouble = IndexerError("the disk is full", "make room")
    say(one, op="sync")
    assert say(one, op="status")["trouble"] is None


def test_a_damaged_database_ends_it(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> bool:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(meaning.sync, "step", fail)
    one = worker(meaning)
    with pytest.raises(CorruptDatabase):
        one.run_sync()
    assert one.failed


def test_a_folder_that_was_taken_away_ends_it(meaning: Meaning) -> None:
    lock = Lock(meaning.home)
    one = Worker(meaning.home, Parts(meaning.sync, 60.0, (), lock.ours), stop=threading.Event())
    rest(one)
    folder(meaning.home).rename(meaning.home / "away")
    assert not lock.ours()
    with pytest.raises(IndexerError, match="taken away"):
        rest(one)
    (meaning.home / "away").rename(folder(meaning.home))
    assert lock.ours()
    lock.release()


def test_a_database_that_fails_in_a_question_is_told_of(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    meaning.settle()
    one = worker(meaning)
    one.warm.set()
    monkeypatch.setattr(one._answers, "find", fail)
    with serving(one, meaning.home):
        (note,) = client.ask(meaning.home, "shed", Filters()).notes
    assert "busy" in note


def test_a_worker_that_is_warm_takes_the_count_of_starts_away(meaning: Meaning) -> None:
    (folder(meaning.home) / wire.STARTING).write_text("..")
    worker(meaning)._is_warm()
    assert not (folder(meaning.home) / wire.STARTING).exists()


# --- orders


def test_an_order_is_carried_out_by_the_other_thread(meaning: Meaning) -> None:
    one = worker(meaning)
    meaning.settle()
    number = say(one, op="rebuild")["order"]
    assert (meaning.aside, say(one, op="status")["done"]) == ([], number - 1)
    one._turn()
    assert (meaning.aside, say(one, op="status")["done"]) == ([1], number)


def test_a_check_compares_the_index_with_sqlite(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    meaning.settle()
    say(one, op="check")
    one._turn()
    (found,) = say(one, op="status")["compared"].values()
    assert found == {"held": 1, "should": 1, "missing": [], "stray": [], "different": 0}


def test_a_check_does_first_what_is_soon_done(meaning: Meaning) -> None:
    one = worker(meaning)
    meaning.memory.prompt("paint the shed")
    say(one, op="check")
    one._turn()
    (found,) = say(one, op="status")["compared"].values()
    assert (found["held"], found["different"]) == (1, 0)


def test_a_message_that_is_not_understood_is_said_so(meaning: Meaning) -> None:
    assert say(worker(meaning), op="dance") == {"error": "unknown"}


def test_a_client_of_another_version_makes_it_leave(meaning: Meaning) -> None:
    one = worker(meaning)
    assert one.reply({"version": 99, "op": "ask"}) == {"error": "version"}
    assert one.stop.is_set()


def test_told_to_stop_it_stops(meaning: Meaning) -> None:
    one = worker(meaning)
    say(one, op="stop")
    assert one.stop.is_set()


@pytest.mark.parametrize("data", [b"", b"\0\0\0\x05hello", b"\xff\xff\xff\xff"])
def test_nonsense_on_the_socket_does_not_end_it(meaning: Meaning, data: bytes) -> None:
    one = worker(meaning)
    with serving(one, meaning.home):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(wire.socket_path(meaning.home)))
            sock.sendall(data)
        assert client.request(meaning.home, {"op": "status"})["rows"] == 0


# --- resting and leaving


def rest(one: Worker) -> None:
    one._wake.set()  # so that no test waits
    one._turn()


def test_without_questions_and_work_it_leaves(meaning: Meaning) -> None:
    one = worker(meaning, linger=10.0)
    meaning.settle()
    rest(one)
    assert not one.stop.is_set()
    meaning.now += 11
    rest(one)
    assert one.stop.is_set()


def test_a_question_keeps_it(meaning: Meaning) -> None:
    one = worker(meaning, linger=10.0)
    meaning.settle()
    meaning.now += 9
    ask(one)
    meaning.now += 9
    rest(one)
    assert not one.stop.is_set()


def test_it_beats_while_it_rests(meaning: Meaning) -> None:
    one = worker(meaning)
    rest(one)
    beat = folder(meaning.home) / wire.BEAT
    os.utime(beat, (0, 0))
    rest(one)
    assert beat.stat().st_mtime > 0


def test_a_question_that_hangs_ends_the_process(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr(os, "_exit", codes.append)
    one = worker(meaning)
    one._answering_since = meaning.now
    meaning.now += STUCK_SECONDS + 1
    one._beat()
    assert codes == [STUCK]


def test_the_thread_that_syncs_loads_works_and_stops(meaning: Meaning) -> None:
    meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    turn, turns = one._turn, iter(range(20))

    def until_done() -> None:
        meaning.now += REST_SECONDS
        one._wake.set()
        turn()
        if next(turns) == 15:
            one.stop.set()

    one._turn = until_done  # type: ignore[method-assign]
    one.run_sync()
    assert one.warm.is_set()
    meaning.begin()
    meaning.in_step()


def test_what_nobody_expected_ends_it(meaning: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    one = worker(meaning)

    def fail() -> bool:
        raise RuntimeError("mad")

    monkeypatch.setattr(meaning.sync, "step", fail)
    with pytest.raises(RuntimeError):
        one.run_sync()
    assert one.stop.is_set()


def test_the_thread_that_syncs_closes_what_it_opened(tmp_path: Path) -> None:
    meaning = Meaning(tmp_path, index=True)
    meaning.memory.prompt("paint the shed")
    one = worker(meaning)
    turn = one._turn

    def once() -> None:
        meaning.now += 3
        one._wake.set()
        turn()
        if meaning.sync.index is not None:
            one.stop.set()

    one._turn = once  # type: ignore[method-assign]
    thread = threading.Thread(target=one.run_sync)
    thread.start()
    thread.join()
    assert meaning.shelf.closed
    one.close()


def test_closing_closes_what_answers(meaning: Meaning) -> None:
    meaning.settle()
    one = worker(meaning)
    say(one, op="status")
    reader = one._read
    one.close()
    assert reader is not None
    with pytest.raises(sqlite3.ProgrammingError):
        reader.rows()
