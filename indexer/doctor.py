"""Looks for what would keep the memory from being whole, and says of each thing found what to do about it.

Nothing is written, moved or mended: a remedy is a command for the person to run. A finding is a *problem*
(exit code 1), a *note* (worth knowing, nothing is broken) or *ok*. README's Troubleshooting has an entry for
each kind of finding.

Claude Code deletes transcripts `cleanupPeriodDays` after they were last written (30 unless set), for good and
without a word: what has not been read by then is lost, which is why doctor counts what is about to go.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from indexer import service_checks, units
from indexer.config import Config
from indexer.errors import IndexerError
from indexer.files.discover import Survey, default_roots, survey
from indexer.finding import NOTE, OK, PROBLEM, Finding
from indexer.sources.base import Source
from indexer.store import archive, health, soundness
from indexer.store.connection import LOCK, OURS, Connection, database_path, lock_trouble, writer_alive
from indexer.store.reads import counts, reading
from indexer.text import many

DAY = 86_400
CLEANUP_DAYS = 30
"""What Claude Code does without a setting."""
SOON_DAYS = 7
LITTLE_SPACE = 200 << 20
_REMOTE = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afpfs", "fuse.sshfs", "webdav", "fuse.rclone")


@dataclass
class Patient:
    """What is examined, with what several checks look at. now: seconds since 1970. vectors: how far they are
    (worker.report.at_rest), None if that cannot be asked; absent: what of their needs is not installed, and why."""

    config: Config
    source: Source
    env: Mapping[str, str]
    platform: str = sys.platform
    now: float = field(default_factory=time.time)
    mounts: Path = Path("/proc/self/mounts")
    vectors: Callable[[], Mapping[str, Any] | None] = lambda: None
    absent: Callable[[], Sequence[tuple[str, IndexerError]]] = tuple

    def __post_init__(self) -> None:
        self.roots = self.config.roots or default_roots(self.env)
        self.seen: Survey = survey(self.roots, self.source)
        self.read: dict[str, int] = {}
        """Path -> bytes read of it; filled by the first look into the database."""


def examine(patient: Patient) -> list[Finding]:
    """Every check in order. What a check cannot look at is a finding of its own."""
    found = [finding for check in _OUTSIDE for finding in _guarded(check, patient)]
    try:
        with reading(patient.config.home) as conn:
            patient.read = {file.path: file.offset for file in health.files(conn)}
            found += [finding for check in _INSIDE for finding in check(patient, conn)]
    except IndexerError as error:
        found.append(Finding("memory", PROBLEM, error.message, error.hint or "run `transcript-indexer rescan`"))
    return found + [finding for check in _AFTER for finding in _guarded(check, patient)]


def _guarded(check: Callable[[Patient], Iterator[Finding]], patient: Patient) -> Iterator[Finding]:
    try:
        yield from check(patient)
    except OSError as error:
        yield Finding("permissions", PROBLEM, f"{error.filename}: {error.strerror}", "check who owns it and its mode")


# --- transcripts --------------------------------------------------------------------------------------


def _roots(patient: Patient) -> Iterator[Finding]:
    there = [root for root in patient.roots if Path(root).is_dir()]
    if not there:
        places = ", ".join(patient.roots)
        yield Finding(
            "roots",
            PROBLEM,
            f"there are no transcripts: none of {places} exists",
            "use Claude Code once, or name the folder: `sources.roots` in the settings",
        )
    elif not patient.seen.found:
        yield Finding("roots", NOTE, f"there is no transcript in {', '.join(there)}", "use Claude Code once")
    else:
        yield Finding("roots", OK, f"{many(len(patient.seen.found), 'transcript')} in {', '.join(there)}")
    for path, reason in patient.seen.problems:
        yield Finding(
            "unreadable", PROBLEM, f"{path} cannot be read: {reason}", f"make it readable: `chmod u+rX {path}`"
        )


def _cleanup(patient: Patient) -> Iterator[Finding]:
    """Transcripts that Claude Code is about to delete, and whether the memory has them."""
    for root in patient.roots:
        file = Path(root).parent / "settings.json"
        days, reason = _cleanup_days(file)
        if reason:
            yield Finding("settings-file", NOTE, f"{file}: {reason}", "mend it; Claude Code reads it too")
        age = (days - SOON_DAYS) * DAY
        soon = [
            f for f in patient.seen.found if _below(f.file.path, root) and patient.now - f.stat.mtime_ns / 1e9 > age
        ]
        unread = [f for f in soon if patient.read.get(f.file.path, 0) < f.stat.size]
        if unread:
            yield Finding(
                "deleted-soon",
                PROBLEM,
                f"Claude Code deletes {many(len(unread), 'transcript')} in {root} within {SOON_DAYS} days, and the"
                f" memory has not read {_them(unread)} (cleanupPeriodDays is {days})",
                "run `transcript-indexer rescan` now",
            )
        elif soon:
            yield Finding(
                "deleted-soon",
                NOTE,
                f"Claude Code deletes {many(len(soon), 'transcript')} in {root} within {SOON_DAYS} days; the memory has"
                f" {_them(soon)} (cleanupPeriodDays is {days})",
                f"to keep the files too, set cleanupPeriodDays in {file}",
            )


def _them(several: Sequence[object]) -> str:
    return "it" if len(several) == 1 else "them"


def _cleanup_days(file: Path) -> tuple[float, str]:
    """Days, and what is wrong with the file. A value Claude Code would not take counts as its default."""
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return CLEANUP_DAYS, ""
    except (OSError, ValueError, RecursionError) as error:
        return CLEANUP_DAYS, f"cannot be read ({type(error).__name__})"
    days = settings.get("cleanupPeriodDays") if isinstance(settings, dict) else None
    usable = isinstance(days, int | float) and not isinstance(days, bool) and days > 0
    return (float(days) if days % 1 else int(days), "") if usable and days is not None else (CLEANUP_DAYS, "")


def _below(path: str, root: str) -> bool:
    return path.startswith(os.path.realpath(root) + os.sep)


# --- the folder of the memory -------------------------------------------------------------------------


def _permissions(patient: Patient) -> Iterator[Finding]:
    home = patient.config.home
    if not home.exists():
        return
    quoted = shlex.quote(str(home))
    if home.stat().st_uid != os.getuid():
        yield Finding(
            "permissions",
            PROBLEM,
            f"{home} belongs to another user",
            f"give it back: `sudo chown -R {os.getuid()} {quoted}`",
        )
    ours = sorted(path for path in home.iterdir() if path.name.startswith(OURS))
    loose = [path for path in (home, *ours) if _open_to_others(path)]
    if loose:
        some = ", ".join(map(str, loose[:3])) + (" …" if len(loose) > 3 else "")
        yield Finding("permissions", PROBLEM, f"others may read {some}", f"`chmod -R go-rwx {quoted}`")
    elif not os.access(home, os.W_OK | os.X_OK):
        yield Finding("permissions", PROBLEM, f"{home} cannot be written to", f"`chmod u+rwx {quoted}`")
    else:
        yield Finding("permissions", OK, f"{home} is for you alone")


def _open_to_others(path: Path) -> bool:
    mode = path.lstat().st_mode
    return not stat.S_ISLNK(mode) and bool(mode & 0o077)


def _disk(patient: Patient) -> Iterator[Finding]:
    folder = patient.config.home
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < LITTLE_SPACE:
        yield Finding(
            "disk-space",
            PROBLEM,
            f"{free >> 20} MB are left where {folder} is",
            "make room; what is not stored now is read as soon as there is",
        )
    kind = _filesystem(folder, patient.mounts)
    if kind in _REMOTE:
        yield Finding(
            "network-filesystem",
            PROBLEM,
            f"{folder} is on a network file system ({kind}): locks fail there",
            "set `storage.home` to a folder on a local disk",
        )


def _filesystem(folder: Path, mounts: Path) -> str:
    """The type of file system a folder is on, "" where that cannot be asked."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return ""
    real, best, kind = os.path.realpath(folder), -1, ""
    for words in map(str.split, lines):
        place = words[1].replace("\\040", " ") if len(words) > 2 else "\0"
        if (real + "/").startswith(place.rstrip("/") + "/") and len(place) >= best:
            best, kind = len(place), words[2]
    return kind


