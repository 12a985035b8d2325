"""`mcp` from the command line, with a server of the test's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from indexer.cli.mcp import wire_kept


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The homes that were served, by a module in place of the server."""
    homes: list[Path] = []
    fake = ModuleType("indexer.mcp_server")
    fake.serve = lambda settings, wire: homes.append(settings.home)  # type: ignore[attr-defined]
    fake.serve_http = lambda *given: homes.append(given[0].home / str(given[1]) / given[2])  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "indexer.mcp_server", fake)
    return homes


def test_it_serves_the_memory_of_home(call: Any, served: list[Path], tmp_path: Path) -> None:
    assert call("mcp", "--home", str(tmp_path)).code == 0
    assert served == [tmp_path]


def test_a_person_in_a_terminal_is_told_what_it_is(
    call: Any, served: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    answer = call("mcp")
    assert (answer.out, "claude mcp add" in answer.err) == ("", True)


def test_without_the_sdk_it_says_what_to_install(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}", name="mcp")

    monkeypatch.setattr("indexer.cli.mcp.import_module", missing)
    answer = call("mcp")
    assert (answer.code, answer.err.splitlines()[0]) == (1, "error: mcp is not installed")


def test_by_http_there_is_a_token_that_stays(call: Any, served: list[Path], tmp_path: Path) -> None:
    home = tmp_path / "memory"
    for _ in range(2):
        assert call("mcp", "--http", "8123", "--home", str(home)).code == 0
    token = (home / "mcp.token").read_text().strip()
    assert served == [home / "8123" / token] * 2
    assert (len(token) >= 32, (home / "mcp.token").stat().st_mode & 0o777) == (True, 0o600)


def test_a_file_without_a_token_lets_nobody_in(call: Any, served: list[Path], tmp_path: Path) -> None:
    (tmp_path / "mcp.token").write_text("\n")
    answer = call("mcp", "--http", "8123", "--home", str(tmp_path))
    assert (answer.code, served, "holds no token" in answer.err) == (1, [], True)


def test_the_wire_is_kept_from_what_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with wire_kept() as wire:
        os.write(1, b"noise\n")
        os.write(wire, b"said\n")
    os.write(1, b"wire\n")
    assert capfd.readouterr() == ("said\nwire\n", "noise\n")


def test_the_wire_is_back_after_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="x"), wire_kept():
        raise ValueError("x")
    os.write(1, b"wire\n")
    assert capfd.readouterr().out == "wire\n"
