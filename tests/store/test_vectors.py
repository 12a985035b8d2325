"""The database of vectors: what goes together commits together, and nothing outlives what it is of."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.store.vectors import Entry, Held, Vectors, at_rest, folder, open_store, path, set_aside

M = "m@1"


@pytest.fixture
def vectors(tmp_path: Path) -> Iterator[Vectors]:
    made = open_store(tmp_path / "home")
    made.add_model(M, "m")
    yield made
    made.close()


def held(row: int, *texts: str, latin: bool = True, **changed: Any) -> Held:
    """A row whose n-th document is called `row:n` and hashes to its text."""
    documents = tuple((f"{row}:{number}", text.encode().ljust(16), latin) for number, text in enumerate(texts))
    stamp = repr((texts, changed)).encode()
    return Held(row, "prompt", "shop", None, None, 1, 1, stamp, documents)._replace(**changed)


def put(vectors: Vectors, *rows: Held, model: str = M) -> None:
    """Take rows in and give every document a vector."""
    vectors.take_in(rows, [model])
    numbers = [row.id for row in rows]
    lacking = vectors.lacking(model, numbers, latin=False)
    vectors.add_vectors(model, {digest: b"v" + digest for digest in lacking.values()}, numbers, latin=False)


def index_all(vectors: Vectors, model: str = M) -> tuple[list[Entry], list[str]]:
    told = vectors.unindexed(model, 100)
    vectors.set_indexed(model, *told)
    return told


def names(entries: list[Entry]) -> list[str]:
    return sorted(entry.name for entry in entries)


# --- rows


def test_a_row_taken_in_waits_for_every_model(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a")], [M, "n@1"])
    assert (vectors.waiting(M, 9), vectors.waiting("n@1", 9)) == ([8], [8])
    assert (vectors.rows(), vectors.last_row()) == (1, 8)


def test_stamps_of_a_range_and_of_rows(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a"), held(16, "b")], [M])
    assert vectors.stamps(0, 16).keys() == {8}
    assert vectors.stamps_of([16, 24]).keys() == {16}


def test_the_last_stored_row_is_served_first(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a"), held(16, "b")], [M])
    assert vectors.waiting(M, 1) == [16]


def test_a_row_with_all_vectors_waits_no_more(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    assert vectors.coverage(M, False) == (1, 1, 0, 1, 0)


def test_two_rows_that_say_the_same_share_a_vector(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    vectors.take_in([held(16, "a")], [M])
    assert vectors.lacking(M, [16], latin=False) == {}


def test_a_changed_row_keeps_the_vectors_of_what_stayed(vectors: Vectors) -> None:
    put(vectors, held(8, "a", "b"))
    vectors.take_in([held(8, "a", "c")], [M])
    assert vectors.lacking(M, [8], latin=False) == {"8:1": b"c".ljust(16)}


def test_documents_that_are_no_longer_said_go(vectors: Vectors) -> None:
    put(vectors, held(8, "a", "b"))
    put(vectors, held(8, "a"))
    assert vectors.coverage(M, False).documents == 1
    assert count(vectors, "vectors") == 1


def test_a_removed_row_leaves_nothing(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    vectors.remove([8])
    assert [count(vectors, table) for table in ("vector_sync", "documents", "vectors", "waiting")] == [0, 0, 0, 0]


def test_a_vector_stays_while_another_row_says_the_same(vectors: Vectors) -> None:
    put(vectors, held(8, "a"), held(16, "a"))
    vectors.remove([8])
    assert count(vectors, "vectors") == 1
    vectors.remove([16])
    assert count(vectors, "vectors") == 0


def test_a_document_may_move_to_another_row(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    moved = held(16, "a")._replace(documents=(("8:0", b"a".ljust(16), True),))
    vectors.take_in([moved], [M])
    vectors.remove([8])
    assert [place.row for place in vectors.places()] == [16]


def count(vectors: Vectors, table: str) -> int:
    return int(vectors._conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


# --- models


def test_all_rows_wait_for_a_new_model(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a")], [M])
    vectors.add_model("n@1", "n")
    assert vectors.waiting("n@1", 9) == [8]


def test_a_known_model_is_not_made_to_start_again(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    vectors.add_model(M, "m")
    assert vectors.coverage_waiting(M) == 0


def test_a_latin_model_is_not_given_other_scripts(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a"), held(16, "字", latin=False)], [M])
    assert vectors.lacking(M, [8, 16], latin=True).keys() == {"8:0"}
    assert vectors.coverage(M, latin=True).documents == 1


def test_whole_is_remembered(vectors: Vectors) -> None:
    assert vectors.models() == {M: ("m", False)}
    vectors.set_whole(M)
    assert vectors.models() == {M: ("m", True)}


def test_a_dropped_model_takes_its_vectors_along(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    vectors.drop_model(M)
    assert (vectors.models(), count(vectors, "vectors"), count(vectors, "documents")) == ({}, 0, 1)


# --- reading


def test_places_say_what_filters_ask(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a", kind="shell", merged="other", type="x", time=None, session=3)], [M])
    ((_, *place),) = vectors.places([8])
    assert place == [8, "shell", "shop", "other", "x", None, 3]


def test_vectors_by_document(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    (place,) = vectors.places()
    assert vectors.vectors_of(M, [place.id, 99]) == {place.id: b"v" + b"a".ljust(16)}


def test_rows_by_name(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a")], [M])
    assert vectors.rows_named(["8:0", "9:0"]) == {"8:0": 8}


# --- what the index is to be told


def test_new_documents_are_put(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    entries, gone = index_all(vectors)
    assert (names(entries), gone) == (["8:0"], [])
    assert vectors.unindexed(M, 9) == ([], [])


def test_a_document_without_a_vector_is_not_put_yet(vectors: Vectors) -> None:
    vectors.take_in([held(8, "a")], [M])
    assert vectors.unindexed(M, 9) == ([], [])


def test_a_changed_document_is_put_again_under_its_name(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    index_all(vectors)
    put(vectors, held(8, "b"))
    entries, gone = index_all(vectors)
    assert (names(entries), gone) == (["8:0"], [])
    assert entries[0].vector == b"v" + b"b".ljust(16)


def test_a_change_of_what_filters_ask_is_put_too(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    index_all(vectors)
    put(vectors, held(8, "a", project_key="other"))
    assert [entry.place.project_key for entry in index_all(vectors)[0]] == ["other"]


def test_a_row_taken_in_again_as_it_was_is_not_put(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    index_all(vectors)
    put(vectors, held(8, "a"))
    assert vectors.unindexed(M, 9) == ([], [])


def test_what_is_gone_is_taken_away(vectors: Vectors) -> None:
    put(vectors, held(8, "a", "b"))
    index_all(vectors)
    put(vectors, held(8, "a"))
    assert index_all(vectors) == ([], ["8:1"])
    assert dict(vectors.indexed(M)).keys() == {"8:0"}


def test_a_lost_index_is_told_everything_again(vectors: Vectors) -> None:
    put(vectors, held(8, "a"), held(16, "b"))
    index_all(vectors)
    vectors.index_lost()
    assert names(index_all(vectors)[0]) == ["16:0", "8:0"]


def test_an_index_that_was_away_is_told_what_differs(vectors: Vectors) -> None:
    put(vectors, held(8, "a"), held(16, "b"))
    index_all(vectors)
    vectors._conn.execute("DELETE FROM indexed WHERE name = '8:0'")
    vectors._conn.execute("INSERT INTO indexed VALUES (?, 'stray', x'00')", (M,))
    vectors.match_index()
    entries, gone = vectors.unindexed(M, 9)
    assert (names(entries), gone) == (["8:0"], ["stray"])


def test_rows_that_the_index_was_not_told_of_are_named_up_to_so_many(vectors: Vectors) -> None:
    put(vectors, *[held(8 * number, f"{number}") for number in range(1, 5)])
    assert vectors.unindexed_rows(M, 4) == [8, 16, 24, 32]
    assert vectors.unindexed_rows(M, 3) is None
    assert (vectors.untold(M, 3), vectors.untold(M, 9)) == (3, 4)
    index_all(vectors)
    assert (vectors.unindexed_rows(M, 3), vectors.untold(M, 3)) == ([], 0)


def test_canaries_are_spread_over_what_the_index_holds(vectors: Vectors) -> None:
    put(vectors, *[held(8 * number, f"{number}") for number in range(1, 11)])
    assert vectors.canaries(M, 3) == []
    index_all(vectors)
    found = vectors.canaries(M, 3)
    assert len({name for name, _ in found}) == 3
    assert all(vector.startswith(b"v") for _, vector in found)


def test_canaries_are_no_more_than_there_are(vectors: Vectors) -> None:
    put(vectors, held(8, "a"))
    index_all(vectors)
    assert len(vectors.canaries(M, 5)) == 1


# --- the file


def test_single_values_are_kept(vectors: Vectors) -> None:
    assert vectors.setting("generation") is None
    vectors.set_setting("generation", "2")
    vectors.set_setting("generation", "3")
    assert vectors.setting("generation") == "3"


def test_its_files_are_for_the_owner_alone(vectors: Vectors, tmp_path: Path) -> None:
    vectors.take_in([held(8, "a")], [M])
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in folder(tmp_path / "home").iterdir()}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(folder(tmp_path / "home").stat().st_mode) == 0o700


def test_opened_again_it_holds_what_it_held(vectors: Vectors, tmp_path: Path) -> None:
    put(vectors, held(8, "a"))
    other = open_store(tmp_path / "home")
    assert (other.rows(), other.models()) == (1, {M: ("m", False)})
    other.close()


@pytest.mark.parametrize("content", [b"", b"no database" * 1000, bytes(8192)])
def test_what_cannot_be_read_is_made_anew(tmp_path: Path, content: bytes) -> None:
    open_store(tmp_path).close()
    path(tmp_path).write_bytes(content)
    made = open_store(tmp_path)
    assert made.rows() == 0
    made.close()


def test_what_another_version_made_is_put_aside(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    conn = sqlite3.connect(path(tmp_path))
    conn.execute("PRAGMA user_version = 99")
    conn.close()
    open_store(tmp_path).close()
    assert path(tmp_path).with_name("vectors.db.damaged").is_file()


def test_putting_aside_what_is_not_there_does_nothing(tmp_path: Path) -> None:
    set_aside(tmp_path / "vectors.db")
    assert list(tmp_path.iterdir()) == []


def test_what_was_deleted_leaves_the_file(tmp_path: Path) -> None:
    made = open_store(tmp_path)
    made.add_model(M, "m")
    put(made, held(8, "secret-vector"))
    made.remove([8])
    made.scrub()
    made.close()
    assert b"secret-vector" not in path(tmp_path).read_bytes()


def test_at_rest_it_can_be_read_and_not_written(vectors: Vectors, tmp_path: Path) -> None:
    put(vectors, held(8, "a"))
    reader = at_rest(tmp_path / "home")
    assert reader is not None
    assert reader.rows() == 1
    with pytest.raises(sqlite3.OperationalError):
        reader.set_setting("a", "b")
    reader.close()


@pytest.mark.parametrize("content", [None, b"no database" * 100])
def test_at_rest_there_may_be_nothing_to_read(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        folder(tmp_path).mkdir()
        path(tmp_path).write_bytes(content)
    assert at_rest(tmp_path) is None


def test_what_cannot_be_looked_into_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", fail)
    assert at_rest(tmp_path) is None
