"""What fuzzing calls: a function a reader of hostile bytes, that raises when something is wrong with it."""

from __future__ import annotations

from collections.abc import Callable

from indexer.compressors import reply
from indexer.compressors.base import Unusable
from indexer.query import parse as parse_query
from indexer.records import SourceFile
from indexer.redact import Redactor
from indexer.sources.claude_code import ClaudeCode

_SOURCE, _FILE = ClaudeCode(), SourceFile("/home/dev/x.jsonl", "-home-dev", "s", None)
_REDACTOR = Redactor(b"k" * 32)


def line(data: bytes) -> None:
    """A line of a transcript, as ingest reads it."""
    for entry in _SOURCE.parse(_REDACTOR.line(data), _FILE):
        _REDACTOR.entry(entry)


def query(data: bytes) -> None:
    """What was typed."""
    text = data.decode("utf-8", "surrogateescape")
    assert parse_query(text) == parse_query(text)  # noqa: S101 - what is looked for


def redact(data: bytes) -> None:
    """A text: once redacted, it stays as it is."""
    once = _REDACTOR.text(data.decode("utf-8", "replace"))
    assert _REDACTOR.text(once) == once  # noqa: S101 - what is looked for


def answer(data: bytes) -> None:
    """What a model answered."""
    try:
        reply.parse(data.decode("utf-8", "replace"))
    except Unusable:
        return


TARGETS: dict[str, Callable[[bytes], None]] = {"line": line, "query": query, "redact": redact, "reply": answer}
