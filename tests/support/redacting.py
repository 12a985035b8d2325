"""Lines of calls and prompts, and what a redactor makes of them."""

from __future__ import annotations

from typing import Any

import orjson
from transcripts import Transcript, line

from indexer.redact import Redactor


def record(text: str) -> bytes:
    """A prompt's line, without its newline."""
    session = Transcript()
    session.user(text)
    return session.data[:-1]


def calls(name: str, given: Any, answer: Any, **fields: Any) -> list[bytes]:
    """A tool call's line and its answer's."""
    session = Transcript()
    session.tool(name, given, answer, **fields)
    return [line(one)[:-1] for one in session.records]


def through(redactor: Redactor, lines: list[bytes]) -> list[Any]:
    return [orjson.loads(redactor.line(one)) for one in lines]


def given(lines: list[Any]) -> Any:
    return lines[0]["message"]["content"][0]["input"]


def answer(lines: list[Any]) -> Any:
    return lines[1]["message"]["content"][0]["content"]
