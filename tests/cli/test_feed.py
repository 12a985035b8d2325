from __future__ import annotations

import io
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer import app, events
from indexer.cli import feed
from indexer.config import Config
from indexer.rescan import Progress, Report
from indexer.store.connection import WriterLock

SESSION = "aaaaaaaa-0000-4000-8000-00000000000a"
COUNTS = ("sessions", "prompts", "tool_uses", "assistant_messages", "projects", "dead_letters")
REPORT = Report(
    files_total=1204,
    files_read=3,
    files_unchanged=1201,
    bytes_read=1_500_000,
    rows_new=42,
    dead_letters=2,
    conflicts=1,
    problems=(("/home/dev/x\x1b[2J.jsonl", "Permission denied"),),
    seconds=1.26,
    sample=False,
)


def progress(seconds: float, done: int = 100, total: int = 400) -> Progress:
    return Progress(files_done=2, files_total=1204, bytes_done=done, bytes_total=total, rows=80214, seconds=seconds)


def record(uuid: str, **fields: object) -> str:
    common = {
        "sessionId": SESSION,
        "uuid": uuid,
        "cwd": "/home/dev/thing",
        "version": "2.1.240",
        "userType": "external",
        "isSidechain": False,
        "parentUuid": None,
        "timestamp": "2026-11-20T10:00:00.000Z",
    }
    return json.dumps(common | fields) + "\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with one transcript of one prompt."""
    folder = tmp_path / "projects" / "-home-dev-thing"
    folder.mkdir(parents=True)
    line = record("11111111-0000-4000-8000-000000000001", type="user", message={"role": "user", "content": "Hello"})
    (folder / f"{SESSION}.jsonl").write_text(line, encoding="utf-8")
    return tmp_path / "projects"


@pytest.fixture
def reporting(monkeypatch: pytest.MonkeyPatch) -> Callable[[Report], None]:
    """Let rescan end with a report of ours."""
    return lambda report: monkeypatch.setattr(app, "rescan", lambda *_, **__: report)


# --- rescan


def test_a_rescan_fills_the_memory_and_counts_it(call: Any, root: Path, tmp_path: Path) -> None:
    answer = call("rescan", "--root", str(root), "--home", str(tmp_path / "new"), "--json")
    assert answer.code == 0
    assert answer.json["counts"] == dict(zip(COUNTS, (1, 1, 0, 0, 1, 0), strict=True))
    report = answer.json["report"]
    assert report["files"] == {"total": 1, "read": 1, "unchanged": 0, "from_archive": 0}
    assert (report["problems"], report["sample"]) == ([], False)


def test_a_second_rescan_reads_nothing(call: Any, root: Path, tmp_path: Path) -> None:
    given = ("rescan", "--root", str(root), "--home", str(tmp_path / "new"), "--json")
    first, second = call(*given).json, call(*given).json
    assert second["counts"] == first["counts"]
    assert (second["report"]["files"]["unchanged"], second["report"]["bytes_read"]) == (1, 0)


def test_what_a_rescan_did_for_people(ask: Any, clean: Any, reporting: Any) -> None:
    reporting(REPORT)
    answer = ask("rescan")
    clean(answer.out)
    assert answer.out.splitlines() == [
        "read 3 of 1,204 files · 1.5 MB · 42 new rows · 1.3 s",
        "not read: /home/dev/x.jsonl: Permission denied",
        "1 record said something else than before; the first was kept",
        "2 dead letters: see `transcript-indexer status`",
        "the memory holds 7 sessions, 5 prompts, 4 tool uses, 2 answers, 4 projects",
    ]


def test_a_rebuild_reads_all_of_it_again(call: Any, root: Path, tmp_path: Path) -> None:
    given = ("rescan", "--root", str(root), "--home", str(tmp_path / "new"), "--json")
    first = call(*given).json
    again = call(*given, "--rebuild").json
    assert again["counts"] == first["counts"]
    assert again["report"]["files"] == {"total": 1, "read": 1, "unchanged": 0, "from_archive": 0}


def test_a_rebuild_tells_what_it_had_from_the_archive(ask: Any, reporting: Any) -> None:
    reporting(REPORT._replace(files_archived=5))
    assert "and 5 files from the archive, which no longer stand on disk" in ask("rescan", "--rebuild").out


def test_problems_are_told_to_programs_as_they_are(ask: Any, reporting: Any) -> None:
    reporting(REPORT)
    report = ask("rescan", "--json").json["report"]
    assert report["problems"] == [{"file": "/home/dev/x\x1b[2J.jsonl", "reason": "Permission denied"}]
    assert (report["dead_letters"], report["conflicts"], report["rows_new"]) == (2, 1, 42)


def test_the_sample_is_named_as_such(ask: Any, reporting: Any) -> None:
    reporting(REPORT._replace(sample=True))
    assert ask("rescan").out.startswith("No transcripts were found, so a small bundled sample was read instead.")


def test_a_rescan_beside_another_writer_is_4(call: Any, root: Path, home: Path) -> None:
    lock = WriterLock(home)
    answer = call("rescan", "--root", str(root), "--home", str(home), "--json")
    lock.release()
    assert (answer.code, answer.json["error"]["kind"], answer.json["error"]["retryable"]) == (4, "busy", True)


def test_an_interrupted_rescan_says_how_to_go_on(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> Report:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "rescan", interrupted)
    assert ask("rescan") == (130, "", "interrupted; run it again to go on\n")
    assert ask("rescan", "--json").json["error"]["kind"] == "interrupted"
    assert ask("rescan", "--rebuild") == (130, "", "interrupted; the memory is as it was\n")


