"""Hand-made transcripts with one fault each, and what EXPECT.tsv says must come of them."""

from __future__ import annotations

import csv
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stores import check, content, memory_of, read, store
from transcripts import Transcript

CASES = Path(__file__).parent.parent / "fixtures" / "cases"
with (CASES / "EXPECT.tsv").open(encoding="utf-8", newline="") as table:
    EXPECTED = {row["case"]: row for row in csv.DictReader(table, delimiter="\t")}
COUNTS = {
    "prompts": "SELECT count(*) FROM user_prompts WHERE prompt_kind = 'prompt'",
    "tool_uses": "SELECT count(*) FROM tool_uses",
    "matched": "SELECT count(*) FROM tool_uses WHERE result_uuid IS NOT NULL",
    "sessions": "SELECT count(*) FROM sdk_sessions",
}


def folder(case: str) -> Path:
    (found,) = CASES.glob(f"{case}_*")
    return found


@contextmanager
def memory(home: Path, root: Path) -> Iterator[sqlite3.Connection]:
    """A memory that has read everything below `root`."""
    conn = store(home)
    read(conn, root)
    check(conn)
    yield conn
    conn.close()


def counts(conn: sqlite3.Connection) -> dict[str, int]:
    return {name: conn.execute(sql).fetchone()[0] for name, sql in COUNTS.items()}


def column(conn: sqlite3.Connection, sql: str) -> list[Any]:
    return [value for (value,) in conn.execute(sql)]


def prompts(conn: sqlite3.Connection, kind: str = "prompt") -> list[Any]:
    sql = f"SELECT prompt_text FROM user_prompts WHERE prompt_kind = '{kind}' ORDER BY prompt_number"
    return column(conn, sql)


def copied(case: str, tmp_path: Path) -> Path:
    """A copy that may be written to; returns its only transcript."""
    root = tmp_path / "projects" / folder(case).name
    shutil.copytree(folder(case), root)
    (path,) = root.rglob("*.jsonl")
    return path


# --- the counts of every row


@pytest.mark.parametrize("case", EXPECTED)
def test_the_counts_are_those_of_the_table(case: str, tmp_path: Path) -> None:
    with memory(tmp_path, folder(case)) as conn:
        assert counts(conn) == {name: int(EXPECTED[case][name]) for name in COUNTS}


@pytest.mark.parametrize("case", EXPECTED)
def test_reading_again_in_another_order_changes_nothing(case: str, tmp_path: Path) -> None:
    once = memory_of(tmp_path / "once", folder(case))
    with memory(tmp_path / "again", folder(case)) as conn:
        conn.execute("UPDATE ingest_files SET parser_version = 0")
        read(conn, folder(case), lambda found: found[::-1], apart=True)
        assert content(conn) == once


@pytest.mark.parametrize("case", sorted(set(EXPECTED) - {"01", "12"}))
def test_nothing_but_cut_and_nul_lines_is_unreadable(case: str, tmp_path: Path) -> None:
    with memory(tmp_path, folder(case)) as conn:
        assert column(conn, "SELECT reason FROM dead_letters") == []


# --- the sentence of every row


def test_01_a_cut_last_line_is_waited_for(tmp_path: Path) -> None:
    path = copied("01", tmp_path)
    whole = path.read_bytes()
    with memory(tmp_path / "home", path.parent) as conn:
        (offset,) = column(conn, "SELECT offset FROM ingest_files")
        assert (offset, prompts(conn)) == (whole.rindex(b"\n") + 1, ["add a login page"])
        assert column(conn, "SELECT count(*) FROM dead_letters") == [0]
        path.write_bytes(whole + b'"content":"and a logout"}}\n')
        read(conn, path.parent)
        assert prompts(conn) == ["add a login page", "and a logout"]


def test_02_the_same_text_under_two_ids_is_two_prompts(tmp_path: Path) -> None:
    with memory(tmp_path, folder("02")) as conn:
        assert prompts(conn) == ["run the tests"] * 2
        assert column(conn, "SELECT DISTINCT native_prompt_hash IS NOT NULL FROM user_prompts") == [1]


