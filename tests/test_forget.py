"""Forgetting as a user meets it: nothing of it is found, in the memory or in any byte of its files."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Set
from pathlib import Path

import pytest
from daemons import settings
from forgetting import FORK, MARK, SHARED, holding, lay, words_of
from stores import check
from transcripts import Transcript

from indexer import app, forget
from indexer.config import Config
from indexer.errors import Busy
from indexer.store import erasing
from indexer.store.connection import Connection, WriterLock, open_writer


class Past:
    """A memory of the history, and its transcripts."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "projects"
        self.made = lay(self.root)
        self.config: Config = settings(self.home, self.root)
        app.rescan(self.config)

    @property
    def gone(self) -> Transcript:
        return self.made["gone"]

    def forget(self, *sessions: str) -> bool:
        return app.forget(self.config, sessions or (self.gone.session_id,), ())

    def found(self, word: str) -> int:
        conn = open_writer(self.home)
        sql = "SELECT count(*) FROM search_fts WHERE search_fts MATCH ?"
        count = int(conn.execute(sql, (f"{word}*",)).fetchone()[0])
        check(conn)
        conn.close()
        return count

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        conn = open_writer(self.home)
        found = conn.execute(sql).fetchall()
        conn.close()
        return found

    def is_clean(self) -> bool:
        return self.found(MARK) == 0 and holding(self.home, *words_of(self.made)) == []


@pytest.fixture
def past(tmp_path: Path) -> Past:
    return Past(tmp_path)


def test_it_was_there_before(past: Past) -> None:
    assert past.found(MARK) == 8
    assert "index.db" in holding(past.home, MARK)
    assert len(words_of(past.made)) > 8


def test_no_byte_of_it_is_left_in_any_file(past: Past) -> None:
    assert past.forget()
    assert past.is_clean()


def test_it_does_not_come_back_with_a_rescan(past: Past) -> None:
    past.forget()
    for _ in range(2):
        app.rescan(past.config)
        assert past.is_clean()


def test_a_file_that_holds_nothing_else_is_not_read_again(past: Past) -> None:
    past.forget()
    app.rescan(past.config)
    assert app.rescan(past.config).files_read == 0


def test_it_does_not_come_back_with_a_copy_under_another_name(past: Past) -> None:
    past.forget()
    shutil.copy(past.gone.path(past.root), past.root / "-home-dev-shop" / "zqgonecopy.jsonl")
    app.rescan(past.config)
    assert past.is_clean()


def test_it_does_not_come_back_when_its_file_was_moved_or_grows(past: Past) -> None:
    past.forget()
    path = past.gone.path(past.root)
    path.rename(moved := path.with_name("zqgonemoved.jsonl"))
    past.gone.user(f"{MARK}later")
    moved.write_bytes(past.gone.data)
    app.rescan(past.config)
    assert past.is_clean()


def test_a_session_that_resumes_it_later_has_what_is_new_only(past: Past) -> None:
    past.forget()
    later = past.gone.fork("later")
    later.user("zqlater prompt")
    later.write(past.root)
    app.rescan(past.config)
    assert past.found("zqlater") == 1
    assert past.found(MARK) == 0
    assert holding(past.home, MARK + "prompt", MARK + "result", past.gone.session_id) == []


def test_a_fork_keeps_what_it_shared(past: Past) -> None:
    before = past.found(SHARED)
    past.forget()
    assert before == 3
    assert past.found(SHARED) == 3
    assert past.found(FORK) == 2
    owners = past.rows("SELECT DISTINCT content_session_id FROM user_prompts WHERE prompt_text LIKE 'zqshared%'")
    assert owners == [(past.made["fork"].session_id,)]


def test_a_fork_keeps_it_when_no_transcript_stands_any_more(past: Past) -> None:
    shutil.rmtree(past.root)
    past.root.mkdir()
    past.forget()
    app.rescan(past.config)
    assert (past.found(SHARED), past.found(FORK), past.found("zqother")) == (3, 2, 2)
    assert past.is_clean()


def test_the_origin_can_be_forgotten_after_its_fork(past: Past) -> None:
    past.forget(past.made["fork"].session_id)
    assert (past.found(SHARED), past.found(FORK)) == (3, 0)
    past.forget()
    assert past.found(SHARED) == 0
    app.rescan(past.config)
    assert holding(past.home, MARK, SHARED, FORK) == []


def test_both_at_once_take_what_they_shared(past: Past) -> None:
    past.forget(past.gone.session_id, past.made["fork"].session_id)
    app.rescan(past.config)
    assert holding(past.home, MARK, SHARED, FORK) == []
    assert past.found("zqother") == 2


