"""Every directory once, every file once, whatever links, loops and races there are."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.files import walk
from indexer.files.walk import Place, Stat, Walk

Lay = Callable[..., Path]


def place(path: Path) -> Place:
    return Place(str(path), str(path), str(path))


def run(*roots: Path) -> tuple[Walk, list[str]]:
    """A walk of these roots, and the files it met, as paths below the first root."""
    start = [place(root) for root in roots]
    pass_over = Walk(start)
    found = [path for folder in pass_over.run(start) for path, _ in folder.files]
    return pass_over, [os.path.relpath(path, roots[0]) for path in found]


def test_any_depth_sorted_folder_by_folder(root: Path, lay: Lay) -> None:
    for name in ("b/2.jsonl", "a/z/y/x/1.jsonl", "b/1.jsonl", "a/9.jsonl", "0.jsonl"):
        lay(root, name)
    assert run(root)[1] == ["0.jsonl", "a/9.jsonl", "a/z/y/x/1.jsonl", "b/1.jsonl", "b/2.jsonl"]


def test_only_the_suffix_counts(root: Path, lay: Lay) -> None:
    for name in ("a.txt", "b.jsonl.bak", "jsonl", "c.JSONL", "d.jsonl"):
        lay(root, name)
    assert run(root)[1] == ["d.jsonl"]


def test_stat_is_that_of_the_file(root: Path, lay: Lay) -> None:
    file = lay(root, "a.jsonl", "12345\n")
    (folder,) = Walk([]).run([place(root)])
    assert folder.files == [(str(file), Stat.of(file.stat()))]
    assert folder.files[0][1].size == 6


def test_directories_fifos_and_sockets_named_like_transcripts_are_skipped(
    root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(root, "folder.jsonl/real.jsonl")
    os.mkfifo(root / "fifo.jsonl")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.jsonl")
        assert run(root)[1] == ["folder.jsonl/real.jsonl"]


def test_directories_are_reported_with_their_times(root: Path, lay: Lay) -> None:
    lay(root, "a/b/1.jsonl")
    directories = run(root)[0].directories
    assert list(directories) == [str(root), str(root / "a"), str(root / "a/b")]
    assert directories[str(root)] == root.stat().st_mtime_ns


def test_sides_name_their_transcripts(root: Path, lay: Lay) -> None:
    lay(root, "p/agent-1.meta.json")
    (folder,) = Walk([]).run([place(root)])
    assert folder.sides == [str(root / "p/agent-1.jsonl")]


# -- links -----------------------------------------------------------------------------------------


def test_a_linked_file_is_found_at_its_real_place(root: Path, tmp_path: Path, lay: Lay) -> None:
    real = lay(tmp_path, "elsewhere/blob")
    (root / "s.jsonl").symlink_to(real)
    start = [place(root)]
    (folder,) = Walk(start).run(start)
    assert folder.files[0][0] == str(real)
    assert folder.name_of(str(real)) == str(root / "s.jsonl")


def test_a_linked_folder_keeps_its_name_below_the_root(root: Path, tmp_path: Path, lay: Lay) -> None:
    real = lay(tmp_path, "elsewhere/deep/s.jsonl")
    (root / "-home-dev-app").symlink_to(tmp_path / "elsewhere")
    start = [place(root)]
    pass_over = Walk(start)
    (folder,) = pass_over.run(start)
    assert folder.name_of(str(real)) == str(root / "-home-dev-app/deep/s.jsonl")
    assert [at.path for at in pass_over.outside] == [str(tmp_path / "elsewhere")]


def test_row_26_loops_end(root: Path, lay: Lay) -> None:
    lay(root, "p/s.jsonl")
    (root / "p/up").symlink_to(root)
    (root / "p/self").symlink_to(root / "p/self")
    (root / "q").symlink_to(root / "p")
    assert run(root)[1] == ["p/s.jsonl"]


def test_a_link_around_the_root_is_not_followed(root: Path, lay: Lay, tmp_path: Path) -> None:
    lay(tmp_path, "other/secret.jsonl")
    lay(root, "p/s.jsonl")
    (root / "p/home").symlink_to(tmp_path)
    pass_over, found = run(root)
    assert found == ["p/s.jsonl"]
    assert pass_over.outside == []


def test_real_names_win_over_links_that_sort_before_them(root: Path, lay: Lay) -> None:
    lay(root, "z/s.jsonl")
    (root / "a").symlink_to(root / "z")
    (root / "b.jsonl").symlink_to(root / "z/s.jsonl")
    assert run(root)[1] == ["z/s.jsonl"]


def test_a_hard_link_is_one_file(root: Path, lay: Lay) -> None:
    os.link(lay(root, "p/a.jsonl"), root / "p/b.jsonl")
    assert run(root)[1] == ["p/a.jsonl"]


def test_dangling_links_are_silent(root: Path) -> None:
    (root / "gone.jsonl").symlink_to(root / "nowhere")
    pass_over, found = run(root)
    assert found == []
    assert pass_over.problems == {}


def test_roots_inside_each_other_are_not_doubled(root: Path, lay: Lay) -> None:
    lay(root, "p/q/s.jsonl")
    assert run(root, root / "p", root)[1] == ["p/q/s.jsonl"]


def test_links_among_links_are_followed_to_the_end(root: Path, tmp_path: Path, lay: Lay) -> None:
    lay(tmp_path, "one/a.jsonl")
    lay(tmp_path, "two/b.jsonl")
    (tmp_path / "one/next").symlink_to(tmp_path / "two")
    (tmp_path / "two/back").symlink_to(tmp_path / "one")
    (root / "p").symlink_to(tmp_path / "one")
    assert run(root)[1] == ["../one/a.jsonl", "../two/b.jsonl"]


# -- trouble ---------------------------------------------------------------------------------------


def refuse(monkeypatch: pytest.MonkeyPatch, name: str, path: Path, code: int) -> None:
    """Make one call of `os` fail for one path: a root user may read everything."""
    real = getattr(os, name)

    def fails(given: str, **rest: object) -> object:
        if given == str(path):
            raise OSError(code, os.strerror(code), given)
        return real(given, **rest)

    monkeypatch.setattr(os, name, fails)


def test_row_15_an_unreadable_folder_is_reported_and_the_rest_found(
    root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(root, "a/1.jsonl")
    lay(root, "b/2.jsonl")
    refuse(monkeypatch, "scandir", root / "a", errno.EACCES)
    pass_over, found = run(root)
    assert found == ["b/2.jsonl"]
    assert pass_over.problems == {str(root / "a"): "Permission denied"}
    assert str(root / "a") not in pass_over.directories


def test_a_folder_that_vanishes_meanwhile_is_silent(root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(root, "a/1.jsonl")
    refuse(monkeypatch, "scandir", root / "a", errno.ENOENT)
    pass_over, found = run(root)
    assert (found, pass_over.problems) == ([], {})


def test_a_file_that_vanishes_after_it_was_listed_is_silent(
    root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    doomed = lay(root, "a.jsonl")
    lay(root, "b.jsonl")

    def meanwhile(entry: os.DirEntry[str]) -> str:
        doomed.unlink(missing_ok=True)
        return entry.name

    monkeypatch.setattr(walk, "_by_name", meanwhile)
    pass_over, found = run(root)
    assert (found, pass_over.problems) == (["b.jsonl"], {})


def test_row_23_a_missing_root_yields_nothing(tmp_path: Path) -> None:
    pass_over, found = run(tmp_path / "none")
    assert (found, pass_over.problems) == ([], {})
    assert pass_over.gone == [str(tmp_path / "none")]


def test_names_that_are_no_utf8_come_back_openable(root: Path) -> None:
    with open(os.fsencode(root) + b"/caf\xe9.jsonl", "w") as file:
        file.write("{}\n")
    _, (name,) = run(root)
    assert os.fsencode(name) == b"caf\xe9.jsonl"


def test_a_path_longer_than_the_system_allows_is_a_problem_not_a_crash(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(root)
    for _ in range(25):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    pass_over, _ = run(root)
    assert list(pass_over.problems.values()) == [os.strerror(errno.ENAMETOOLONG)]


def test_known_folders_are_not_entered(root: Path, lay: Lay) -> None:
    lay(root, "old/1.jsonl")
    lay(root, "new/2.jsonl")
    pass_over = Walk([place(root)], known={str(root), str(root / "old")})
    found = [path for folder in pass_over.run([place(root)]) for path, _ in folder.files]
    assert found == [str(root / "new/2.jsonl")]


# -- paths -----------------------------------------------------------------------------------------


def test_is_below_does_not_mistake_a_longer_name() -> None:
    assert walk.is_below("/a/b", "/a")
    assert walk.is_below("/a", "/a")
    assert walk.is_below("/a", "/")
    assert not walk.is_below("/ab", "/a")


def test_locate_takes_the_innermost_place() -> None:
    outer, inner = Place("/r", "/r", "/r"), Place("/x", "/r/p", "/r")
    assert walk.locate("/x/s.jsonl", [outer, inner]) == Place("/x/s.jsonl", "/r/p/s.jsonl", "/r")
    assert walk.locate("/r/s.jsonl", [outer, inner]) == Place("/r/s.jsonl", "/r/s.jsonl", "/r")
    assert walk.locate("/other", [outer, inner]) is None


def test_transcript_of_a_side_file_is_its_neighbour() -> None:
    assert walk.transcript_of("/a/agent-1.meta.json") == "/a/agent-1.jsonl"
    assert walk.transcript_of("/a/agent-1.jsonl") == "/a/agent-1.jsonl"
