"""An embeddings URL: what is sent, what is believed, and what no message ever holds. Nothing is sent here."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer.embedders.base import NoEmbedder, unpacked
from indexer.embedders.remote import Remote, name, spec

URL = "https://example.com/v1/embeddings"


class Endpoint:
    """Answers with `reply(texts)`, and remembers the requests."""

    def __init__(self) -> None:
        self.requests: list[urllib.request.Request] = []
        self.reply: Callable[[list[str]], Any] = lambda texts: {
            "data": [{"index": i, "embedding": [3.0, 4.0]} for i, _ in enumerate(texts)][::-1]
        }

    def __call__(self, request: urllib.request.Request, timeout: float) -> io.BytesIO:
        self.requests.append(request)
        assert isinstance(request.data, bytes)
        answer = self.reply(json.loads(request.data)["input"])
        return io.BytesIO(answer if isinstance(answer, bytes) else json.dumps(answer).encode())


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    made = Endpoint()
    monkeypatch.setattr(urllib.request, "urlopen", made)
    return made


def test_its_length_is_what_it_answers_with(endpoint: Endpoint) -> None:
    assert Remote(URL, "m", None).dimensions == 2
    assert len(endpoint.requests) == 1


def test_vectors_come_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    model = Remote(URL, "m", None)
    endpoint.reply = lambda _: {"data": [{"index": 1, "embedding": [0.0, 1.0]}, {"index": 0, "embedding": [1.0, 0.0]}]}
    assert [unpacked(vector) for vector in model.embed_documents(["a", "b"])] == [(1.0, 0.0), (0.0, 1.0)]


def test_the_model_and_the_key_are_sent(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("s3cret\n")
    Remote(URL, "small", tmp_path / "key")
    (request,) = endpoint.requests
    assert request.get_header("Authorization") == "Bearer s3cret"
    assert isinstance(request.data, bytes)
    assert json.loads(request.data)["model"] == "small"


@pytest.mark.parametrize(
    "answer", [b"no json", {"data": []}, {"nothing": 1}, {"data": [{"index": 0, "embedding": ["x"]}]}, [1]]
)
def test_what_is_no_answer_is_an_error(endpoint: Endpoint, answer: Any) -> None:
    endpoint.reply = lambda _: answer
    with pytest.raises(NoEmbedder):
        Remote(URL, "m", None)


@pytest.mark.parametrize(
    "error",
    [urllib.error.HTTPError(URL, 401, "s3cret", None, None), TimeoutError(), OSError("s3cret")],  # type: ignore[arg-type]
)
def test_a_failure_is_an_error_that_holds_no_secret(monkeypatch: pytest.MonkeyPatch, error: OSError) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(urllib.request, "urlopen", fail)
    with pytest.raises(NoEmbedder) as info:
        Remote(URL, "m", None)
    assert "s3cret" not in info.value.message + info.value.hint


@pytest.mark.usefixtures("endpoint")
def test_a_key_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoEmbedder, match="key"):
        Remote(URL, "m", tmp_path / "none")


@pytest.mark.usefixtures("endpoint")
def test_another_model_or_url_is_another_name() -> None:
    names = {name(URL, "m"), name(URL, "n"), name("https://example.org/e", "m")}
    assert len(names) == 3
    assert spec(URL, "m", None).load().name == spec(URL, "m", None).model
