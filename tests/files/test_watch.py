"""When to look at what: with a fake observer and clock for the rules, with the kernel for the truth."""

from __future__ import annotations

import errno
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from watchdog.events import DirCreatedEvent, FileModifiedEvent

from indexer.files.hints import OVERFLOW_LOGGERS
from indexer.files.watch import HOT, SWEEP, Change, Pace, Watch

Lay = Callable[..., Path]

# observer.native ignores this of watchdog's, but pytest renews the filters between fixture and test.
pytestmark = pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning")


@pytest.fixture
def watch(world: Any, root: Path) -> Iterator[Watch]:
    """A watch over the root that has yielded its first sweep."""
    made = Watch([str(root)], system=world.system(), clock=lambda: world.now)
    assert made.poll(world.now) is SWEEP
    made.report_sweep(0.0, [str(root)])
    yield made
    made.stop()


def named(*paths: str) -> Change:
    """A change of just these paths."""
    return frozenset(paths)


def hint(world: Any, *names: str) -> None:
    for name in names:
        world.observer.emit(FileModifiedEvent(name))


def over(world: Any, watch: Watch, seconds: float, step: float = 0.5) -> list[Change]:
    """All that is yielded while time passes."""
    changes: list[Change] = []
    for _ in range(round(seconds / step)):
        world.now += step
        while (change := watch.poll(world.now)) is not None:
            changes.append(change)
    return changes


# -- hints -----------------------------------------------------------------------------------------


def test_nothing_to_do_is_none(world: Any, watch: Watch) -> None:
    assert watch.poll(world.now) is None


def test_hints_come_50_ms_after_the_first(world: Any, watch: Watch) -> None:
    hint(world, "/r/a.jsonl")
    assert watch.poll(world.now + 0.04) is None
    hint(world, "/r/b.jsonl")
    assert watch.poll(world.now + 0.05) == named("/r/a.jsonl", "/r/b.jsonl")
    assert watch.poll(world.now + 0.06) is None


def test_a_busy_session_is_served_every_50_ms(world: Any, watch: Watch) -> None:
    served = 0
    for _ in range(100):
        hint(world, "/r/a.jsonl")
        world.now += 0.01
        served += watch.poll(world.now) is not None
    assert served >= 16


def test_the_debounce_is_never_above_the_longest_delay(world: Any, root: Path) -> None:
    watch = Watch([str(root)], Pace(debounce=9.0, max_delay=0.2), world.system(), lambda: world.now)
    watch.poll(world.now)
    hint(world, "/r/a.jsonl")
    assert watch.poll(world.now + 0.2) == named("/r/a.jsonl")
    watch.stop()


def test_a_new_folder_is_a_hint_for_all_in_it(world: Any, watch: Watch) -> None:
    world.observer.emit(DirCreatedEvent("/r/p"))
    assert watch.poll(world.now + 0.1) == named("/r/p")


def test_late_and_doubled_hints_are_harmless(world: Any, watch: Watch) -> None:
    hint(world, "/r/a.jsonl", "/r/a.jsonl")
    assert watch.poll(world.now + 0.1) == named("/r/a.jsonl")
    hint(world, "/r/a.jsonl")
    assert watch.poll(world.now + 0.2) == named("/r/a.jsonl")


# -- sweeps ----------------------------------------------------------------------------------------


def test_a_full_sweep_every_300_s_and_a_hot_one_every_10(world: Any, watch: Watch) -> None:
    changes = over(world, watch, 600)
    assert changes.count(SWEEP) == 2
    assert changes.count(HOT) == 58


def test_full_sweeps_never_take_more_than_a_tenth_of_a_percent(world: Any, watch: Watch, root: Path) -> None:
    watch.report_sweep(1.0, [str(root)])
    assert over(world, watch, 999).count(SWEEP) == 0
    assert over(world, watch, 2).count(SWEEP) == 1


def test_nor_do_the_hot_ones_take_more_than_a_fiftieth_of_a_percent(world: Any, watch: Watch) -> None:
    watch.report_hot(0.01)
    assert over(world, watch, 200).count(HOT) == 4


