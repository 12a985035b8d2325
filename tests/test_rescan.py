"""Everything that stands on disk, once: first load, additions, interruptions, the bundled sample."""

from __future__ import annotations

import errno
import gc
import os
import shutil
import sqlite3
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from daemons import settings
from memories import consistent, prompts
from stores import content, memory_of, store
from transcripts import Transcript, uid

from indexer import failpoints, ingest, share
from indexer import rescan as module
from indexer.config import Config
from indexer.errors import Busy, CorruptDatabase, NewerDatabase
from indexer.files.tail import open_source
from indexer.rescan import Progress, Report, rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store import bulk, removal
from indexer.store.connection import WriterLock, database_path, open_reader, writer_alive


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "projects"
    made.mkdir()
    return made


@pytest.fixture
def config(tmp_path: Path, root: Path) -> Config:
    return settings(tmp_path / "home", root)


def talk(name: str, *texts: str, cwd: str = "/home/dev/shop") -> Transcript:
    made = Transcript(name, cwd)
    for text in texts:
        made.user(text)
        made.tool("Bash", {"command": "ls"}, text)
        made.text(f"answer to {text}")
    return made


def run(config: Config, **how: Any) -> Report:
    return rescan(config, ClaudeCode(), {}, **how)


def remembered(config: Config) -> list[str]:
    conn = open_reader(config.home)
    found = sorted(prompts(conn))
    conn.close()
    return found


def held(config: Config) -> dict[str, list[tuple[object, ...]]]:
    conn = store(config.home)
    consistent(conn)
    found = content(conn)
    conn.close()
    return found


# -- loading and adding ----------------------------------------------------------------------------


def test_an_empty_memory_is_filled_and_the_report_says_with_what(config: Config, root: Path) -> None:
    paths = [talk("a", "one", "two").write(root), talk("b", "three").write(root)]
    done = run(config)
    assert (done.files_total, done.files_read, done.files_unchanged) == (2, 2, 0)
    assert done.bytes_read == sum(path.stat().st_size for path in paths)
    assert (done.rows_new, done.dead_letters, done.conflicts, done.problems, done.sample) == (12, 0, 0, (), False)
    assert remembered(config) == ["one", "three", "two"]


def test_a_load_through_the_side_file_gives_what_reading_gives(config: Config, root: Path, tmp_path: Path) -> None:
    session = talk("a", "one", "two")
    session.fork("b").write(root)
    session.write(root)
    run(config)
    assert held(config) == memory_of(tmp_path / "other", root)


def test_what_is_new_is_added_to_what_is_there(config: Config, root: Path, tmp_path: Path) -> None:
    session = talk("a", "one")
    path = session.write(root)
    run(config)
    before = len(session.data)
    session.user("two")
    path.write_bytes(session.data)
    talk("b", "three").write(root)
    done = run(config)
    assert (done.files_read, done.bytes_read) == (2, len(session.data) - before + len(talk("b", "three").data))
    assert held(config) == memory_of(tmp_path / "other", root)


