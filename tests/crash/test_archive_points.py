"""Death at every point of archiving, erasing and rebuilding: the next start finds nothing lost, nothing
doubled, and nothing of what was to be forgotten.

CRASH_STATEMENTS=1 dies before every single statement of a rebuild instead of a sample of them.
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from archives import Archived, Library
from crash import Nursery
from stores import content
from transcripts import Transcript

from indexer.archive import keep
from indexer.archive.erase import erase
from indexer.store.connection import identity

EVERY = bool(os.environ.get("CRASH_STATEMENTS"))
SAMPLE = 15
GONE, STAYS = Transcript("a").session_id, Transcript("b").session_id

pytestmark = pytest.mark.crash


@pytest.fixture(autouse=True)
def _small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep, "WINDOW", 9)


def lay(root: Path) -> list[Path]:
    """Two sessions of a few windows each."""
    laid = []
    for name in "ab":
        talk = Transcript(name)
        for number in range(5):
            talk.user(f"{name} says {number}")
        laid.append(talk.write(root))
    return laid


def lives(nursery: Nursery, folder: Path, make: Callable[[Path], None], deed: str, *args: str) -> Iterator[Path]:
    """A folder after each death that a deed can die."""
    make(folder / "whole")
    assert nursery.run("count", folder / "whole", deed, *args) == 0
    places = int((folder / "whole" / "steps").read_text())
    assert places > 5
    hits = list(range(1, places + 1))
    if deed == "load_anew" and not EVERY:
        hits = sorted(random.Random(places).sample(hits, SAMPLE))
    for hit in hits:
        make(folder / str(hit))
        assert nursery.run(deed, folder / str(hit), *args, hit) == -signal.SIGKILL
        yield folder / str(hit)


def test_death_while_archiving(nursery: Nursery, tmp_path: Path) -> None:
    for folder in lives(nursery, tmp_path, lambda place: [lay(place / "projects")].clear(), "keep_lines"):
        memory = Archived(folder)
        memory.read()
        memory.seal()
        paths = sorted(memory.root.rglob("*.jsonl"))
        assert [memory.text(path) for path in paths] == [path.read_bytes() for path in paths]
        known = {name for (name,) in memory.conn.execute("SELECT hash FROM archive_chunks")}
        assert {path.stem for path in memory.chunks} == known
        memory.close()


def archived(folder: Path) -> None:
    """A memory whose sessions are in the archive."""
    memory = Archived(folder)
    lay(memory.root)
    memory.read()
    memory.seal()
    memory.close()


def test_death_while_forgetting(nursery: Nursery, tmp_path: Path) -> None:
    for folder in lives(nursery, tmp_path, archived, "erase_session", GONE):
        memory = Archived(folder)
        erase(memory.conn, memory.archive, frozenset([GONE]), frozenset())
        on_disk = b"".join(memory.archive.shelf.get(name) for name in memory.archive.shelf.names())
        assert b"a says" not in on_disk + memory.everything()
        kept = memory.text(next(memory.root.rglob(f"{STAYS}.jsonl")))
        assert kept.count(b"b says") == 5
        memory.close()


def remembered(folder: Path) -> None:
    """A memory of one transcript at hand, one in the archive only and one that was carried over."""
    library = Library(folder)
    _, second = lay(library.root)
    third = Transcript("c")
    third.user("c says")
    path = third.write(library.root)
    library.rescan()
    library.execute(f"DELETE FROM archive_tails WHERE file_id = (SELECT id FROM ingest_files WHERE path = '{path}')")
    path.unlink()
    second.unlink()
    library.rescan()


def test_death_while_rebuilding(nursery: Nursery, tmp_path: Path, say: Callable[[str], None]) -> None:
    died = published = 0
    for folder in lives(nursery, tmp_path, remembered, "load_anew"):
        library = Library(folder)
        expected = Library(tmp_path / "whole").held
        assert _apart(library.held, folder) == _apart(expected, tmp_path / "whole")
        died += 1
        published += identity(folder / "home") is not None
        library.rescan(rebuild=True)
        assert _apart(library.held, folder) == _apart(expected, tmp_path / "whole")
    say(f"{died} deaths in a rebuild, {published} databases whole")
    assert died == published


def _apart(held: dict[str, list[tuple[object, ...]]], folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """Without the folder's own name, which differs from life to life."""
    return {
        part: [tuple(str(value).replace(f"{folder}/", "") for value in row) for row in found]
        for part, found in held.items()
    }


def test_content_is_compared_at_all(tmp_path: Path) -> None:
    archived(tmp_path)
    memory = Archived(tmp_path)
    assert len(content(memory.conn)["prompts"]) == 10
    memory.close()
