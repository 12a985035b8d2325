"""store/redaction: a rule set is adopted once, and every stored text is taken through it, whatever interrupts."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from stores import check, content, store
from transcripts import Transcript

from indexer.compressors.base import Finding
from indexer.files.discover import discover
from indexer.ingest import Ingest
from indexer.project import Resolver
from indexer.redact import Redactor
from indexer.redaction_settings import Settings, user_rule
from indexer.sources.claude_code import ClaudeCode
from indexer.store import redaction, refined

OLD = Redactor(b"k" * 32)
NEW = Redactor(b"k" * 32, Settings((user_rule("badge", "BADGE-[0-9]{4}", "BADGE-"),)))
BADGE = "BADGE-1234"


def session(name: str = "a", version: str = "2.1.240") -> Transcript:
    """A transcript with a badge in every place that is stored."""
    made = Transcript(name, version=version)
    made.user(f"my {BADGE} please")
    made.text(f"got {BADGE}")
    made.tool("Bash", {"command": f"echo {BADGE}"}, f"{BADGE}\n", toolUseResult={"stdout": BADGE, "interrupted": True})
    made.tool("Write", {"file_path": f"/x/{BADGE}", "content": BADGE * 9000}, "ok")
    made.result("toolu_01" + "x" * 22, f"no call for {BADGE}")
    made.plain("custom-title", customTitle=f"about {BADGE}")
    made.plain("summary", summary=f"sum {BADGE}", leafUuid=made.records[0]["uuid"])
    made.plain("queue-operation", operation="enqueue", content=f"queued {BADGE}", timestamp="2026-11-01T10:00:00Z")
    made.user("isCompactSummary " + BADGE, isCompactSummary=True)
    return made


def filled(home: Path, root: Path, redactor: Redactor = OLD, version: str = "2.1.90") -> sqlite3.Connection:
    session(version=version).write(root)
    conn = store(home)
    redaction.adopt(conn, redactor.rules)
    return read(conn, root, redactor)


def read(conn: sqlite3.Connection, root: Path, redactor: Redactor) -> sqlite3.Connection:
    source = ClaudeCode()
    reader = Ingest(conn, source, Resolver(), redactor=redactor)
    for _ in reader.run(list(discover([str(root)], source))):
        pass
    return conn


def renew(conn: sqlite3.Connection, redactor: Redactor = NEW) -> Counter[str]:
    redaction.adopt(conn, redactor.rules)
    changed: Counter[str] = Counter()
    for step in redaction.reapply(conn, redactor):
        changed += step
    return changed


def dump(conn: sqlite3.Connection) -> str:
    """All texts of all tables, and the words of the index."""
    tables = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    texts = [repr(row) for table in tables for row in conn.execute(f"SELECT * FROM {table}")]
    conn.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, search_fts, row)")
    return "\n".join(texts) + repr(conn.execute("SELECT term FROM temp.words").fetchall())


# --- adopting


def test_a_new_memory_takes_the_rules_as_they_are(tmp_path: Path) -> None:
    conn = store(tmp_path)
    assert redaction.adopt(conn, "a") == 1
    assert conn.execute("SELECT number, rules, pending FROM redaction").fetchall() == [(1, "a", None)]


def test_the_same_rules_are_adopted_once(tmp_path: Path) -> None:
    conn = store(tmp_path)
    assert [redaction.adopt(conn, rules) for rules in ("a", "a", "b", "b", "a")] == [1, 1, 2, 2, 3]


def test_other_rules_have_every_file_read_again(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    redaction.adopt(conn, NEW.rules)
    assert conn.execute("SELECT size, parser_version FROM ingest_files").fetchall() == [(-1, -1)]
    assert conn.execute("SELECT count(*) FROM stale_files").fetchone() == (1,)


def test_what_was_stored_before_there_were_rules_is_gone_over(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    conn.execute("DELETE FROM redaction")
    assert renew(conn)["user_prompts"] == 1
    assert conn.execute("SELECT count(*) FROM stale_files").fetchone() == (1,)


# --- going over the texts


def test_every_stored_text_is_taken_through_the_rules(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    assert "1234" in dump(conn)
    changed = renew(conn)
    assert changed.keys() >= {
        *("sdk_sessions", "user_prompts", "assistant_texts", "tool_uses", "unmatched_results", "turn_events"),
        *("session_titles", "session_files", "queue_operations"),
    }
    assert BADGE not in dump(conn)
    assert "badge 1234" not in dump(conn)
    check(conn)


def test_nothing_changes_the_second_time(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    renew(conn)
    before = content(conn)
    redaction.adopt(conn, NEW.rules, again=True)
    assert sum((step for step in redaction.reapply(conn, NEW)), Counter()) == Counter()
    assert content(conn) == before


def test_with_nothing_pending_there_is_no_step(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    assert list(redaction.reapply(conn, OLD)) == []


def test_hashes_and_index_follow_their_texts(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    renew(conn)
    fresh = filled(tmp_path / "fresh", tmp_path / "root", NEW)
    of_prompts = "SELECT prompt_text, native_prompt_hash FROM user_prompts"
    of_calls = "SELECT tool_input, tool_response, input_hash, content_hash FROM tool_uses WHERE tool_name = 'Bash'"
    of_index = "SELECT id, title, body FROM search_texts WHERE detail IS NOT 'Write'"
    for sql in (of_prompts, of_calls, of_index):
        assert conn.execute(sql).fetchall() == fresh.execute(sql).fetchall(), sql


def test_a_call_on_a_secret_file_is_emptied(tmp_path: Path) -> None:
    made = Transcript("b")
    made.tool("Read", {"file_path": "/x/a.hush"}, "tame")
    made.tool("Write", {"file_path": "/x/b.hush", "content": "wild " * 20_000}, "ok")
    made.write(tmp_path / "root")
    conn = filled(tmp_path / "home", tmp_path / "root")
    renew(conn, Redactor(b"k" * 32, Settings(secret_files=(re.compile(".*[.]hush"),))))
    assert "tame" not in dump(conn)
    assert "wild" not in dump(conn)
    paths = [path for (path,) in conn.execute("SELECT file_path FROM tool_uses ORDER BY id") if path and "hush" in path]
    assert paths == ["/x/a.hush", "/x/b.hush"]


# --- interrupted


def test_killed_after_any_step_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "STEP_ROWS", 1)
    conn = filled(tmp_path / "home", tmp_path / "root")
    redaction.adopt(conn, NEW.rules)
    steps = 0
    while next(redaction.reapply(conn, NEW), None) is not None:
        steps += 1
    assert steps > 12
    assert BADGE not in dump(conn)


def test_a_step_that_fails_leaves_nothing_half_done(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    redaction.adopt(conn, NEW.rules)
    asked = iter(range(1000))
    failing = 60
    conn.set_authorizer(lambda *_: sqlite3.SQLITE_DENY if next(asked) == failing else sqlite3.SQLITE_OK)
    with pytest.raises(sqlite3.DatabaseError):
        list(redaction.reapply(conn, NEW))
    conn.set_authorizer(None)
    assert not conn.in_transaction
    renew(conn)
    assert BADGE not in dump(conn)


# --- reading again


def test_reading_again_by_other_rules_gives_what_a_new_memory_holds(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    renew(conn)
    read(conn, tmp_path / "root", NEW)
    fresh = filled(tmp_path / "fresh", tmp_path / "root", NEW)
    mine, theirs = content(conn), content(fresh)
    assert {name: rows for name, rows in mine.items() if rows != theirs[name]} == {}
    assert conn.execute("SELECT count(*) FROM stale_files").fetchone() == (0,)
    check(conn)


def test_of_two_copies_in_a_session_the_better_one_is_renewed(tmp_path: Path) -> None:
    """A file that is not named for the session repeats its prompt at another time, and is read last."""
    made = Transcript("a")
    made.user(f"my {BADGE} please")
    path = made.write(tmp_path / "root")
    copy = made.records[0] | {"timestamp": "2026-11-20T09:00:00.000Z"}
    path.with_name("zz.jsonl").write_text(json.dumps(copy) + "\n", encoding="utf-8")
    conn = store(tmp_path / "home")
    redaction.adopt(conn, OLD.rules)
    read(conn, tmp_path / "root", OLD)
    times = conn.execute("SELECT created_at_epoch FROM user_prompts").fetchall()
    renew(conn)
    read(conn, tmp_path / "root", NEW)
    assert conn.execute("SELECT created_at_epoch FROM user_prompts").fetchall() == times


def test_old_marks_are_replaced_without_conflict_or_new_row(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root", NEW)
    renew(conn, OLD)
    assert "[REDACTED:badge:" in dump(conn)
    source = ClaudeCode()
    reader = Ingest(conn, source, Resolver(), redactor=OLD)
    done = [one.written for one in reader.run(list(discover([str(tmp_path / "root")], source)))]
    assert sum(one.conflicts + one.prompts + one.tool_uses + one.messages for one in done) == 0
    assert "[REDACTED:badge:" not in dump(conn)
    assert "my BADGE-1234 please" in dump(conn)


def test_a_real_conflict_is_still_one(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root")
    path = next((tmp_path / "root").rglob("*.jsonl"))
    path.write_bytes(path.read_bytes().replace(b"please", b"perhaps"))
    source = ClaudeCode()
    reader = Ingest(conn, source, Resolver(), redactor=OLD)
    done = [one.written for one in reader.run(list(discover([str(tmp_path / "root")], source)))]
    assert sum(one.conflicts for one in done) == 1


def test_the_queue_of_old_clients_is_redacted(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "root", NEW)
    texts = json.dumps(conn.execute("SELECT text FROM queue_operations").fetchall())
    assert "queued [REDACTED:badge:" in texts


def test_what_a_model_said_is_redacted(tmp_path: Path) -> None:
    conn = filled(tmp_path / "home", tmp_path / "projects")
    found = (Finding("bugfix", f"of {BADGE}", "", f"it is {BADGE}", (BADGE,), (), ()),)
    refined.put(conn, "t", refined.Row("h", "made", "m/1", 1, None, f"said {BADGE}", found, 1), error=f"no {BADGE}")
    renew(conn)
    row = conn.execute("SELECT made || amiss || error FROM model_turns").fetchone()[0]
    assert (row.count("[REDACTED:badge:"), BADGE in row) == (5, False)
    assert refined.of_turns(conn, ["t"])["t"].findings[0].title.startswith("of [REDACTED:badge:")
