"""Each event counts once and logs once, and no line holds what was said in a transcript."""

from __future__ import annotations

import inspect
import io
import json
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator

import pytest

from indexer import errors, events

SECRET = "the words of a prompt"
EXAMPLES: dict[str, Callable[[], None]] = {
    "started": lambda: events.started("/home/dev/memory", ("/home/dev/.claude/projects",)),
    "stopped": lambda: events.stopped(12.5),
    "busy": lambda: events.busy("index.db"),
    "failed": lambda: events.failed("ingest", caught(ValueError(SECRET))),
    "stalled": lambda: events.stalled("ingest", 120),
    "recovered": lambda: events.recovered("ingest"),
    "ingested": lambda: events.ingested("/p/a.jsonl", lines=3, rows=2, size=900),
    "dead_letter": lambda: events.dead_letter("/p/a.jsonl", offset=10, length=5, reason="not-json"),
    "ignored": lambda: events.ignored("/p/a.jsonl", "progress"),
    "conflict": lambda: events.conflict("toolu_01", "content_hash"),
    "file_reset": lambda: events.file_reset("/p/a.jsonl", "shrank"),
    "file_moved": lambda: events.file_moved("/p/a.jsonl", "/q/a.jsonl"),
    "file_gone": lambda: events.file_gone("/p/a.jsonl"),
    "unreadable": lambda: events.unreadable("/p/a.jsonl", PermissionError(13, "Permission denied")),
    "compressed": lambda: events.compressed(sessions=2, turns=5, observations=4),
    "not_compressed": lambda: events.not_compressed("0b1c", "RecursionError"),
    "asked": lambda: events.asked(model="anthropic/claude-haiku-4-5", tokens=900, state="made"),
    "sweep": lambda: events.sweep(files=10, changed=1, missed=0, seconds=0.2),
    "watch_degraded": lambda: events.watch_degraded("no watches left"),
    "watch_restored": lambda: events.watch_restored(),
    "hints_lost": lambda: events.hints_lost(17),
    "embedder_failed": lambda: events.embedder_failed("use", errors.IndexerError("it is not installed")),
    "index_lost": lambda: events.index_lost("the vector index holds 3 of 5 documents"),
    "worker_started": lambda: events.worker_started(4711),
    "worker_ended": lambda: events.worker_ended(4711, -11),
}
NOT_EVENTS = {"configure", "silence", "snapshot", "troubles"}


def caught(error: Exception) -> Exception:
    """The error with the place it was raised at."""
    with pytest.raises(type(error)) as info:
        raise error
    return info.value


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    yield
    events.silence()


@pytest.fixture
def log() -> io.StringIO:
    stream = io.StringIO()
    events.configure("debug", "json", stream)
    return stream


def new(name: str, act: Callable[[], object]) -> int:
    before = events.snapshot().get(name, 0)
    act()
    return events.snapshot().get(name, 0) - before


def test_every_event_has_an_example() -> None:
    public = {name for name, value in inspect.getmembers(events, inspect.isfunction) if name[0] != "_"}
    assert public - NOT_EVENTS - {"cast"} == EXAMPLES.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_counts_once(name: str) -> None:
    assert new(name, EXAMPLES[name]) == 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_logs_one_line_named_after_itself(name: str, log: io.StringIO) -> None:
    EXAMPLES[name]()
    (line,) = log.getvalue().splitlines()
    assert json.loads(line)["event"] == name


@pytest.mark.parametrize("style", ["json", "text"])
def test_no_line_holds_a_transcripts_words(style: str) -> None:
    stream = io.StringIO()
    events.configure("debug", style, stream)
    for example in EXAMPLES.values():
        example()
    assert SECRET not in stream.getvalue()


def test_counts_without_being_configured() -> None:
    assert new("busy", lambda: events.busy("index.db")) == 1


def test_other_counters_stay() -> None:
    before = events.snapshot()
    events.busy("index.db")
    assert {**events.snapshot(), "busy": 0} == {**before, "busy": 0}


def test_a_snapshot_is_a_copy() -> None:
    events.snapshot()["busy"] = 10**9
    assert events.snapshot().get("busy", 0) < 10**9


