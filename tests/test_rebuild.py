"""`rescan --rebuild`: the same memory anew, from disk, from the archive, from what it held before."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from archives import Library
from stores import Content, store
from transcripts import Transcript

from indexer.errors import Busy, IndexerError
from indexer.rescan import Progress
from indexer.store import bulk, rebuild
from indexer.store.connection import WriterLock, database_path, identity, open_reader

FIXTURES = Path(__file__).parent / "fixtures"


def talk(name: str, *texts: str, cwd: str = "/home/dev/shop") -> Transcript:
    made = Transcript(name, cwd)
    for text in texts:
        made.user(text)
        made.tool("Bash", {"command": "ls"}, text)
        made.text(f"answer to {text}")
    return made


def lay_recording(name: str) -> Callable[[Path], None]:
    """Each apart: the scripted client gave the same ids to the calls of all of them."""
    return lambda root: [shutil.copytree(FIXTURES / "recordings" / name / "projects", root, dirs_exist_ok=True)].clear()


def lay_cases(root: Path) -> None:
    for place in sorted((FIXTURES / "cases").rglob("*.jsonl")):
        if place.is_file():
            (root / place.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copy(place, root / place.parent.name / place.name)


def lay_forks(root: Path) -> None:
    """A session, two forks of it, a sub-agent with its note, a copy in another folder, a torn last line."""
    origin = talk("a", "one", "two", "three")
    call = origin.call("Task", {"prompt": "look"})
    agent = origin.subagent("f00")
    agent.tool("Read", {"file_path": "/x"}, "y")
    agent.write(root).with_suffix(".meta.json").write_text(f'{{"toolUseId": "{call}", "agentType": "scout"}}')
    path = origin.write(root)
    fork, other = origin.fork("b", marked=True), origin.fork("c", upto=4)
    fork.user("only in b")
    for each in (fork, other):
        each.write(root)
    copy = root / "-home-dev-copy" / path.name
    copy.parent.mkdir()
    copy.write_bytes(path.read_bytes() + b'{"torn')


RECORDINGS = sorted(path.parent.name for path in (FIXTURES / "recordings").glob("*/projects"))
WORLDS = {name: lay_recording(name) for name in RECORDINGS} | {"cases": lay_cases, "forks": lay_forks}


@pytest.fixture(params=WORLDS)
def library(request: pytest.FixtureRequest, tmp_path: Path) -> Library:
    made = Library(tmp_path)
    WORLDS[request.param](made.root)
    made.rescan()
    return made


@pytest.fixture
def small(tmp_path: Path) -> Library:
    made = Library(tmp_path)
    talk("a", "one", "two").write(made.root)
    talk("b", "three").write(made.root)
    made.rescan()
    return made


def vanish(library: Library) -> None:
    shutil.rmtree(library.root)
    library.root.mkdir()
    library.rescan()


def differing(before: Content, after: Content) -> dict[str, object]:
    """The parts that differ, and how."""
    return {
        part: (
            sorted(set(before[part]) - set(after[part]), key=repr),
            sorted(set(after[part]) - set(before[part]), key=repr),
        )
        for part in before
        if before[part] != after[part]
    }


def without_status(held: Content) -> Content:
    return {**held, "files": [(*row[:3], *row[4:]) for row in held["files"]]}


# -- the same memory -------------------------------------------------------------------------------


def test_with_all_transcripts_at_hand_nothing_changes(library: Library) -> None:
    before, ids = library.held, library.ids()
    library.rescan(rebuild=True)
    assert (library.held, library.ids()) == (before, ids)


def test_from_the_archive_alone_it_is_the_same_row_for_row(library: Library) -> None:
    vanish(library)
    before, ids = library.held, library.ids()
    done = library.rescan(rebuild=True)
    assert (library.held, library.ids()) == (before, ids)
    assert done.files_archived > 0


def test_with_half_of_them_gone_too(library: Library) -> None:
    for path in sorted(library.root.rglob("*.jsonl"))[::2]:
        path.unlink()
    library.rescan()
    before, ids = library.held, library.ids()
    library.rescan(rebuild=True)
    assert differing(without_status(before), without_status(library.held)) == {}
    assert library.ids() == ids


def test_what_neither_disk_nor_archive_has_is_carried_over(library: Library) -> None:
    vanish(library)
    for table in ("tails", "extents", "chunks"):
        library.execute(f"DELETE FROM archive_{table}")
    before, ids = library.held, library.ids()
    done = library.rescan(rebuild=True)
    assert (library.held, library.ids()) == (before, ids)
    assert done.files_archived == 0


def test_a_rebuild_of_a_rebuild_is_the_same(library: Library) -> None:
    vanish(library)
    library.rescan(rebuild=True)
    before, ids = library.held, library.ids()
    library.rescan(rebuild=True)
    assert (library.held, library.ids()) == (before, ids)


def test_everything_is_still_found_when_all_transcripts_are_gone(small: Library) -> None:
    vanish(small)
    small.rescan(rebuild=True)
    conn = open_reader(small.home)
    sql = "SELECT count(*) FROM search_fts WHERE search_fts MATCH ?"
    assert [conn.execute(sql, (word,)).fetchone()[0] for word in ("one", "three", "nothing")] == [3, 3, 0]
    conn.close()


# -- what no transcript says -----------------------------------------------------------------------


def test_observations_and_their_links_are_carried_over(small: Library) -> None:
    small.execute(
        "INSERT INTO observations (id, memory_session_id, project, type, title, content_hash) "
        "SELECT 41, memory_session_id, project, 'bugfix', 'The timeout', 'h' FROM sdk_sessions LIMIT 1"
    )
    small.execute("UPDATE tool_uses SET observation_id = 41 WHERE id = 1")
    small.execute("INSERT INTO work_state_entries (project, list_name, fields) VALUES ('p', 'to-do', '{}')")
    small.rescan(rebuild=True)
    conn = open_reader(small.home)
    assert conn.execute("SELECT id, title FROM observations").fetchone()[:] == (41, "The timeout")
    assert conn.execute("SELECT observation_id FROM tool_uses WHERE id = 1").fetchone()[0] == 41
    assert conn.execute("SELECT count(*) FROM work_state_entries").fetchone()[0] == 1
    conn.close()


def test_what_a_folder_was_resolved_to_stays(small: Library) -> None:
    small.execute("UPDATE project_resolutions SET project_key = 'github.com/example/shop', source = 'git-remote'")
    small.rescan(rebuild=True)
    conn = open_reader(small.home)
    keys = {key for (key,) in conn.execute("SELECT DISTINCT project_key FROM sdk_sessions")}
    conn.close()
    assert keys == {"github.com/example/shop"}


def test_a_table_of_a_later_version_is_carried_over(small: Library) -> None:
    assert "work_state_entries" not in rebuild._FROM_TRANSCRIPTS
    assert "archive_extents" not in rebuild._FROM_TRANSCRIPTS


def test_wrong_rows_are_put_right(small: Library) -> None:
    before = small.held
    small.execute("UPDATE user_prompts SET prompt_text = 'spoilt' WHERE id = 1")
    small.execute("UPDATE search_texts SET body = 'spoilt' WHERE id = 8")
    small.rescan(rebuild=True)
    assert small.held == before


def test_ids_that_were_given_out_are_not_given_out_again(small: Library) -> None:
    small.execute("UPDATE sqlite_sequence SET seq = 500 WHERE name = 'user_prompts'")
    small.rescan(rebuild=True)
    talk("c", "new").write(small.root)
    small.rescan()
    assert max(small.ids()["user_prompts"])[0] == 501


def test_records_that_a_file_no_longer_holds_stay(small: Library) -> None:
    path = talk("b", "three").path(small.root)
    path.write_bytes(talk("d", "another").data)
    small.rescan()
    before, ids = small.held, small.ids()
    small.rescan(rebuild=True)
    assert (small.held, small.ids()) == (before, ids)


def test_what_was_written_since_is_read_and_archived_too(small: Library) -> None:
    more = talk("a", "one", "two", "later")
    more.write(small.root)
    small.rescan(rebuild=True)
    vanish(small)
    small.rescan(rebuild=True)
    assert "later" in [row[4] for row in small.held["prompts"]]


# -- publishing ------------------------------------------------------------------------------------


def test_readers_go_on_with_the_old_and_come_to_the_new(small: Library) -> None:
    before, old = identity(small.home), open_reader(small.home)
    small.rescan(rebuild=True)
    assert old.execute("SELECT count(*) FROM user_prompts").fetchone()[0] == 3
    old.close()
    assert identity(small.home) != before
    assert not [path for path in small.home.iterdir() if path.name == bulk.SIDE]


def test_while_it_runs_others_can_open_and_ask_the_old(small: Library) -> None:
    seen: list[int] = []

    def ask(_: Progress) -> None:
        reader = open_reader(small.home)
        seen.append(reader.execute("SELECT count(*) FROM user_prompts").fetchone()[0])
        reader.close()

    small.rescan(rebuild=True, tell=ask)
    assert set(seen) == {3}


def test_while_another_process_writes_it_is_refused(small: Library) -> None:
    lock = WriterLock(small.home)
    with pytest.raises(Busy):
        small.rescan(rebuild=True)
    lock.release()


def test_a_reader_that_holds_on_to_the_past_is_waited_for_and_named(
    small: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.store.connection.BUSY_TIMEOUT_MS", 10)
    writer, reader = store(small.home), open_reader(small.home)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM user_prompts").fetchone()
    writer.execute("INSERT INTO session_titles VALUES ('x', 'y')")
    with pytest.raises(Busy):
        small.rescan(rebuild=True)
    for each in (reader, writer):
        each.close()


def test_interrupted_the_memory_is_as_it_was(small: Library) -> None:
    before, stood = small.held, identity(small.home)

    def interrupt(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small.rescan(rebuild=True, tell=interrupt)
    assert (small.held, identity(small.home)) == (before, stood)
    assert not (small.home / bulk.SIDE).exists()


def test_what_would_lose_a_row_is_not_published(small: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    before = small.held
    real = rebuild.carry_rest

    def lose(conn: sqlite3.Connection) -> list[str]:
        grown = real(conn)
        conn.execute("DELETE FROM user_prompts WHERE id = 1")
        return grown

    monkeypatch.setattr(rebuild, "carry_rest", lose)
    with pytest.raises(IndexerError, match="would lack 1 rows of user_prompts"):
        small.rescan(rebuild=True)
    assert small.held == before


def test_it_tells_of_its_progress(small: Library) -> None:
    next(small.root.rglob("*.jsonl")).unlink()
    told: list[Progress] = []
    small.rescan(rebuild=True, tell=told.append)
    assert (told[-1].files_done, told[-1].files_total) == (2, 2)


def test_of_an_empty_memory_it_is_a_first_reading(tmp_path: Path) -> None:
    made = Library(tmp_path)
    talk("a", "one").write(made.root)
    assert made.rescan(rebuild=True).files_read == 1
    assert database_path(made.home).exists()


def test_a_damaged_archive_costs_nothing_that_the_memory_held(small: Library) -> None:
    small.age()
    before, ids = small.held, small.ids()
    vanish(small)
    for path in small.chunks:
        path.write_bytes(b"")
    small.rescan(rebuild=True)
    assert (without_status(small.held), small.ids()) == (without_status(before), ids)


def test_nothing_of_the_archive_is_written_again(small: Library) -> None:
    small.age()
    before = {path: path.stat().st_mtime_ns for path in small.chunks}
    small.rescan(rebuild=True)
    assert {path: path.stat().st_mtime_ns for path in small.chunks} == before
    assert len(before) == 2


def test_switched_off_nothing_is_archived(tmp_path: Path) -> None:
    made = Library(tmp_path, archive_enabled=False)
    talk("a", "one").write(made.root)
    made.rescan()
    assert not (made.home / "archive").exists()


# -- an archive without its database ---------------------------------------------------------------


def lose_database(library: Library) -> None:
    for path in library.home.glob("index.db*"):
        path.unlink()


def test_an_archive_that_outlived_its_database_is_read(library: Library) -> None:
    library.age()
    before = library.held
    shutil.rmtree(library.root)
    library.root.mkdir()
    lose_database(library)
    done = library.rescan()
    after = library.held
    assert done.files_archived > 0
    # Not the notes beside sub-agents' files, nor under what other names a copy stood.
    for part in ("prompts", "texts", "messages", "events"):
        assert differing({part: before[part]}, {part: after[part]}) == {}


def test_what_still_stands_is_read_from_disk_and_archived_once(small: Library) -> None:
    small.age()
    before, chunks = small.held, small.chunks
    lose_database(small)
    assert small.rescan().files_archived == 0
    assert (small.held, small.chunks) == (before, chunks)


def test_no_sample_is_read_beside_an_archive(small: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    small.age()
    shutil.rmtree(small.root)
    lose_database(small)
    small.config = replace(small.config, roots=())
    assert not small.rescan().sample
    assert len(small.held["prompts"]) == 3


def test_a_damaged_archive_is_told_of(small: Library) -> None:
    small.age()
    for path in small.root.rglob("*.jsonl"):
        path.unlink()
    small.rescan()
    for chunk in small.chunks:
        chunk.write_bytes(chunk.read_bytes()[:-9] + b"rotten...")
    told = small.rescan(rebuild=True).problems
    assert told
    assert all("the archive is damaged" in reason for _, reason in told)


def test_so_is_one_that_outlived_its_database(small: Library) -> None:
    small.age()
    for path in (*small.root.rglob("*.jsonl"), *small.home.glob("index.db*")):
        path.unlink()
    small.chunks[0].write_bytes(small.chunks[0].read_bytes()[:-9] + b"rotten...")
    assert any("the archive is damaged" in reason for _, reason in small.rescan().problems)
