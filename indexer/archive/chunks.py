"""A chunk of the archive: lines of a transcript as bytes, and the file under HOME/archive that holds them.

    HOME/archive/ab/ab12….chunk = one line of JSON (where it came from), then a zstd frame of the payload
    payload = one line of JSON (what was left out, and which lines were of another length), then the lines

The name is SHA-256 over the payload, which says nothing of the path: the same stretch of a copy, of a
restored file or of one that is read again is the same chunk. The line at the head is for people and for a
database that was lost. SHA-256 rather than blake2b: 0.19 against 0.39 of the bare orjson loop (the
processor has instructions for it). zstd level 2 over 1 MiB: 0.193 of a gen.py tree at 0.71 of that loop;
zlib-6 0.208 at 8.4, zlib-1 0.251 at 2.3, zstd level 1 0.209 at 0.69, level 3 0.185 at 1.02.

A file is written under another name, synced and renamed: under its name it is always whole.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from indexer.errors import DamagedArchive, IndexerError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FOLDER = "archive"
SUFFIX = ".chunk"
_NEW = ".new"
_MAGIC = b"transcript-indexer archive 1 "
_LEVEL = 2
_HEX = 40
_compressor = zstd.ZstdCompressor(level=_LEVEL)
"""One for all frames: making its tables anew costs a tenth."""


class Item(NamedTuple):
    """A line without its newline, or (data None) lines left out. size: bytes in the transcript, newlines
    included."""

    data: bytes | None
    lines: int
    size: int


def pack(items: Iterable[Item]) -> bytes:
    """The payload of these lines."""
    lines: list[bytes] = []
    skipped: list[tuple[int, int, int]] = []
    sizes: list[tuple[int, int]] = []
    for data, number, size in items:
        if data is None:
            at = len(lines)
            if skipped and skipped[-1][0] == at:
                number, size = number + skipped[-1][1], size + skipped.pop()[2]
            skipped.append((at, number, size))
            continue
        if len(data) + 1 != size:
            sizes.append((len(lines), size))
        lines.append(data)
    return b"\n".join((orjson.dumps({"skipped": skipped, "sizes": sizes}), *lines))


def unpack(payload: bytes) -> Iterator[Item]:
    """The lines of a payload, and what was left out between them."""
    head, *lines = payload.split(b"\n")
    notes = orjson.loads(head)
    sizes = dict(notes["sizes"])
    skipped = {at: Item(None, number, size) for at, number, size in notes["skipped"]}
    for at, data in enumerate(lines):
        if at in skipped:
            yield skipped[at]
        yield Item(data, 1, sizes.get(at, len(data) + 1))
    if len(lines) in skipped:
        yield skipped[len(lines)]


def deflate(payload: bytes) -> bytes:
    """A zstd frame of the payload."""
    return _compressor.compress(payload, zstd.ZstdCompressor.FLUSH_FRAME)


def inflate(frame: bytes) -> bytes:
    """What `deflate` was given. Raises DamagedArchive for what is no frame."""
    try:
        return zstd.decompress(frame)
    except zstd.ZstdError as error:
        raise DamagedArchive(f"the archive is damaged: {error}", _DAMAGED_HINT) from error


def name_of(payload: bytes) -> str:
    """The name of the chunk that holds this payload."""
    return hashlib.sha256(payload).hexdigest()[:_HEX]


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_DAMAGED_HINT = "what the memory holds of it stays; `transcript-indexer rescan` archives again what still stands"


class Shelf:
    """The folder of chunks. lazily: files are synced by `sync` rather than one by one (a bulk load, whose
    rows nobody sees before that)."""

    def __init__(self, home: Path, *, lazily: bool = False) -> None:
        self.folder = home / FOLDER
        self._lazily = lazily
        self._unsynced: list[Path] = []

    def path(self, name: str) -> Path:
        """Where a chunk stands."""
        return self.folder / name[:2] / (name + SUFFIX)

    def put(self, payload: bytes, origin: dict[str, Any]) -> tuple[str, int]:
        """Have the payload on disk; its name and the size of its file. One that is there already is left
        as it is. Raises IndexerError when it cannot be written."""
        name = name_of(payload)
        try:
            return name, self._write(self.path(name), payload, origin)
        except OSError as error:
            full = "the disk is full, and " if error.errno in _NO_ROOM else ""
            raise IndexerError(
                f"{full}the archive cannot be written: {self.path(name)}: {error.strerror or error}",
                "make room for it or mend its modes; nothing is lost meanwhile; archive.enabled = false does without",
            ) from error

    def relabel(self, name: str, origin: dict[str, Any]) -> None:
        """Have a chunk say that it came from elsewhere. Raises DamagedArchive, OSError."""
        self._write(self.path(name), self.get(name), origin, anew=True)

    def _write(self, path: Path, payload: bytes, origin: dict[str, Any], *, anew: bool = False) -> int:
        with suppress(FileNotFoundError):
            size = path.stat().st_size
            if not anew:
                return size
        data = _MAGIC + orjson.dumps(origin) + b"\n" + deflate(payload)
        self._folder(self.folder)
        self._folder(path.parent)
        scratch = path.with_suffix(_NEW)
        scratch.unlink(missing_ok=True)  # never through a link
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            _write(fd, data)
            if not self._lazily:
                os.fsync(fd)
        finally:
            os.close(fd)
        scratch.rename(path)
        if self._lazily:
            self._unsynced.append(path)
        else:
            _sync(path.parent)
        return len(data)

    def _folder(self, folder: Path) -> None:
        if not folder.is_dir():
            folder.mkdir(mode=0o700)
            if not self._lazily:
                _sync(folder.parent)

    def sync(self) -> None:
        """Have everything that was put lie on disk."""
        for path in self._unsynced:
            _sync(path)
        if self._unsynced:
            for folder in {path.parent for path in self._unsynced} | {self.folder, self.folder.parent}:
                _sync(folder)
        self._unsynced.clear()

    def get(self, name: str) -> bytes:
        """The payload of a chunk. Raises DamagedArchive, also when there is no such file."""
        try:
            data = self.path(name).read_bytes()
            payload = inflate(data[data.index(b"\n") + 1 :])
        except (OSError, ValueError, zstd.ZstdError) as error:
            raise _damaged(self.path(name), error) from error
        if name_of(payload) != name:
            raise _damaged(self.path(name), "its content has changed")
        return payload

    def origin(self, name: str) -> dict[str, Any]:
        """Where the content of a chunk came from when it was first kept. Raises DamagedArchive."""
        try:
            with self.path(name).open("rb") as file:
                head = file.readline(1 << 20)
            found: dict[str, Any] = orjson.loads(head.removeprefix(_MAGIC))
        except (OSError, ValueError) as error:
            raise _damaged(self.path(name), error) from error
        return found

    def remove(self, names: Iterable[str]) -> None:
        """Take chunks away; no harm if they are gone."""
        paths = [self.path(name) for name in names]
        for path in paths:
            path.unlink(missing_ok=True)
        gone = set(paths)
        self._unsynced = [path for path in self._unsynced if path not in gone]
        for folder in {path.parent for path in paths}:
            if folder.is_dir():
                _sync(folder)

    def names(self) -> Iterator[str]:
        """Every chunk that stands there; what a crash left half written is taken away."""
        for path in sorted(self.folder.glob("??/*")) if self.folder.is_dir() else ():
            if path.suffix == _NEW:
                path.unlink()
            elif path.suffix == SUFFIX and len(path.stem) == _HEX:
                yield path.stem

    def tighten(self) -> None:
        """What is kept is for its owner alone: folders 0700, files 0600."""
        if not self.folder.is_dir():
            return
        for path in (self.folder, *self.folder.glob("??"), *self.folder.glob("??/*")):
            if path.stat(follow_symlinks=False).st_mode & 0o077 and not path.is_symlink():
                path.chmod(0o700 if path.is_dir() else 0o600)


def _damaged(path: Path, error: object) -> DamagedArchive:
    return DamagedArchive(f"the archive is damaged: {path}: {error}", _DAMAGED_HINT)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
