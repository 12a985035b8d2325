"""With a service or without one, and while others write: an import finds its way."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_mem_db import v13
from daemons import Service, settings
from moving import differing, everything, export, itself, rescanned, share_key, take, take_claude_mem
from stores import store
from transcripts import Transcript

from indexer import app
from indexer.compressors.rules import Rules
from indexer.errors import Busy, IndexerError
from indexer.exchange import transfer
from indexer.exchange.reading import Batch
from indexer.exchange.transfer import Report
from indexer.exchange.writing import Direct, Intake, setting_of
from indexer.redaction_key import redactor
from indexer.store.connection import WriterLock


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """An export of a session."""
    session = Transcript("s", "/home/dev/shop")
    session.user("fix the login")
    session.tool("Edit", {"file_path": "/home/dev/shop/a.py", "old_string": "a", "new_string": "b"}, "ok")
    session.text("done")
    (tmp_path / "A").mkdir()
    return export(rescanned(tmp_path / "A" / "home", session), tmp_path / "x.jsonl")


def beside(home: Path, tmp_path: Path, deed: Callable[[], Report]) -> Report:
    """Do something while a service writes, whose loop is the test."""
    (tmp_path / "projects").mkdir(exist_ok=True)
    service = Service(settings(home, tmp_path / "projects"), compressor=Rules())
    service.settle()
    told: list[Any] = []
    thread = threading.Thread(target=lambda: told.append(deed()))
    thread.start()
    while thread.is_alive():
        service.daemon.step()
    service.settle()
    service.stop()
    return told[0]  # type: ignore[no-any-return]


def test_a_running_service_takes_it_in(source: Path, tmp_path: Path) -> None:
    home, alone = tmp_path / "B", tmp_path / "C"
    report = beside(home, tmp_path, lambda: take(home, source))
    share_key(home, alone)
    assert take(alone, source)[:7] == report[:7]
    assert differing(itself(home), itself(alone)) == {}


def test_a_running_service_takes_claude_mem_in(tmp_path: Path) -> None:
    home, path = tmp_path / "B", v13(tmp_path / "cm.db")
    assert beside(home, tmp_path, lambda: take_claude_mem(home, path)).memories == 6
    assert take_claude_mem(home, path).memories == 0
    everything(home)


def test_a_service_at_another_s_damaged_database_is_left_alone(tmp_path: Path) -> None:
    path = v13(tmp_path / "cm.db")
    path.write_bytes(path.read_bytes()[:5000])
    home = tmp_path / "B"
    store(home).close()
    before = everything(home)
    with pytest.raises(IndexerError):
        take_claude_mem(home, path)
    assert differing(everything(home), before) == {}


def test_another_writer_is_waited_for(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, told = tmp_path / "B", list[str]()
    lock = WriterLock(home)
    monkeypatch.setattr(transfer, "BETWEEN", 0.01)

    def waiting(why: str) -> None:
        told.append(why)
        lock.release()

    assert app.import_file(settings(home), source, waiting=waiting).prompts == 1
    assert len(told) == 1


def test_two_imports_at_once_take_turns(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "BETWEEN", 0.01)
    home, reports = tmp_path / "B", list[Report]()
    threads = [threading.Thread(target=lambda: reports.append(take(home, source))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(report.prompts for report in reports) == [0, 0, 1]


def test_nothing_is_locked_when_nothing_came(tmp_path: Path) -> None:
    direct = Direct(settings(tmp_path / "B"))
    direct.close()
    assert not (tmp_path / "B").exists()


def test_the_right_to_write_is_held_to_the_end_and_given_up(source: Path, tmp_path: Path) -> None:
    direct = Direct(settings(tmp_path / "B"))
    direct(Batch("abc", [], []))
    with pytest.raises(Busy):
        WriterLock(tmp_path / "B")
    direct.close()
    WriterLock(tmp_path / "B").release()


def test_an_error_gives_the_right_to_write_up_too(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("indexer.exchange.writing.take", full)
    with pytest.raises(IndexerError, match="the disk is full"):
        take(tmp_path / "B", source)
    WriterLock(tmp_path / "B").release()


def test_the_service_refuses_what_is_no_batch(tmp_path: Path) -> None:
    config = settings(tmp_path / "B")
    conn = store(tmp_path / "B")
    redact = redactor(config)
    intake = Intake(conn, config, redact, setting_of(config, redact).exclusion)
    with pytest.raises(IndexerError):
        intake.take({"command": "import"})
    assert intake.take({"device": "abc", "lines": [[1, {"kind": "spell"}]]})["faults"] == ((1, "of no known kind"),)
    conn.close()