def test_an_unchanged_rescan_opens_no_file_and_writes_nothing(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        talk(name, f"prompt {name}").write(root)
    run(config)
    run(config)
    before = database_path(config.home).read_bytes()
    monkeypatch.setattr(ingest, "open_source", lambda path: pytest.fail(f"opened {path}"))
    done = run(config)
    assert (done.files_read, done.files_unchanged, done.bytes_read, done.rows_new) == (0, 3, 0, 0)
    assert database_path(config.home).read_bytes() == before
    assert not database_path(config.home).with_name("index.db-wal").exists()


@pytest.mark.parametrize("tail", [-1, -30])
def test_a_file_without_a_last_newline_is_not_read_again_and_again(config: Config, root: Path, tail: int) -> None:
    session = talk("a", "one", "two")
    session.write(root).write_bytes(session.data[:tail])
    run(config)
    assert run(config).files_read == 0


def test_a_new_parser_reads_everything_again_once(config: Config, root: Path) -> None:
    class Newer(ClaudeCode):
        parser_version = ClaudeCode.parser_version + 1

    talk("a", "one").write(root)
    run(config)
    assert rescan(config, Newer(), {}).files_read == 1
    assert rescan(config, Newer(), {}).files_read == 0


def test_what_is_deleted_stays_remembered_and_comes_back_unread(config: Config, root: Path) -> None:
    path = talk("a", "one").write(root)
    data = path.read_bytes()
    run(config)
    path.unlink()
    run(config)
    assert remembered(config) == ["one"]
    path.write_bytes(data)
    assert run(config).bytes_read == 0


def test_a_rescan_settles_who_owns_what_at_once(config: Config, root: Path) -> None:
    elder = talk("a", "one")
    fork = elder.fork(next(name for name in "bcdefgh" if uid("session", name) > elder.session_id))
    fork.write(root)
    elder.write(root)
    run(config)
    later = talk("a")
    later.step = 5000
    later.user("two")
    elder.path(root).write_bytes(later.data + elder.data)
    run(config)
    conn = open_reader(config.home)
    owner = conn.execute("SELECT content_session_id FROM user_prompts WHERE prompt_text = 'one'").fetchone()[0]
    conn.close()
    assert owner == fork.session_id
    assert run(config).files_read == 0


def test_progress_is_told_after_each_commit_and_ends_complete(config: Config, root: Path) -> None:
    size = sum(talk(name, f"prompt {name}").write(root).stat().st_size for name in "abc")
    told: list[Progress] = []
    run(config, tell=told.append)
    assert [each[:4] for each in told][-1] == (3, 3, size, size)
    assert told[-1].rows == 12
    assert all(first.bytes_done <= later.bytes_done for first, later in pairwise(told))


def test_garbage_is_collected_again_after_a_rescan(config: Config, root: Path) -> None:
    run(config)
    assert gc.isenabled()


# -- what cannot be read ---------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_left_for_the_next_rescan(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk("a", "one").write(root)
    talk("b", "two").write(root)

    def refuse(name: str) -> int:
        if name == str(path):
            raise OSError(errno.EIO, "Input/output error")
        return open_source(name)

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "open_source", refuse)
        run(config)
    assert remembered(config) == ["two"]
    run(config)
    assert remembered(config) == ["one", "two"]