def test_03_a_fork_repeats_nothing_and_shows_all(tmp_path: Path) -> None:
    with memory(tmp_path, folder("03")) as conn:
        rows = conn.execute("SELECT prompt_counter FROM sdk_sessions ORDER BY prompt_counter").fetchall()
        assert [tuple(row) for row in rows] == [(1,), (2,)]


def test_04_a_result_before_its_call_is_matched(tmp_path: Path) -> None:
    with memory(tmp_path, folder("04")) as conn:
        ((called, answered),) = conn.execute("SELECT created_at_epoch, result_at_epoch FROM tool_uses")
        assert answered < called
        assert column(conn, "SELECT count(*) FROM unmatched_results") == [0]


def test_06_a_call_without_answer_has_none(tmp_path: Path) -> None:
    with memory(tmp_path, folder("06")) as conn:
        rows = conn.execute("SELECT result_uuid, result_at_epoch, is_error, tool_response FROM tool_uses")
        assert [tuple(row) for row in rows] == [(None, None, None, None)]


def test_09_a_character_that_comes_in_two_parts_is_whole(tmp_path: Path) -> None:
    path = copied("09", tmp_path)
    whole, at = path.read_bytes(), int((folder("09") / "SPLIT_AT.txt").read_text())
    path.write_bytes(whole[:at])
    with memory(tmp_path / "home", path.parent) as conn:
        assert prompts(conn) == []
        path.write_bytes(whole)
        read(conn, path.parent)
        (text,) = prompts(conn)
        assert "\ufffd" not in text
        assert any(ord(character) > 0xFFFF for character in text)


def test_10_a_lone_surrogate_is_replaced_and_the_record_kept(tmp_path: Path) -> None:
    with memory(tmp_path, folder("10")) as conn:
        assert prompts(conn) == ["broken \ufffd emoji"]


def test_12_a_record_behind_nuls_is_recovered(tmp_path: Path) -> None:
    with memory(tmp_path, folder("12")) as conn:
        assert prompts(conn) == ["add a login page", "after the crash"]
        assert column(conn, "SELECT reason || ' ' || length FROM dead_letters") == ["nul-bytes 4096"]


def test_12_a_nul_in_a_text_does_not_cut_it(tmp_path: Path) -> None:
    session = Transcript()
    session.user("a\0b and more")
    session.write(tmp_path / "projects")
    with memory(tmp_path / "home", tmp_path / "projects") as conn:
        assert prompts(conn) == ["a\ufffdb and more"]


def test_13_carriage_returns_belong_to_no_text(tmp_path: Path) -> None:
    assert b"\r\n" in next(folder("13").glob("*.jsonl")).read_bytes()
    with memory(tmp_path, folder("13")) as conn:
        assert prompts(conn) == ["add a login page"]


def test_14_a_byte_order_mark_costs_no_record(tmp_path: Path) -> None:
    with memory(tmp_path, folder("14")) as conn:
        assert prompts(conn) == ["add a login page"]


def test_17_of_a_repeated_key_the_last_counts(tmp_path: Path) -> None:
    with memory(tmp_path, folder("17")) as conn:
        assert prompts(conn) == ["first"]


def test_18_numbers_follow_the_file_and_the_session_spans_all_times(tmp_path: Path) -> None:
    with memory(tmp_path, folder("18")) as conn:
        assert prompts(conn) == ["one", "two", "three"]
        times = column(conn, "SELECT created_at_epoch FROM user_prompts ORDER BY prompt_number")
        span = conn.execute("SELECT started_at_epoch, last_at_epoch FROM sdk_sessions").fetchone()
        assert times == sorted(times, reverse=True)
        assert tuple(span) == (min(times), max(times))


def test_19_a_missing_time_is_the_next_ones_and_flagged(tmp_path: Path) -> None:
    with memory(tmp_path, folder("19")) as conn:
        rows = conn.execute("SELECT time_source, created_at_epoch FROM user_prompts ORDER BY prompt_number")
        assert [tuple(row) for row in rows] == [("neighbour", 1772355602002), ("record", 1772355602002)]