def test_no_count_is_lost_between_threads() -> None:
    def many() -> None:
        for _ in range(2000):
            events.busy("index.db")

    def run() -> None:
        threads = [threading.Thread(target=many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert new("busy", run) == 8000


def test_a_line_has_time_and_level_first(log: io.StringIO) -> None:
    events.file_reset("/p/a.jsonl", "shrank")
    line = json.loads(log.getvalue())
    assert list(line) == ["time", "level", "event", "path", "why"]
    assert line["time"].endswith("Z")
    assert line["level"] == "warning"


def test_below_the_level_is_counted_only() -> None:
    stream = io.StringIO()
    events.configure("warning", "json", stream)
    assert new("file_moved", lambda: events.file_moved("a", "b")) == 1
    assert stream.getvalue() == ""


def test_text_carries_no_terminal_escapes() -> None:
    stream = io.StringIO()
    events.configure("info", "text", stream)
    events.file_moved("/p/\x1b[2Ja\n.jsonl", "/q")
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_text_is_for_reading() -> None:
    stream = io.StringIO()
    events.configure("info", "text", stream)
    events.watch_degraded("no watches left")
    assert stream.getvalue().endswith('Z warning watch_degraded why="no watches left"\n')


def test_auto_is_json_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    events.configure("info", "auto", stream)
    events.watch_restored()
    assert json.loads(stream.getvalue())["event"] == "watch_restored"


def test_auto_is_text_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    events.configure("info", "auto", stream)
    events.watch_restored()
    assert " info    watch_restored" in stream.getvalue()


def test_a_path_with_surrogates_can_be_logged(log: io.StringIO) -> None:
    events.file_gone("/p/\udcff.jsonl")
    assert json.loads(log.getvalue())["path"] == "/p/\udcff.jsonl"


def test_an_unexpected_error_is_named_with_its_place(log: io.StringIO) -> None:
    events.failed("ingest", caught(KeyError(SECRET)))
    line = json.loads(log.getvalue())
    assert line["error"] == "KeyError"
    assert line["at"].startswith("test_events.py:")


def test_our_own_errors_keep_their_message(log: io.StringIO) -> None:
    events.failed("ingest", errors.Busy("another writer holds the lock"))
    assert json.loads(log.getvalue())["reason"] == "another writer holds the lock"


def test_the_systems_errors_keep_their_reason(log: io.StringIO) -> None:
    events.unreadable("/p/a.jsonl", PermissionError(13, "Permission denied", "/p/a.jsonl"))
    assert json.loads(log.getvalue())["reason"] == "Permission denied"


def test_a_log_that_cannot_be_written_stops_nothing(log: io.StringIO) -> None:
    log.close()
    assert new("log_lost", lambda: events.busy("index.db")) == 1


def test_silence_goes_on_counting(log: io.StringIO) -> None:
    events.silence()
    assert new("busy", lambda: events.busy("index.db")) == 1
    assert log.getvalue() == ""


def test_structlog_is_loaded_only_when_configured() -> None:
    code = "import sys, indexer.events as e; e.busy('x'); sys.exit('structlog' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- the last troubles


@pytest.fixture
def untroubled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_troubles", deque(maxlen=events.KEPT))


@pytest.mark.usefixtures("untroubled")
def test_warnings_and_errors_are_kept_and_nothing_else() -> None:
    for example in EXAMPLES.values():
        example()
    kept = events.troubles()
    assert len(kept) == events.KEPT
    assert {one["level"] for one in kept} <= {"warning", "error"}
    assert SECRET not in json.dumps(kept)


@pytest.mark.usefixtures("untroubled")
def test_the_same_trouble_stands_once_at_its_last_time() -> None:
    events.stalled("the disk is full", 1)
    events.busy("index.db")
    events.stalled("the disk is full", 2)
    assert [(one["event"], one.get("seconds")) for one in events.troubles()] == [("busy", None), ("stalled", 2)]


@pytest.mark.usefixtures("untroubled")
def test_only_the_last_are_kept() -> None:
    for number in range(9):
        events.busy(f"{number}.db")
    assert [one["what"] for one in events.troubles()] == [f"{number}.db" for number in range(4, 9)]
