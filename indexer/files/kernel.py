"""What only the operating system can tell a watcher: watches held, file system types, time asleep.

watchdog 7.1 swallows ENOSPC below a root: with room for 50 watches and 101 folders it starts without a
word and 51 folders are deaf (tailing.md 0). So the kernel's own list is counted. Each function answers
None, "" or 0.0 where the system has no such thing; none raises.
"""

from __future__ import annotations

import errno
import os
import re
import time
from pathlib import Path

REMOTE = re.compile(
    r"9p|afs|ceph|cifs|davfs|drvfs|fakeowner|fuse\..*|glusterfs|gpfs|lustre|ncpfs|nfs4?|prl_fs"
    r"|smb[23]|smbfs|vboxsf|virtiofs|vmhgfs"
)
"""File systems whose changes may be made elsewhere: inotify reports none of those."""

NATIVE_LIMITS = {
    errno.ENOSPC: ("max_user_watches", 524_288),
    errno.EMFILE: ("max_user_instances", 1_024),
}
"""errno of inotify_add_watch and inotify_init -> the sysctl below fs.inotify, and what it should be."""

CLOCKS = (("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"), ("CLOCK_MONOTONIC_RAW", "CLOCK_UPTIME_RAW"))
"""Of Linux, and of macOS: a clock that runs on while the machine sleeps, and one that stands still."""

_SYSCTL = Path("/proc/sys/fs/inotify")


def watch_count(proc: str = "/proc/self") -> int | None:
    """How many inotify watches this process holds."""
    try:
        return sum(_watches_of(proc, fd) for fd in os.listdir(f"{proc}/fd"))
    except OSError:
        return None


def _watches_of(proc: str, fd: str) -> int:
    try:
        if os.readlink(f"{proc}/fd/{fd}") != "anon_inode:inotify":
            return 0
        return Path(proc, "fdinfo", fd).read_bytes().count(b"inotify wd:")
    except OSError:  # closed since it was listed
        return 0


def file_system(path: str, mounts: str = "/proc/self/mounts") -> str:
    """The type of the file system that a real path lies on, as `ext4`."""
    try:
        lines = Path(mounts).read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    best, kind = "", ""
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[1])
        # A later mount on the same point hides the earlier one: hence not only "longer".
        if len(point) >= len(best) and (path + "/").startswith(point.rstrip("/") + "/"):
            best, kind = point, fields[2]
    return kind


def is_remote(kind: str) -> bool:
    """Whether change events of a file system of this type cannot be trusted."""
    return REMOTE.fullmatch(kind) is not None


def asleep() -> float:
    """Seconds the machine has slept since it was started: a clock that ran on, less one that stood still."""
    for running, standing in CLOCKS:
        on, still = getattr(time, running, None), getattr(time, standing, None)
        if on is not None and still is not None:
            return time.clock_gettime(on) - time.clock_gettime(still)
    return 0.0


def remedy(code: int) -> str:
    """The exact command that lifts the limit behind this errno; "" for any other errno."""
    if code not in NATIVE_LIMITS:
        return ""
    name, wanted = NATIVE_LIMITS[code]
    try:
        present = int((_SYSCTL / name).read_text(encoding="ascii"))
    except (OSError, ValueError):
        present = 0
    return f"sudo sysctl -w fs.inotify.{name}={max(wanted, 2 * present)}"