def test_progress_goes_to_stderr_and_not_into_the_answer(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def told(_: Config, tell: Callable[[Progress], None], *, rebuild: bool) -> Report:
        tell(progress(6.0))
        return REPORT

    monkeypatch.setattr(app, "rescan", told)
    answer = ask("rescan", "--json")
    assert answer.json["report"]["rows_new"] == 42
    assert answer.err == "2 of 1,204 files · 100 B of 400 B · 80,214 rows · 18 s left\n"


# --- its progress


def test_without_a_terminal_a_line_every_five_seconds() -> None:
    stream = io.StringIO()
    meter = feed.Meter(stream, terminal=False)
    for second in range(12):
        meter(progress(float(second)))
    meter.end()
    assert stream.getvalue().count("\n") == 2
    assert "\x1b" not in stream.getvalue()


def test_on_a_terminal_one_line_is_drawn_again() -> None:
    stream = io.StringIO()
    meter = feed.Meter(stream, terminal=True)
    for seconds in (0.0, 0.05, 0.1, 0.2):
        meter(progress(seconds))
    meter.end()
    assert stream.getvalue().count("\r\x1b[K") == 4
    assert stream.getvalue().endswith("\r\x1b[K")
    assert "\n" not in stream.getvalue()


def test_a_drawn_line_never_fills_the_last_column(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    stream = io.StringIO()
    feed.Meter(stream, terminal=True)(progress(2.0))
    assert len(stream.getvalue().removeprefix("\r\x1b[K")) == 29


def test_a_meter_that_drew_nothing_leaves_nothing() -> None:
    stream = io.StringIO()
    feed.Meter(stream, terminal=True).end()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("done", "total", "seconds", "left"),
    [
        (100, 400, 10.0, "30 s left"),
        (1, 7201, 1.0, "2 h 00 min left"),
        (0, 400, 9.0, ""),
        (400, 400, 9.0, ""),
    ],
)
def test_the_time_left(done: int, total: int, seconds: float, left: str) -> None:
    assert feed.progress_line(progress(seconds, done, total)).partition("rows")[2].removeprefix(" · ") == left


def test_no_time_left_is_guessed_at_the_very_start() -> None:
    assert "left" not in feed.progress_line(progress(0.5))


# --- watch


def watching(monkeypatch: pytest.MonkeyPatch, during: Callable[[threading.Event], None]) -> None:
    def watch(_: Config, stop: threading.Event) -> None:
        during(stop)
        assert stop.is_set()

    monkeypatch.setattr(app, "watch", watch)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130), (signal.SIGHUP, 0)])
def test_a_signal_stops_watching_in_good_order(
    ask: Any, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    watching(monkeypatch, lambda _: os.kill(os.getpid(), number))
    before = signal.getsignal(number)
    assert ask("watch") == (code, "", "")
    assert signal.getsignal(number) is before


def test_under_nohup_it_outlives_its_terminal(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang_up(stop: threading.Event) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not stop.is_set()
        stop.set()

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    watching(monkeypatch, hang_up)
    assert ask("watch").code == 0
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    signal.signal(signal.SIGHUP, before)


def test_a_second_ctrl_c_does_not_wait(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(_: threading.Event) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    watching(monkeypatch, twice)
    assert ask("watch").code == 130


def test_people_are_told_how_to_stop_it(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    watching(monkeypatch, threading.Event.set)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert ask("watch").err == "watching; Ctrl-C stops\n"


def test_a_service_that_ends_by_itself_is_0(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    watching(monkeypatch, threading.Event.set)
    assert ask("watch").code == 0


def test_watching_beside_another_writer_is_4(call: Any, root: Path, home: Path) -> None:
    lock = WriterLock(home)
    answer = call("watch", "--root", str(root), "--home", str(home), "--json")
    lock.release()
    events.silence()
    assert (answer.code, answer.json["error"]["kind"]) == (4, "busy")


def test_a_root_without_transcripts_is_said(call: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    answer = call("rescan", "--root", str(tmp_path / "empty"), "--home", str(tmp_path / "memory"))
    assert answer.code == 0
    assert f"there are no transcripts in {tmp_path}/empty" in answer.err


@pytest.mark.parametrize("more", [[], ["--rebuild"]])
def test_a_root_that_is_not_there_changes_nothing(call: Any, home: Path, tmp_path: Path, more: list[str]) -> None:
    before = {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()}
    answer = call("rescan", "--root", str(tmp_path / "nowhere"), "--home", str(home), *more)
    assert (answer.code, answer.out) == (1, "")
    assert answer.err.startswith(f"error: there is no folder {tmp_path}/nowhere\nhint: nothing was read")
    assert {path.name: path.read_bytes() for path in home.iterdir() if path.is_file()} == before


def test_a_root_that_is_not_there_makes_no_memory(call: Any, tmp_path: Path) -> None:
    call("rescan", "--root", str(tmp_path / "nowhere"), "--home", str(tmp_path / "memory"))
    assert not (tmp_path / "memory").exists()


def test_of_several_roots_those_that_are_there_are_read(call: Any, root: Path, tmp_path: Path) -> None:
    given = ("--root", str(root), "--root", str(tmp_path / "nowhere"), "--home", str(tmp_path / "new"))
    answer = call("rescan", *given)
    assert answer.code == 1
    assert f"not read: {tmp_path}/nowhere: there is no such folder" in answer.out
    assert "the memory holds 1 session, 1 prompt" in answer.out
