"""What a session's page needs beside its course."""

from __future__ import annotations

import sqlite3

from indexer.store import story
from indexer.store.story import Agent, Call, Tokens


def test_sub_agents_know_the_call_that_called_them(memory: sqlite3.Connection) -> None:
    memory.executescript(
        "INSERT INTO session_agents VALUES (1, 'a9', 'toolu_2', 'Explore', 'look'), (1, 'b', NULL, NULL, NULL);"
    )
    assert story.agents(memory, 1) == [Agent("a9", "Explore", "look", 2), Agent("b", "", "", None)]
    assert story.agents(memory, 2) == []


def test_their_files_are_told_apart(memory: sqlite3.Connection) -> None:
    memory.executescript(
        "UPDATE ingest_files SET agent_id = 'a1' WHERE id = 5;"
        "INSERT INTO session_files (session_db_id, file_id, is_agent) VALUES (4, 5, 1), (4, 4, 0);"
    )
    assert story.agent_files(memory, 4) == {"/home/dev/.claude/projects/old/4/subagents/agent-a1.jsonl": "a1"}


def test_a_session_knows_its_copies(memory: sqlite3.Connection) -> None:
    origin, fork = (f"8c1f0a52-0000-4000-8000-00000000000{n}" for n in (1, 2))
    assert (story.forks(memory, origin), story.forks(memory, fork)) == ([(fork, "A second try")], [])


def test_tokens_are_by_model_the_most_used_first(memory: sqlite3.Connection) -> None:
    memory.execute(
        "INSERT INTO assistant_messages (message_id, session_db_id, content_session_id, record_uuid, cache_read_tokens)"
        " VALUES ('m9', 1, 'x', 'u9', 5)"
    )
    assert story.tokens(memory, 1) == [Tokens("claude-sonnet-4-5", 2, 1010, 50, 0, 0), Tokens("", 1, 0, 0, 0, 5)]
    assert story.tokens(memory, 5) == []


def test_calls_come_with_the_start_of_what_they_gave(memory: sqlite3.Connection) -> None:
    found = story.calls(memory, [1, 3, 99], 5)
    given = '{"file_path": "/home/dev/work/shop-api/auth.ts", "limit": 20}'
    assert found[1] == Call(1, "Read", "/home/dev/work/shop-api/auth.ts", given, "const", 18, False, True, 1000)
    assert (found[3].answered, found[3].answer, found[3].took, set(found)) == (False, "", None, {1, 3})


def test_a_failed_call_says_so(memory: sqlite3.Connection) -> None:
    assert story.calls(memory, [2], 5)[2].failed is True


def test_where_the_copied_ends(memory: sqlite3.Connection) -> None:
    assert story.copied(memory, 2) == {"/home/dev/.claude/projects/shop/2.jsonl": 2}
    assert story.copied(memory, 1) == {}
