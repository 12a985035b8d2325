"""What the archive holds in figures, what is pruned, and transcripts had back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from archives import Archived, Library
from forgetting import lay
from memories import Memory
from transcripts import START, Transcript

from indexer import app
from indexer.archive import stock
from indexer.archive.stock import DAY_MS, Plan, Restored, Stock
from indexer.errors import UsageError
from indexer.forget import forget
from indexer.store import archive as rows
from indexer.store.archive import Held
from indexer.store.connection import WriterLock

NOW = int(START.timestamp() * 1000) + 10 * DAY_MS


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Archived]:
    """Two sessions in two projects, and a sub-agent of the first."""
    made = Archived(tmp_path)
    one, two = Transcript("a"), Transcript("b", cwd="/home/dev/other")
    one.user("one")
    two.user("two")
    call = one.call("Task", {"prompt": "look"})
    agent = one.subagent("f00")
    agent.tool("Read", {"file_path": "/x"}, "y")
    agent.write(made.root).with_suffix(".meta.json").write_text(f'{{"toolUseId": "{call}", "agentType": "scout"}}')
    for each in (one, two):
        each.write(made.root)
    made.read()
    made.seal()
    yield made
    made.close()


def plan(memory: Archived, **how: Any) -> Plan:
    return stock.plan_pruning(memory.conn, **{"cap": 0, "keep_days": 0, "now_ms": NOW, **how})


def restored(memory: Archived, to: Path, session: str | None = None, keys: Any = None) -> Restored:
    return stock.restore(memory.conn, memory.archive, stock.choose(memory.conn, session, keys), to)


def transcripts(memory: Archived) -> list[Path]:
    return sorted(memory.root.rglob("*.jsonl"))


# -- figures ---------------------------------------------------------------------------------------


def test_the_figures_are_those_of_the_files(memory: Archived) -> None:
    found = stock.stock(memory.conn)
    raw = sum(path.stat().st_size for path in transcripts(memory))
    size = sum(path.stat().st_size for path in memory.chunks)
    assert (found.files, found.sessions, found.raw, found.size) == (3, 2, raw, size)
    assert (found.only_files, found.only_raw, found.behind) == (0, 0, 0)
    assert found.oldest is not None
    assert found.newest is not None
    assert found.oldest <= found.newest


def test_what_stands_nowhere_else_is_counted(memory: Archived) -> None:
    path = transcripts(memory)[0]
    size = path.stat().st_size
    path.unlink()
    found = stock.stock(memory.conn)
    assert (found.only_files, found.only_raw) == (1, size)


def test_a_memory_of_an_older_version_has_no_archive(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    for table in ("tails", "extents", "chunks"):
        memory.conn.execute(f"DROP TABLE archive_{table}")
    assert stock.stock(memory.conn) == Stock(0, 0, 0, 0, None, None, 0, 0, 0)
    assert stock.choose(memory.conn, None, None) == []
    memory.close()


# -- pruning ---------------------------------------------------------------------------------------


def test_without_limits_nothing_is_pruned(memory: Archived) -> None:
    assert plan(memory) == Plan([], [])


def test_what_is_older_than_it_is_to_be_kept_goes(memory: Archived) -> None:
    assert len(plan(memory, keep_days=11).files) == 0
    assert len(plan(memory, keep_days=9).files) == 3


def test_beyond_the_cap_the_oldest_go_first(memory: Archived) -> None:
    chosen = plan(memory, cap=rows.total(memory.conn) - 1).files
    assert len(chosen) == 1
    assert chosen[0].last_epoch == min(each.last_epoch or 0 for each in rows.held(memory.conn))


def test_a_plan_says_what_stands_nowhere_else(memory: Archived) -> None:
    transcripts(memory)[0].unlink()
    assert len(plan(memory, keep_days=9).only) == 1


def test_planning_takes_nothing_out(memory: Archived) -> None:
    before = memory.everything()
    plan(memory, cap=1, keep_days=1)
    assert memory.everything() == before


def test_pruning_frees_the_disk_and_keeps_the_memory(memory: Archived) -> None:
    size = rows.total(memory.conn)
    assert stock.prune(memory.conn, memory.archive, plan(memory, keep_days=9)) == size
    assert memory.chunks == []
    assert sorted(memory.prompts) == ["one", "two"]


def test_what_was_pruned_is_not_archived_again(memory: Archived) -> None:
    stock.prune(memory.conn, memory.archive, plan(memory, keep_days=9))
    assert rows.behind(memory.conn) == []
    memory.read()
    assert memory.chunks == []


# -- restoring -------------------------------------------------------------------------------------


def test_all_transcripts_are_had_back_as_the_client_laid_them(memory: Archived, tmp_path: Path) -> None:
    to = tmp_path / "back"
    assert len(restored(memory, to).files) == 3
    for path in transcripts(memory):
        assert (to / path.relative_to(memory.root)).read_bytes() == path.read_bytes()


def test_what_was_had_back_is_read_as_what_it_was(memory: Archived, tmp_path: Path) -> None:
    restored(memory, tmp_path / "again" / "projects")
    again = Memory(tmp_path / "again")
    again.read()
    agents = "SELECT agent_id, tool_use_id, agent_type FROM session_agents"
    assert again.prompts == memory.prompts
    assert again.rows(agents) == memory.rows(agents)
    again.close()


def test_one_session_or_one_project_can_be_had_back(memory: Archived, tmp_path: Path) -> None:
    assert len(restored(memory, tmp_path / "1", Transcript("b").session_id).files) == 1
    assert len(restored(memory, tmp_path / "2", Transcript("a").session_id[:8]).files) == 2
    assert len(restored(memory, tmp_path / "3", keys=("/home/dev/other",)).files) == 1


def test_nothing_that_stands_there_is_overwritten(memory: Archived, tmp_path: Path) -> None:
    to = tmp_path / "back"
    path = to / transcripts(memory)[0].relative_to(memory.root)
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    assert restored(memory, to).standing == [path]
    assert path.read_text() == "mine"


def test_what_is_had_back_is_for_its_owner_alone(memory: Archived, tmp_path: Path) -> None:
    path = restored(memory, tmp_path / "back").files[0]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_what_is_damaged_is_said_and_the_rest_had_back(memory: Archived, tmp_path: Path) -> None:
    memory.chunks[0].write_bytes(b"")
    done = restored(memory, tmp_path / "back")
    assert (len(done.files), len(done.damaged)) == (2, 1)


def test_a_folder_that_cannot_be_made_is_an_error(memory: Archived, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        restored(memory, tmp_path / "file" / "back")


@pytest.mark.parametrize("place", ["", "projects", "projects/deep"])
def test_nothing_is_written_where_the_client_keeps_its_own(tmp_path: Path, place: str) -> None:
    with pytest.raises(UsageError, match="Claude Code's"):
        stock.refuse_clients_folders(tmp_path / place, [str(tmp_path)])


def test_any_other_folder_will_do(tmp_path: Path) -> None:
    stock.refuse_clients_folders(tmp_path / "back", [str(tmp_path / "projects")])


def held(path: str, folder: str, status: str = "gone") -> Held:
    return Held(7, path, folder, None, None, status, 0, 1, 1, 1, None)


@pytest.mark.parametrize(
    ("path", "folder", "place"),
    [
        ("/h/.claude/projects/-w-a/s.jsonl", "-w-a", "-w-a/s.jsonl"),
        ("/h/.claude/projects/-w-a/s/subagents/agent-1.jsonl", "-w-a", "-w-a/s/subagents/agent-1.jsonl"),
        ("/x/-w-a/y/-w-a/s.jsonl", "-w-a", "-w-a/s.jsonl"),
        ("/x/s.jsonl", "", "s.jsonl"),
        ("/x/s.jsonl", "elsewhere", "s.jsonl"),
    ],
)
def test_a_transcripts_place_begins_with_its_projects_folder(path: str, folder: str, place: str) -> None:
    assert stock.place_of(held(path, folder)) == Path(place)


def test_what_was_replaced_under_its_name_gets_another() -> None:
    assert stock.place_of(held("/x/-w-a/s.jsonl", "-w-a", "replaced")) == Path("-w-a/s.7.jsonl")


def test_a_forgotten_transcript_counts_as_none(tmp_path: Path) -> None:
    library = Library(tmp_path)
    made = lay(library.root)
    library.rescan()
    library.age()
    for name in ("gone", "fork", "other"):
        lock, conn = WriterLock(library.home), library.connect()
        assert forget(conn, library.home, [made[name].session_id], [], app.sinks(library.config))
        conn.close()
        lock.release()
    for rebuild in (False, True):
        report = library.rescan(rebuild=rebuild)
        conn = library.connect()
        found = stock.stock(conn)
        conn.close()
        assert (report.files_archived, found.files, found.only_files, found.behind) == (0, 0, 0, 0)
    assert library.chunks == []
