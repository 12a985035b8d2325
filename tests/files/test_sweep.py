"""What differs from what was read: by sweeps alone, by hints alone, and nothing twice without reason."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Collection
from pathlib import Path
from types import SimpleNamespace

import pytest

from indexer.files import sweep, walk
from indexer.files.discover import Found
from indexer.files.sweep import HOT_FILES, Sweeper, Swept
from indexer.sources.base import Source

Lay = Callable[..., Path]
SECOND = 1_000_000_000


@pytest.fixture
def wall() -> SimpleNamespace:
    """The wall clock, an hour after every file of the test was written."""
    return SimpleNamespace(now=(int(os.stat("/").st_atime) + 10 * 365 * 86400) * SECOND)


@pytest.fixture
def sweeper(root: Path, source: Source, wall: SimpleNamespace) -> Sweeper:
    return Sweeper([str(root)], source, {}, lambda: wall.now)


def names(found: Collection[Found]) -> list[str]:
    return [os.path.basename(one.file.path) for one in found]


def settle(sweeper: Sweeper, swept: Swept) -> list[str]:
    """Read everything to its end, as a daemon would; the names of what was read."""
    for found in swept.changed:
        sweeper.settle(found.file.path, found.stat)
    return names(swept.changed)


def append(path: Path, text: str = "{}\n") -> None:
    with path.open("a") as file:
        file.write(text)


# -- full ------------------------------------------------------------------------------------------


def test_the_first_sweep_finds_all_newest_first(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    for age, name in enumerate(("q/new.jsonl", "p/old.jsonl")):
        os.utime(lay(root, name), (9000 - age, 9000 - age))
    swept = sweeper.full()
    assert names(swept.changed) == ["new.jsonl", "old.jsonl"]
    assert sorted(swept.directories) == [str(root), str(root / "p"), str(root / "q")]
    assert swept.cpu > 0


def test_what_was_settled_and_is_unchanged_is_not_found_again(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    assert sweeper.full().changed == []


def test_what_was_not_settled_comes_again(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    lay(root, "p/a.jsonl")
    assert names(sweeper.full().changed) == names(sweeper.full().changed) == ["a.jsonl"]


def test_what_earlier_runs_settled_is_known(root: Path, lay: Lay, source: Source) -> None:
    known, changed = lay(root, "p/known.jsonl"), lay(root, "p/changed.jsonl")
    settled = {str(path): tuple(walk.Stat.of(path.stat())) for path in (known, changed)}
    append(changed)
    assert names(Sweeper([str(root)], source, settled).full().changed) == ["changed.jsonl"]


@pytest.mark.parametrize("change", ["append", "truncate", "touch", "replace"])
def test_any_change_is_found(sweeper: Sweeper, root: Path, lay: Lay, change: str) -> None:
    path = lay(root, "p/a.jsonl", "12\n")
    settle(sweeper, sweeper.full())
    if change == "append":
        append(path)
    elif change == "truncate":
        path.write_text("")
    elif change == "touch":
        os.utime(path, (1, 1))
    else:
        lay(root, "p/new", "34\n").replace(path)
    assert names(sweeper.full().changed) == ["a.jsonl"]


def test_row_18_a_clock_set_back_hides_no_change(sweeper: Sweeper, root: Path, lay: Lay, wall: SimpleNamespace) -> None:
    """The clock is simulated."""
    path = lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    wall.now = 0
    append(path)
    os.utime(path, (0, 0))
    assert names(sweeper.full().changed) == ["a.jsonl"]


def test_a_file_settled_as_it_changed_comes_once_more(
    sweeper: Sweeper, root: Path, lay: Lay, wall: SimpleNamespace
) -> None:
    path = lay(root, "p/a.jsonl")
    wall.now = path.stat().st_ctime_ns + SECOND
    settle(sweeper, sweeper.full())
    wall.now += 10 * SECOND
    assert settle(sweeper, sweeper.full()) == ["a.jsonl"]
    assert sweeper.full().changed == []


def test_row_10_what_is_gone_is_said_once_and_found_when_restored(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    path = lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    path.unlink()
    assert sweeper.full().gone == [str(path)]
    assert sweeper.full().gone == []
    lay(root, "p/a.jsonl")
    assert names(sweeper.full().changed) == ["a.jsonl"]


def test_row_9_a_moved_file_is_gone_here_and_found_there(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    path = lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    (root / "q").mkdir()
    path.rename(root / "q/a.jsonl")
    swept = sweeper.full()
    assert (names(swept.changed), swept.gone) == (["a.jsonl"], [str(path)])


def test_row_15_files_below_an_unreadable_folder_are_not_gone(
    sweeper: Sweeper, root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay(root, "p/q/a.jsonl")
    settle(sweeper, sweeper.full())
    monkeypatch.setattr(os, "scandir", refused(root / "p", os.scandir))
    swept = sweeper.full()
    assert swept.gone == []
    assert dict(swept.problems) == {str(root / "p"): "Permission denied"}


def refused(folder: Path, real: Callable[[str], object]) -> Callable[[str], object]:
    def scandir(path: str) -> object:
        if path == str(folder):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)

    return scandir


def test_files_of_other_runs_roots_are_not_gone(root: Path, source: Source) -> None:
    sweeper = Sweeper([str(root)], source, {"/elsewhere/p/a.jsonl": (1, 2, 3, 4, 5)})
    assert sweeper.full().gone == []


def test_row_24_a_root_that_vanishes_and_returns(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    path = lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    root.rename(root.with_name("away"))
    assert sweeper.full().gone == [str(path)]
    root.with_name("away").rename(root)
    assert settle(sweeper, sweeper.full()) == ["a.jsonl"]


def test_hints_can_be_served_during_a_long_sweep(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    for n in range(12):
        for k in range(100):
            lay(root, f"p{n:02}/{k}.jsonl")
    served: list[str] = []

    def breathe() -> None:
        late = lay(root, "p00/late.jsonl")
        served.extend(settle(sweeper, sweeper.look([str(late)])))

    assert len(sweeper.full(breathe).changed) == 1200
    assert served == ["late.jsonl"]
    assert "late.jsonl" not in names(sweeper.full().changed)


@pytest.fixture
def few_at_once(root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Five files, the newest first, of which a sweep hands over two."""
    monkeypatch.setattr(sweep, "MOST", 2)
    for age in range(5):
        os.utime(lay(root, f"p/{age}.jsonl"), (9000 - age, 9000 - age))
    return [f"{age}.jsonl" for age in range(5)]