def test_without_hints_either_may_take_half_a_percent(world: Any, root: Path) -> None:
    world.kind = "nfs4"
    watch = Watch([str(root)], system=world.system(), clock=lambda: world.now)
    watch.poll(world.now)
    watch.report_sweep(1.0, [str(root)])
    watch.report_hot(0.05)
    changes = over(world, watch, 199)
    assert (changes.count(SWEEP), changes.count(HOT)) == (0, 19)
    assert over(world, watch, 2).count(SWEEP) == 1
    watch.stop()


def test_hints_at_hand_go_before_a_sweep_that_is_due(world: Any, watch: Watch) -> None:
    hint(world, "/r/a.jsonl")
    world.now += 300
    assert watch.poll(world.now) == named("/r/a.jsonl")
    assert watch.poll(world.now) is SWEEP


def test_hints_without_end_do_not_put_off_a_sweep(world: Any, watch: Watch) -> None:
    world.now += 300
    changes = []
    for _ in range(4):
        hint(world, "/r/a.jsonl")
        changes.append(watch.poll(world.now))
    assert SWEEP in changes


def test_the_wall_clock_decides_nothing(world: Any, watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 18 of the matrix. The clock is simulated."""
    monkeypatch.setattr(time, "time", lambda: -1e9)
    assert over(world, watch, 300).count(SWEEP) == 1


def test_without_roots_there_are_sweeps_all_the_same(world: Any, tmp_path: Path) -> None:
    watch = Watch([str(tmp_path / "none")], system=world.system(), clock=lambda: world.now)
    assert watch.poll(world.now) is SWEEP
    assert over(world, watch, 300).count(SWEEP) == 1
    assert "waiting for" in watch.status.reason
    watch.stop()


# -- doubts ----------------------------------------------------------------------------------------


def test_row_21_an_overflow_in_the_log_brings_a_sweep(world: Any, watch: Watch) -> None:
    logging.getLogger(OVERFLOW_LOGGERS[0]).warning("Inotify queue overflowed; filesystem events were lost")
    assert watch.poll(world.now) is SWEEP
    assert watch.status.overflows == 1


def test_row_21_more_than_10_000_paths_bring_a_sweep(world: Any, watch: Watch) -> None:
    hint(world, *(f"/r/{n}.jsonl" for n in range(10_001)))
    assert watch.poll(world.now) is SWEEP
    assert watch.poll(world.now + 0.1) is None


def test_a_dead_observer_brings_a_sweep_before_and_after_its_successor(world: Any, watch: Watch) -> None:
    world.observer.alive = False
    assert over(world, watch, 3) == [SWEEP, SWEEP]
    assert watch.status.restarts == 1


def test_row_29_waking_from_sleep_brings_a_sweep(world: Any, watch: Watch) -> None:
    """The sleep is simulated."""
    world.slept += 3600
    assert over(world, watch, 1) == [SWEEP]


def test_row_24_a_root_made_again_brings_a_sweep_and_is_heard(world: Any, watch: Watch, root: Path) -> None:
    root.rename(root.with_name("kept"))
    root.mkdir()
    assert over(world, watch, 1) == [SWEEP]
    hint(world, "/r/a.jsonl")
    assert over(world, watch, 1) == [named("/r/a.jsonl")]


# -- polling ---------------------------------------------------------------------------------------


def test_row_22_at_a_limit_sweeps_come_faster_and_status_says_why(world: Any, root: Path) -> None:
    world.next_faults = [OSError(errno.ENOSPC, "inotify watch limit reached")]
    watch = Watch([str(root)], system=world.system(), clock=lambda: world.now)
    changes = over(world, watch, 60)
    status = watch.status
    watch.stop()
    assert changes.count(HOT) == 29
    assert (status.mode, status.reason) == ("polling", "inotify watch limit reached")
    assert status.remedy.startswith("sudo sysctl -w fs.inotify.max_user_watches=")


def test_while_polling_a_full_sweep_comes_every_minute(world: Any, watch: Watch) -> None:
    world.kind = "nfs"
    silent = Watch(["/"], system=world.system(), clock=lambda: world.now)
    assert over(world, silent, 300).count(SWEEP) == 5
    assert silent.status.mode == "polling"
    silent.stop()


def silence(world: Any, watch: Watch, sweeps: int) -> None:
    """Sweeps of the clock's, each finding a change that no hint announced."""
    while sweeps:
        world.now += 0.5
        if watch.poll(world.now) is not None:
            watch.report_missed(1)
            sweeps -= 1


def test_simulated_fsevents_that_drop_their_hints_lead_to_polling(world: Any, watch: Watch) -> None:
    """Row 27 of the matrix, too. macOS cannot be run here: its drops are silent, which is all that matters to us."""
    silence(world, watch, 3)
    assert watch.status.mode == "polling"
    assert watch.status.missed == 3
    assert HOT in over(world, watch, 2.5)


def test_hints_between_sweeps_keep_the_native_mode(world: Any, watch: Watch) -> None:
    for _ in range(6):
        silence(world, watch, 1)
        hint(world, "/r/a.jsonl")
        over(world, watch, 1)
        world.now += 10
        assert watch.poll(world.now) is HOT
        watch.report_missed(0)
    assert watch.status.mode == "native"


def test_what_a_start_or_an_overflow_makes_good_was_not_missed(world: Any, watch: Watch) -> None:
    for _ in range(5):
        logging.getLogger(OVERFLOW_LOGGERS[1]).warning("overflow")
        assert watch.poll(world.now) is SWEEP
        watch.report_missed(1000)
    assert (watch.status.mode, watch.status.missed) == ("native", 0)


# -- the runner ------------------------------------------------------------------------------------


def test_changes_wait_without_being_busy(root: Path, world: Any) -> None:
    polls, stop = 0, threading.Event()
    watch = Watch([str(root)], system=world.system())
    poll = watch.poll

    def counted(now: float) -> Change | None:
        nonlocal polls
        polls += 1
        return poll(now)

    watch.poll = counted  # type: ignore[method-assign]
    changes = watch.changes(stop)
    assert next(changes) is SWEEP
    threading.Timer(0.1, world.observer.emit, [FileModifiedEvent("/r/a.jsonl")]).start()
    assert next(changes) == named("/r/a.jsonl")
    assert polls <= 6
    stop.set()
    assert list(changes) == []


def test_row_28_changes_end_when_told_to_and_stop_the_observer(root: Path, world: Any) -> None:
    stop = threading.Event()
    watch = Watch([str(root)], system=world.system())
    changes = watch.changes(stop)
    next(changes)
    stop.set()
    assert list(changes) == []
    assert world.observer.stopped


def test_stop_leaves_no_handler_behind(watch: Watch) -> None:
    watch.stop()
    assert all(logging.getLogger(name).handlers == [] for name in OVERFLOW_LOGGERS)


# -- the kernel ------------------------------------------------------------------------------------

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs inotify")


class Follower:
    """A real watch and the deadline loop around it."""

    def __init__(self, root: Path) -> None:
        self.watch = Watch([str(root)], Pace(debounce=0.01, hot=60.0))
        self.until({SWEEP})

    def until(self, wanted: set[object], seconds: float = 10.0) -> set[object]:
        """Poll until all these paths or sweeps have been yielded; all that was yielded on the way."""
        seen: set[object] = set()
        deadline = time.monotonic() + seconds
        while not wanted <= seen and time.monotonic() < deadline:
            change = self.watch.poll(time.monotonic())
            if change is None:
                self.watch.wait()
            else:
                seen |= change if isinstance(change, frozenset) else {change}
        assert wanted <= seen
        return seen


@pytest.fixture
def follow(root: Path) -> Iterator[Follower]:
    follower = Follower(root)
    yield follower
    follower.watch.stop()


@linux
def test_inotify_hears_an_append(follow: Follower, root: Path) -> None:
    file = root / "s.jsonl"
    file.write_text("{}\n")
    follow.until({str(file)})
    with file.open("a") as more:
        more.write("{}\n")
    follow.until({str(file)})


@linux
def test_inotify_hears_files_in_folders_made_just_before(follow: Follower, root: Path, lay: Lay) -> None:
    files = [lay(root, f"p{n}/session/subagents/agent-{n}.jsonl") for n in range(20)]
    follow.until({str(file) for file in files})


@linux
def test_inotify_hears_a_populated_folder_moved_in(follow: Follower, root: Path, tmp_path: Path, lay: Lay) -> None:
    lay(tmp_path, "outside/s.jsonl")
    (tmp_path / "outside").rename(root / "p")
    follow.until({str(root / "p")})
    with (root / "p/s.jsonl").open("a") as more:
        more.write("{}\n")
    follow.until({str(root / "p/s.jsonl")})


@linux
def test_row_7_inotify_hears_a_replacement_by_rename(follow: Follower, root: Path, lay: Lay) -> None:
    scratch = lay(root, "s.jsonl.tmp")
    scratch.rename(root / "s.jsonl")
    follow.until({str(root / "s.jsonl")})


@linux
def test_our_own_reading_makes_no_hints(follow: Follower, root: Path, lay: Lay) -> None:
    file = lay(root, "s.jsonl")
    follow.until({str(file)})
    lay(root, "between.jsonl")
    follow.until({str(root / "between.jsonl")})
    for _ in range(100):
        file.read_bytes()
        os.listdir(root)
    lay(root, "after.jsonl")
    assert str(file) not in follow.until({str(root / "after.jsonl")})


@linux
def test_row_24_inotify_hears_a_root_made_again(follow: Follower, root: Path, lay: Lay) -> None:
    root.rename(root.with_name("kept"))
    root.mkdir()
    follow.until({SWEEP})
    file = lay(root, "p/s.jsonl")
    follow.until({str(file)})


@linux
def test_row_25_inotify_hears_new_projects_below_a_linked_root(root: Path, tmp_path: Path, lay: Lay) -> None:
    (tmp_path / "link").symlink_to(root)
    follower = Follower(tmp_path / "link")
    file = lay(root, "new/s.jsonl")
    follower.until({str(file)})
    follower.watch.stop()


@linux
def test_nothing_is_written_into_the_watched_tree(follow: Follower, root: Path, lay: Lay) -> None:
    file = lay(root, "p/s.jsonl")
    follow.until({str(file)})
    assert sorted(path.name for path in root.rglob("*")) == ["p", "s.jsonl"]


LIMITED = """
import sys, time
from indexer.files.discover import survey
from indexer.files.watch import SWEEP, Watch

class Source:
    def describe(self, path, root):
        return None

root, now = sys.argv[1], 1000.0
watch = Watch([root], clock=lambda: now)
for _ in range(8):
    if watch.poll(now) is SWEEP:
        watch.report_sweep(0.0, survey([root], Source()).directories)
    now += 1.0
status = watch.status
print(status.mode, status.watches, status.directories, status.reason, status.remedy, sep="|")
watch.stop()
"""


def limited(root: Path, setting: str, value: int) -> list[str]:
    """The status of a watch in a user namespace of its own, where this limit holds."""
    inside = f'echo {value} > /proc/sys/user/{setting} && exec "$@"'
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", inside, "sh"]
    try:
        subprocess.run([*command, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not to be had here")
    ours = os.fspath(Path(__file__).parents[2])
    done = subprocess.run(
        [*command, sys.executable, "-c", LIMITED, str(root)],
        check=True, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": ours},
    )  # fmt: skip
    return done.stdout.strip().split("|")


@linux
def test_row_22_fifty_watches_for_101_folders_are_noticed_and_said(root: Path) -> None:
    for n in range(100):
        (root / f"p{n}").mkdir()
    mode, watches, directories, reason, remedy = limited(root, "max_inotify_watches", 50)
    assert (mode, watches, directories) == ("polling", "50", "101")
    assert reason == "the kernel watches 50 of 101 folders"
    assert "max_user_watches" in remedy


@linux
@pytest.mark.parametrize(
    ("setting", "named"),
    [("max_inotify_watches", "max_user_watches"), ("max_inotify_instances", "max_user_instances")],
)
def test_row_22_no_watch_at_all_is_noticed_and_said(root: Path, setting: str, named: str) -> None:
    mode, _, _, reason, remedy = limited(root, setting, 0)
    assert (mode, "limit reached" in reason) == ("polling", True)
    assert named in remedy
