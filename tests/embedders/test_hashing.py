"""No model, and still: what shares words, parts of names or characters is nearer than what does not."""

from __future__ import annotations

from operator import mul

import pytest

from indexer.embedders.base import unpacked
from indexer.embedders.hashing import DIMENSIONS, NAME, SPEC, Hashing


def cosine(one: str, other: str) -> float:
    model = Hashing()
    return float(sum(map(mul, unpacked(model.embed_query(one)), unpacked(model.embed_query(other)))))


def test_a_text_is_nearest_to_itself() -> None:
    assert cosine("the login times out", "the login times out") == pytest.approx(1, abs=0.002)


@pytest.mark.parametrize(
    ("asked", "near", "far"),
    [
        ("login timeout", "the login ran into a timeout", "paint the shed green"),
        ("时区设置", "修改时区设置", "数据库连接失败"),
        ("parse_http_response", "parseHTTPResponse fails", "render the menu"),
    ],
)
def test_what_shares_words_is_nearer(asked: str, near: str, far: str) -> None:
    assert cosine(asked, near) > cosine(asked, far) + 0.2


def test_the_same_text_gives_the_same_bytes_in_every_process() -> None:
    assert Hashing().embed_query("hello")[:8].hex() == Hashing().embed_documents(["hello"])[0][:8].hex()


def test_empty_text_has_a_vector() -> None:
    assert len(Hashing().embed_query("")) == 2 * DIMENSIONS


def test_what_is_said_of_it_is_so() -> None:
    loaded = SPEC.load()
    assert (loaded.name, loaded.dimensions, SPEC.model) == (NAME, SPEC.dimensions, NAME)
