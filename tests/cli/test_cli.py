"""The door: exit codes, errors of every kind, and what a call may load."""

from __future__ import annotations

import argparse
import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from indexer import errors
from indexer.cli import build_parser, main
from indexer.cli.output import Output
from indexer.store import connection
from indexer.store.connection import database_path

HEAVY = ("chromadb", "asyncio", "mcp", "structlog", "watchdog", "importlib.metadata", "email", "http")
ORIGIN = "8c1f0a52-0000-4000-8000-000000000001"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
    """Let `status` end in an error."""

    def arrange(error: BaseException) -> None:
        def status(_: argparse.Namespace, __: Output) -> int:
            raise error

        made = ModuleType("indexer.cli.status")
        vars(made)["status"] = status
        monkeypatch.setitem(sys.modules, "indexer.cli.status", made)

    return arrange


def every_error(base: type[errors.IndexerError] = errors.IndexerError) -> list[type[errors.IndexerError]]:
    return [base, *(deeper for sub in base.__subclasses__() for deeper in every_error(sub))]


# --- exit codes


@pytest.mark.parametrize("error", every_error())
def test_every_error_has_its_exit_code(call: Any, raising: Any, error: type[errors.IndexerError]) -> None:
    raising(error("what", "do"))
    assert call("status") == (error.exit_code, "", "error: what\nhint: do\n")


@pytest.mark.parametrize("error", every_error())
def test_every_error_is_json_when_asked(call: Any, raising: Any, error: type[errors.IndexerError]) -> None:
    raising(error("what", "do"))
    answer = call("status", "--json")
    assert answer.json["error"] == {
        "kind": error.kind,
        "message": "what",
        "hint": "do",
        "retryable": error.retryable,
    }
    assert (answer.code, answer.err) == (error.exit_code, "")


def test_the_codes_are_those_that_were_promised() -> None:
    codes = {error.kind: error.exit_code for error in every_error()}
    promised = {
        "usage": 2,
        "no-database": 3,
        "busy": 4,
        "corrupt-database": 5,
        "newer-database": 6,
        "not-found": 1,
    }
    assert codes.items() >= promised.items()


def test_a_usage_error_is_2_and_json_when_asked(call: Any) -> None:
    answer = call("nonsense", "--json")
    assert (answer.code, answer.json["error"]["kind"], answer.err) == (2, "usage", "")
    assert call("nonsense").err.startswith("error: there is no command 'nonsense'")


def test_no_command_is_a_usage_error(call: Any) -> None:
    assert call().code == 2