def test_of_very_many_changes_the_newest_come_first_and_the_rest_next(sweeper: Sweeper, few_at_once: list[str]) -> None:
    swept = [sweeper.full()]
    told = [settle(sweeper, swept[0])]
    while swept[-1].left != (0, 0):
        swept.append(sweeper.full())
        told.append(settle(sweeper, swept[-1]))
    assert told == [few_at_once[:2], few_at_once[2:4], few_at_once[4:]]
    assert [one.left for one in swept] == [(3, 9), (1, 3), (0, 0)]


def test_what_cannot_be_read_keeps_nobody_out(sweeper: Sweeper, few_at_once: list[str]) -> None:
    assert names(sweeper.full().changed) == few_at_once[:2]
    assert settle(sweeper, sweeper.full()) == few_at_once[2:4]
    assert few_at_once[4] in names(sweeper.full().changed)


# -- hot -------------------------------------------------------------------------------------------


def test_a_hot_sweep_finds_appends_and_new_files_and_folders(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    old = lay(root, "p/old.jsonl")
    settle(sweeper, sweeper.full())
    append(old)
    lay(root, "p/new.jsonl")
    lay(root, "q/session/subagents/agent-1.jsonl")
    assert sorted(settle(sweeper, sweeper.hot())) == ["agent-1.jsonl", "new.jsonl", "old.jsonl"]
    assert sweeper.hot().changed == []


def test_a_hot_sweep_enters_only_folders_that_changed(
    sweeper: Sweeper, root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(5):
        lay(root, f"p{n}/a.jsonl")
    settle(sweeper, sweeper.full())
    lay(root, "p3/b.jsonl")
    listed = spy(monkeypatch)
    assert names(sweeper.hot().changed) == ["b.jsonl"]
    assert listed == [str(root / "p3")]


def spy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every folder that is listed from now on."""
    listed: list[str] = []
    scandir = os.scandir

    def noted(path: str) -> object:
        listed.append(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", noted)
    return listed


@pytest.fixture
def many(sweeper: Sweeper, root: Path, lay: Lay, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Files in seven folders that rest, of which two are looked at in turn."""
    monkeypatch.setattr(sweep, "IN_TURN", 2)
    monkeypatch.setattr(sweep, "HOT_FILES", 1)
    files = [lay(root / f"p{number}", "a.jsonl") for number in range(7)]
    settle(sweeper, sweeper.full())
    return files


def test_hot_sweeps_come_to_every_folder_in_turn(sweeper: Sweeper, many: list[Path], lay: Lay) -> None:
    late = [lay(file.parent, "new.jsonl") for file in many]
    found = [len(settle(sweeper, sweeper.hot())) for _ in range(4)]
    assert sum(found) == len(late)
    assert max(found) <= 3


def test_a_thorough_one_comes_to_all_at_once(sweeper: Sweeper, many: list[Path], lay: Lay) -> None:
    late = [lay(file.parent, "new.jsonl") for file in many]
    assert len(sweeper.hot(thorough=True).changed) == len(late)


def test_a_new_folder_below_a_root_never_waits_for_its_turn(
    sweeper: Sweeper, many: list[Path], root: Path, lay: Lay
) -> None:
    assert len(many) > 2
    lay(root / "new", "late.jsonl")
    assert names(sweeper.hot().changed) == ["late.jsonl"]


def test_a_hot_sweep_says_that_a_hot_file_is_gone(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    path = lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    path.unlink()
    assert sweeper.hot().gone == [str(path)]


def test_only_the_newest_files_are_hot(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    files = [lay(root, f"p/{n:03}.jsonl") for n in range(HOT_FILES + 1)]
    for age, path in enumerate(files):
        os.utime(path, (9000 - age, 9000 - age))
    settle(sweeper, sweeper.full())
    append(files[0])
    append(files[-1])
    assert settle(sweeper, sweeper.hot()) == ["000.jsonl"]
    assert names(sweeper.full().changed) == [f"{HOT_FILES:03}.jsonl"]


def test_a_folder_changed_just_now_is_entered_again(
    sweeper: Sweeper, root: Path, lay: Lay, wall: SimpleNamespace
) -> None:
    folder = lay(root, "p/a.jsonl").parent
    times = folder.stat()
    wall.now = times.st_mtime_ns + SECOND
    settle(sweeper, sweeper.full())
    lay(root, "p/b.jsonl")
    os.utime(folder, ns=(times.st_mtime_ns, times.st_mtime_ns))  # as a coarse clock would have it
    assert "b.jsonl" in names(sweeper.hot().changed)


# -- look ------------------------------------------------------------------------------------------


def test_a_hint_finds_the_file_it_names(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    path = lay(root, "p/a.jsonl")
    assert settle(sweeper, sweeper.look([str(path)])) == ["a.jsonl"]
    assert sweeper.look([str(path)]).changed == []


def test_a_hint_for_a_folder_finds_all_in_it(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    lay(root, "p/session/subagents/agent-1.jsonl")
    assert names(sweeper.look([str(root / "p")]).changed) == ["agent-1.jsonl"]


def test_a_hint_for_what_is_gone(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    paths = [lay(root, "p/a.jsonl"), lay(root, "q/b.jsonl"), lay(root, "q/r/c.jsonl")]
    settle(sweeper, sweeper.full())
    for path in paths:
        path.unlink()
    (root / "q/r").rmdir()
    (root / "q").rmdir()
    assert sweeper.look([str(paths[0]), str(root / "q")]).gone == [str(path) for path in paths]


def test_hints_for_nonsense_are_harmless(sweeper: Sweeper, root: Path) -> None:
    swept = sweeper.look(["/elsewhere/a.jsonl", str(root / "never.jsonl"), ""])
    assert (swept.changed, swept.gone) == ([], [])


# -- files beside a transcript ---------------------------------------------------------------------


def test_a_side_file_that_comes_late_is_told_by_its_hint(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    lay(root, "p/agent-1.jsonl")
    settle(sweeper, sweeper.full())
    side = lay(root, "p/agent-1.meta.json")
    for _ in range(2):  # it may also change
        swept = sweeper.look([str(side)])
        assert (swept.changed, names(swept.beside)) == ([], ["agent-1.jsonl"])


@pytest.mark.parametrize("sweep", [Sweeper.full, Sweeper.hot])
def test_a_side_file_that_comes_late_is_found_by_sweeps_alone(
    sweeper: Sweeper, root: Path, lay: Lay, sweep: Callable[[Sweeper], Swept]
) -> None:
    lay(root, "p/agent-1.jsonl")
    settle(sweeper, sweeper.full())
    lay(root, "p/agent-1.meta.json")
    assert names(sweep(sweeper).beside) == ["agent-1.jsonl"]
    assert sweep(sweeper).beside == []


def test_side_files_there_from_the_start_are_no_news(root: Path, lay: Lay, source: Source) -> None:
    path = lay(root, "p/agent-1.jsonl")
    lay(root, "p/agent-1.meta.json")
    sweeper = Sweeper([str(root)], source, {str(path): tuple(walk.Stat.of(path.stat()))})
    assert sweeper.full().beside == []


# -- missed changes --------------------------------------------------------------------------------


def test_a_change_no_hint_announced_is_missed(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    path = lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    append(path)
    lay(root, "p/new.jsonl")
    assert sweeper.hot().missed == 2


def test_in_the_first_sweep_nothing_is_missed(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    lay(root, "p/a.jsonl")
    assert sweeper.full().missed == 0


def test_an_announced_change_still_being_read_is_not_missed(sweeper: Sweeper, root: Path, lay: Lay) -> None:
    path = lay(root, "p/a.jsonl")
    settle(sweeper, sweeper.full())
    append(path)
    sweeper.look([str(path)])
    append(path)
    assert sweeper.full().missed == 0


def test_a_change_of_just_now_may_still_have_its_hint_under_way(
    sweeper: Sweeper, root: Path, lay: Lay, wall: SimpleNamespace
) -> None:
    settle(sweeper, sweeper.full())
    wall.now = lay(root, "p/a.jsonl").stat().st_ctime_ns + 4 * SECOND
    assert sweeper.full().missed == 0


def test_a_second_look_for_safety_is_not_missed(sweeper: Sweeper, root: Path, lay: Lay, wall: SimpleNamespace) -> None:
    wall.now = lay(root, "p/a.jsonl").stat().st_ctime_ns
    settle(sweeper, sweeper.full())
    wall.now += 60 * SECOND
    swept = sweeper.full()
    assert (names(swept.changed), swept.missed) == (["a.jsonl"], 0)


# -- links -----------------------------------------------------------------------------------------


def test_behind_a_link_everything_holds(sweeper: Sweeper, root: Path, tmp_path: Path, lay: Lay) -> None:
    path = lay(tmp_path, "synced/a.jsonl")
    (root / "p").symlink_to(tmp_path / "synced")
    swept = sweeper.full()
    assert swept.linked == (str(tmp_path / "synced"),)
    settle(sweeper, swept)
    append(path)
    (found,) = sweeper.look([str(path)]).changed
    assert found.file.folder == "p"
    lay(tmp_path, "synced/b.jsonl")
    assert sorted(settle(sweeper, sweeper.hot())) == ["a.jsonl", "b.jsonl"]
