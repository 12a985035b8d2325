"""`archive status`, `restore` and `prune`, for people and for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from archives import Library
from transcripts import Transcript

from indexer.store.connection import WriterLock


@pytest.fixture
def library(tmp_path: Path) -> Library:
    made = Library(tmp_path)
    for name in "ab":
        talk = Transcript(name, f"/home/dev/{name}")
        talk.user(f"prompt {name}")
        talk.write(made.root)
    made.rescan()
    return made


@pytest.fixture
def ask(call: Any, library: Library) -> Any:
    return lambda *argv: call(*argv, "--home", str(library.home), "--root", str(library.root))


def limited(monkeypatch: pytest.MonkeyPatch, **limits: int) -> None:
    for name, value in limits.items():
        monkeypatch.setenv(f"TRANSCRIPT_INDEXER_ARCHIVE_{name.upper()}", str(value))


def test_status_in_figures(ask: Any, library: Library) -> None:
    found = ask("archive", "status", "--json").json["archive"]
    raw = sum(path.stat().st_size for path in library.root.rglob("*.jsonl"))
    assert (found["enabled"], found["files"], found["sessions"], found["transcript_bytes"]) == (True, 2, 2, raw)
    assert (found["full"], found["behind_files"], found["only_here"]["files"]) == (False, 0, 0)
    assert found["max_bytes"] == 20_000_000_000


def test_status_for_people(ask: Any, library: Library) -> None:
    next(library.root.rglob("*.jsonl")).unlink()
    answer = ask("archive", "status")
    assert answer.code == 0
    assert "2 transcripts · 2 sessions" in answer.out
    assert "limit 20.0 GB · kept for ever" in answer.out
    assert "1 transcript" in answer.out.partition("only here")[2]


def test_status_says_that_the_archive_is_full_and_what_to_do(ask: Any, library: Library) -> None:
    library.execute("UPDATE archive_tails SET data = zeroblob(2000000)")
    library.execute("INSERT INTO archive_chunks VALUES (99, 'x', 1, 30000000000)")
    answer = ask("archive", "status")
    assert "the archive is full" in answer.out
    assert "archive prune" in answer.out
    assert "the archive is full: see `transcript-indexer archive status`" in ask("status").out
    assert ask("status", "--json").json["archive"] == {"size_bytes": 30_004_000_000, "full": True}


def test_the_general_status_tells_its_size(ask: Any) -> None:
    told = ask("status", "--json").json["archive"]
    assert told["size_bytes"] == ask("archive", "status", "--json").json["archive"]["size_bytes"] > 0
    assert not told["full"]


def test_status_says_that_it_is_switched_off(ask: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRANSCRIPT_INDEXER_ARCHIVE_ENABLED", "false")
    assert "switched off" in ask("archive", "status").out


def test_without_a_memory_it_is_3(call: Any, tmp_path: Path) -> None:
    for command in (("status",), ("prune",), ("restore", "--all", "--to", str(tmp_path / "back"))):
        assert call("archive", *command, "--home", str(tmp_path / "none")).code == 3


def test_restore_says_how_many_and_where(ask: Any, library: Library, tmp_path: Path) -> None:
    answer = ask("archive", "restore", "--all", "--to", str(tmp_path / "back"))
    assert (answer.code, answer.out) == (0, f"restored 2 transcripts to {tmp_path / 'back'}\n")
    again = ask("archive", "restore", "--all", "--to", str(tmp_path / "back"), "--json").json["restored"]
    assert (again["files"], len(again["already_there"])) == ([], 2)


@pytest.mark.parametrize("which", [("--project", "a"), ("--session", Transcript("a").session_id[:9])])
def test_restore_of_a_project_or_session(ask: Any, tmp_path: Path, which: tuple[str, str]) -> None:
    answer = ask("archive", "restore", *which, "--to", str(tmp_path / "back"), "--json")
    (path,) = answer.json["restored"]["files"]
    assert Path(path).parent.name == "-home-dev-a"


def test_restore_into_the_clients_folder_is_refused(ask: Any, library: Library) -> None:
    answer = ask("archive", "restore", "--all", "--to", str(library.root / "back"))
    assert answer.code == 2
    assert not (library.root / "back").exists()


def test_restore_of_what_is_not_there(ask: Any, library: Library, tmp_path: Path) -> None:
    library.execute("DELETE FROM archive_tails")
    assert ask("archive", "restore", "--all", "--to", str(tmp_path / "back")).code == 1


def test_a_damaged_chunk_is_told_and_is_1(ask: Any, library: Library, tmp_path: Path) -> None:
    library.age()
    library.chunks[0].write_bytes(b"")
    answer = ask("archive", "restore", "--all", "--to", str(tmp_path / "back"))
    assert answer.code == 1
    assert "not restored: " in answer.out


def test_nothing_to_prune(ask: Any) -> None:
    assert ask("archive", "prune").out.startswith("nothing to prune")


def test_prune_tells_first_and_does_nothing(ask: Any, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, keep_days=1)
    next(library.root.rglob("*.jsonl")).unlink()
    library.execute("UPDATE ingest_files SET last_epoch = 1000")
    answer = ask("archive", "prune")
    assert "would take out 2 transcripts" in answer.out
    assert "1 transcript of these stand nowhere else" in answer.out
    assert "--yes does it" in answer.out
    assert ask("archive", "status", "--json").json["archive"]["files"] == 2


def test_prune_with_yes(ask: Any, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, keep_days=1)
    library.execute("UPDATE ingest_files SET last_epoch = 1000")
    pruned = ask("archive", "prune", "--yes", "--json").json["pruned"]
    assert (pruned["done"], len(pruned["files"])) == (True, 2)
    assert pruned["freed_bytes"] > 0
    assert ask("archive", "status", "--json").json["archive"]["files"] == 0


def test_prune_beside_another_writer_is_4(ask: Any, library: Library) -> None:
    lock = WriterLock(library.home)
    assert ask("archive", "prune").code == 4
    lock.release()
