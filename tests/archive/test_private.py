"""private: the turn of a wholly private prompt is in no file of the archive, in any order of reading."""

from __future__ import annotations

from pathlib import Path

import pytest
from archives import Library
from forgetting import holding
from transcripts import Transcript

from indexer import ingest
from indexer.archive import keep
from indexer.renewal import renew

HUSH = "zqprivate"


def session() -> tuple[Transcript, Transcript]:
    """A turn in the open, a private one with a sub-agent and what was typed beside it, and another open one."""
    one = Transcript("one", "/home/dev/shop")
    one.user("zqbefore")
    one.tool("Bash", {"command": "zqbefore"}, "zqbefore result")
    one.user(f"<private>{HUSH} prompt</private>")
    one.tool("Bash", {"command": f"{HUSH} command"}, f"{HUSH} result")
    one.text(f"{HUSH} text")
    one.add("system", subtype="informational", content=f"{HUSH} system")
    one.plain("file-history-snapshot", messageId=one.parent, snapshot={"backup": f"{HUSH} snapshot"})
    one.plain("custom-title", customTitle="zqtitle")
    one.user("<bash-input>zqtyped</bash-input>")
    spawn = one.call("Task", {"prompt": f"{HUSH} task"})
    one.result(spawn, f"{HUSH} answer", toolUseResult={"agentId": "a01"})
    one.user("zqafter")
    one.text("zqafter text")
    agent = one.subagent("a01")
    agent.user(f"{HUSH} look")
    agent.text(f"{HUSH} seen")
    return one, agent


def lay(root: Path) -> None:
    for transcript in session():
        transcript.write(root)


def clean(library: Library) -> None:
    assert holding(library.home, HUSH) == []
    assert HUSH.encode() not in library.everything
    kept = (b"zqbefore result", b"zqtitle", b"zqtyped", b"zqafter text")
    assert [word for word in kept if word not in library.everything] == []


@pytest.mark.parametrize("aged", [False, True])
def test_a_rescan_archives_nothing_of_it(tmp_path: Path, aged: bool) -> None:
    library = Library(tmp_path)
    lay(library.root)
    library.rescan()
    if aged:
        library.age()
    clean(library)


def test_line_by_line_nothing_of_it_is_archived(tmp_path: Path) -> None:
    library = Library(tmp_path)
    one, agent = session()
    lines = one.data.splitlines(keepends=True)
    path = one.write(library.root)
    for count in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:count]))
        library.rescan()
        assert HUSH.encode() not in library.everything
    agent.write(library.root)
    library.age()
    clean(library)


def test_a_sub_agent_that_was_archived_before_its_parent_goes(tmp_path: Path) -> None:
    library = Library(tmp_path)
    one, agent = session()
    agent.write(library.root)
    library.rescan()
    library.age()
    assert HUSH.encode() in library.everything
    one.write(library.root)
    library.rescan()
    library.age()
    clean(library)


def test_what_was_not_archived_at_first_is_caught_up_with_without_it(tmp_path: Path) -> None:
    library = Library(tmp_path, archive_enabled=False)
    lay(library.root)
    library.rescan()
    library.config = Library(tmp_path).config
    library.age()
    clean(library)


def test_a_fork_shows_nothing_of_it_either(tmp_path: Path) -> None:
    library = Library(tmp_path)
    one, _ = session()
    fork = one.fork("fork")
    fork.user("zqfork")
    fork.write(library.root)
    library.rescan()
    one.write(library.root)
    library.age()
    assert holding(library.home, HUSH) == []
    assert b"zqfork" in library.everything


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Library:
    """An archive as an older version has made it."""
    library = Library(tmp_path)
    lay(library.root)
    with monkeypatch.context() as patch:
        patch.setattr(keep, "hidden", lambda *_: None)
        patch.setattr(ingest, "blank", lambda *_: 0)
        library.rescan()
        library.age()
    assert HUSH.encode() in library.everything
    return library


def test_what_an_older_version_archived_goes_with_the_next_rules(careless: Library) -> None:
    renew(careless.config)
    clean(careless)


def test_transcripts_that_are_gone_are_rebuilt_alike(tmp_path: Path) -> None:
    library = Library(tmp_path)
    lay(library.root)
    library.rescan()
    library.age()
    for path in library.root.rglob("*.jsonl"):
        path.unlink()
    library.rescan()
    before = library.held
    library.rescan(rebuild=True)
    assert library.held == before
    clean(library)
