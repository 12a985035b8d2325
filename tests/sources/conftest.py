"""What tests of a source ask for: a session to write records with, and the records read from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import pytest
from transcripts import Transcript, line

from indexer.records import Entry, Record, SourceFile
from indexer.sources.claude_code import ClaudeCode

Parse: TypeAlias = Callable[..., list[Entry]]
Read: TypeAlias = Callable[..., list[Record]]


@pytest.fixture
def session() -> Transcript:
    return Transcript("shop")


@pytest.fixture
def main_file(session: Transcript) -> SourceFile:
    return SourceFile("/r/-home-dev-shop/s.jsonl", "-home-dev-shop", session.session_id, None)


@pytest.fixture
def agent_file(session: Transcript) -> SourceFile:
    return SourceFile("/r/-home-dev-shop/s/subagents/agent-a1.jsonl", "-home-dev-shop", session.session_id, "a1")


@pytest.fixture
def parse(main_file: SourceFile) -> Parse:
    """The entries of a record, or of a line's bytes."""

    def run(given: Mapping[str, Any] | bytes, file: SourceFile = main_file) -> list[Entry]:
        data = given if isinstance(given, bytes) else line(given)[:-1]
        return list(ClaudeCode().parse(data, file))

    return run


@pytest.fixture
def read(parse: Parse) -> Read:
    """The records of a record, or of a line's bytes, without their envelopes."""

    def run(given: Mapping[str, Any] | bytes, **file: SourceFile) -> list[Record]:
        return [record for entry in parse(given, **file) for record in entry.records]

    return run