def test_all_that_is_forgotten_stays_so_in_a_memory_that_is_empty_then(past: Past) -> None:
    past.forget(*(made.session_id for made in past.made.values()))
    report = app.rescan(past.config)
    assert report.rows_new == 0
    assert past.rows("SELECT * FROM sdk_sessions") == []


def test_one_prompt_goes_from_every_session_that_shows_it(past: Past) -> None:
    ((uuid,),) = past.rows("SELECT native_prompt_id FROM user_prompts WHERE prompt_text LIKE 'zqshared%'")
    assert app.forget(past.config, (), (str(uuid),))
    assert past.found(f"{SHARED} prompt") == 0
    app.rescan(past.config)
    assert holding(past.home, f"{SHARED} prompt", str(uuid)) == []
    assert past.found("zqother") == 2


def test_a_queued_prompt_is_not_made_again_of_its_line(past: Past) -> None:
    ((uuid,),) = past.rows("SELECT native_prompt_id FROM user_prompts WHERE prompt_text LIKE '%queued words'")
    app.forget(past.config, (), (str(uuid),))
    past.gone.user("go on")
    past.gone.write(past.root)
    app.rescan(past.config)
    assert holding(past.home, "queued words") == []


def test_a_lost_key_is_said_and_nothing_is_read(past: Past) -> None:
    past.forget()
    (past.home / "key").unlink()
    past.gone.user("more")
    past.gone.write(past.root)
    with pytest.raises(Exception, match="not the key"):
        app.rescan(past.config)


# --- readers


def test_with_a_reader_at_work_it_says_so_and_ends_later(past: Past) -> None:
    conn = open_writer(past.home)
    reader = sqlite3.connect(f"file:{past.home}/index.db?mode=ro", uri=True, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM user_prompts").fetchone()
    conn.execute("PRAGMA busy_timeout = 0")
    erasing.begin(conn, [past.gone.session_id], [])
    assert not forget.resume(conn, past.home, wait=False)
    assert erasing.pending(conn)
    reader.close()
    assert forget.resume(conn, past.home)
    conn.close()
    assert past.is_clean()


def test_a_side_file_that_a_killed_load_left_goes_too(past: Past) -> None:
    (past.home / "index.db.build").write_text(MARK)
    past.forget()
    assert past.is_clean()


# --- other places


class Shelf:
    """A sink that may fail."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.told: list[tuple[Set[str], Set[str]]] = []

    def erase(self, conn: Connection, sessions: Set[str], uuids: Set[str]) -> None:
        self.told.append((sessions, uuids))
        if self.errors:
            raise self.errors.pop()


def test_a_sink_is_told_what_goes(past: Past) -> None:
    shelf, conn = Shelf(), open_writer(past.home)
    assert forget.forget(conn, past.home, [past.gone.session_id], [], [shelf])
    conn.close()
    ((sessions, uuids),) = shelf.told
    kept = {record.get("uuid") for record in past.made["fork"].records}
    assert sessions == {past.gone.session_id}
    assert len(uuids) > 10
    assert not uuids & kept


def test_a_sink_that_fails_is_told_again_by_the_next_writer(past: Past) -> None:
    shelf, conn = Shelf(OSError("disk")), open_writer(past.home)
    with pytest.raises(OSError, match="disk"):
        forget.forget(conn, past.home, [past.gone.session_id], [], [shelf])
    assert erasing.rows_pending(conn)
    assert forget.resume(conn, past.home, [shelf])
    conn.close()
    assert shelf.told[0] == shelf.told[1]
    assert past.is_clean()


def test_a_rescan_takes_up_what_was_cut_off(past: Past) -> None:
    conn = open_writer(past.home)
    erasing.begin(conn, [past.gone.session_id], [])
    conn.close()
    app.rescan(past.config)
    assert past.is_clean()


def test_while_another_writes_that_is_no_service_it_is_busy(past: Past) -> None:
    lock = WriterLock(past.home)
    try:
        with pytest.raises(Busy, match="is writing to"):
            past.forget()
    finally:
        lock.release()


def test_a_folder_that_no_session_names_any_more_goes(past: Past) -> None:
    lone = Transcript("lone", "/home/dev/zqlone")
    lone.user("hello")
    lone.write(past.root)
    app.rescan(past.config)
    assert holding(past.home, "zqlone") != []
    past.forget(lone.session_id)
    app.rescan(past.config)
    assert holding(past.home, "zqlone") == []
    assert past.rows("SELECT project_key FROM projects") == [("/home/dev/shop",)]
