"""What the archive holds, what may go, and how transcripts are had back from it.

`restore` writes files as the client names them, into a folder that is not the client's; nothing that
stands there is overwritten. `prune` goes by age and by size, the oldest first, and tells what stands
nowhere else before it goes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import orjson

from indexer.archive.chunks import inflate, unpack
from indexer.archive.keep import Archive
from indexer.errors import DamagedArchive, UsageError
from indexer.store import archive as rows
from indexer.store.archive import Held
from indexer.store.connection import Connection, transaction
from indexer.store.tombstones import VEIL

DAY_MS = 86_400_000


class Stock(NamedTuple):
    """raw: bytes of transcripts; size: bytes on disk; oldest, newest: times of last records (epoch ms).
    only_files, only_raw: transcripts that stand nowhere else. behind: files not yet archived to the end."""

    files: int
    sessions: int
    raw: int
    size: int
    oldest: int | None
    newest: int | None
    only_files: int
    only_raw: int
    behind: int


def stock(conn: Connection) -> Stock:
    """The archive in figures; nothing in a memory that an older version wrote."""
    if not rows.present(conn):
        return Stock(0, 0, 0, 0, None, None, 0, 0, 0)
    held = holding(conn)
    times = [each.last_epoch for each in held if each.last_epoch is not None]
    only = [each for each in held if _only_here(each)]
    return Stock(
        len(held), rows.sessions(conn), sum(each.raw for each in held), rows.total(conn),
        min(times, default=None), max(times, default=None), len(only), sum(each.raw for each in only),
        len(rows.behind(conn)),
    )  # fmt: skip


def holding(conn: Connection) -> list[Held]:
    """Transcripts of which the archive has at least a line: of what was forgotten only the place is left."""
    return [each for each in rows.held(conn) if each.raw and (not each.path.startswith(VEIL) or _has_lines(conn, each))]


def _has_lines(conn: Connection, held: Held) -> bool:
    if any(extent.chunk_id is not None for extent in rows.extents(conn, held.file_id, held.generation)):
        return True
    pieces = rows.pieces(conn, held.file_id, held.generation)
    return any(item.data is not None for piece in pieces for item in unpack(inflate(piece.data)))


def _only_here(held: Held) -> bool:
    return held.status == "replaced" or not os.path.lexists(held.path)


class Plan(NamedTuple):
    """Transcripts that a pruning takes out, and those of them that stand nowhere else."""

    files: Sequence[Held]
    only: Sequence[Held]

    @property
    def raw(self) -> int:
        """Bytes of transcripts."""
        return sum(each.raw for each in self.files)


def plan_pruning(conn: Connection, *, cap: int, keep_days: int, now_ms: int) -> Plan:
    """What is older than it is to be kept, and of the rest the oldest beyond the cap (0: no limit)."""
    held = [each for each in rows.held(conn) if each.raw]
    before = now_ms - keep_days * DAY_MS if keep_days else None
    old = [each for each in held if before is not None and (each.last_epoch or now_ms) < before]
    rest, gone = [each for each in held if each not in old], list(old)
    size, raw = rows.total(conn), sum(each.raw for each in held)
    left = size * sum(each.raw for each in rest) // max(raw, 1)
    while cap and left > cap and rest:
        oldest = rest.pop(0)
        gone.append(oldest)
        left -= size * oldest.raw // max(raw, 1)
    return Plan(gone, [each for each in gone if _only_here(each)])


def prune(conn: Connection, archive: Archive, plan: Plan) -> int:
    """Carry a plan out; returns the bytes that are free on disk. What the memory holds of it stays."""
    before = rows.total(conn)
    for each in plan.files:
        with transaction(conn):
            rows.prune(conn, each.file_id)
    archive.clear()
    return before - rows.total(conn)


class Restored(NamedTuple):
    """files: what was written. standing: not written, since something stands there. damaged: (path, reason)
    of transcripts that the archive does not have in whole."""

    files: Sequence[Path]
    standing: Sequence[Path]
    damaged: Sequence[tuple[str, str]]


def choose(conn: Connection, session: str | None, keys: Collection[str] | None) -> list[Held]:
    """The transcripts of a session (its id or the start of it), or of projects; of all, without either."""
    found = []
    for each in rows.held(conn) if rows.present(conn) else ():
        sessions = rows.projects_of(conn, each.file_id)
        if session is not None and not any(name.startswith(session) for name, _ in sessions):
            continue
        if keys is None or any(key in keys for _, key in sessions):
            found.append(each)
    return [each for each in found if each.raw]


def restore(conn: Connection, archive: Archive, chosen: Iterable[Held], to: Path) -> Restored:
    """Write transcripts below `to`, which is made if need be. Raises UsageError when it cannot be."""
    written: list[Path] = []
    standing: list[Path] = []
    damaged: list[tuple[str, str]] = []
    for held in chosen:
        path = to / place_of(held)
        try:
            data = _text(archive, held)
        except DamagedArchive as error:
            damaged.append((held.path, error.message))
            continue
        (written if _write(path, data) else standing).append(path)
        note = rows.agent_note(conn, held.session_id, held.agent_id)
        if note is not None:
            meta = dict(zip(("toolUseId", "agentType", "description"), note, strict=True))
            _write(path.with_suffix(".meta.json"), orjson.dumps({key: value for key, value in meta.items() if value}))
    return Restored(written, standing, damaged)


def place_of(held: Held) -> Path:
    """The path of a transcript below a folder of projects: from its project's folder on; nothing in it
    leads elsewhere. What was replaced under its path gets a name of its own."""
    parts = Path(held.path).parts
    folder = held.folder.replace("/", "-")
    begin = len(parts) - 1 - parts[::-1].index(folder) if folder in parts[:-1] else len(parts) - 1
    path = Path(*parts[begin:])
    if held.status == "replaced":
        path = path.with_name(f"{path.stem}.{held.file_id}{path.suffix}")
    return path


def _text(archive: Archive, held: Held) -> bytes:
    lines = []
    for stretch, is_open in archive.stretches(held.file_id, held.generation):
        for data, *_ in stretch.items:
            if data is not None:
                lines.append(data if is_open else data + b"\n")
    return b"".join(lines)


def _write(path: Path, data: bytes) -> bool:
    """Whether the file could be made: nothing that stands there gives way."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "give another folder with --to") from error
    with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
        file.write(data)
    return True


def refuse_clients_folders(to: Path, folders: Iterable[str]) -> None:
    """Raises UsageError for a folder within one of the client's: there we only read."""
    real = Path(os.path.realpath(to))
    for folder in folders:
        around = Path(os.path.realpath(folder))
        if real == around or around in real.parents:
            raise UsageError(f"{to} lies within {folder}, which is Claude Code's", "give another folder with --to")
    with suppress(OSError):
        if to.exists() and not to.is_dir():
            raise UsageError(f"{to} is not a folder", "give another one with --to")
