"""The numbers of a memory, as `metrics` prints them (tests/cli/test_metrics.py has each)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from daemons import Service

from indexer.errors import NoDatabase
from indexer.metrics import text
from indexer.store.connection import WriterLock
from indexer.vitals import measured


def test_what_a_running_service_says_is_among_them(service: Service, home: Path) -> None:
    assert service.status["lag_bytes"] == 0
    found = {one.name: one.samples for one in measured(home)}
    assert (found["lag_bytes"][0][1], found["backlog_seconds"]) == (0, ())
    assert found["progress_timestamp_seconds"][0][1] > 1.6e9


def test_the_time_left_is_a_number_of_seconds(service: Service, home: Path) -> None:
    said = {"pid": os.getpid(), "eta_seconds": 12.5, "lag_bytes": 5}
    (home / "status.json").write_text(json.dumps(said))
    assert "\ntranscript_indexer_backlog_seconds 12.5\n" in text(measured(home))


def test_without_a_memory_there_are_none(tmp_path: Path) -> None:
    with pytest.raises(NoDatabase):
        measured(tmp_path)


def test_it_reads_while_another_writes(service: Service, home: Path) -> None:
    with pytest.raises(Exception, match="another"):
        WriterLock(home)
    assert {"rows", "database_bytes", "writer_up"} <= {one.name for one in measured(home)}
