from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from indexer import app
from indexer.store import sizes
from indexer.store.connection import WriterLock
from indexer.store.vectors import Held, Vectors, open_store
from indexer.worker import client


@pytest.fixture
def vectors(home: Path) -> Iterator[Vectors]:
    """Where vectors are kept; all of the memory's rows are taken in, and one document has its vector."""
    made = open_store(home)
    made.add_model(app.spec("use").model, "use")
    rows = [Held(8 * n, "prompt", "", None, None, 1, 1, b"s", ((f"{n}", bytes([n]), False),)) for n in range(1, 5)]
    made.take_in(rows, [app.spec("use").model])
    made.add_vectors(app.spec("use").model, {b"\x01": b"v"}, [8], latin=False)
    yield made
    made.close()


@pytest.mark.usefixtures("vectors")
def test_how_far_vectors_are(ask: Any) -> None:
    state = ask("status", "--json").json["vectors"]
    assert (state["taken_in"], state["worker"], state["trouble"]) == (4, False, None)
    assert (state["arms"][0]["documents"], state["arms"][0]["vectors"]) == (4, 1)
    assert "use 25 % · minilm 0 %" in ask("status").out


def test_before_there_are_vectors(ask: Any) -> None:
    state = ask("status", "--json").json["vectors"]
    assert (state["taken_in"], state["arms"]) == (0, [])
    assert "rows not taken in yet · no worker running" in ask("status").out


def test_models_of_which_nothing_is_taken_in_have_no_share(ask: Any, home: Path) -> None:
    open_store(home).close()
    made = open_store(home)
    made.add_model(app.spec("use").model, "use")
    made.close()
    assert "use 0 % · minilm 0 % · " in ask("status").out


