"""`forget`: a dry run unless told otherwise, by any of its names, through a running service too."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from daemons import Service, settings
from forgetting import MARK, holding, lay, words_of
from transcripts import Transcript

from indexer.cli import main


class Line:
    """The command line over the history."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self.root, self.capsys = folder / "home", folder / "projects", capsys
        self.made = lay(self.root)
        self.run("rescan")

    @property
    def gone(self) -> Transcript:
        return self.made["gone"]

    def run(self, *words: str, code: int = 0) -> str:
        assert main([*words, "--home", str(self.home), "--root", str(self.root)]) == code
        return "".join(self.capsys.readouterr())

    def json(self, *words: str, code: int = 0) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.run(*words, "--json", code=code))
        return answer


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Line:
    return Line(tmp_path, capsys)


def test_without_yes_nothing_is_changed(line: Line) -> None:
    told = line.run("forget", "--session", line.gone.session_id)
    assert "would be forgotten: 1 session · 3 prompts" in told
    assert "kept: 4 records that other sessions show too" in told
    assert "with --yes" in told
    assert holding(line.home, MARK) == ["index.db"]


def test_with_yes_it_goes(line: Line) -> None:
    told = line.run("forget", "--session", line.gone.session_id, "--yes")
    assert "forgotten: 1 session" in told
    assert holding(line.home, *words_of(line.made)) == []
    assert "nothing found" in line.run("search", f"{MARK}prompt")


def test_json_says_the_same(line: Line) -> None:
    dry = line.json("forget", "--session", line.gone.session_id[:8])
    assert (dry["done"], dry["finished"], dry["forget"]["sessions"]) == (False, False, [line.gone.session_id])
    assert dry["forget"]["stays"] == {"records": 4, "sessions": [line.made["fork"].session_id]}
    done = line.json("forget", "--session", line.gone.session_id, "--yes")
    assert (done["done"], done["finished"], done["forget"]) == (True, True, dry["forget"])


def test_a_project_is_known_by_its_name_or_folder(line: Line) -> None:
    names = {made.session_id for made in line.made.values()}
    for name in ("shop", "/home/dev/shop"):
        assert set(line.json("forget", "--project", name)["forget"]["sessions"]) == names


def test_all_older_than_a_day(line: Line) -> None:
    assert line.json("forget", "--before", "2026-11-01")["forget"]["sessions"] == []
    assert "nothing to forget" in line.run("forget", "--before", "2026-11-01", "--yes")
    assert len(line.json("forget", "--before", "2026-11-02")["forget"]["sessions"]) == 3


def test_projects_that_the_settings_exclude(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    assert line.json("forget", "--excluded")["forget"]["sessions"] == []
    monkeypatch.setenv("TRANSCRIPT_INDEXER_EXCLUDE_PROJECTS", "other,shop")
    assert len(line.json("forget", "--excluded", "--yes")["forget"]["sessions"]) == 3
    assert holding(line.home, MARK, "zqshared", "zqfork", "zqother") == []


def test_status_counts_excluded_sessions(line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    new = Transcript("new", "/home/dev/secret")
    new.user("hello")
    new.write(line.root)
    monkeypatch.setenv("TRANSCRIPT_INDEXER_EXCLUDE_PROJECTS", "secret")
    line.run("rescan")
    assert line.json("status")["excluded_sessions"] == 1
    assert "1 session by your settings" in line.run("status")


def test_one_prompt(line: Line) -> None:
    found = line.json("search", f"{MARK}prompt")["results"][0]["id"]
    assert line.json("forget", "--id", found, "--yes")["forget"]["prompts"] == 1
    assert holding(line.home, f"{MARK}prompt") == []
    assert holding(line.home, f"{MARK}text") == ["index.db"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["--session", "a", "--project", "b"], 2),
        (["--session", "nobody"], 1),
        (["--project", "nowhere"], 1),
        (["--id", "prompt:99999"], 1),
        (["--id", "nonsense"], 2),
        (["--before", "yesterdayish"], 2),
    ],
    ids=str,
)
def test_what_cannot_be_meant_is_an_error(line: Line, words: list[str], code: int) -> None:
    assert "error" in line.json("forget", *words, "--yes", code=code)


def test_without_a_memory_there_is_nothing_to_forget(tmp_path: Path) -> None:
    assert main(["forget", "--session", "a", "--home", str(tmp_path / "none")]) == 3


# --- through a running service


def served(line: Line, *words: str) -> str:
    """Run a command while a service writes, whose loop is the test."""
    service = Service(settings(line.home, line.root))
    service.settle()
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.append(line.run(*words)))
    thread.start()
    while thread.is_alive():
        service.daemon.step()
    service.stop()
    return told[0]


def test_a_running_service_does_it(line: Line) -> None:
    told = served(line, "forget", "--session", line.gone.session_id, "--yes")
    assert "forgotten: 1 session" in told
    assert holding(line.home, *words_of(line.made)) == []


def test_status_says_when_bytes_are_left(line: Line) -> None:
    from indexer.store import erasing  # noqa: PLC0415
    from indexer.store.connection import open_writer  # noqa: PLC0415

    assert line.json("status")["forgetting"] == {"rows": False, "bytes": False}
    conn = open_writer(line.home)
    erasing.begin(conn, [line.gone.session_id], [])
    assert line.json("status")["forgetting"] == {"rows": True, "bytes": True}
    erasing.erase_rows(conn)
    conn.close()
    assert line.json("status")["forgetting"] == {"rows": False, "bytes": True}
    assert "forgotten" in line.run("status")
