"""Who is answered over HTTP, with what, and who is not."""

from __future__ import annotations

import errno
import socket
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from indexer import exposition
from indexer.errors import NoDatabase
from indexer.exposition import Exposition, answer

Make = Callable[..., Exposition]


def head(first: str = "GET /metrics HTTP/1.1", *hosts: str) -> bytes:
    return "\r\n".join([first, *(f"Host: {host}" for host in hosts or ["127.0.0.1:9464"])]).encode()


def code(request: bytes, *, private: bool = False) -> int:
    return int(answer(request, lambda: "up 1\n", private=private).split(b" ")[1])


# --- one request


def test_the_metrics_are_given_as_prometheus_wants_them() -> None:
    found = answer(head(), lambda: "up 1\n", private=False)
    lines, _, body = found.partition(b"\r\n\r\n")
    assert lines.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n")
    assert (b"Content-Length: 5" in lines, body) == (True, b"up 1\n")


def test_a_head_has_no_body() -> None:
    assert answer(head("HEAD /metrics HTTP/1.1"), lambda: "up 1\n", private=False).endswith(b"\r\n\r\n")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.1:9464", "localhost:80", "LocalHost", "[::1]:9464"])
def test_this_machines_own_names_are_answered(host: str) -> None:
    assert code(head("GET /metrics HTTP/1.1", host)) == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:9464", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1@evil", "",
     "127.0.0.1:", "localhost:x", "0.0.0.0", "xlocalhost", "localhost evil"],
)  # fmt: skip
def test_any_other_name_is_refused_by_port(host: str) -> None:
    assert code(head("GET /metrics HTTP/1.1", host)) == 421


def test_no_host_and_two_hosts_are_refused_by_port() -> None:
    assert code(b"GET /metrics HTTP/1.0") == 421
    assert code(head("GET /metrics HTTP/1.1", "localhost", "evil.example")) == 421


def test_by_socket_no_name_matters() -> None:
    assert code(b"GET /metrics HTTP/1.0", private=True) == 200


@pytest.mark.parametrize("path", ["/", "/metrics/", "/metricsx", "/../metrics", "/status", "http://127.0.0.1/metrics"])
def test_no_other_path_is_served(path: str) -> None:
    assert code(head(f"GET {path} HTTP/1.1")) == 404


def test_parameters_are_passed_over() -> None:
    assert code(head("GET /metrics?name=x HTTP/1.1")) == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_but_reading_is_allowed(method: str) -> None:
    assert code(head(f"{method} /metrics HTTP/1.1")) == 405


@pytest.mark.parametrize("request_", [b"", b"\0\xff", b"GET", b"GET /metrics", b"GET  /metrics HTTP/1.1", b"\r\n"])
def test_what_is_no_request_is_said_to_be_none(request_: bytes) -> None:
    assert code(request_, private=True) == 400


def test_a_memory_that_cannot_be_read_is_told_of() -> None:
    def fail() -> str:
        raise NoDatabase("there is no memory yet", "")

    assert answer(head(), fail, private=False).startswith(b"HTTP/1.1 503 ")


# --- listening


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Exposition] = []

    def begin(text: Callable[[], str] = lambda: "up 1\n", *, port: int = 0, path: Path | None = None) -> Exposition:
        made.append(Exposition(port, path, text))
        made[-1].tend()
        return made[-1]

    yield begin
    for one in made:
        one.close()


def ask(path: Path, request: bytes = b"GET /metrics HTTP/1.1\r\n\r\n") -> bytes:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.settimeout(10)
        sock.connect(str(path))
        sock.sendall(request)
        return b"".join(iter(lambda: sock.recv(1000), b""))


def test_it_answers_by_a_socket_that_is_its_owners_alone(make: Make, tmp_path: Path) -> None:
    made = make(path=tmp_path / "m.sock")
    assert made.troubles == []
    assert stat.S_IMODE((tmp_path / "m.sock").lstat().st_mode) == 0o600
    assert [ask(tmp_path / "m.sock").endswith(b"up 1\n") for _ in range(3)] == [True] * 3


def test_it_answers_in_a_thread_of_its_own_and_not_at_every_request(make: Make, tmp_path: Path) -> None:
    threads: list[str] = []

    def text() -> str:
        threads.append(threading.current_thread().name)
        return "up 1\n"

    make(text, path=tmp_path / "m.sock")
    for _ in range(3):
        ask(tmp_path / "m.sock")
    assert threads == ["metrics"]


def test_who_says_nothing_does_not_keep_it_from_the_next(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exposition, "SECONDS", 0.05)
    make(path=tmp_path / "m.sock")
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(tmp_path / "m.sock"))
        assert ask(tmp_path / "m.sock").startswith(b"HTTP/1.1 200 ")


def test_a_request_without_end_is_none(make: Make, tmp_path: Path) -> None:
    make(path=tmp_path / "m.sock")
    assert ask(tmp_path / "m.sock", b"x" * exposition.LONGEST).startswith(b"HTTP/1.1 400 ")


def test_with_nothing_asked_for_there_is_nothing(make: Make) -> None:
    before = threading.active_count()
    make()
    assert threading.active_count() == before


def test_closed_it_is_gone(make: Make, tmp_path: Path) -> None:
    made = make(path=tmp_path / "m.sock")
    made.close()
    assert not (tmp_path / "m.sock").exists()
    assert "metrics" not in {thread.name for thread in threading.enumerate()}


def test_a_socket_that_was_left_behind_is_taken_over(make: Make, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "m.sock"))
    assert make(path=tmp_path / "m.sock").troubles == []
    assert ask(tmp_path / "m.sock").startswith(b"HTTP/1.1 200 ")


def test_what_others_have_there_stays(make: Make, tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("dear diary")
    (trouble,) = make(path=tmp_path / "diary").troubles
    assert ("File exists" in trouble.reason, "away" in trouble.remedy) == (True, True)
    assert (tmp_path / "diary").read_text() == "dear diary"


def test_a_socket_that_somebody_listens_at_stays(make: Make, tmp_path: Path) -> None:
    make(path=tmp_path / "m.sock")
    (trouble,) = make(path=tmp_path / "m.sock").troubles
    assert "File exists" in trouble.reason
    assert ask(tmp_path / "m.sock").startswith(b"HTTP/1.1 200 ")


def test_a_folder_that_is_missing_is_told_of_and_tried_again(make: Make, tmp_path: Path) -> None:
    made = make(path=tmp_path / "run" / "m.sock")
    assert made.troubles[0].remedy == f"mkdir -m 700 -p {tmp_path}/run"
    (tmp_path / "run").mkdir()
    made.tend()
    assert made.troubles == []
    assert ask(tmp_path / "run" / "m.sock").startswith(b"HTTP/1.1 200 ")


def test_a_path_too_long_for_a_socket_is_told_of(make: Make, tmp_path: Path) -> None:
    (trouble,) = make(path=tmp_path / ("x" * 120)).troubles
    assert trouble.remedy == "set metrics.socket to a shorter path"


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EADDRINUSE, "metrics.port to another"),
        (errno.EAFNOSUPPORT, "service install"),
        (errno.EACCES, "from 1024 on"),
    ],
)
def test_a_port_that_is_not_to_be_had_is_told_of(
    make: Make, monkeypatch: pytest.MonkeyPatch, number: int, remedy: str
) -> None:
    def refuse(_: socket.socket, address: object) -> None:
        assert address == ("127.0.0.1", 9464)
        raise OSError(number, "refused")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    (trouble,) = make(port=9464).troubles
    assert remedy in trouble.remedy
