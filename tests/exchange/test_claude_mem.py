"""claude-mem's memory comes over whole, whatever its era, and in any order with the transcripts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from claude_mem_db import CALL, CALL_GONE, GONE, LONG, SECRET, SHOP, add, old, transcript, v13
from moving import differing, everything, rescanned, share_key, take_claude_mem
from stores import store
from transcripts import Transcript

from indexer.errors import CorruptDatabase, NotFound, UsageError
from indexer.exchange.claude_mem import answer, usual_place

ERAS = pytest.mark.parametrize("era", [v13, old])
Era = Callable[[Path], Path]


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    conn = store(home)
    found = [tuple(row) for row in conn.execute(sql)]
    conn.close()
    return found


@ERAS
def test_everything_comes_over(era: Era, tmp_path: Path) -> None:
    report = take_claude_mem(tmp_path / "home", era(tmp_path / "cm.db"))
    assert (report.prompts, report.memories >= 4, report.faulty) == (5, True, 0)
    titles = [title for (title,) in rows(tmp_path / "home", "SELECT title FROM observations ORDER BY title")]
    assert titles == ["Login fixed", "Nobody knows whose", "The attic lamp is broken"]
    everything(tmp_path / "home")


@ERAS
def test_twice_changes_nothing(era: Era, tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home", era(tmp_path / "cm.db"))
    before, ids = everything(tmp_path / "home"), rows(tmp_path / "home", "SELECT * FROM sqlite_sequence")
    report = take_claude_mem(tmp_path / "home", tmp_path / "cm.db")
    assert (report.prompts, report.tool_uses, report.memories) == (0, 0, 0)
    assert differing(everything(tmp_path / "home"), before) == {}
    assert rows(tmp_path / "home", "SELECT * FROM sqlite_sequence") == ids


@ERAS
def test_importing_before_or_after_the_transcripts_is_the_same(era: Era, tmp_path: Path) -> None:
    path = era(tmp_path / "cm.db")
    take_claude_mem(tmp_path / "first", path)
    rescanned(tmp_path / "first", transcript())
    share_key(tmp_path / "first", tmp_path / "last")
    rescanned(tmp_path / "last", transcript())
    take_claude_mem(tmp_path / "last", path)
    assert differing(everything(tmp_path / "first"), everything(tmp_path / "last")) == {}


@ERAS
def test_what_a_transcript_says_stands_once_in_its_words(era: Era, tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home", era(tmp_path / "cm.db"))
    rescanned(tmp_path / "home", transcript())
    sql = f"SELECT prompt_text FROM user_prompts WHERE content_session_id = '{SHOP}' ORDER BY prompt_number"
    assert rows(tmp_path / "home", sql) == [("fix the login",), (LONG.strip(),), ("claude-mem was off by now",)]
    assert rows(tmp_path / "home", f"SELECT count(*) FROM tool_uses WHERE tool_use_id = '{CALL}'") == [(1,)]


def test_a_call_gets_the_words_and_the_place_of_its_transcript(tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home")
    (imported,) = rows(tmp_path / "home", f"SELECT id FROM tool_uses WHERE tool_use_id = '{CALL}'")
    rescanned(tmp_path / "home", transcript())
    sql = f"SELECT id, record_uuid LIKE 'claude-mem:%', tool_response FROM tool_uses WHERE tool_use_id = '{CALL}'"
    assert rows(tmp_path / "home", sql) == [(*imported, 0, "2 passed")]


def test_equal_prompts_are_all_kept(tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home")
    sql = f"SELECT prompt_number, prompt_text FROM user_prompts WHERE content_session_id = '{GONE}' ORDER BY 1"
    assert rows(tmp_path / "home", sql) == [(1, "why is the attic dark"), (2, "go on"), (3, "go on")]


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home")
    assert [
        path for path in (tmp_path / "home").rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ] == []
    assert rows(
        tmp_path / "home", "SELECT narrative LIKE '%[REDACTED:%' FROM observations WHERE title LIKE '%lamp%'"
    ) == [(1,)]


def test_an_orphan_gets_a_session(tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home")
    sql = "SELECT content_session_id, project FROM sdk_sessions WHERE content_session_id = 'mem-lost'"
    assert rows(tmp_path / "home", sql) == [("mem-lost", "attic")]


def test_calls_stay_linked_to_what_was_made_of_them(tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home")
    rescanned(tmp_path / "home", transcript())
    sql = "SELECT t.tool_use_id, o.title FROM tool_uses t JOIN observations o ON o.id = t.observation_id ORDER BY 2"
    found = rows(tmp_path / "home", sql)
    assert (CALL, "Login fixed") in found
    assert (CALL_GONE, "The attic lamp is broken") in found


def test_to_dos_come_over_in_their_last_state(tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home")
    sql = "SELECT project, list_name, json_extract(fields, '$.status') FROM work_state_entries ORDER BY id"
    assert rows(tmp_path / "home", sql) == [("attic", "chores", "open"), ("attic", "chores", "done")]


def test_a_session_without_transcript_is_not_compressed_again(tmp_path: Path) -> None:
    take_claude_mem(tmp_path / "home")
    assert rows(tmp_path / "home", "SELECT count(*) FROM observation_origins") == [(0,)]


def test_a_slash_command_is_one(tmp_path: Path) -> None:
    path = v13(tmp_path / "cm.db")
    conn = sqlite3.connect(path)
    add(conn, "user_prompts", content_session_id=GONE, prompt_number=4, prompt_text="/clear", created_at="",
        created_at_epoch=1_793_523_700_000)  # fmt: skip
    conn.commit()
    conn.close()
    take_claude_mem(tmp_path / "home", path)
    assert rows(tmp_path / "home", "SELECT prompt_text FROM user_prompts WHERE prompt_kind = 'command'") == [
        ("/clear",)
    ]


@ERAS
def test_the_database_is_only_read(era: Era, tmp_path: Path) -> None:
    path = era(tmp_path / "cm" / "claude-mem.db")
    before = path.read_bytes(), path.stat().st_mtime_ns, path.parent.stat().st_mtime_ns
    take_claude_mem(tmp_path / "home", path)
    assert (path.read_bytes(), path.stat().st_mtime_ns, path.parent.stat().st_mtime_ns) == before


def test_what_stands_in_the_log_alone_comes_over_too(tmp_path: Path) -> None:
    path = v13(tmp_path / "cm" / "claude-mem.db")
    live = sqlite3.connect(path)
    live.execute("PRAGMA journal_mode = WAL")
    add(live, "observations", memory_session_id="mem-gone", project="attic", type="change", title="Fresh",
        created_at="", created_at_epoch=1_793_523_700_000)  # fmt: skip
    live.commit()
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    take_claude_mem(tmp_path / "home", path)
    assert rows(tmp_path / "home", "SELECT count(*) FROM observations WHERE title = 'Fresh'") == [(1,)]
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before
    live.close()


@ERAS
def test_a_damaged_database_leaves_nothing_behind(era: Era, tmp_path: Path) -> None:
    path = era(tmp_path / "cm.db")
    data = bytearray(path.read_bytes())
    data[4096:] = b"\x5a" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(CorruptDatabase):
        take_claude_mem(tmp_path / "home", path)
    assert list((tmp_path / "home").iterdir()) == []


def test_another_program_s_database_is_refused(tmp_path: Path) -> None:
    conn = sqlite3.connect(tmp_path / "photos.db")
    conn.execute("CREATE TABLE photos (name TEXT)")
    conn.close()
    with pytest.raises(CorruptDatabase, match="not a database of claude-mem"):
        take_claude_mem(tmp_path / "home", tmp_path / "photos.db")


def test_our_own_database_is_refused(tmp_path: Path) -> None:
    store(tmp_path / "other").close()
    with pytest.raises(CorruptDatabase, match="not a database of claude-mem"):
        take_claude_mem(tmp_path / "home", tmp_path / "other" / "index.db")


def test_what_is_no_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        take_claude_mem(tmp_path / "home", tmp_path / "nothing.db")
    with pytest.raises(UsageError):
        take_claude_mem(tmp_path / "home", tmp_path)


def test_the_usual_place_is_claude_mem_s_own(tmp_path: Path) -> None:
    assert usual_place({"HOME": "/home/dev"}) == Path("/home/dev/.claude-mem/claude-mem.db")
    assert usual_place({"CLAUDE_MEM_DATA_DIR": "/data"}) == Path("/data/claude-mem.db")


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        ('{"stdout":"a","stderr":"b"}', "a\nb"),
        ('{"stdout":"a","stderr":""}', "a"),
        ('"plain"', "plain"),
        ('[{"type":"text","text":"x"},{"type":"text","text":"y"}]', "x\ny"),
        ('{"content":[{"type":"text","text":"x"}]}', "x"),
        ('{"file":{"path":"a"}}', '{"file":{"path":"a"}}'),
        ("no json", "no json"),
    ],
)
def test_an_answer_is_what_the_tool_said(kept: str, said: str) -> None:
    assert answer(kept) == said


def test_a_call_with_a_weak_id_is_not_taken_again(tmp_path: Path) -> None:
    session = Transcript("shop", "/home/dev/shop")
    session.user("fix the login")
    session.call("Bash", {"command": "pytest"}, "call_0")
    path = v13(tmp_path / "cm.db")
    conn = sqlite3.connect(path)
    conn.execute(f"UPDATE tool_uses SET tool_use_id = 'call_0' WHERE content_session_id = '{SHOP}'")
    conn.commit()
    conn.close()
    rescanned(tmp_path / "home", session)
    assert take_claude_mem(tmp_path / "home", path).tool_uses == 1
    assert rows(tmp_path / "home", "SELECT count(*) FROM tool_uses WHERE tool_use_id = 'call_0'") == [(1,)]
    assert take_claude_mem(tmp_path / "home", path).tool_uses == 0