# --- the database -------------------------------------------------------------------------------------


def _sound(patient: Patient, conn: Connection) -> Iterator[Finding]:
    file = database_path(patient.config.home)
    damaged = soundness.damage(conn)
    if damaged:
        yield Finding(
            "integrity",
            PROBLEM,
            f"{file} is damaged: {'; '.join(damaged[:3])}",
            f"stop the service, move {file} away, run `transcript-indexer rescan`",
        )
        return
    held = counts(conn)
    yield Finding("integrity", OK, f"{file} is sound: {many(held.sessions, 'session')}, {many(held.prompts, 'prompt')}")
    gaps = soundness.unindexed(conn)
    if gaps is None:
        yield Finding(
            "full-text",
            PROBLEM,
            "there is no full-text index: this SQLite has no FTS5",
            "use a Python whose SQLite has FTS5; `transcript-indexer rescan` then makes it",
        )
    elif any(gaps):
        yield Finding(
            "full-text",
            PROBLEM,
            f"the full-text index lacks {many(gaps[0], 'text')} and has {gaps[1]:,} too many",
            f"stop the service, move {file} away, run `transcript-indexer rescan`",
        )


def _known_files(patient: Patient, conn: Connection) -> Iterator[Finding]:
    known = health.files(conn)
    told = {path for path, _ in patient.seen.problems}
    refused = [file for file in known if file.status == "unreadable" and file.path not in told]
    for file in refused[:3]:
        yield Finding(
            "unreadable",
            PROBLEM,
            f"{file.path} could not be read: {file.error}",
            "make it readable; the next sweep reads it",
        )
    held, cap = archive.total(conn) if archive.present(conn) else 0, patient.config.archive_max_mb * 1_000_000
    if patient.config.archive_enabled and 0 < cap <= held:
        yield Finding(
            "archive-full",
            PROBLEM,
            f"the archive holds {held >> 20:,} MB, and takes no more transcripts: archive.max_mb is reached",
            "raise archive.max_mb, or see `transcript-indexer archive prune`",
        )
    letters = counts(conn).dead_letters
    if letters:
        yield Finding(
            "dead-letters",
            NOTE,
            f"{many(letters, 'line')} of transcripts could not be read",
            f"`transcript-indexer status --dead-letters {min(letters, 100)}` says where and why",
        )


