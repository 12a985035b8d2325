"""No model: words, parts of identifiers, bigrams of Chinese and runs of four letters, hashed to places.

What tests and a broken install use. Beside the full-text index it adds next to nothing (0.717 against
0.715 mean nDCG@10, retrieval.md section 4): it is no default. About 1 ms of CPU a text.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence

from indexer.embedders.base import Spec, packed
from indexer.text import search_tokens

DIMENSIONS = 256
NAME = "hashing@1"
_GRAM = 4


class Hashing:
    """See the module's docstring."""

    name = NAME
    dimensions = DIMENSIONS

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> bytes:
        """The same for questions."""
        places = [0.0] * DIMENSIONS
        for feature, count in Counter(_features(text)).items():
            place = zlib.crc32(feature.encode("utf-8", "surrogatepass"))
            # Half of the features count down: those that share a place by chance cancel out on average.
            places[place % DIMENSIONS] += math.sqrt(count) if place & 0x10000 else -math.sqrt(count)
        return packed(places)


def _features(text: str) -> Iterator[str]:
    for word in search_tokens(text).lower().split():
        yield word
        if len(word) > _GRAM:
            yield from (word[i : i + _GRAM] for i in range(len(word) - _GRAM + 1))


SPEC = Spec("hashing", NAME, DIMENSIONS, latin_only=False, batch=256, load=Hashing)
