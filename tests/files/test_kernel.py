"""What the system tells, read from its own text files."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

import pytest

from indexer.files import kernel

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb1 /home/dev/my\\040disk xfs rw 0 0
drvfs /mnt/c 9p rw 0 0
/dev/sdc1 /data ext4 rw 0 0
me@host: /data fuse.sshfs rw 0 0
broken line
"""


@pytest.fixture
def mounts(tmp_path: Path) -> str:
    path = tmp_path / "mounts"
    path.write_text(MOUNTS)
    return str(path)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/var/lib", "ext4"),
        ("/home", "nfs4"),
        ("/home/dev/.claude/projects", "nfs4"),
        ("/home/dev/my disk/projects", "xfs"),
        ("/homestead", "ext4"),
        ("/mnt/c/Users", "9p"),
        ("/data/x", "fuse.sshfs"),
    ],
)
def test_file_system_is_that_of_the_innermost_and_latest_mount(mounts: str, path: str, kind: str) -> None:
    assert kernel.file_system(path, mounts) == kind


def test_file_system_is_unknown_without_a_list_of_mounts(tmp_path: Path) -> None:
    assert kernel.file_system("/", str(tmp_path / "none")) == ""


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "fuse.rclone", "virtiofs", "vboxsf"]
)
def test_row_27_network_file_systems_are_remote(kind: str) -> None:
    assert kernel.is_remote(kind)


@pytest.mark.parametrize("kind", ["", "ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "apfs", "fuseblk"])
def test_local_file_systems_are_not(kind: str) -> None:
    assert not kernel.is_remote(kind)


def fake_proc(folder: Path, watches: list[int | None]) -> str:
    """A /proc/self with one descriptor an entry: the watches of an inotify, or None for another file."""
    (folder / "fd").mkdir()
    (folder / "fdinfo").mkdir()
    for fd, count in enumerate(watches):
        (folder / f"fd/{fd}").symlink_to("/dev/null" if count is None else "anon_inode:inotify")
        lines = [f"inotify wd:{n:x} ino:2 sdev:3 mask:fc6\n" for n in range(count or 0)]
        (folder / f"fdinfo/{fd}").write_text("pos:\t0\nflags:\t02000000\n" + "".join(lines))
    return str(folder)


def test_watches_are_counted_over_all_inotify_descriptors(tmp_path: Path) -> None:
    assert kernel.watch_count(fake_proc(tmp_path, [None, 50, 0, 3])) == 53


def test_a_descriptor_closed_meanwhile_counts_nothing(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, [2, 5])
    (tmp_path / "fdinfo/1").unlink()
    assert kernel.watch_count(proc) == 2


def test_watches_are_unknown_without_proc(tmp_path: Path) -> None:
    assert kernel.watch_count(str(tmp_path / "none")) is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads the running kernel's /proc")
def test_this_process_has_a_count() -> None:
    assert kernel.watch_count() is not None
    assert kernel.file_system("/") != ""


def test_asleep_is_the_difference_of_two_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "CLOCKS", (("NONE", "NEITHER"), ("RUNNING", "STANDING")))
    monkeypatch.setattr(time, "RUNNING", 70, raising=False)
    monkeypatch.setattr(time, "STANDING", 30, raising=False)
    monkeypatch.setattr(time, "clock_gettime", float)
    assert kernel.asleep() == 40.0


def test_asleep_is_nothing_without_such_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "CLOCKS", ())
    assert kernel.asleep() == 0.0


def test_the_remedy_is_an_exact_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_SYSCTL", tmp_path)
    assert kernel.remedy(errno.ENOSPC) == "sudo sysctl -w fs.inotify.max_user_watches=524288"
    assert kernel.remedy(errno.EMFILE) == "sudo sysctl -w fs.inotify.max_user_instances=1024"
    assert kernel.remedy(errno.EIO) == ""


def test_the_remedy_always_asks_for_more_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_SYSCTL", tmp_path)
    (tmp_path / "max_user_watches").write_text(f"{1 << 20}\n")
    assert kernel.remedy(errno.ENOSPC).endswith(f"={2 << 20}")


def test_counting_opens_nothing_for_good() -> None:
    before = len(os.listdir("/dev/fd"))
    kernel.watch_count()
    assert len(os.listdir("/dev/fd")) == before
