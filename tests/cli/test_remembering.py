"""`context` and `dedup` on the command line."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from transcripts import Transcript
from turn_cases import CASES

NOTED = {case.name: case for case in CASES}


@pytest.fixture
def made(call: Any, tmp_path: Path) -> Any:
    session = Transcript("s")
    for name in ("off by one", "bare done"):
        NOTED[name].write(session)
    session.write(tmp_path / "projects")
    where = ("--home", str(tmp_path / "memory"), "--root", str(tmp_path / "projects"))
    assert call("rescan", *where).code == 0

    def ask(*argv: str) -> Any:
        return call(*argv, *where)

    return ask


def test_context_of_a_project(made: Any) -> None:
    text = made("context", "--project", "shop").out
    assert text.startswith("<indexer-memory id=")
    assert "Fixed the off-by-one in page_count" in text


def test_context_for_programs(made: Any) -> None:
    found = made("context", "--project", "shop", "--json").json
    assert (found["context"][:15], len(found["observations"])) == ("<indexer-memory", 2)


def test_a_smaller_budget(made: Any) -> None:
    assert len(made("context", "--project", "shop", "--budget", "700").out) < len(
        made("context", "--project", "shop").out
    )


def test_a_folder_that_nobody_knows_is_passed_over_in_silence(made: Any) -> None:
    assert made("context") == (0, "", "")


def test_so_is_a_memory_that_is_not_there(call: Any, tmp_path: Path) -> None:
    assert call("context", "--home", str(tmp_path / "none")) == (0, "", "")


def test_a_project_that_was_named_must_be_there(made: Any) -> None:
    assert made("context", "--project", "nowhere").code == 1


# --- dedup


def pair(home: Path) -> None:
    with sqlite3.connect(home / "index.db") as conn:
        conn.execute("INSERT INTO observation_dedup_candidates (first_id, second_id, score) VALUES (1, 2, 0.9)")
    conn.close()


def test_a_pair_is_listed_and_decided_on(made: Any, tmp_path: Path) -> None:
    pair(tmp_path / "memory")
    (found,) = made("dedup", "candidates", "--json").json["candidates"]
    assert (found["first"], found["second"], found["score"]) == (1, 2, 0.9)
    assert made("dedup", "accept", "observation:1", "2", "--json").json["status"] == "merged"
    assert made("dedup", "candidates").err.startswith("no candidates")


def test_a_pair_is_kept_apart(made: Any, tmp_path: Path) -> None:
    pair(tmp_path / "memory")
    assert "observation:1" in made("dedup", "candidates").out
    assert made("dedup", "dismiss", "1", "2").out.startswith("kept apart")


def test_who_are_no_pair_cannot_be_decided_on(made: Any) -> None:
    assert (made("dedup", "accept", "1", "2").code, made("dedup", "accept", "x", "2").code) == (1, 2)


def test_a_scan_says_how_many_pairs_there_are(made: Any) -> None:
    assert made("dedup", "scan", "--json").json == {"schema_version": 1, "candidates": 0}
    assert made("dedup", "scan").out.startswith("0 pairs")
