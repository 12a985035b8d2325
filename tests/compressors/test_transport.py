"""One POST: a whole answer in time, or Lost; by the client that is installed, or NoClient."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import pytest

from indexer.compressors import transport
from indexer.compressors.transport import Answered, Client, Lost, NoClient


class Fake(ModuleType):
    """A client library with the few names that are used. blocks: of the answer; error: raised instead."""

    class HTTPError(Exception):
        pass

    class ConnectError(HTTPError):
        pass

    class ConnectTimeout(HTTPError):
        pass

    class InvalidURL(Exception):
        pass

    def __init__(self, name: str, *blocks: bytes, error: Exception | None = None) -> None:
        super().__init__(name)
        self.blocks, self.error = blocks, error
        self.sent: list[tuple[Any, ...]] = []
        self.settings: dict[str, Any] = {}

    @contextmanager
    def Client(self, **settings: Any) -> Iterator[Any]:  # noqa: N802 - as above
        self.settings = settings
        yield self

    @contextmanager
    def stream(self, method: str, url: str, *, content: bytes, headers: dict[str, str]) -> Iterator[Any]:
        self.sent.append((method, url, content, headers))
        if self.error:
            raise self.error
        yield self

    status_code, headers = 200, {"Retry-After": "3"}

    def iter_bytes(self) -> Iterator[bytes]:
        yield from self.blocks


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    def put(*blocks: bytes, error: Exception | None = None, name: str = "httpx2") -> Fake:
        made = Fake(name, *blocks, error=error)
        for each in transport.CLIENTS:
            monkeypatch.setitem(sys.modules, each, made if each == name else None)
        return made

    return put


def post(client: Client | None = None, seconds: float = 9.0) -> Answered:
    return (client or Client()).post("https://api.example/v1", {"x": "y"}, {"a": "日"}, seconds)


@pytest.mark.parametrize("name", transport.CLIENTS)
def test_either_client_will_do(name: str, library: Any) -> None:
    made = library(b"he", b"llo", name=name)
    assert post() == Answered(200, {"retry-after": "3"}, "hello")
    assert made.sent == [("POST", "https://api.example/v1", '{"a": "日"}'.encode(), {"x": "y"})]


def test_no_redirect_is_followed(library: Any) -> None:
    made = library(b"")
    post()
    assert (made.settings["follow_redirects"], made.settings["timeout"]) == (False, 9.0)


def test_without_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in transport.CLIENTS:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(NoClient):
        post()


@pytest.mark.parametrize(
    ("error", "spent"),
    [(Fake.ConnectError(), False), (Fake.ConnectTimeout(), False), (Fake.HTTPError(), True), (Fake.InvalidURL(), True)],
    ids=lambda value: type(value).__name__,
)
def test_what_is_lost_before_and_after_it_was_sent(error: Exception, spent: bool, library: Any) -> None:
    library(error=error)
    with pytest.raises(Lost) as found:
        post()
    assert (found.value.spent, "https" in str(found.value)) == (spent, False)


def test_an_answer_that_drips_has_one_deadline_for_all_of_it(library: Any) -> None:
    library(b"a", b"b", b"c")
    times = iter((0.0, 4.0, 8.0, 12.0))
    with pytest.raises(Lost, match="too long"):
        post(Client(clock=lambda: next(times)))


def test_an_answer_without_end(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "LARGEST", 3)
    library(b"ab", b"cd")
    with pytest.raises(Lost, match="too long"):
        post()


# --- the real client, in this process


def real(handler: Any) -> Client:
    httpx2 = pytest.importorskip("httpx2")
    return Client(httpx2.MockTransport(lambda request: handler(httpx2, request)))


def test_the_real_client_sends_and_reads() -> None:
    def handler(httpx2: Any, request: Any) -> Any:
        assert (request.method, json.loads(request.content), request.headers["x"]) == ("POST", {"a": "日"}, "y")
        return httpx2.Response(529, headers={"Retry-After": "2"}, text="over")

    answered = post(real(handler))
    assert (answered.status, answered.headers["retry-after"], answered.text) == (529, "2", "over")


@pytest.mark.parametrize(
    ("name", "spent"), [("ConnectError", False), ("ReadTimeout", True), ("RemoteProtocolError", True)]
)
def test_the_real_clients_errors(name: str, spent: bool) -> None:
    def handler(httpx2: Any, request: Any) -> Any:
        raise getattr(httpx2, name)("no", request=request)

    with pytest.raises(Lost) as found:
        post(real(handler))
    assert found.value.spent is spent


def test_the_real_client_follows_no_redirect() -> None:
    def handler(httpx2: Any, request: Any) -> Any:
        return httpx2.Response(307, headers={"Location": "https://elsewhere.example/"})

    assert post(real(handler)).status == 307
