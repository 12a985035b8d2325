"""Any embeddings URL that speaks OpenAI's dialect, by choice only: the one embedder that sends text away.

Stored text is redacted before it is stored, so what leaves is what `show` shows. The key is read from a
file of the user's, never from the settings, and stands in no message. A request is a POST of at most 64
texts; what fails is tried again with the next batch, a minute later at the most.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from indexer.embedders.base import NoEmbedder, Spec, packed

SECONDS = 30.0
LARGEST = 64 << 20
"""Bytes of an answer that are read."""


class Remote:
    """url: of the embeddings endpoint, whole. key_file: holds the bearer token; None sends none.

    Raises NoEmbedder when the first answer does not come, or is none: it tells how long vectors are."""

    def __init__(self, url: str, model: str, key_file: Path | None) -> None:
        self._url, self._model, self._key_file = url, model, key_file
        self.name = name(url, model)
        self.dimensions = len(self._ask(["-"])[0]) // 2

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text."""
        return self._ask([text or "-" for text in texts])

    def embed_query(self, text: str) -> bytes:
        """The same for questions."""
        return self._ask([text or "-"])[0]

    def _ask(self, texts: list[str]) -> list[bytes]:
        body = json.dumps({"model": self._model, "input": texts}).encode()
        request = urllib.request.Request(self._url, body, self._headers())  # noqa: S310 - config allows http(s) alone
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - as above
                data = json.loads(answer.read(LARGEST))["data"]
            rows = sorted(data, key=lambda row: int(row["index"]))
            vectors = [packed([float(value) for value in row["embedding"]]) for row in rows]
        except urllib.error.HTTPError as error:
            raise NoEmbedder(f"the embeddings URL answered {error.code}", "check vectors.url and its key") from None
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise NoEmbedder(
                f"the embeddings URL gave no vectors: {type(error).__name__}", "check vectors.url"
            ) from None
        if len(vectors) != len(texts):
            raise NoEmbedder(
                "the embeddings URL gave another number of vectors than was asked for", "check vectors.url"
            )
        return vectors

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json"}
        if self._key_file is not None:
            try:
                headers["Authorization"] = f"Bearer {self._key_file.read_text(encoding='utf-8').strip()}"
            except OSError as error:
                raise NoEmbedder(
                    f"the key of the embeddings URL cannot be read: {error.strerror}", "check vectors.url_key_file"
                ) from None
        return headers


def name(url: str, model: str) -> str:
    """What vectors of this model from there are kept under."""
    return f"url:{model}@{url.partition('://')[2].rstrip('/')}"


def spec(url: str, model: str, key_file: Path | None) -> Spec:
    """The model behind a URL; how long its vectors are is not known before it answers (0)."""
    return Spec("url", name(url, model), 0, latin_only=False, batch=64, load=lambda: Remote(url, model, key_file))