def test_what_a_folder_holds_that_cannot_be_listed_is_not_gone(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = talk("a", "one").write(root)
    other = talk("b", "two", cwd="/home/dev/other").write(root)
    run(config)
    other.unlink()
    real = os.scandir

    def refuse(name: str) -> Any:
        if name == str(path.parent):
            raise PermissionError(errno.EACCES, "Permission denied", name)
        return real(name)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", refuse)
        assert run(config).problems == ((str(path.parent), "Permission denied"),)
    conn = open_reader(config.home)
    statuses = dict(conn.execute("SELECT path, status FROM ingest_files").fetchall())
    conn.close()
    assert statuses == {str(path): "active", str(other): "gone"}


def test_a_root_that_does_not_exist_is_told_of(tmp_path: Path) -> None:
    done = run(settings(tmp_path / "home", tmp_path / "nowhere"))
    assert (done.files_total, done.sample) == (0, False)
    assert done.problems == ((str(tmp_path / "nowhere"), "there is no such folder"),)


def test_files_below_other_roots_are_not_called_gone(tmp_path: Path) -> None:
    for name in ("a", "b"):
        talk(name, name).write(tmp_path / name)
        run(settings(tmp_path / "home", tmp_path / name))
    conn = open_reader(tmp_path / "home")
    statuses = [status for (status,) in conn.execute("SELECT status FROM ingest_files")]
    conn.close()
    assert statuses == ["active", "active"]


# -- one writer, and damage ------------------------------------------------------------------------


def test_while_another_process_writes_a_rescan_is_refused(config: Config) -> None:
    lock = WriterLock(config.home)
    with pytest.raises(Busy, match=str(os.getpid())):
        run(config)
    lock.release()
    run(config)
    assert writer_alive(config.home) is None


def test_a_database_that_another_writes_to_without_the_lock_is_busy(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk("a", "one").write(root)
    run(config)
    talk("b", "two").write(root)
    other = store(config.home)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr("indexer.store.connection.BUSY_TIMEOUT_MS", 1)
    with pytest.raises(Busy):
        run(config)
    other.close()
    run(config)
    assert remembered(config) == ["one", "two"]


def test_a_database_of_a_newer_program_is_left_alone(config: Config, root: Path) -> None:
    talk("a", "one").write(root)
    run(config)
    conn = store(config.home)
    conn.execute("INSERT INTO schema_versions VALUES (999, 'from the future', '')")
    conn.close()
    with pytest.raises(NewerDatabase):
        run(config)
    assert writer_alive(config.home) is None


def test_a_file_that_is_no_database_is_left_alone(config: Config) -> None:
    config.home.mkdir()
    database_path(config.home).write_bytes(b"notes of mine\n" * 100)
    with pytest.raises(CorruptDatabase):
        run(config)
    assert database_path(config.home).read_bytes() == b"notes of mine\n" * 100


# -- interruptions ---------------------------------------------------------------------------------


def interrupting(after: int) -> Any:
    """Progress that is told of Ctrl-C at the n-th commit."""
    count = 0

    def tell(_: Progress) -> None:
        nonlocal count
        count += 1
        if count == after:
            raise KeyboardInterrupt

    return tell


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is a batch of its own."""
    monkeypatch.setattr(module, "BULK", ingest.BULK._replace(data=1))
    monkeypatch.setattr(module, "LIVE", ingest.LIVE._replace(data=1))


@pytest.mark.usefixtures("small")
def test_ctrl_c_while_an_empty_memory_is_filled_keeps_what_was_read(config: Config, root: Path, tmp_path: Path) -> None:
    for name in "abc":
        talk(name, f"prompt {name}").write(root)
    with pytest.raises(KeyboardInterrupt):
        run(config, tell=interrupting(2))
    assert len(remembered(config)) == 2
    assert not (config.home / bulk.SIDE).exists()
    assert run(config).files_read == 1
    assert held(config) == memory_of(tmp_path / "other", root)


@pytest.mark.usefixtures("small")
def test_ctrl_c_while_more_is_added_keeps_what_was_read(config: Config, root: Path, tmp_path: Path) -> None:
    talk("z", "first").write(root)
    run(config)
    for name in "abc":
        talk(name, f"prompt {name}").write(root)
    with pytest.raises(KeyboardInterrupt):
        run(config, tell=interrupting(1))
    assert len(remembered(config)) == 2
    assert run(config).files_read == 2
    assert held(config) == memory_of(tmp_path / "other", root)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("point", ["ingest.begin", "ingest.rows", "ingest.checkpoint", "ingest.committed"])
def test_ctrl_c_inside_a_transaction_publishes_only_whole_ones(
    config: Config, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    for name in "abc":
        talk(name, f"prompt {name}").write(root)
    passed: list[str] = []

    def interrupt(name: str) -> None:
        passed.append(name)
        if passed.count(point) == 2 and name == point:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "passing", interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(config)
    assert len(remembered(config)) == (2 if point == "ingest.committed" else 1)
    run(config)
    assert held(config) == memory_of(tmp_path / "other", root)


@pytest.mark.usefixtures("small")
def test_a_load_that_failed_leaves_no_memory_and_the_next_begins_anew(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        talk(name, f"prompt {name}").write(root)
    with monkeypatch.context() as patch:
        patch.setattr(failpoints, "_armed", ["ingest.rows", "2", "error"])
        patch.setattr(failpoints, "_passed", 0)
        with pytest.raises(OSError, match="failpoint"):
            run(config)
    assert not database_path(config.home).exists()
    assert writer_alive(config.home) is None
    run(config)
    assert len(remembered(config)) == 3


def test_a_side_file_that_does_not_hold_together_is_not_published(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk("a", "one").write(root)

    def publish(conn: sqlite3.Connection, home: Path, real: Any = bulk.publish) -> None:
        conn.execute("UPDATE user_prompts SET session_db_id = 77")
        real(conn, home)

    monkeypatch.setattr(bulk, "publish", publish)
    with pytest.raises(CorruptDatabase):
        run(config)
    assert not database_path(config.home).exists()


# -- the bundled sample ----------------------------------------------------------------------------


@pytest.fixture
def newcomer(tmp_path: Path) -> tuple[Config, dict[str, str]]:
    """Default places, and nothing in them."""
    return settings(tmp_path / "home"), {"HOME": str(tmp_path / "dev")}


Newcomer = tuple[Config, dict[str, str]]


def projects(env: dict[str, str]) -> Path:
    return Path(env["HOME"], ".claude", "projects")


def test_with_no_transcripts_at_all_the_sample_is_read(newcomer: Newcomer) -> None:
    config, env = newcomer
    done = rescan(config, ClaudeCode(), env)
    assert done.sample
    assert done.rows_new > 0
    again = rescan(config, ClaudeCode(), env)
    assert (again.sample, again.files_read) == (True, 0)


def test_the_sample_leaves_when_real_transcripts_come(newcomer: Newcomer, tmp_path: Path) -> None:
    config, env = newcomer
    rescan(config, ClaudeCode(), env)
    talk("a", "one").write(projects(env))
    assert not rescan(config, ClaudeCode(), env).sample
    assert remembered(config) == ["one"]
    parts = held(config)
    assert parts == memory_of(tmp_path / "other", projects(env))


def test_the_sample_leaves_wherever_the_program_is_installed(
    newcomer: Newcomer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config, env = newcomer
    odd = tmp_path / "lib[3]*" / removal.SAMPLE
    shutil.copytree(share.find(removal.SAMPLE), odd)
    monkeypatch.setattr(share, "find", lambda name: odd)
    rescan(config, ClaudeCode(), env)
    talk("a", "one").write(projects(env))
    rescan(config, ClaudeCode(), env)
    assert remembered(config) == ["one"]


def test_the_sample_may_be_asked_for_as_any_other_root(tmp_path: Path) -> None:
    config = settings(tmp_path / "home", Path(removal.sample_folder()))
    first, again = run(config), run(config)
    assert (first.sample, first.files_read, again.files_read) == (False, 2, 0)


def test_the_sample_is_not_read_into_a_memory_whose_transcripts_are_gone(newcomer: Newcomer) -> None:
    config, env = newcomer
    path = talk("a", "one").write(projects(env))
    rescan(config, ClaudeCode(), env)
    path.unlink()
    assert not rescan(config, ClaudeCode(), env).sample
    assert remembered(config) == ["one"]


def test_roots_that_were_asked_for_are_never_replaced_by_the_sample(config: Config) -> None:
    assert not run(config).sample


def test_the_sample_leaves_also_when_the_program_was_installed_elsewhere(tmp_path: Path) -> None:
    conn = store(tmp_path / "home")
    conn.execute("INSERT INTO ingest_files (path) VALUES ('/home/dev/old/config/sample/projects/-p/a.jsonl')")
    conn.execute("INSERT INTO ingest_files (path) VALUES ('/home/dev/.claude/projects/-p/b.jsonl')")
    removal.forget_sample(conn)
    left = [path for (path,) in conn.execute("SELECT path FROM ingest_files")]
    conn.close()
    assert left == ["/home/dev/.claude/projects/-p/b.jsonl"]