@pytest.mark.parametrize("command", ["status", "sessions", "projects", "show x", "search x"])
def test_without_a_memory_reading_says_what_to_run(call: Any, tmp_path: Path, command: str) -> None:
    answer = call(*command.split(), "--home", str(tmp_path), "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (3, "no-database")
    assert "transcript-indexer rescan" in answer.json["error"]["hint"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["status", "sessions", "projects", "show x", "search x"])
def test_a_damaged_memory_is_5(call: Any, tmp_path: Path, command: str) -> None:
    database_path(tmp_path).write_bytes(b"no database at all, but long enough to be one" * 200)
    assert call(*command.split(), "--home", str(tmp_path)).code == 5


def test_a_newer_memory_is_6(ask: Any, edit: Any) -> None:
    edit("INSERT INTO schema_versions VALUES (999, 'later', '')")
    assert ask("status").code == 6


def test_a_memory_that_stays_locked_is_4(ask: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 0)
    conn = connection.open_writer(home)
    conn.execute("PRAGMA locking_mode = EXCLUSIVE")
    conn.execute("BEGIN EXCLUSIVE")
    answer = ask("sessions", "--json")
    conn.close()
    assert (answer.code, answer.json["error"]["kind"], answer.json["error"]["retryable"]) == (4, "busy", True)


def test_reading_goes_on_while_another_writes(ask: Any, home: Path) -> None:
    conn = connection.open_writer(home)
    conn.execute("BEGIN IMMEDIATE")
    conn.execute("DELETE FROM tool_uses")
    answer = ask("status", "--json")
    conn.close()
    assert answer.json["counts"]["tool_uses"] == 4


def test_reading_leaves_the_memory_as_it_is(ask: Any, home: Path) -> None:
    before = database_path(home).read_bytes()
    for command in ("status", "sessions", "projects", "search timeout --group session", f"show {ORIGIN}"):
        assert ask(*command.split()).code == 0
    assert database_path(home).read_bytes() == before


def test_a_bad_setting_is_2(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_SEARCH_LIMIT", "many")
    answer = ask("status", "--json")
    assert (answer.code, answer.json["error"]["kind"]) == (2, "config")


# --- what is not foreseen


def test_a_fault_of_ours_is_one_line(call: Any, raising: Any) -> None:
    raising(ZeroDivisionError("division \x1b[2J by zero"))
    code, out, err = call("status")
    assert (code, out) == (1, "")
    assert err.startswith("error: something went wrong that should not: ZeroDivisionError: division  by zero\n")
    assert "TRANSCRIPT_INDEXER_DEBUG=1" in err


def test_a_fault_of_ours_is_json_when_asked(call: Any, raising: Any) -> None:
    raising(ZeroDivisionError())
    answer = call("status", "--json")
    assert (answer.code, answer.json["error"]["kind"], answer.err) == (1, "internal", "")


def test_whoever_debugs_sees_where_it_happened(call: Any, raising: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_DEBUG", "1")
    raising(ZeroDivisionError())
    assert "Traceback" in call("status").err


def test_ctrl_c_is_130(call: Any, raising: Any) -> None:
    raising(KeyboardInterrupt())
    assert call("status") == (130, "", "interrupted\n")


def test_ctrl_c_is_json_when_asked(call: Any, raising: Any) -> None:
    raising(KeyboardInterrupt("stopped; run it again to go on"))
    answer = call("status", "--json")
    assert answer.code == 130
    assert answer.json["error"] == {
        "kind": "interrupted",
        "message": "stopped; run it again to go on",
        "hint": "",
        "retryable": True,
    }


class _Closed(io.StringIO):
    def write(self, _: str) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


@pytest.mark.parametrize("command", ["projects", "projects --json", "nonsense --json", "--help"])
def test_nobody_reading_is_quiet(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.setattr(sys, "stdout", _Closed())
    assert main([*command.split(), "--home", str(home)]) == 141
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("command", "codes"), [("projects", [141]), ("--json x", [141]), ("--help", [0, 141])])
def test_a_closed_pipe_is_quiet_in_a_process_too(home: Path, command: str, codes: list[int]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = run_with(writing, *command.split(), "--home", str(home))
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode in codes


def run_with(stdout: int, *argv: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "indexer", *argv], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, check=False
    )


# --- what a call loads


def loaded(*argv: str) -> tuple[set[str], subprocess.CompletedProcess[str]]:
    """The modules of one call, as Python itself counts them."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "indexer", *argv],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {line.rpartition("|")[2].strip() for line in lines}, done


@pytest.mark.parametrize("command", ["search --help", "search timeout", "show prompt:1", "sessions"])
def test_reading_loads_nothing_heavy(home: Path, command: str) -> None:
    modules, done = loaded(*command.split(), "--home", str(home))
    assert done.returncode == 0, done.stderr
    assert [name for name in modules for heavy in HEAVY if name == heavy or name.startswith(heavy + ".")] == []


def test_help_does_not_even_load_sqlite() -> None:
    modules, _ = loaded("search", "--help")
    assert not {"sqlite3", "platformdirs", "tomllib", "indexer.store", "indexer.config"} & modules


def test_the_parser_is_there_for_tools() -> None:
    assert build_parser().prog == "transcript-indexer"


def test_a_home_that_is_a_file_is_no_fault_of_ours(call: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    answer = call("rescan", "--home", str(tmp_path / "file"))
    assert (answer.code, answer.err) == (1, f"error: {tmp_path}/file: File exists\n")


class FullDisk(io.StringIO):
    """Takes everything into its buffer and nothing out of it."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_a_full_disk_is_called(home: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.cli.discard_stdout", lambda: None)
    monkeypatch.setattr(sys, "stdout", FullDisk())
    assert main(["projects", "--home", str(home)]) == 1
    assert capsys.readouterr().err == "error: No space left on device\n"


# --- variables that nobody reads


def test_a_variable_that_nobody_reads_is_said_once(call: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_DEBG", "1")
    answer = call("search", "timeout", "--home", str(home), "--json")
    assert answer.err.splitlines()[0] == (
        "note: nothing reads the environment variable TRANSCRIPT_INDEXER_DEBG; did you mean TRANSCRIPT_INDEXER_DEBUG?"
    )
    assert (answer.err.count("DEBG"), answer.json["schema_version"]) == (1, 1)


def test_a_hook_says_nothing_of_it(call: Any, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_FROBNICATE", "1")
    monkeypatch.setattr("sys.stdin", io.StringIO("{}"))
    assert "FROBNICATE" not in call("hook", "session-start", "--home", str(home)).err
