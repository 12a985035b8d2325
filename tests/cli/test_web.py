"""`web` from the command line, with a server of the test's own."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from indexer.web.guard import LOOPBACK, Door


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was served, by a module in place of the server; and the addresses a browser was sent to."""
    found: list[Any] = []

    @contextmanager
    def listening(address: str, port: int, *, remote: bool) -> Iterator[Any]:
        yield "sock", Door((*LOOPBACK, address) if remote else LOOPBACK, port)

    @contextmanager
    def listening_at(path: Path) -> Iterator[Any]:
        yield path, Door(LOOPBACK, None)

    fake = ModuleType("indexer.web.server")
    fake.__dict__.update(listening=listening, listening_at=listening_at)
    fake.__dict__.update(
        serve=lambda settings, sock, door, keys: found.append(SimpleNamespace(**locals_of(settings, sock, door, keys)))
    )
    monkeypatch.setitem(sys.modules, "indexer.web.server", fake)
    monkeypatch.setattr("signal.signal", lambda *given: None)
    monkeypatch.setattr("webbrowser.open", lambda url: found.append(url))
    return found


def locals_of(settings: Any, sock: Any, door: Door, keys: Any) -> dict[str, Any]:
    return {"home": settings.home, "sock": sock, "door": door, "keys": keys}


def test_it_serves_the_memory_of_home_on_the_port_of_the_settings(call: Any, served: list[Any], tmp_path: Path) -> None:
    answer = call("web", "--home", str(tmp_path))
    assert (answer.code, answer.out) == (0, "")
    assert (served[0].home, served[0].door.port) == (tmp_path, 8385)


def test_the_printed_address_lets_in_once(call: Any, served: list[Any], tmp_path: Path) -> None:
    answer = call("web", "--home", str(tmp_path), "--port", "9000")
    url, _, ticket = answer.err.split()[1].partition("?t=")
    assert url == "http://127.0.0.1:9000/"
    assert [served[0].keys.admits(ticket), served[0].keys.admits(ticket)] == [True, False]


def test_the_token_is_neither_printed_nor_given_to_the_browser(call: Any, served: list[Any], tmp_path: Path) -> None:
    answer = call("web", "--home", str(tmp_path), "--open")
    token = (tmp_path / "web.token").read_text().strip()
    assert token not in answer.err + served[0]
    assert served[0].startswith("http://127.0.0.1:8385/?t=")


def test_the_browser_is_not_opened_unasked(call: Any, served: list[Any], tmp_path: Path) -> None:
    call("web", "--home", str(tmp_path))
    assert len(served) == 1


def test_the_token_stays_the_same(call: Any, served: list[Any], tmp_path: Path) -> None:
    tokens = []
    for _ in range(2):
        call("web", "--home", str(tmp_path))
        tokens.append((tmp_path / "web.token").read_text())
    assert tokens[0] == tokens[1]
    assert (tmp_path / "web.token").stat().st_mode & 0o777 == 0o600


def test_a_socket_takes_the_place_of_a_port(call: Any, served: list[Any], tmp_path: Path) -> None:
    answer = call("web", "--home", str(tmp_path), "--socket", str(tmp_path / "s"))
    assert (served[0].sock, served[0].door.port) == (tmp_path / "s", None)
    assert "web.token" in answer.err


@pytest.mark.parametrize("words", [("--socket", "s", "--open"), ("--socket", "s", "--port", "1"), ("--port", "70000")])
def test_what_makes_no_sense_is_refused(call: Any, served: list[Any], words: tuple[str, ...]) -> None:
    assert (call("web", *words).code, served) == (2, [])


def test_without_its_packages_it_says_what_to_install(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}", name="starlette")

    monkeypatch.setattr("indexer.cli.web.import_module", missing)
    answer = call("web")
    assert (answer.code, answer.err.splitlines()[0]) == (1, "error: starlette is not installed")


def test_a_service_manager_ends_it_and_its_socket_goes(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("markdown_it")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        words = ["web", "--home", str(tmp_path / "memory"), "--socket", f"{folder}/s"]
        process = subprocess.Popen([sys.executable, "-m", "indexer", *words], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        assert "listening at" in process.stderr.readline()
        assert Path(folder, "s").is_socket()
        process.terminate()
        _, said = process.communicate(timeout=60)
        assert (process.returncode, said, Path(folder, "s").exists()) == (0, "", False)
