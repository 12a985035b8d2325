"""What a hostile transcript or its surroundings once brought down or let grow."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import orjson
import pytest
from transcripts import Transcript

from indexer import app, config, ingest
from indexer.errors import CorruptDatabase
from indexer.store.connection import database_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def rescan(root: Path) -> Any:
    return app.rescan(config.load(root.parent / "home", [str(root)], {}))


def rows(root: Path, sql: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(database_path(root.parent / "home")) as conn:
        return conn.execute(sql).fetchall()


@pytest.mark.parametrize("levels", [254, 1_000, 1_020])
def test_a_deeply_nested_input_does_not_stop_the_file(root: Path, levels: int) -> None:
    session = Transcript()
    session.call("Bash", "DEEP")
    session.user("after it")
    path = session.write(root)
    path.write_bytes(path.read_bytes().replace(b'"DEEP"', b'{"k":' * levels + b"1" + b"}" * levels))
    rescan(root)
    assert rows(root, "SELECT prompt_text FROM user_prompts") == [("after it",)]
    assert rows(root, "SELECT length(tool_input) FROM tool_uses") == [(6 * levels + 1,)]


def test_kinds_of_ignored_records_stay_few(root: Path) -> None:
    session = Transcript()
    for number in range(1_000):
        session.add(f"made up {number}")
    session.write(root)
    rescan(root)
    ((ignored,),) = rows(root, "SELECT ignored FROM ingest_files")
    kinds = orjson.loads(ignored)
    assert (len(kinds), sum(kinds.values()), kinds["other"]) == (201, 1_000, 800)


def test_a_subagent_whose_name_is_no_utf8_is_linked(root: Path) -> None:
    folder = os.fsencode(root / "-w-a" / "s1" / "subagents")
    Path(os.fsdecode(folder)).mkdir(parents=True)
    Path(os.fsdecode(folder + b"/agent-\xe9.jsonl")).write_bytes(b"\n")
    Path(os.fsdecode(folder + b"/agent-\xe9.meta.json")).write_bytes(b'{"agentType":"Explore"}')
    rescan(root)
    assert rows(root, "SELECT agent_id, agent_type FROM session_agents") == [("\\xe9", "Explore")]


def test_a_foreign_database_is_not_replaced(root: Path) -> None:
    Transcript().write(root)
    (root.parent / "home").mkdir()
    with sqlite3.connect(database_path(root.parent / "home")) as other:
        other.execute("CREATE TABLE photos AS SELECT 'beach' AS name")
    with pytest.raises(CorruptDatabase):
        rescan(root)
    assert rows(root, "SELECT * FROM photos") == [("beach",)]


def test_a_file_that_cannot_be_opened_is_said_to_be(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Transcript().write(root)

    def refuse(_: str) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(ingest, "open_source", refuse)
    assert rescan(root).problems == ((str(path), "Permission denied"),)


def test_names_without_end_are_cut_and_paths_that_no_system_takes_are_none(root: Path) -> None:
    session = Transcript(version="9" * 5_000)
    session.user("hi", gitBranch="b" * 10_000, cwd="/" + "c" * 10_000)
    session.assistant(
        {
            "type": "tool_use",
            "id": "toolu_" + "1" * 24,
            "name": "n" * 10_000,
            "input": {"file_path": "/" + "f" * 10_000},
        }
    )
    session.records[-1]["message"]["model"] = "m" * 10_000
    session.write(root)
    rescan(root)
    assert rows(root, "SELECT length(tool_name), file_path FROM tool_uses") == [(256, None)]
    assert rows(root, "SELECT length(model) FROM assistant_messages") == [(256,)]
    assert rows(root, "SELECT client_version, cwd FROM sdk_sessions WHERE prompt_counter") == [(None, "/home/dev/shop")]


@pytest.mark.parametrize("version", ["2.²", "2.1.", "٢.١", "x"])
def test_a_version_that_only_looks_like_numbers_stops_nothing(root: Path, version: str) -> None:
    session = Transcript(version="2.1.240")
    session.user("hi", version=version)
    session.user("there")
    session.write(root)
    rescan(root)
    assert rows(root, "SELECT client_version FROM sdk_sessions") == [("2.1.240",)]
