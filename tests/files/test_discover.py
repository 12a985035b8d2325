"""Which transcripts there are, whose they are, and where they are looked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from indexer.files import discover
from indexer.files.discover import default_roots
from indexer.files.walk import Stat
from indexer.sources.base import Source

Lay = Callable[..., Path]


# -- roots -----------------------------------------------------------------------------------------


def test_default_roots_are_the_two_known_places() -> None:
    assert default_roots({"HOME": "/home/dev"}) == (
        "/home/dev/.claude/projects",
        "/home/dev/.config/claude/projects",
    )


def test_xdg_config_home_moves_the_second() -> None:
    roots = default_roots({"HOME": "/home/dev", "XDG_CONFIG_HOME": "/etc/dev"})
    assert roots[1] == "/etc/dev/claude/projects"


@pytest.mark.parametrize("given", ["/a,/b", "/a:/b", " /a , /b ,", "/a:/b:/a"])
def test_claude_config_dir_may_name_several(given: str) -> None:
    env = {"HOME": "/home/dev", "CLAUDE_CONFIG_DIR": given}
    assert default_roots(env) == ("/a/projects", "/b/projects")


def test_claude_config_dir_knows_home() -> None:
    env = {"HOME": "/home/dev", "CLAUDE_CONFIG_DIR": "~/one,~"}
    assert default_roots(env) == ("/home/dev/one/projects", "/home/dev/projects")


@pytest.mark.parametrize("empty", ["", " ", ",", ":"])
def test_an_empty_claude_config_dir_is_none(empty: str) -> None:
    assert len(default_roots({"HOME": "/home/dev", "CLAUDE_CONFIG_DIR": empty})) == 2


def test_without_home_the_system_is_asked(isolated: Path) -> None:
    assert default_roots({})[0] == str(isolated / ".claude/projects")


# -- survey ----------------------------------------------------------------------------------------


def names(found: list[discover.Found] | tuple[discover.Found, ...]) -> list[str]:
    return [os.path.basename(one.file.path) for one in found]


def test_a_transcript_carries_session_folder_stat_and_root(root: Path, lay: Lay, source: Source) -> None:
    file = lay(root, "-home-dev-app/abc.jsonl")
    (found,) = discover.survey([str(root)], source).found
    assert found.file == (str(file), "-home-dev-app", "abc", None)
    assert found.stat == Stat.of(file.stat())
    assert found.root == str(root)


def test_main_files_come_before_agents_in_a_folder(root: Path, lay: Lay, source: Source) -> None:
    for name in ("p/agent-1.jsonl", "p/f0.jsonl", "p/a0.jsonl", "p/f0/subagents/agent-2.jsonl"):
        lay(root, name)
    found = discover.survey([str(root)], source).found
    assert names(found) == ["a0.jsonl", "f0.jsonl", "agent-1.jsonl", "agent-2.jsonl"]


def test_what_the_source_does_not_know_is_left_out(root: Path, lay: Lay, source: Source) -> None:
    lay(root, "p/journal.jsonl")
    assert discover.survey([str(root)], source).found == ()


def test_discover_yields_what_a_survey_holds(root: Path, lay: Lay, source: Source) -> None:
    lay(root, "p/a.jsonl")
    lay(root, "q/b.jsonl")
    assert tuple(discover.discover([str(root)], source)) == discover.survey([str(root)], source).found


def test_row_25_a_linked_root_is_found_by_its_real_path(root: Path, tmp_path: Path, lay: Lay, source: Source) -> None:
    lay(root, "-home-dev-app/s.jsonl")
    (tmp_path / "link").symlink_to(root)
    (found,) = discover.survey([str(tmp_path / "link")], source).found
    assert found.file.path == str(root / "-home-dev-app/s.jsonl")
    assert (found.file.folder, found.root) == ("-home-dev-app", str(root))


def test_behind_a_linked_folder_the_folder_name_is_the_clients(
    root: Path, tmp_path: Path, lay: Lay, source: Source
) -> None:
    file = lay(tmp_path, "synced/s.jsonl")
    (root / "-home-dev-app").symlink_to(tmp_path / "synced")
    found = discover.survey([str(root)], source)
    assert found.found[0].file == (str(file), "-home-dev-app", "s", None)
    assert found.outside == ((str(tmp_path / "synced"), str(root / "-home-dev-app"), str(root)),)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_root_inside_another_owns_its_files_in_either_order(
    root: Path, lay: Lay, source: Source, backwards: bool
) -> None:
    lay(root, "projects/p/s.jsonl")
    roots = [str(root), str(root / "projects")]
    found = discover.survey(roots[::-1] if backwards else roots, source).found
    assert [(one.root, one.file.folder) for one in found] == [(roots[1], "p")]


def test_row_23_missing_roots_are_no_problem(tmp_path: Path, source: Source) -> None:
    assert discover.survey([str(tmp_path / "none")], source) == ((), {}, (), (), ())


def test_row_20_the_newest_comes_first(root: Path, lay: Lay, source: Source) -> None:
    for age, name in enumerate(("p/new.jsonl", "a/middle.jsonl", "z/old.jsonl")):
        os.utime(lay(root, name), (1000 - age, 1000 - age))
    found = discover.newest_first(discover.survey([str(root)], source).found)
    assert names(found) == ["new.jsonl", "middle.jsonl", "old.jsonl"]


# -- look ------------------------------------------------------------------------------------------


def look(root: Path, source: Source, *paths: Path) -> discover.Survey:
    return discover.look(map(str, paths), discover.places([str(root)]), source)


def test_look_finds_a_file_as_a_survey_does(root: Path, lay: Lay, source: Source) -> None:
    file = lay(root, "p/a.jsonl")
    lay(root, "p/b.jsonl")
    (found,) = look(root, source, file).found
    assert found == discover.survey([str(root)], source).found[0]


def test_look_into_a_folder_finds_all_below(root: Path, lay: Lay, source: Source) -> None:
    lay(root, "p/q/a.jsonl")
    lay(root, "p/b.jsonl")
    assert names(look(root, source, root / "p", root / "p/b.jsonl").found) == ["b.jsonl", "a.jsonl"]


def test_look_says_what_is_gone(root: Path, source: Source) -> None:
    assert look(root, source, root / "p/a.jsonl").gone == (str(root / "p/a.jsonl"),)


def test_look_leaves_out_what_lies_below_no_root(root: Path, tmp_path: Path, lay: Lay, source: Source) -> None:
    assert look(root, source, lay(tmp_path, "elsewhere/a.jsonl")) == ((), {}, (), (), ())


def test_look_at_a_side_file_finds_its_transcript(root: Path, lay: Lay, source: Source) -> None:
    lay(root, "p/agent-1.jsonl")
    side = lay(root, "p/agent-1.meta.json")
    assert names(look(root, source, side).found) == ["agent-1.jsonl"]


def test_look_at_a_link_resolves_it(root: Path, tmp_path: Path, lay: Lay, source: Source) -> None:
    file = lay(tmp_path, "synced/s.jsonl")
    (root / "p").symlink_to(tmp_path / "synced")
    (found,) = look(root, source, root / "p").found
    assert (found.file.path, found.file.folder) == (str(file), "p")


def test_look_behind_a_known_link_knows_the_folder_name(root: Path, tmp_path: Path, lay: Lay, source: Source) -> None:
    file = lay(tmp_path, "synced/s.jsonl")
    (root / "p").symlink_to(tmp_path / "synced")
    outside = discover.survey([str(root)], source).outside
    within = (*discover.places([str(root)]), *outside)
    (found,) = discover.look([str(file)], within, source).found
    assert found.file.folder == "p"
