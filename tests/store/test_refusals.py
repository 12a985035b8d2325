"""What was forgotten is not taken in again; everything else is."""

from __future__ import annotations

from desk import NOON, Desk, call, entry, result, said

from indexer.records import AgentLink, Prompt, QueueOperation, Title, Unreadable
from indexer.store.connection import transaction
from indexer.store.tombstones import Kind, Tombstones, queued

PROMPTS = "SELECT prompt_text FROM user_prompts ORDER BY prompt_text"


def desk(kind: Kind, *values: str) -> Desk:
    """A memory that has forgotten these."""
    made = Desk()
    with transaction(made.conn):
        Tombstones(made.conn).bury(kind, values)
    return made


def test_a_forgotten_session_stays_out_with_all_it_says() -> None:
    made = desk("session", "a")
    lines = (Prompt("hello"),), (said("m1", "done"), call("toolu_1")), (result("toolu_1"),), (Title("ai", "t"),)
    more = (AgentLink("x", None, None, None),), (QueueOperation("enqueue", "later"),), (Unreadable("bad", 0, 9),)
    made.write(made.file(), *(entry(f"u{n}", *line, version="2.0.1") for n, line in enumerate([*lines, *more])))
    for table in ("sdk_sessions", "user_prompts", "tool_uses", "assistant_messages", "session_agents", "dead_letters"):
        assert made.rows(f"SELECT * FROM {table}") == []


def test_other_sessions_in_its_file_are_taken_in() -> None:
    made = desk("session", "a")
    made.write(made.file(), entry("u1", Prompt("gone")), entry("u2", Prompt("kept"), session="b"))
    assert made.rows(PROMPTS) == [("kept",)]
    assert made.rows("SELECT content_session_id FROM sdk_sessions") == [("b",)]


def test_a_record_without_a_session_belongs_to_its_files() -> None:
    made = desk("session", "a")
    made.write(made.file(), entry("u1", Prompt("gone"), session=None))
    assert made.rows(PROMPTS) == []


def test_a_forgotten_record_stays_out_of_every_session() -> None:
    made = desk("record", "u1")
    made.write(made.file("b"), entry("u1", Prompt("gone"), session="b"), entry("u2", Prompt("kept"), session="b"))
    assert made.rows(PROMPTS) == [("kept",)]
    assert made.one("SELECT prompt_number FROM user_prompts") == 1


def test_a_title_goes_with_its_leaf_wherever_it_stands() -> None:
    made = desk("record", "leaf")
    titles = Title("summary", "gone", "leaf"), Title("summary", "kept", "other")
    made.write(made.file("b"), *(entry(None, title, session=None) for title in titles))
    assert made.rows("SELECT title FROM session_titles") == [("kept",)]


def test_a_queue_line_is_known_by_its_time_and_text() -> None:
    made = desk("queued", queued(NOON + 5, "go on"))
    lines = [(5, "go on"), (6, "go on"), (5, "go off")]
    queue = [entry(None, QueueOperation("enqueue", text), time=time, version="2.0.1") for time, text in lines]
    made.write(made.file(), entry("u1", Prompt("hi"), version="2.0.1"), *queue)
    assert made.rows("SELECT created_at_epoch, text FROM queue_operations ORDER BY position") == [
        (NOON + 6, "go on"), (NOON + 5, "go off"),
    ]  # fmt: skip


def test_a_fork_does_not_name_a_forgotten_origin() -> None:
    made = desk("session", "a")
    made.write(made.file("b"), entry("u1", Prompt("kept"), session="b", forked_from="a"))
    made.write(made.file("c"), entry("u2", Prompt("kept"), session="c", forked_from="b"))
    assert made.rows("SELECT content_session_id, forked_from FROM sdk_sessions") == [("b", None), ("c", "b")]


def test_a_memory_that_has_forgotten_nothing_refuses_nothing() -> None:
    made = Desk()
    made.write(made.file(), entry("u1", Prompt("kept")))
    assert made.rows(PROMPTS) == [("kept",)]


def test_times_and_folders_are_those_of_what_is_taken_in() -> None:
    made = desk("record", "u1")
    made.write(
        made.file(), entry("u1", Prompt("gone"), cwd="/w/zq", time=0), entry("u2", Prompt("kept"), cwd="/w/a", time=9)
    )
    assert made.rows("SELECT cwd, started_at_epoch FROM sdk_sessions") == [("/w/a", NOON + 9)]
    assert made.rows("SELECT cwd FROM project_resolutions") == [("/w/a",)]
