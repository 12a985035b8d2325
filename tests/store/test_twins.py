"""Imported rows give way to a transcript's, in whatever order they come."""

from __future__ import annotations

from typing import Any

import pytest
from desk import NOON, Desk, call, entry, result, said

from indexer.records import Prompt, QueueOperation, Title
from indexer.store import checkpoints
from indexer.store.checkpoints import FileRow
from indexer.store.twins import CUT, ELLIPSIS, FOREIGN, is_twin

LONG = "word " * 2_000


def imported(desk: Desk, session: str = "a") -> FileRow:
    path = f"{checkpoints.IMPORTED}claude-mem/{session}"
    return checkpoints.by_path(desk.conn, path) or FileRow(0, path, "", session, None, size=0, status="gone")


def prompts(desk: Desk) -> list[tuple[Any, ...]]:
    return desk.rows("SELECT native_prompt_id, prompt_number, prompt_text FROM user_prompts ORDER BY prompt_number")


def test_a_prompt_goes_when_its_twin_comes() -> None:
    desk = Desk()
    desk.write(imported(desk), entry(f"{FOREIGN}1", Prompt("hello")), entry(f"{FOREIGN}2", Prompt("alone")))
    desk.write(desk.file("a"), entry("u1", Prompt("hello"), time=1))
    assert {row[0] for row in prompts(desk)} == {f"{FOREIGN}2", "u1"}
    assert desk.one("SELECT count(*) FROM session_records WHERE uuid = ?", f"{FOREIGN}1") == 0
    assert desk.one("SELECT count(*) FROM search_texts") == 2


def test_a_prompt_of_another_session_stays() -> None:
    desk = Desk()
    desk.write(imported(desk), entry(f"{FOREIGN}1", Prompt("hello")))
    desk.write(desk.file("b"), entry("u1", Prompt("hello"), session="b"))
    assert len(prompts(desk)) == 2


def test_a_call_keeps_its_row_and_takes_the_transcript_s_words() -> None:
    desk = Desk()
    desk.write(
        imported(desk), entry(f"{FOREIGN}1", call("toolu_1", given={"command": "cut"}), result("toolu_1", "json"))
    )
    desk.write(desk.file("a"), entry("u1", call("toolu_1")), entry("u2", result("toolu_1", "text")))
    assert desk.rows("SELECT id, record_uuid, result_uuid, tool_input, tool_response FROM tool_uses") == [
        (1, "u1", "u2", '{"command":"ls"}', "text")
    ]
    assert desk.rows("SELECT uuid FROM session_records ORDER BY 1") == [("u1",), ("u2",)]
    assert desk.one("SELECT body FROM search_texts WHERE id = 10") == "ls\ntext"


def test_an_answer_that_no_transcript_has_stays() -> None:
    desk = Desk()
    desk.write(imported(desk), entry(f"{FOREIGN}1", call("toolu_1"), result("toolu_1", "json")))
    desk.write(desk.file("a"), entry("u1", call("toolu_1")))
    assert desk.rows("SELECT record_uuid, result_uuid, tool_response FROM tool_uses") == [("u1", f"{FOREIGN}1", "json")]


def test_a_weak_id_is_known_by_its_session() -> None:
    desk = Desk()
    desk.write(imported(desk), entry(f"{FOREIGN}1", call(f"{FOREIGN}1:call_0")))
    desk.write(desk.file("a"), entry("u1", call("u1:call_0")))
    assert desk.rows("SELECT identity FROM tool_uses") == [("u1:call_0",)]


def test_a_record_with_its_own_uuid_is_reclaimed_in_place() -> None:
    desk = Desk()
    desk.write(imported(desk), entry("u1", Prompt("[REDACTED:key:11111111]")), entry("u2", said("m", "theirs")))
    desk.write(desk.file("a"), entry("u1", Prompt("[REDACTED:key:22222222]")), entry("u2", said("m", "ours")))
    assert desk.rows("SELECT id, prompt_text FROM user_prompts") == [(1, "[REDACTED:key:22222222]")]
    assert desk.rows("SELECT text FROM assistant_texts") == [("ours",)]
    assert desk.rows("SELECT DISTINCT flags FROM session_records") == [(4,)]


def test_an_import_never_gets_over_a_transcript() -> None:
    desk = Desk()
    desk.write(desk.file("b"), entry("u1", Prompt("ours"), session="b", time=9))
    desk.write(imported(desk), entry("u1", Prompt("theirs"), time=0))
    assert desk.rows("SELECT content_session_id, prompt_text FROM user_prompts") == [("b", "ours")]


