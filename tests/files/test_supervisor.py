"""The observer's life under every fault: what is done, what is said, and the way back."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from indexer.files.hints import Handler, HintSet
from indexer.files.supervisor import DEATHS, MISSES, PROBE, Supervisor

Build = Callable[..., Supervisor]


@pytest.fixture
def build(world: Any, root: Path) -> Build:
    """A supervisor over these roots (the one folder, if none are given), ticked once."""

    def made(*roots: Path) -> Supervisor:
        given = [str(path) for path in roots or (root,)]
        supervisor = Supervisor(given, Handler(HintSet(0.0)), world.system())
        supervisor.tick(world.now)
        return supervisor

    return made


def after(world: Any, supervisor: Supervisor, seconds: float) -> bool:
    """Let time pass in ticks of a second; whether any of them asked for a sweep."""
    asked = False
    for _ in range(round(seconds)):
        world.now += 1.0
        asked |= supervisor.tick(world.now)
    return asked


def test_all_is_well_and_nothing_is_said(world: Any, build: Build) -> None:
    supervisor = build()
    assert not after(world, supervisor, 30)
    assert (supervisor.polling, supervisor.reason, supervisor.remedy) == (False, "", "")
    assert len(world.observers) == 1


def test_the_first_observer_asks_for_a_sweep(world: Any, root: Path) -> None:
    supervisor = Supervisor([str(root)], Handler(HintSet(0.0)), world.system())
    assert supervisor.tick(world.now)
    assert supervisor.restarts == 0


def test_ticks_within_a_second_do_nothing(world: Any, build: Build) -> None:
    supervisor = build()
    world.observer.alive = False
    assert not supervisor.tick(world.now + 0.5)


# -- deaths ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["alive", "emitter_lives"])
def test_after_a_death_comes_a_sweep_and_a_new_observer(world: Any, build: Build, part: str) -> None:
    supervisor = build()
    setattr(world.observer, part, False)
    assert after(world, supervisor, 1)
    assert "restarted" in supervisor.reason
    assert after(world, supervisor, 1)
    assert (len(world.observers), supervisor.restarts, supervisor.reason) == (2, 1, "")


def test_a_death_right_after_the_start_is_seen_at_once(world: Any, build: Build) -> None:
    world.next_faults = ["dies"]
    supervisor = build()
    assert "ended at once" in supervisor.reason


def test_the_old_observer_goes_before_the_new_one_comes(world: Any, build: Build) -> None:
    supervisor = build()
    world.observer.alive = False
    after(world, supervisor, 2)
    assert [observer.stopped for observer in world.observers] == [True, False]


def test_the_second_attempt_waits_two_seconds(world: Any, build: Build) -> None:
    world.next_faults = ["dies", "dies"]
    supervisor = build()
    after(world, supervisor, 1)
    assert len(world.observers) == 2
    after(world, supervisor, 1)
    assert len(world.observers) == 2
    after(world, supervisor, 1)
    assert len(world.observers) == 3


@pytest.mark.parametrize("fault", ["dies", OSError(errno.EIO, "broken"), RuntimeError("odd")], ids=str)
def test_three_deaths_in_ten_minutes_end_in_polling(world: Any, build: Build, fault: Any) -> None:
    world.next_faults = [fault] * DEATHS
    supervisor = build()
    after(world, supervisor, 10)
    assert supervisor.polling
    assert "3 times" in supervisor.reason
    assert len(world.observers) == DEATHS


def test_deaths_far_apart_never_do(world: Any, build: Build) -> None:
    supervisor = build()
    for _ in range(5):
        world.observer.alive = False
        after(world, supervisor, 400)
    assert not supervisor.polling
    assert supervisor.restarts == 5


def test_from_polling_the_native_way_is_tried_every_ten_minutes(world: Any, build: Build) -> None:
    world.next_faults = ["dies"] * 2 * DEATHS
    supervisor = build()
    after(world, supervisor, PROBE + 10)
    assert (supervisor.polling, len(world.observers)) == (True, 2 * DEATHS)
    after(world, supervisor, PROBE)
    assert (supervisor.polling, supervisor.reason) == (False, "")


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "setting"), [(errno.ENOSPC, "max_user_watches"), (errno.EMFILE, "max_user_instances")]
)
def test_row_22_a_limit_at_start_leads_to_polling_at_once(world: Any, build: Build, code: int, setting: str) -> None:
    world.next_faults = [OSError(code, "limit reached")]
    supervisor = build()
    assert (supervisor.polling, supervisor.reason) == (True, "limit reached")
    assert supervisor.remedy.startswith(f"sudo sysctl -w fs.inotify.{setting}=")
    assert world.observer.stopped


def test_row_22_a_silent_limit_is_found_by_counting(world: Any, build: Build, root: Path) -> None:
    supervisor, world.watches = build(), 50
    folders = [str(root)] * 101
    supervisor.swept(world.now, folders, [])
    assert after(world, supervisor, 1)
    assert not supervisor.polling
    supervisor.swept(world.now, folders, [])
    assert after(world, supervisor, 1)
    assert (supervisor.polling, supervisor.watches, supervisor.directories) == (True, 50, 101)
    assert supervisor.reason == "the kernel watches 50 of 101 folders"
    assert "max_user_watches" in supervisor.remedy
    assert all(observer.stopped for observer in world.observers)


def test_row_15_a_folder_that_became_readable_is_watched_by_a_new_observer(
    world: Any, build: Build, root: Path
) -> None:
    """The refusal is simulated: to root nothing is closed."""
    supervisor, world.watches = build(), 1
    supervisor.swept(world.now, [str(root)] * 2, [])
    assert after(world, supervisor, 1)
    world.watches = 2
    supervisor.swept(world.now, [str(root)] * 2, [])
    after(world, supervisor, 1)
    assert (supervisor.polling, supervisor.reason, supervisor.restarts) == (False, "", 1)


def test_folders_that_went_since_the_sweep_lack_no_watch(world: Any, build: Build, root: Path) -> None:
    supervisor, world.watches = build(), 1
    supervisor.swept(world.now, [str(root), str(root / "gone")], [])
    assert not after(world, supervisor, 5)


def test_the_limit_is_forgotten_once_it_is_lifted(world: Any, build: Build) -> None:
    world.next_faults = [OSError(errno.ENOSPC, "limit reached")]
    supervisor = build()
    after(world, supervisor, PROBE - 1)
    assert supervisor.polling
    assert after(world, supervisor, 1)
    assert (supervisor.polling, supervisor.remedy) == (False, "")


def test_a_system_without_notification_polls_for_good(world: Any, build: Build) -> None:
    world.next_faults = [OSError(errno.ENOSYS, "this system has no change notification")]
    supervisor = build()
    after(world, supervisor, 2 * PROBE)
    assert (supervisor.polling, len(world.observers)) == (True, 1)


# -- roots -----------------------------------------------------------------------------------------


def test_row_23_a_missing_root_is_waited_for(world: Any, build: Build, tmp_path: Path) -> None:
    late = tmp_path / "late"
    supervisor = build(late)
    assert supervisor.reason == f"waiting for {late} to appear"
    assert "sources.roots" in supervisor.remedy
    assert not after(world, supervisor, 10)
    late.mkdir()
    assert after(world, supervisor, 30)
    assert (world.observer.folders, supervisor.reason, supervisor.remedy) == ([str(late)], "", "")


def test_one_missing_root_of_several_is_no_trouble(build: Build, root: Path, tmp_path: Path) -> None:
    assert build(root, tmp_path / "none").reason == ""


def test_row_24_a_root_replaced_gets_a_new_observer_and_a_sweep(world: Any, build: Build, root: Path) -> None:
    supervisor = build()
    root.rename(root.with_name("kept"))
    root.mkdir()
    assert after(world, supervisor, 1)
    assert (len(world.observers), supervisor.restarts) == (2, 1)


def test_a_root_that_vanishes_asks_for_a_sweep(world: Any, build: Build, root: Path) -> None:
    supervisor = build()
    root.rmdir()
    assert after(world, supervisor, 1)
    assert world.observer.stopped
    assert "waiting for" in supervisor.reason


def test_a_root_gone_between_look_and_start_is_no_death(world: Any, build: Build) -> None:
    world.next_faults = [FileNotFoundError(errno.ENOENT, "no such folder")] * 5
    supervisor = build()
    after(world, supervisor, 10)
    assert not supervisor.polling
    assert len(world.observers) == 6


def test_folders_behind_links_are_watched_too(world: Any, build: Build, root: Path, tmp_path: Path) -> None:
    (tmp_path / "synced").mkdir()
    supervisor = build()
    supervisor.swept(world.now, [str(root), str(tmp_path / "synced")], [str(tmp_path / "synced")])
    assert after(world, supervisor, 1)
    assert world.observer.folders == [str(root), str(tmp_path / "synced")]


def test_row_27_a_network_root_is_polled_from_the_start(world: Any, build: Build, root: Path) -> None:
    """The mount is simulated."""
    world.kind = "nfs4"
    supervisor = build()
    assert supervisor.polling
    assert supervisor.reason == f"{root} is on nfs4: changes made there are not reported"
    assert world.observers == []


def test_beside_a_network_root_local_ones_keep_their_observer(world: Any, root: Path, tmp_path: Path) -> None:
    (tmp_path / "local").mkdir()
    kinds = {str(root): "cifs", str(tmp_path / "local"): "ext4"}
    system = world.system()._replace(file_system=kinds.__getitem__)
    supervisor = Supervisor(list(kinds), Handler(HintSet(0.0)), system)
    supervisor.tick(world.now)
    assert supervisor.polling
    assert world.observer.folders == [str(tmp_path / "local")]


# -- silence ---------------------------------------------------------------------------------------


def test_three_sweeps_with_unannounced_changes_end_the_trust_in_hints(world: Any, build: Build) -> None:
    supervisor = build()
    for count in (1, 0, 7, 2):
        assert not supervisor.polling
        supervisor.missed(world.now, count, hinted=False)
    assert supervisor.polling
    assert world.observer.stopped
    assert "did not report" in supervisor.reason


def test_hints_that_work_restore_the_trust(world: Any, build: Build) -> None:
    supervisor = build()
    for _ in range(10):
        supervisor.missed(world.now, 1, hinted=True)
        supervisor.missed(world.now, 1, hinted=True)
        supervisor.missed(world.now, 0, hinted=True)
    assert not supervisor.polling


def test_trust_is_given_again_after_ten_minutes(world: Any, build: Build) -> None:
    supervisor = build()
    for _ in range(MISSES):
        supervisor.missed(world.now, 1, hinted=False)
    assert after(world, supervisor, PROBE)
    assert not supervisor.polling
    supervisor.missed(world.now, 1, hinted=False)
    assert not supervisor.polling


@pytest.mark.parametrize(("seconds", "asks"), [(31.0, True), (29.0, False), (-5.0, False)])
def test_row_29_a_machine_that_slept_asks_for_a_sweep(world: Any, build: Build, seconds: float, asks: bool) -> None:
    """The sleep is simulated."""
    supervisor = build()
    world.slept += seconds
    assert after(world, supervisor, 1) is asks
    assert not after(world, supervisor, 5)


def test_stop_lets_the_observer_go(world: Any, build: Build) -> None:
    supervisor = build()
    supervisor.stop()
    assert world.observer.stopped
    supervisor.stop()
