"""An export says all that a memory holds, each line by itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from moving import lines_of, rescanned
from stores import store
from transcripts import Transcript

from indexer.cli import main
from indexer.exchange.shape import Faulty, check_header, item
from indexer.store import exports, imports
from indexer.store.connection import open_reader
from indexer.store.exports import Line, identity_of, lines, of_projects, text_of
from indexer.store.migrations import SCHEMA_VERSION

SCHEMAS = Path(__file__).parent.parent / "fixtures" / "schema"


def session() -> Transcript:
    made = Transcript("s", "/home/dev/shop")
    made.user("fix the login")
    made.tool("Edit", {"file_path": "/home/dev/shop/a.py", "old_string": "a", "new_string": "b"}, "ok")
    made.text("done")
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return rescanned(tmp_path / "home", session())


@pytest.fixture
def found(home: Path) -> Iterator[list[Line]]:
    conn = open_reader(home)
    yield list(lines(conn))
    conn.close()


def kinds(found: list[Line]) -> list[str]:
    return [line["kind"] for line in found]


def test_the_order_of_lines(found: list[Line]) -> None:
    assert kinds(found)[:2] == ["header", "session"]
    assert kinds(found)[2:] == sorted(kinds(found)[2:], key=["record", "observation", "summary", "work"].index)


def test_every_line_is_one_that_import_understands(found: list[Line]) -> None:
    assert check_header(found[0]) == found[0]["device"]
    for line in found[1:]:
        item(json.loads(text_of(line)))


def test_a_record_has_all_rows_of_one_line_of_the_transcript(found: list[Line]) -> None:
    call = next(line for line in found if "calls" in line)
    answer = next(line for line in found if "results" in line)
    assert (call["line"], call["calls"][0]["name"], answer["line"]) == (2, "Edit", 3)
    assert answer["results"][0]["identity"] == call["calls"][0]["identity"]


def test_a_row_says_where_it_comes_from(home: Path, found: list[Line]) -> None:
    conn = store(home)
    (device,) = conn.execute("SELECT id FROM device").fetchone()
    conn.close()
    prompt = next(line for line in found if "prompt" in line)
    assert (prompt["device"], prompt["local"]) == (device, "prompt:1")


def test_observations_say_of_which_calls_they_were_made(found: list[Line]) -> None:
    told = next(line for line in found if line["kind"] == "observation")
    assert told["calls"] == [next(line for line in found if "calls" in line)["calls"][0]["identity"]]
    assert told["identity"] == f"{told['turn']}#{told['slot']}"


def test_a_long_text_is_cut_and_marked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "LONGEST", 8)
    conn = open_reader(home)
    prompt = next(line for line in lines(conn) if "prompt" in line)
    conn.close()
    assert prompt["prompt"]["text"] == "fix the …[truncated: 13 bytes]"


def test_a_project_alone(home: Path) -> None:
    conn = open_reader(home)
    assert (of_projects(conn, ["/home/dev/shop"]), of_projects(conn, ["/nowhere"])) == ([1], [])
    assert kinds(list(lines(conn, []))) == ["header"]
    conn.close()


def test_no_character_that_a_terminal_obeys_is_written_raw() -> None:
    text = text_of({"text": "a\x1b[31m\x9b\u202e\u2028\x7f中"})
    assert json.loads(text)["text"] == "a\x1b[31m\x9b\u202e\u2028\x7f中"
    assert not set("\x1b\x9b\u202e\u2028\x7f") & set(text)
    assert "中" in text


def test_a_memory_of_an_older_version_has_no_name() -> None:
    conn = sqlite3.connect(":memory:")
    assert imports.device(conn) == ""
    with pytest.raises(Faulty):
        check_header({"kind": "header", "format": exports.FORMAT, "version": 1, "device": ""})
    conn.close()


@pytest.mark.parametrize("version", [path.stem for path in SCHEMAS.glob("*.sql") if path.stem != str(SCHEMA_VERSION)])
def test_a_memory_of_an_older_version_is_to_be_brought_up_first(
    version: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conn = sqlite3.connect(tmp_path / "index.db")
    conn.executescript((SCHEMAS / f"{version}.sql").read_text(encoding="utf-8"))
    conn.close()
    assert main(["export", "--home", str(tmp_path), "--output", str(tmp_path / "out.jsonl")]) == 1
    assert "written by an older version" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


def test_names_of_what_was_made() -> None:
    assert identity_of("observation", "s", "t", "edits", 1) == "t#edits"
    assert identity_of("summary", "s", "0", None, 1) == "s#part:0"
    assert identity_of("work", "s", "t:0#0", None, 1) == "work:t:0#0"


def test_what_is_printed_is_what_is_written(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--home", str(home)]) == 0
    assert main(["export", "--home", str(home), "--output", str(tmp_path / "x.jsonl")]) == 0
    assert capsys.readouterr().out == (tmp_path / "x.jsonl").read_text(encoding="utf-8")
    assert (tmp_path / "x.jsonl").stat().st_mode & 0o777 == 0o600
    assert kinds(lines_of(tmp_path / "x.jsonl"))[0] == "header"
