"""The seam for embedding models: texts become vectors of one length that can be compared by cosine.

A vector crosses every seam as bytes: little-endian float16, L2-normalised. Half precision costs no
quality that can be measured (a cosine moves by less than 0.001) and half the room, and bytes need no numpy
on either side, so that all but the models and the scan runs, and is tested, without it.

A `Spec` says all that must be known of a model before it is loaded: loading costs up to two seconds and
200 MB, knowing costs nothing.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from indexer.errors import IndexerError


class Embedder(Protocol):
    """A loaded model. Raises NoEmbedder when it cannot answer."""

    @property
    def name(self) -> str:
        """Name and version of the model, as `hashing@1`: vectors of two names cannot be compared."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in a vector."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text, in order."""
        ...

    def embed_query(self, text: str) -> bytes:
        """The vector of a question."""
        ...


class Spec(NamedTuple):
    """A model that can be loaded.

    arm: its short name, as in the settings. model: what the loaded Embedder will call itself. latin_only:
    it knows nothing of Chinese, Japanese, Korean or Thai, so such texts are neither embedded nor asked.
    batch: texts a call, so that none takes longer than about a second. load: raises NoEmbedder.
    """

    arm: str
    model: str
    dimensions: int
    latin_only: bool
    batch: int
    load: Callable[[], Embedder]
    check: Callable[[], object] = tuple
    """Raises NoEmbedder when what it is loaded from is missing or another one; loads nothing."""


class NoEmbedder(IndexerError):
    """A model is not installed, is not the one that was pinned, or does not answer."""

    kind = "no-embedder"


def packed(values: Sequence[float]) -> bytes:
    """The vector of these numbers: normalised, as float16. All zeros stay so."""
    length = math.sqrt(math.fsum(value * value for value in values)) or 1.0
    return struct.pack(f"<{len(values)}e", *[value / length for value in values])


def unpacked(vector: bytes) -> tuple[float, ...]:
    """The numbers of a vector."""
    return struct.unpack(f"<{len(vector) // 2}e", vector)
