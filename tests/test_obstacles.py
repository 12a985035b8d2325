"""What keeps a folder from being used is seen before anybody fails at it, and said with its remedy."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from indexer.obstacles import LEAST, obstacle

Deny = Callable[[Path], None]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vectors" / "chroma" / "1").mkdir(parents=True)
    for name in ("vectors.db", "worker.lock", "chroma/1/data.bin"):
        (tmp_path / "vectors" / name).touch()
    return tmp_path / "vectors"


@pytest.fixture
def deny(monkeypatch: pytest.MonkeyPatch) -> Deny:
    """Paths that cannot be accessed: root, whom tests may run as, can access all."""
    denied: set[str] = set()
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) not in denied and real(path, mode))
    return lambda path: denied.add(str(path))


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the disk says of itself; may be changed."""
    about = {"f_bavail": 1 << 20, "f_frsize": 4096, "f_flag": 0}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**about))
    return about


def message(folder: Path, deep: bool = False) -> str:
    found = obstacle(folder, deep)
    return f"{found.message}; {found.remedy}" if found else ""


def test_where_all_is_well_nothing_is_seen(folder: Path) -> None:
    assert obstacle(folder, deep=True) is None


def test_a_folder_that_is_not_there_can_be_made(tmp_path: Path) -> None:
    assert obstacle(tmp_path / "new" / "vectors") is None


def test_a_file_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "vectors").touch()
    assert message(tmp_path / "vectors") == f"{tmp_path / 'vectors'} is no folder; move it away"


def test_a_file_in_the_place_of_its_parent(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    assert message(tmp_path / "home" / "vectors").startswith(f"{tmp_path / 'home'} is no folder")


def test_a_link_that_leads_nowhere_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "vectors").symlink_to(tmp_path / "nowhere")
    assert "is no folder" in message(tmp_path / "vectors")


def test_a_folder_that_is_closed(folder: Path, deny: Deny) -> None:
    deny(folder)
    assert message(folder) == f"{folder} cannot be read and written; `chmod u+rwx {folder}`"


def test_a_parent_that_is_closed(tmp_path: Path, deny: Deny) -> None:
    deny(tmp_path)
    assert message(tmp_path / "vectors") == f"{tmp_path} cannot be read and written; `chmod u+rwx {tmp_path}`"


def test_a_file_that_is_closed(folder: Path, deny: Deny) -> None:
    deny(folder / "vectors.db")
    assert message(folder).endswith(f"`chmod u+rw {folder / 'vectors.db'}`")


def test_what_lies_deeper_is_looked_at_when_asked(folder: Path, deny: Deny) -> None:
    deny(folder / "chroma" / "1" / "data.bin")
    assert message(folder) == ""
    assert "data.bin cannot be read and written" in message(folder, deep=True)


def test_a_folder_in_the_place_of_a_file(folder: Path) -> None:
    (folder / "vectors.db").unlink()
    (folder / "vectors.db").mkdir()
    assert message(folder) == f"{folder / 'vectors.db'} is no file; move it away"


def test_what_belongs_to_somebody_else(folder: Path, deny: Deny, monkeypatch: pytest.MonkeyPatch) -> None:
    deny(folder)
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert message(folder) == f"{folder} belongs to another user; `sudo chown 4711 {folder}`"


def test_a_file_system_that_is_read_only(folder: Path, deny: Deny, disk: dict[str, Any]) -> None:
    deny(folder)
    disk["f_flag"] = os.ST_RDONLY
    assert "is on a file system that is read-only; mount it" in message(folder)


@pytest.mark.parametrize(("left", "full"), [(LEAST - 4096, True), (LEAST, False)])
def test_a_disk_without_room(folder: Path, disk: dict[str, Any], left: int, full: bool) -> None:
    disk["f_bavail"] = left // 4096
    assert ("is full; make room" in message(folder)) == full


def test_what_cannot_be_looked_at_is_an_obstacle(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> object:
        raise OSError(5, "Input/output error", str(path))

    monkeypatch.setattr(os, "scandir", fail)
    assert message(folder).startswith(f"{folder}: Input/output error")


def test_nothing_is_touched(folder: Path) -> None:
    before = [(path, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))]
    obstacle(folder, deep=True)
    assert [(path, path.stat().st_mtime_ns) for path in sorted(folder.rglob("*"))] == before
