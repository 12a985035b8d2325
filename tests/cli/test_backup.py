"""`backup FILE` from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_a_copy_that_can_be_searched(ask: Any, call: Any, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    answer = ask("backup", str(tmp_path / "copy" / "index.db"))
    assert (answer.code, answer.out.splitlines()[1].startswith("to restore: stop the service")) == (0, True)
    found = call("search", "timeout", "--json", "--home", str(tmp_path / "copy")).json["results"]
    assert found == ask("search", "timeout", "--json").json["results"]


def test_the_copy_for_programs(ask: Any, tmp_path: Path) -> None:
    answer = ask("backup", str(tmp_path / "copy.db"), "--json").json
    assert answer["file"] == str(tmp_path / "copy.db")
    assert answer["size_bytes"] == (tmp_path / "copy.db").stat().st_size


def test_places_that_cannot_be_are_said(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    for place, said in (("there", "exists already"), (".", "is a folder"), ("no/where", "there is no folder")):
        answer = ask("backup", str(tmp_path / place))
        assert (answer.code, said in answer.err) == (2, True)


def test_without_a_memory_there_is_nothing_to_copy(call: Any, tmp_path: Path) -> None:
    answer = call("backup", str(tmp_path / "copy.db"), "--home", str(tmp_path / "none"))
    assert (answer.code, list(tmp_path.iterdir())) == (3, [])
