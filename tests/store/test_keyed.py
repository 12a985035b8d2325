"""keyed: a memory whose key is missing is left as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from archives import Library
from transcripts import Transcript

from indexer.errors import IndexerError
from indexer.renewal import renew
from indexer.store.keyed import check_key


def marked(library: Library) -> None:
    session = Transcript("one", "/home/dev/shop")
    session.user("my token is ghp_" + "Ab1" * 12)
    session.write(library.root)
    library.rescan()


def plain(library: Library) -> None:
    session = Transcript("one", "/home/dev/shop")
    session.user("nothing secret")
    session.write(library.root)
    library.rescan()


def forgetful(library: Library) -> None:
    plain(library)
    library.execute("INSERT INTO tombstones (hash) VALUES (?)", b"0" * 16)


def listing(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


STARTS: dict[str, Callable[[Library], object]] = {
    "rescan": lambda library: library.rescan(),
    "rebuild": lambda library: library.rescan(rebuild=True),
    "redact": lambda library: renew(library.config),
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("lay", [marked, forgetful])
def test_a_start_without_the_key_is_refused_and_leaves_nothing(
    tmp_path: Path, lay: Callable[[Library], None], start: str
) -> None:
    library = Library(tmp_path)
    lay(library)
    (library.home / "key").unlink()
    before = listing(library.home)
    with pytest.raises(IndexerError, match="key is missing"):
        STARTS[start](library)
    assert listing(library.home) == before


@pytest.mark.parametrize("start", STARTS)
def test_a_memory_that_needs_none_gets_another(tmp_path: Path, start: str) -> None:
    library = Library(tmp_path)
    plain(library)
    (library.home / "key").unlink()
    STARTS[start](library)
    assert (library.home / "key").exists()


def test_a_key_that_is_there_is_enough(tmp_path: Path) -> None:
    library = Library(tmp_path)
    marked(library)
    check_key(library.home)
    check_key(tmp_path / "nowhere")
