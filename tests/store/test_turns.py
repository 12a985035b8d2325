"""Turns from stored rows: what belongs to which, what is finished, and when there is something to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from remembered import end, turns_of
from stores import read, store
from transcripts import Transcript
from turn_cases import commit, edit, fail

from indexer.compressors.base import Turn
from indexer.store import turns


@pytest.fixture
def conn(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = store(tmp_path / "home")
    yield opened
    opened.close()


def talk(*prompts: str, name: str = "a") -> Transcript:
    session = Transcript(name)
    for prompt in prompts:
        session.user(prompt)
        session.tool("Bash", {"command": f"echo {prompt}"}, prompt)
        session.text(f"answer to {prompt}")
    return session


def shape(found: list[Turn]) -> list[tuple[str, list[str], list[str]]]:
    return [(turn.prompt, [c.given["command"] for c in turn.calls], [t.text for t in turn.texts]) for turn in found]


def test_a_turn_is_what_a_prompt_set_going(tmp_path: Path) -> None:
    assert shape(turns_of(tmp_path, talk("one", "two"))) == [
        ("one", ["echo one"], ["answer to one"]),
        ("two", ["echo two"], ["answer to two"]),
    ]


def test_a_session_without_any_time_is_not_waited_for(conn: sqlite3.Connection, tmp_path: Path) -> None:
    session = talk("one")
    for record in session.records:
        del record["timestamp"]
    session.write(tmp_path / "p")
    read(conn, tmp_path / "p")
    found = turns.header(conn, 1)
    assert found is not None
    assert len(turns.turns(conn, found).finished) == 1


def test_it_is_named_after_its_prompt(tmp_path: Path) -> None:
    session = talk("one")
    (turn,) = turns_of(tmp_path, session)
    assert (turn.id, turn.uuid) == (session.records[0]["uuid"],) * 2


def test_a_session_without_a_prompt_is_one_turn(tmp_path: Path) -> None:
    session = Transcript("bare")
    session.text("working")
    (turn,) = turns_of(tmp_path, session)
    assert (turn.id, turn.uuid, turn.prompt) == (f"session:{session.session_id}", None, "")


def test_what_a_fork_did_within_a_copied_turn_is_a_turn_of_the_fork(tmp_path: Path) -> None:
    origin = talk("one")
    fork = origin.fork("b", marked=True, upto=2)
    fork.text("another way")
    found = turns_of(tmp_path, origin, fork)
    uuid = origin.records[0]["uuid"]
    assert sorted(turn.id for turn in found) == sorted([uuid, f"session:{fork.session_id}:{uuid}"])


def test_a_sub_agents_work_joins_the_turn_that_spawned_it(tmp_path: Path) -> None:
    session = talk("one")
    session.tool(
        "Task", {"prompt": "look"}, "found", toolUseResult={"agentId": "f00", "totalTokens": 3, "status": "completed"}
    )
    session.user("two")
    agent = session.subagent("f00")
    agent.tool("Bash", {"command": "inner"}, "x")
    found = turns_of(tmp_path, session, agent)
    assert [(c.given.get("command"), c.agent_id) for c in found[0].calls if c.agent_id] == [("inner", "f00")]


def test_events_stand_with_their_call(tmp_path: Path) -> None:
    session = talk("one")
    edit(session, "a.py", 3, 1)
    commit(session, "fix: it")
    (turn,) = turns_of(tmp_path, session)
    assert [event.kind for call in turn.calls for event in call.events] == ["patch", "commit"]


def test_calls_that_were_refused_are_none(tmp_path: Path) -> None:
    session = talk("one")
    call = session.call("Bash", {"command": "rm -r /"})
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    session.user(
        [{"type": "tool_result", "tool_use_id": call, "content": refused, "is_error": True}], toolUseResult="x"
    )
    (turn,) = turns_of(tmp_path, session)
    assert [c.given["command"] for c in turn.calls] == ["echo one"]


def test_weak_ids_do_not_share_their_events(tmp_path: Path) -> None:
    session = Transcript("weak")
    for prompt in ("one", "two"):
        session.user(prompt)
        session.call("Bash", {"command": prompt}, "call_0")
        told = {"stdout": f"[main abc{len(prompt)}def] {prompt}\n 1 file changed"}
        session.result("call_0", told["stdout"], toolUseResult=told)
    found = turns_of(tmp_path, session)
    assert [[e.data["subject"] for c in turn.calls for e in c.events] for turn in found] == [["one"], ["two"]]


def test_compactions_divide_a_session(tmp_path: Path) -> None:
    session = talk("one")
    session.user("This session is being continued from a previous conversation", isCompactSummary=True)
    session.user("two")
    session.text("ok")
    assert [turn.part for turn in turns_of(tmp_path, session)] == [0, 1]


def test_tokens_are_those_of_the_turn(tmp_path: Path) -> None:
    assert [turn.tokens for turn in turns_of(tmp_path, talk("one", "two"))] == [60, 60]


def test_long_results_keep_their_ends(tmp_path: Path) -> None:
    session = Transcript("long")
    session.user("go")
    fail(session, "make", "start\n" + "x" * 60_000 + "\nthe end")
    (turn,) = turns_of(tmp_path, session)
    (call,) = turn.calls
    assert (call.response[:20].count("start"), call.response[-7:], len(call.response)) == (1, "the end", 2 * turns.ENDS)


# --- what is pending


def marks(conn: sqlite3.Connection) -> list[tuple[int, int]]:
    return conn.execute("SELECT revision, done FROM compress_marks").fetchall()


def test_reading_makes_a_session_pending(conn: sqlite3.Connection, tmp_path: Path) -> None:
    talk("one").write(tmp_path / "p")
    read(conn, tmp_path / "p")
    assert turns.pending(conn, 9) == [1]
    read(conn, tmp_path / "p")
    assert marks(conn) == [(1, 0)]


def test_so_does_going_quiet(conn: sqlite3.Connection, tmp_path: Path) -> None:
    talk("one").write(tmp_path / "p")
    read(conn, tmp_path / "p")
    end(conn)
    assert marks(conn) == [(2, 0)]


def test_a_look_without_bodies_sees_the_same(conn: sqlite3.Connection, tmp_path: Path) -> None:
    talk("one", "two").write(tmp_path / "p")
    read(conn, tmp_path / "p")
    session = turns.header(conn, 1)
    assert session is not None
    light, whole = turns.turns(conn, session, whole=False), turns.turns(conn, session)
    assert (light.seen, light.open) == (whole.seen, whole.open)
    assert (light.finished, len(whole.finished)) == ((), 1)


def test_what_belongs_to_a_turn_going_on_is_not_seen(conn: sqlite3.Connection, tmp_path: Path) -> None:
    seen = set()
    session = talk("one", "two")
    for _ in range(3):
        session.write(tmp_path / "p")
        read(conn, tmp_path / "p")
        found = turns.header(conn, 1)
        assert found is not None
        seen.add(turns.turns(conn, found, whole=False).seen)
        session.text("more")
    assert len(seen) == 1


def test_another_compressor_makes_all_pending(conn: sqlite3.Connection) -> None:
    conn.execute("INSERT INTO sdk_sessions (id, content_session_id) VALUES (1, 'a')")
    conn.execute("INSERT INTO compress_marks VALUES (1, 2, 2, 's', 'rules/0', NULL, NULL)")
    turns.begin_again(conn, "rules/0")
    assert turns.pending(conn, 9) == []
    turns.begin_again(conn, "rules/1")
    assert turns.pending(conn, 9) == [1]


def test_what_was_changed_in_place_is_made_again(conn: sqlite3.Connection) -> None:
    conn.execute("INSERT INTO sdk_sessions (id, content_session_id) VALUES (1, 'a')")
    conn.execute("INSERT INTO compress_marks VALUES (1, 2, 2, 's', 'rules/1', NULL, NULL)")
    turns.make_again(conn, [1])
    assert (turns.pending(conn, 9), conn.execute("SELECT seen FROM compress_marks").fetchone()) == ([1], (None,))


def test_a_session_that_is_gone_has_no_header(conn: sqlite3.Connection) -> None:
    assert turns.header(conn, 17) is None
