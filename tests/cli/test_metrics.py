"""`metrics` from the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer.store.connection import WriterLock


def values(answer: Any) -> dict[str, float]:
    lines = [line for line in answer.out.splitlines() if not line.startswith("#")]
    return {
        name.removeprefix("transcript_indexer_"): float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines)
    }


def test_what_is_stored(ask: Any) -> None:
    found = values(ask("metrics"))
    assert (found['rows{kind="sessions"}'], found['rows{kind="prompts"}'], found["dead_letters"]) == (7, 5, 3)
    assert (found['transcripts{state="gone"}'], found['transcripts{state="unreadable"}']) == (1, 1)
    assert found["database_bytes"] > 100_000
    assert found["last_commit_timestamp_seconds"] == 1_795_255_260


def test_without_a_service_only_that_is_said(ask: Any) -> None:
    found = values(ask("metrics"))
    assert found["writer_up"] == 0
    assert "lag_bytes" not in found


@pytest.fixture
def service(home: Path) -> Iterator[Any]:
    lock = WriterLock(home)
    yield lambda **said: (home / "status.json").write_text(json.dumps({"pid": os.getpid()} | said))
    lock.release()


def test_what_the_service_says(ask: Any, service: Any) -> None:
    service(pending_files=3, lag_bytes=100, mode="polling", updated_at=5_000, events={"ingested": 7, "odd": "x"})
    found = values(ask("metrics"))
    assert (found["writer_up"], found["pending_files"], found["lag_bytes"], found["polling"]) == (1, 3, 100, 1)
    assert (found['events_total{event="ingested"}'], found["service_timestamp_seconds"]) == (7, 5)
    assert 'events_total{event="odd"}' not in found


@pytest.mark.parametrize("said", [{"pid": 1, "lag_bytes": 5}, {"events": []}, {"lag_bytes": "many"}])
def test_what_makes_no_sense_is_left_out(ask: Any, service: Any, said: dict[str, Any]) -> None:
    service(**said)
    assert "lag_bytes" not in values(ask("metrics"))


def test_a_status_that_cannot_be_read_is_none(ask: Any, service: Any, home: Path) -> None:
    (home / "status.json").write_text("{")
    assert "lag_bytes" not in values(ask("metrics"))


def test_the_same_for_programs(ask: Any) -> None:
    answer = ask("metrics", "--json").json["metrics"]
    assert (answer["rows"]["sessions"], answer["writer_up"]) == (7, 0)
