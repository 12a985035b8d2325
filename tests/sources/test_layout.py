"""What a path means, and the note beside a sub-agent's file."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.records import AgentLink, Entry, SourceFile
from indexer.sources.claude_code import ClaudeCode
from indexer.sources.layout import agent_note, describe

ROOT = "/home/dev/.claude/projects"
SESSION = "4296a34a-1631-4b6b-a34c-d02765106673"
FOLDER = "-home-dev-shop"


def at(path: str) -> SourceFile | None:
    return describe(f"{ROOT}/{path}", ROOT)


def test_a_main_file_names_its_session() -> None:
    path = f"{FOLDER}/{SESSION}.jsonl"
    assert at(path) == SourceFile(f"{ROOT}/{path}", FOLDER, SESSION, None)


@pytest.mark.parametrize(
    ("path", "folder", "session"),
    [
        ("notes.jsonl", "", "notes"),
        (f"{FOLDER}/any name.jsonl", FOLDER, "any name"),
        (f"{FOLDER}/ses_1.jsonl", FOLDER, "ses_1"),
        (f"copied/{FOLDER}/{SESSION}.jsonl", FOLDER, SESSION),
    ],
)
def test_other_main_files(path: str, folder: str, session: str) -> None:
    file = at(path)
    assert file is not None
    assert (file.folder, file.session_id, file.agent_id) == (folder, session, None)


@pytest.mark.parametrize(
    ("path", "folder", "session", "agent"),
    [
        (f"{FOLDER}/agent-1a2b3c4d.jsonl", FOLDER, None, "1a2b3c4d"),
        (f"{FOLDER}/{SESSION}/subagents/agent-a1.jsonl", FOLDER, SESSION, "a1"),
        (f"{FOLDER}/{SESSION}/subagents/workflows/wf_1/agent-a2.jsonl", FOLDER, SESSION, "a2"),
        (f"copied/{FOLDER}/{SESSION}/subagents/agent-a1.jsonl", FOLDER, SESSION, "a1"),
        ("agent-a1.jsonl", "", None, "a1"),
        ("subagents/agent-a1.jsonl", "", None, "a1"),
        (f"{SESSION}/subagents/agent-a1.jsonl", "", SESSION, "a1"),
    ],
)
def test_sub_agent_files(path: str, folder: str, session: str | None, agent: str) -> None:
    file = at(path)
    assert file is not None
    assert (file.folder, file.session_id, file.agent_id) == (folder, session, agent)


@pytest.mark.parametrize(
    "path",
    [
        f"{FOLDER}/agent-acompact-1a2b.jsonl",
        f"{FOLDER}/{SESSION}/subagents/agent-acompact-1a2b.jsonl",
        f"{FOLDER}/{SESSION}/subagents/agent-aside_question-1a2b.jsonl",
        f"{FOLDER}/{SESSION}/subagents/agent-aprompt_suggestion-1a2b.jsonl",
    ],
)
def test_copies_of_the_main_thread_are_no_transcripts(path: str) -> None:
    assert at(path) is None


@pytest.mark.parametrize(
    "path",
    [
        f"{FOLDER}/{SESSION}/subagents/journal.jsonl",
        f"{FOLDER}/{SESSION}/subagents/other.jsonl",
        f"{FOLDER}/{SESSION}/subagents/agent-a1.meta.json",
        f"{FOLDER}/{SESSION}/tool-results/x.jsonl",
        f"{FOLDER}/{SESSION}/tool-results/agent-a1.jsonl",
        f"{FOLDER}/memory/x.jsonl",
        f"{FOLDER}/deep/notes.jsonl",
        f"{FOLDER}/{SESSION}.jsonl.bak",
        f"{FOLDER}/{SESSION}.JSONL",
        f"{FOLDER}/{SESSION}.json",
        f"{FOLDER}/{SESSION}.txt",
        f"{FOLDER}/sessions-index.json",
        f"{FOLDER}/.jsonl",
        f"{FOLDER}/agent-.jsonl",
        "history.jsonl",
        "journal.jsonl",
    ],
)
def test_neighbours_are_no_transcripts(path: str) -> None:
    assert at(path) is None


def test_a_file_outside_the_root_is_no_transcript() -> None:
    assert describe(f"/elsewhere/{FOLDER}/{SESSION}.jsonl", ROOT) is None
    assert describe(f"{ROOT}-old/{FOLDER}/{SESSION}.jsonl", ROOT) is None


def test_a_root_may_end_in_a_slash() -> None:
    assert describe(f"{ROOT}/{FOLDER}/{SESSION}.jsonl", ROOT + "/") == at(f"{FOLDER}/{SESSION}.jsonl")


# --- meta.json


@pytest.fixture
def note(tmp_path: Path) -> Callable[[bytes], Entry | None]:
    """The note read from a `meta.json` with these bytes."""

    def read(data: bytes) -> Entry | None:
        (tmp_path / "agent-a1.meta.json").write_bytes(data)
        return agent_note(agent(tmp_path))

    return read


def agent(folder: Path) -> SourceFile:
    return SourceFile(str(folder / "agent-a1.jsonl"), FOLDER, SESSION, "a1")


def test_the_note_links_an_agent_to_its_call(note: Callable[[bytes], Entry | None]) -> None:
    meta = {"agentType": "Explore", "description": "Look around", "toolUseId": "toolu_1", "spawnDepth": 1}
    entry = note(json.dumps(meta).encode())
    assert entry is not None
    assert entry.records == (AgentLink("a1", "toolu_1", "Explore", "Look around"),)
    assert (entry.session_id, entry.agent_id, entry.uuid) == (SESSION, "a1", None)


def test_a_note_may_say_little(note: Callable[[bytes], Entry | None]) -> None:
    entry = note(b'{"agentType":"Explore","toolUseId":5,"description":null}')
    assert entry is not None
    assert entry.records == (AgentLink("a1", None, "Explore", None),)


@pytest.mark.parametrize("data", [b"", b"[1]", b"{", b"\xff", b'"x"', b" " * 70_000], ids=range(6))
def test_a_note_that_is_none_is_nothing(note: Callable[[bytes], Entry | None], data: bytes) -> None:
    assert note(data) is None


def test_no_note_is_nothing(tmp_path: Path) -> None:
    assert agent_note(agent(tmp_path)) is None


def test_a_folder_a_pipe_or_a_link_is_no_note(tmp_path: Path) -> None:
    real = tmp_path / "real.json"
    real.write_text("{}")
    for kind in ("folder", "pipe", "link"):
        (tmp_path / kind).mkdir()
    (tmp_path / "folder" / "agent-a1.meta.json").mkdir()
    os.mkfifo(tmp_path / "pipe" / "agent-a1.meta.json")
    (tmp_path / "link" / "agent-a1.meta.json").symlink_to(real)
    assert [agent_note(agent(tmp_path / kind)) for kind in ("folder", "pipe", "link")] == [None] * 3


def test_a_path_that_the_system_refuses_is_nothing() -> None:
    assert agent_note(SourceFile("/r/agent-\0.jsonl", "", None, "a1")) is None


def test_a_main_file_has_no_note(tmp_path: Path) -> None:
    assert list(ClaudeCode().side_entries(SourceFile(str(tmp_path / "s.jsonl"), "", "s", None))) == []


def test_side_entries_are_the_note(tmp_path: Path) -> None:
    (tmp_path / "agent-a1.meta.json").write_text('{"agentType":"Explore"}')
    assert list(ClaudeCode().side_entries(agent(tmp_path))) == [agent_note(agent(tmp_path))]