def test_an_import_that_says_nothing_more_leaves_no_file() -> None:
    desk = Desk()
    desk.write(imported(desk), entry("u1", Prompt("hello")))
    desk.write(desk.file("a"), entry("u1", Prompt("hello")))
    assert desk.rows("SELECT path FROM ingest_files") == [("/root/-w-a/a.jsonl",)]
    assert desk.one("SELECT count(*) FROM session_files") == 1


def test_what_an_import_says_of_a_session_counts_until_its_transcript_comes() -> None:
    desk = Desk()
    about = entry(None, Title("custom", "theirs"), time=-50, cwd="/w/elsewhere", version="9.9.9")
    desk.write(imported(desk), about, entry("u1", Prompt("hello"), cwd="/w/elsewhere", version="9.9.9"))
    assert desk.one("SELECT custom_title || project_key FROM sdk_sessions") == "theirs/w/elsewhere"
    desk.write(desk.file("a"), entry("u1", Prompt("hello")))
    sql = "SELECT custom_title, project_key, client_version, started_at_epoch = last_at_epoch FROM sdk_sessions"
    assert desk.rows(sql) == [(None, "/w/a", "2.1.240", 1)]
    assert desk.rows("SELECT project_key FROM projects") == [("/w/a",)]


def test_an_import_of_a_known_session_says_nothing_of_it() -> None:
    desk = Desk()
    desk.write(desk.file("a"), entry("u1", Prompt("hello")))
    before = desk.rows("SELECT * FROM sdk_sessions")
    desk.write(imported(desk), entry(None, time=-50, cwd="/w/elsewhere", version="9.9.9"))
    assert desk.rows("SELECT * FROM sdk_sessions") == before


def test_imported_memories_move_with_their_session() -> None:
    desk = Desk()
    desk.write(imported(desk), entry("u1", Prompt("hello"), cwd="/w/elsewhere"))
    desk.conn.execute(
        "INSERT INTO observations (memory_session_id, project, project_key, type, content_hash) "
        "VALUES ('claude:a', 'elsewhere', '/w/elsewhere', 'x', 'h')"
    )
    desk.conn.execute("INSERT INTO imported_memories VALUES ('i', 'observation', 1, 1, NULL, 'feed', 'o')")
    desk.write(desk.file("a"), entry("u1", Prompt("hello")))
    assert desk.rows("SELECT project, project_key FROM observations") == [("a", "/w/a")]


@pytest.mark.parametrize(
    ("text", "own", "same"),
    [
        ("hello", ["hello"], True),
        ("hello ", ["\nhello"], True),
        ("hello", ["hello there"], False),
        (LONG[: CUT - 1] + ELLIPSIS, [LONG], True),
        (LONG[: CUT - 1] + ELLIPSIS, ["word"], False),
        ("word…", [LONG], False),
        ("[REDACTED:key:11111111]", ["[REDACTED:key:22222222]"], True),
    ],
    ids=["equal", "spaces", "longer", "cut", "cut, another", "no cut", "marks"],
)
def test_what_is_the_same_prompt(text: str, own: list[str], same: bool) -> None:
    assert is_twin(text, own) is same


def queue(desk: Desk) -> None:
    """A prompt that exists only as lines of the queue of an old client."""
    lines = [QueueOperation("enqueue", "hello"), QueueOperation("remove", None)]
    desk.write(desk.file("a"), *(entry(None, line, version="2.1.40", time=5) for line in lines))


@pytest.mark.parametrize("first", ["import", "transcript"])
def test_a_queued_prompt_is_a_twin_too(first: str) -> None:
    desk = Desk()
    if first == "transcript":
        queue(desk)
    desk.write(imported(desk), entry(f"{FOREIGN}1", Prompt("hello")))
    if first == "import":
        queue(desk)
    assert desk.rows("SELECT prompt_text, is_queued FROM user_prompts") == [("hello", 1)]


def test_an_import_does_not_make_a_session_older_than_its_transcript() -> None:
    desk = Desk()
    desk.write(desk.file("a"), entry("u1", Prompt("hello"), time=10))
    desk.write(imported(desk), entry(f"{FOREIGN}1", Prompt("alone"), time=0))
    assert desk.one("SELECT origin_epoch FROM sdk_sessions") == NOON + 10
    assert desk.to_read_again() == []


def test_a_session_s_model_is_that_of_its_transcript() -> None:
    desk = Desk()
    desk.write(imported(desk), entry("u1", said("m", "x", model="theirs"), time=9))
    desk.write(desk.file("a"), entry("u2", said("n", "y", model="ours"), time=1), entry("u1", Prompt("p"), time=None))
    assert desk.one("SELECT observed_model FROM sdk_sessions") == "ours"
    desk.write(imported(desk), entry("u3", said("o", "z", model="later"), time=99))
    assert desk.one("SELECT observed_model FROM sdk_sessions") == "ours"