def test_vectors_that_are_switched_off(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_VECTORS", "none")
    assert ask("status", "--json").json["vectors"] is None
    assert "switched off" in ask("status").out


@pytest.mark.usefixtures("vectors")
def test_an_index_that_is_being_rebuilt_is_told_of(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"index": {"open": False, "trouble": "the vector index is being rebuilt"}}
    monkeypatch.setattr(client, "alive", lambda _: True)
    monkeypatch.setattr(client, "request", lambda *_: said)
    assert "the vector index is being rebuilt" in ask("status").out


def test_a_worker_that_does_not_answer_is_told_of(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "alive", lambda _: True)
    assert "no vector worker" in ask("status", "--json").json["vectors"]["trouble"]


def test_the_state_for_programs(ask: Any, home: Path) -> None:
    answer = ask("status", "--json").json
    assert list(answer["counts"].items()) == [
        *(("sessions", 7), ("prompts", 5), ("tool_uses", 4), ("assistant_messages", 2)),
        *(("projects", 4), ("dead_letters", 3)),
        *(("observations", 2), ("summaries", 1), ("pending_turns", 6), ("failed_turns", 0)),
    ]
    assert answer["database"]["path"] == str(home / "index.db")
    assert answer["database"]["size_bytes"] > 100_000
    assert answer["files"] == {"known": 5, "active": 3, "gone": 1, "unreadable": 1}
    assert answer["ignored"] == {"progress": 8, "mode": 2}
    assert answer["last_commit"] == "2026-11-21T10:01:00.000Z"
    assert (answer["unmatched_results"], answer["writer"], answer["watcher"]) == (
        1,
        {"running": False, "pid": None},
        None,
    )


def test_sizes_by_table_are_told_of_a_small_memory(ask: Any) -> None:
    tables = ask("status", "--json").json["database"]["tables"]
    assert tables["bytes"]["user_prompts"] > 0
    assert isinstance(tables["exact"], bool)
    (line,) = [line for line in ask("status").out.splitlines() if line.startswith("of that")]
    assert line.count(" kB") + line.count(" MB") == 6
    assert "the rest" in line


def test_of_a_large_one_when_asked_for(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "QUICK", 0)
    assert ask("status", "--json").json["database"]["tables"] is None
    assert "sizes by table: --sizes" in ask("status").out
    assert ask("status", "--json", "--sizes").json["database"]["tables"]["bytes"]["tool_uses"] > 0


def test_sizes_without_dbstat_are_said_to_be_less(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "_EXACT", "SELECT * FROM dbstats")
    assert "without indexes" in ask("status").out


def test_dead_letters_say_where_and_why(ask: Any) -> None:
    letters = ask("status", "--json", "--dead-letters", "2").json["dead_letters"]
    assert letters[1] == {
        "file": "/home/dev/.claude/projects/shop/1.jsonl",
        "offset": 400,
        "length": 12,
        "line": 6,
        "reason": "NUL bytes",
    }


def test_unreadable_files_say_why(ask: Any) -> None:
    found = ask("status", "--json").json["unreadable"]
    assert found == [{"file": "/home/dev/.claude/projects/old/4.jsonl", "reason": "Permission denied"}]


def test_the_state_for_people(ask: Any, home: Path) -> None:
    out = ask("status", "--dead-letters", "2").out
    assert "holds" in out
    assert "7 sessions · 5 prompts · 4 tool uses · 2 answers · 4 projects" in out
    assert "5 files · 3 followed · 1 gone (their memory stays)" in out
    assert "2026-11-21 10:01 UTC" in out
    assert "10 records without prompt, answer or tool call" in out
    assert "unreadable /home/dev/.claude/projects/old/4.jsonl: Permission denied" in out
    assert "3 dead letters: bytes that are no record (1 more: --dead-letters 3)" in out
    assert "/shop/1.jsonl:6  byte 400, 12 bytes: NUL bytes" in out


def test_nothing_repaints_the_terminal(ask: Any, clean: Any) -> None:
    clean(ask("status").out)
    clean(ask("status", "--color", "always").out)


def test_a_memory_without_trouble_is_short(ask: Any, edit: Any) -> None:
    for table in ("dead_letters", "unmatched_results"):
        edit(f"DELETE FROM {table}")
    edit("UPDATE ingest_files SET status = 'active', ignored = '{}', committed_at = NULL")
    out = ask("status").out
    assert "never" in out
    assert not [word for word in ("dead", "unreadable", "passed over", "without a call") if word in out]


def test_what_was_of_an_unknown_form_or_spoilt_is_told_apart(ask: Any, edit: Any) -> None:
    edit("""UPDATE ingest_files SET ignored = '{"malformed-message": 1, "invalid-utf-8": 2}'""")
    lines = ask("status").out.splitlines()
    assert any(line.startswith("not kept") and line.endswith("  5 records of an unknown form") for line in lines)
    assert any(line.startswith("spoilt characters") and line.endswith("  10 records") for line in lines)


# --- how far behind


def test_what_has_grown_since_is_counted_now(ask: Any, edit: Any, tmp_path: Path) -> None:
    grown, shrunk = tmp_path / "grown.jsonl", tmp_path / "shrunk.jsonl"
    grown.write_bytes(b"x" * 950)
    shrunk.write_bytes(b"x" * 40)
    edit("UPDATE ingest_files SET path = ? WHERE id = 1", str(grown))
    edit("UPDATE ingest_files SET path = ? WHERE id = 3", str(shrunk))
    behind = ask("status", "--json").json["behind"]
    assert (behind["files"], behind["bytes"], behind["oldest_seconds"] < 60) == (2, 50 + 40, True)
    assert "90 B · 2 files · the oldest for " in ask("status").out


def test_files_that_are_not_there_are_not_behind(ask: Any) -> None:
    assert ask("status", "--json").json["behind"] == {"files": 0, "bytes": 0, "oldest_seconds": None}
    assert "nothing" in ask("status").out


def test_a_path_that_no_system_takes_is_not_behind(ask: Any, edit: Any) -> None:
    edit("UPDATE ingest_files SET path = 'a' || char(0) || 'b' WHERE id = 1")
    assert ask("status", "--json").json["behind"]["files"] == 0


# --- the service


@pytest.fixture
def writer(home: Path) -> Iterator[WriterLock]:
    lock = WriterLock(home)
    yield lock
    lock.release()


SAID: dict[str, Any] = {
    "mode": "polling",
    "reason": "no watches left\x1b[2J",
    "remedy": "raise fs.inotify.max_user_watches",
    "lag_bytes": 2048,
    "pending_files": 2,
    "eta_seconds": 12.5,
    "progress_at": 1795168700000,
    "troubles": [{"event": "stalled", "level": "warning", "what": "busy", "seconds": 2, "at": 1795168700000}],
    "updated_at": 1795168800000,
    "pid": os.getpid(),
}


@pytest.mark.usefixtures("writer")
def test_a_running_service_is_shown_with_what_it_says(ask: Any, clean: Any, home: Path) -> None:
    (home / "status.json").write_text(json.dumps(SAID), encoding="utf-8")
    answer = ask("status", "--json").json
    assert answer["writer"] == {"running": True, "pid": os.getpid()}
    expected = {name: value for name, value in SAID.items() if name != "pid"}
    at = "2026-11-20T09:58:20.000Z"
    times = {"updated_at": "2026-11-20T10:00:00.000Z", "progress_at": at}
    assert answer["watcher"] == expected | times | {"troubles": [SAID["troubles"][0] | {"at": at}]}
    out = ask("status").out
    clean(out)
    assert f"running, pid {os.getpid()}" in out
    assert "polling · 2.0 kB behind · as of 2026-11-20 10:00 UTC" in out
    lines = [line.split("  ", 1) for line in out.splitlines()]
    told = {line[0]: line[1].strip() for line in lines if len(line) > 1}
    assert told["last errors"] == "stalled: busy (2026-11-20 09:58 UTC)"
    assert (told["trouble"], told["what to do"]) == ("no watches left", "raise fs.inotify.max_user_watches")


def test_what_a_dead_service_said_is_not_shown(ask: Any, home: Path) -> None:
    (home / "status.json").write_text(json.dumps(SAID), encoding="utf-8")
    assert ask("status", "--json").json["watcher"] is None
    assert "polling" not in ask("status").out
    assert "none; `transcript-indexer watch` keeps the memory up to date" in ask("status").out


@pytest.mark.usefixtures("writer")
def test_what_the_service_before_it_said_is_not_shown(ask: Any, home: Path) -> None:
    (home / "status.json").write_text(json.dumps(SAID | {"pid": 1}), encoding="utf-8")
    assert ask("status", "--json").json["watcher"] is None


@pytest.mark.usefixtures("writer")
@pytest.mark.parametrize("text", ["", "{", "[]", '"x"', "\udcff"])
def test_a_report_that_cannot_be_read_is_none(ask: Any, home: Path, text: str) -> None:
    (home / "status.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert ask("status", "--json").json["watcher"] is None


@pytest.mark.usefixtures("writer")
def test_a_report_may_lack_everything(ask: Any, home: Path) -> None:
    said = {"lag_bytes": "much", "updated_at": "now", "pid": os.getpid()}
    (home / "status.json").write_text(json.dumps(said), encoding="utf-8")
    assert ask("status").code == 0


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long was waited; Ctrl-C comes in the second wait."""
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", wait)
    return waits


def test_watching_shows_it_again_until_interrupted(ask: Any, twice: list[float]) -> None:
    answer = ask("status", "--watch", "7")
    assert (answer.code, twice) == (130, [7, 7])
    assert answer.out.count("transcripts ") == 2
    assert "\x1b" not in answer.out


def test_watching_for_programs_is_a_line_a_time(ask: Any, twice: list[float]) -> None:
    lines = ask("status", "--watch", "--json").out.splitlines()
    assert [json.loads(line)["schema_version"] for line in lines[:2]] == [1, 1]
    assert twice == [2, 2]


def test_watching_in_a_terminal_begins_at_its_top(
    ask: Any, twice: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert ask("status", "--watch", "--color", "never").out.count("\x1b[H\x1b[2J") == 1


def test_a_wait_of_nothing_is_refused(ask: Any) -> None:
    assert ask("status", "--watch", "0").code == 2


# --- health and what to do next


def test_the_health_stands_first_and_the_next_commands_last(ask: Any, home: Path) -> None:
    lines = ask("status").out.splitlines()
    assert lines[0].split("  ", 1)[1].strip().startswith("unwatched: nothing keeps it up to date")
    following = lines[lines.index("next") + 1 :]
    assert following[:2] == [
        "  nothing keeps it up to date",
        f"    transcript-indexer service install --home {home}",
    ]
    assert f"    transcript-indexer status --dead-letters 3 --home {home}" in following


def test_the_same_for_programs_and_health(ask: Any) -> None:
    answer = ask("status", "--json").json
    assert answer["health"]["state"] == "unwatched"
    assert answer["next"][0]["command"].startswith("transcript-indexer service install --home")
    assert {one["about"] for one in answer["next"]} >= {
        "service-unwatched",
        "unreadable",
        "dead-letters",
        "to-compress",
    }
    assert all(one["message"] and one["command"] for one in answer["next"])


def test_the_budget_is_told_where_nothing_is_spent(ask: Any) -> None:
    assert "no token spent" in ask("status").out


def test_what_was_imported_is_counted_by_where_it_comes_from(ask: Any) -> None:
    assert ask("status", "--json").json["imported"] == [{"origin_device_id": "claude-mem", "records": 1, "memories": 1}]
    assert "claude-mem: 1 record, 1 memory" in ask("status").out
