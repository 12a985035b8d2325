"""What people typed, once."""

from __future__ import annotations

from typing import Any

import pytest
from desk import Desk, entry

from indexer.records import Prompt
from indexer.text import prompt_hash


@pytest.fixture
def desk() -> Desk:
    return Desk()


def column(desk: Desk, name: str) -> list[Any]:
    return [value for (value,) in desk.rows(f"SELECT {name} FROM user_prompts ORDER BY id")]


def bodies(desk: Desk) -> list[Any]:
    return [value for (value,) in desk.rows("SELECT body FROM search_texts WHERE id % 8 = 0 ORDER BY id")]


def test_a_prompt_is_stored_whole(desk: Desk) -> None:
    text = "word " * 2_000 + "end"
    desk.write(desk.file(), entry("u1", Prompt(text)))
    assert column(desk, "prompt_text") == [text]
    assert column(desk, "native_prompt_hash") == [prompt_hash(text)]


def test_what_sqlite_cannot_hold_is_replaced(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("a\0b \ud83d c")))
    assert column(desk, "prompt_text") == ["a\ufffdb \ufffd c"]


def test_kind_privacy_and_queue_are_kept(desk: Desk) -> None:
    desk.write(
        desk.file(),
        entry("u1", Prompt("/ship", "command")),
        entry("u2", Prompt("ls", "shell")),
        entry("u3", Prompt("", private=True)),
        entry("u4", Prompt("later", queued=True)),
    )
    assert column(desk, "prompt_kind") == ["command", "shell", "prompt", "prompt"]
    assert column(desk, "is_private") == [0, 0, 1, 0]
    assert column(desk, "is_queued") == [0, 0, 0, 1]


def test_its_words_are_found_by_kind(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("fix parseHTTP")), entry("u2", Prompt("ls -la", "shell")))
    sql = "SELECT s.kind FROM search_fts f JOIN search_texts s ON s.id = f.rowid WHERE search_fts MATCH ?"
    assert (desk.rows(sql, "http"), desk.rows(sql, "ls")) == ([("prompt",)], [("shell",)])


def test_a_known_id_with_another_text_is_a_conflict_and_the_first_stays(desk: Desk) -> None:
    file = desk.file()
    desk.write(file, entry("u1", Prompt("first")))
    written = desk.write(file, entry("u1", Prompt("other")))
    assert (written.conflicts, column(desk, "prompt_text")) == (1, ["first"])


def test_the_origins_text_replaces_a_copys_in_row_and_index(desk: Desk) -> None:
    desk.write(desk.file("b"), entry("u1", Prompt("copied"), session="b", forked_from="a"))
    desk.write(desk.file("a"), entry("u1", Prompt("original")))
    assert (column(desk, "prompt_text"), bodies(desk)) == (["original"], ["original"])
    assert column(desk, "native_prompt_hash") == [prompt_hash("original")]
    assert desk.rows("SELECT rowid FROM search_fts WHERE search_fts MATCH 'copied'") == []


def test_row_ids_survive_a_change_of_owner(desk: Desk) -> None:
    desk.write(desk.file("b"), entry("u1", Prompt("x"), session="b", time=9))
    before = column(desk, "id")
    desk.write(desk.file("a"), entry("u1", Prompt("x"), time=1))
    assert column(desk, "id") == before
    assert (
        desk.one("SELECT s.content_session_id FROM search_texts t JOIN sdk_sessions s ON s.id = session_db_id") == "a"
    )


def test_a_missing_folder_is_filled_by_a_copy(desk: Desk) -> None:
    desk.write(desk.file("a"), entry("u1", Prompt("x"), cwd=None))
    desk.write(desk.file("b"), entry("u1", Prompt("x"), session="b", time=9, cwd="/copy"))
    assert column(desk, "cwd") == ["/copy"]


def test_two_ids_are_two_prompts_whatever_they_say(desk: Desk) -> None:
    desk.write(desk.file(), entry("u1", Prompt("same")), entry("u2", Prompt("same")))
    assert column(desk, "native_prompt_id") == ["u1", "u2"]


def test_without_an_index_nothing_is_indexed() -> None:
    desk = Desk(index_text=False)
    desk.write(desk.file("b"), entry("u1", Prompt("x"), session="b", time=9))
    desk.write(desk.file("a"), entry("u1", Prompt("x"), time=1))
    assert (column(desk, "content_session_id"), bodies(desk)) == (["a"], [])