# --- what keeps it up to date -------------------------------------------------------------------------


def _behind(patient: Patient) -> Iterator[Finding]:
    if not patient.read:
        return
    late = [f for f in patient.seen.found if patient.read.get(f.file.path, 0) < f.stat.size]
    if not late:
        yield Finding("behind", OK, "everything has been read")
        return
    running = writer_alive(patient.config.home) is not None
    size = sum(f.stat.size - patient.read.get(f.file.path, 0) for f in late)
    yield Finding(
        "behind",
        NOTE if running else PROBLEM,
        f"{many(len(late), 'transcript')} with {many(size, 'byte')} that have not been read",
        "the service is reading; `transcript-indexer status` shows how far it is"
        if running
        else "`transcript-indexer rescan` reads them, `transcript-indexer service install` keeps up",
    )


def _locks(patient: Patient) -> Iterator[Finding]:
    home = patient.config.home
    if not home.exists():
        return
    pid = writer_alive(home)
    try:
        held = patient.now - (home / LOCK).lstat().st_mtime
    except FileNotFoundError:
        held = None
    yield from service_checks.locks(pid, _status(home / "status.json"), held, lock_trouble(home))


def _watcher(patient: Patient) -> Iterator[Finding]:
    home = patient.config.home
    yield from service_checks.service(writer_alive(home), _status(home / "status.json"), patient.now)


def _vectors(patient: Patient) -> Iterator[Finding]:
    if patient.config.vectors_store == "none":
        return
    yield from service_checks.models(patient.absent())
    state = patient.vectors()
    if state is not None:
        yield from service_checks.vectors(state)


def _status(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) and isinstance(said.get("updated_at", 0), int | float) else {}


def _unit(patient: Patient) -> Iterator[Finding]:
    """The command in an installed unit is still there and will be next month."""
    path = units.unit_path(patient.platform, patient.env)
    if not path.exists():
        return
    text = path.read_bytes()
    program, again = units.program_in(text), "`transcript-indexer service install`, by a command that stays"
    doubts = units.doubts(program) if program else ["it names no command"]
    if doubts:
        level = NOTE if program and units.runnable(program) else PROBLEM
        yield Finding("unit", level, f"{path}: {doubts[0]}", again)
    elif patient.platform != "darwin" and not units.may_write(text, str(patient.config.home)):
        yield Finding("unit", PROBLEM, f"{path} does not let the service write to {patient.config.home}", again)
    else:
        yield Finding("unit", OK, f"the service runs {program}")


_OUTSIDE = (_roots, _permissions, _disk)
_INSIDE = (_sound, _known_files)
_AFTER = (_cleanup, _behind, _locks, _watcher, _unit, _vectors)
KINDS = (
    *("roots", "unreadable", "permissions", "disk-space", "network-filesystem", "memory", "integrity", "full-text"),
    *("archive-full", "dead-letters", "settings-file", "deleted-soon", "behind", "locks", "no-watcher", "hung"),
    *("stalled", "trouble", "polling", "unit", "model", "vectors"),
)
"""Every kind of finding, in the order of README's Troubleshooting."""