def test_21_without_a_cwd_the_project_is_a_guess(tmp_path: Path) -> None:
    with memory(tmp_path, folder("21")) as conn:
        rows = conn.execute("SELECT project_key, project_key_source, cwd FROM sdk_sessions")
        assert [tuple(row) for row in rows] == [("folder:-home-ada-my-proj", "guess", None)]


def test_22_a_folder_that_is_gone_is_known_by_its_path(tmp_path: Path) -> None:
    with memory(tmp_path, folder("22")) as conn:
        rows = conn.execute("SELECT project_key, project_key_source FROM sdk_sessions")
        assert [tuple(row) for row in rows] == [("/nonexistent/gone/project", "path")]


def test_25_letter_case_makes_no_second_project(tmp_path: Path) -> None:
    with memory(tmp_path, folder("25")) as conn:
        assert column(conn, "SELECT project_key FROM projects") == ["c:/users/ada/proj"]
        assert column(conn, "SELECT DISTINCT project_key FROM sdk_sessions") == ["c:/users/ada/proj"]


def test_26_what_is_unknown_is_counted(tmp_path: Path) -> None:
    with memory(tmp_path, folder("26")) as conn:
        (ignored,) = column(conn, "SELECT ignored FROM ingest_files")
        assert ignored == '{"quantum-state":1,"mode":1,"untyped":1,"not-an-object":2}'


def test_27_known_blocks_beside_unknown_ones_are_kept(tmp_path: Path) -> None:
    with memory(tmp_path, folder("27")) as conn:
        assert prompts(conn) == ["look at this"]
        assert column(conn, "SELECT tool_use_id FROM tool_uses")[0].startswith("toolu_ok00")


def test_28_an_empty_file_is_known_and_may_grow(tmp_path: Path) -> None:
    path = copied("28", tmp_path)
    with memory(tmp_path / "home", path.parent) as conn:
        assert column(conn, "SELECT offset FROM ingest_files") == [0]
        path.write_bytes(next(folder("14").glob("*.jsonl")).read_bytes())
        read(conn, path.parent)
        assert prompts(conn) == ["add a login page"]


def test_29_a_directory_is_no_transcript(tmp_path: Path) -> None:
    with memory(tmp_path, folder("29")) as conn:
        assert column(conn, "SELECT path FROM ingest_files") == []


def test_32_only_what_a_person_typed_is_a_prompt(tmp_path: Path) -> None:
    with memory(tmp_path, folder("32")) as conn:
        assert prompts(conn) == ["real one", "explain this", "[media prompt]"]
        assert (prompts(conn, "command"), prompts(conn, "shell")) == (["/clear"], ["ls"])


def test_38_files_beside_transcripts_are_none(tmp_path: Path) -> None:
    with memory(tmp_path, folder("38")) as conn:
        paths = column(conn, "SELECT path FROM ingest_files")
        assert [Path(path).name for path in paths] == ["4fc9e918-3302-4ccd-8c90-473ee4c717fd.jsonl"]


# --- what a fixture cannot hold


def transcript(path: Path) -> Path:
    """A good transcript at `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(next(folder("14").glob("*.jsonl")), path)
    return path


def test_a_fifo_and_a_socket_name_are_passed_by(tmp_path: Path) -> None:
    good = transcript(tmp_path / "projects" / "-home-ada" / "80b0c08b-c770-4420-8aa4-248c8857f9a4.jsonl")
    os.mkfifo(good.with_name("00000000-0000-4000-8000-000000000000.jsonl"))
    with memory(tmp_path / "home", tmp_path / "projects") as conn:
        assert column(conn, "SELECT path FROM ingest_files") == [str(good.resolve())]


def test_links_lead_to_one_file_and_loops_end(tmp_path: Path) -> None:
    good = transcript(tmp_path / "elsewhere" / "80b0c08b-c770-4420-8aa4-248c8857f9a4.jsonl")
    root = tmp_path / "projects"
    root.mkdir()
    (root / "-home-ada").symlink_to(good.parent)
    (root / "-home-ada-again").symlink_to(good.parent)
    (good.parent / "loop").symlink_to(root)
    (good.parent / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    with memory(tmp_path / "home", root) as conn:
        assert column(conn, "SELECT path FROM ingest_files") == [str(good.resolve())]
        assert prompts(conn) == ["add a login page"]
