"""Roots: what they really are, and that every change of that is noticed."""

from __future__ import annotations

from pathlib import Path

from indexer.files.roots import LATEST, Roots


def test_the_first_look_at_an_existing_root_is_a_change(root: Path) -> None:
    roots = Roots([str(root)])
    assert roots.refresh(0.0)
    assert not roots.refresh(1.0)
    assert roots.folders == (str(root),)


def test_row_25_a_linked_root_is_watched_at_its_real_path(root: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(root)
    roots = Roots([str(tmp_path / "link")])
    roots.refresh(0.0)
    assert roots.folders == (str(root),)


def test_a_link_turned_elsewhere_is_a_change(root: Path, tmp_path: Path) -> None:
    link, other = tmp_path / "link", tmp_path / "other"
    other.mkdir()
    link.symlink_to(root)
    roots = Roots([str(link)])
    roots.refresh(0.0)
    link.unlink()
    link.symlink_to(other)
    assert roots.refresh(1.0)
    assert roots.folders == (str(other),)


def test_row_24_a_root_deleted_and_made_again_is_a_change(root: Path) -> None:
    roots = Roots([str(root)])
    roots.refresh(0.0)
    root.rename(root.with_name("kept"))  # so that the new one cannot get the same inode number
    root.mkdir()
    assert roots.refresh(1.0)
    assert roots.folders == (str(root),)


def test_a_root_that_vanishes_is_a_change(root: Path) -> None:
    roots = Roots([str(root)])
    roots.refresh(0.0)
    root.rmdir()
    assert roots.refresh(1.0)
    assert (roots.folders, roots.missing) == ((), (str(root),))


def test_row_23_a_missing_root_is_found_when_it_appears(tmp_path: Path) -> None:
    late = tmp_path / "late"
    roots = Roots([str(late)])
    assert not roots.refresh(0.0)
    late.mkdir()
    assert not roots.refresh(1.0)
    assert roots.refresh(4.0)


def test_a_missing_root_is_looked_for_ever_more_seldom(
    tmp_path: Path,
) -> None:
    roots = Roots([str(tmp_path / "late")])
    now = 0.0
    while now < 200.0:
        roots.refresh(now)
        now += 1.0
    (tmp_path / "late").mkdir()
    waited = 0.0
    while not roots.refresh(now + waited):
        waited += 1.0
    assert waited <= LATEST


def test_a_file_in_a_roots_place_is_no_root(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    roots = Roots([str(tmp_path / "file")])
    assert not roots.refresh(0.0)
    assert roots.folders == ()


def test_of_roots_inside_each_other_the_outer_is_watched(root: Path) -> None:
    (root / "inner").mkdir()
    (root.parent / "projects2").mkdir()
    roots = Roots([str(root / "inner"), str(root), str(root.parent / "projects2")])
    roots.refresh(0.0)
    assert roots.folders == (str(root), str(root.parent / "projects2"))


def test_folders_behind_links_are_taken_up_at_once(root: Path, tmp_path: Path) -> None:
    (tmp_path / "synced").mkdir()
    roots = Roots([str(root)])
    roots.refresh(0.0)
    roots.link([str(tmp_path / "synced")])
    assert roots.refresh(0.1)
    assert roots.folders == (str(root), str(tmp_path / "synced"))
    roots.link([str(tmp_path / "synced")])
    assert not roots.refresh(0.2)


def test_a_folder_no_longer_linked_is_let_go(root: Path, tmp_path: Path) -> None:
    (tmp_path / "synced").mkdir()
    roots = Roots([str(root)])
    roots.link([str(tmp_path / "synced")])
    roots.refresh(0.0)
    roots.link([])
    assert roots.refresh(0.1)
    assert roots.folders == (str(root),)
