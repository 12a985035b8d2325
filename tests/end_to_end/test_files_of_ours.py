"""Whatever the umask and whatever was loose: files of ours are their owner's alone, and none lies elsewhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemons import Service, settings
from transcripts import Transcript

from indexer import app


@pytest.fixture(autouse=True)
def lax() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


class Desk:
    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "projects"
        self.session = Transcript("a")
        self.session.user("hello")
        self.session.write(self.root)
        self.config = settings(self.home, self.root)

    def loose(self) -> list[str]:
        """What others could open, in the home and of itself."""
        return [path.name for path in (self.home, *self.home.rglob("*")) if stat.S_IMODE(path.lstat().st_mode) & 0o077]


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_rescan_makes_nothing_that_others_can_read(desk: Desk) -> None:
    for _ in range(2):
        app.rescan(desk.config)
        assert desk.loose() == []


def test_a_service_makes_nothing_that_others_can_read(desk: Desk) -> None:
    service = Service(desk.config)
    service.settle()
    assert service.status["pid"] == os.getpid()
    names = {path.name for path in desk.home.iterdir()}
    assert {"index.db", "index.db-wal", "index.db-shm", "index.db.lock", "status.json", "control.sock"} <= names
    assert desk.loose() == []
    service.stop()


def test_forgetting_makes_nothing_that_others_can_read(desk: Desk) -> None:
    app.rescan(desk.config)
    app.forget(desk.config, [desk.session.session_id], ())
    assert (desk.home / "key").exists()
    assert desk.loose() == []


@pytest.mark.parametrize("writer", ["rescan", "forget", "watch"])
def test_every_writer_tightens_what_it_finds_loose(desk: Desk, writer: str) -> None:
    app.rescan(desk.config)
    for name in ("index.db-wal", "index.db-shm", "status.json", "index.db.lock"):
        (desk.home / name).touch()
    (desk.home / "archive").mkdir()
    for path in (desk.home, *desk.home.iterdir()):
        path.chmod(0o777 if path.is_dir() else 0o666)
    if writer == "rescan":
        app.rescan(desk.config)
    elif writer == "forget":
        app.forget(desk.config, [desk.session.session_id], ())
    else:
        Service(desk.config).stop()
    assert desk.loose() == []


def test_files_of_the_users_own_in_the_home_are_left_alone(desk: Desk) -> None:
    desk.home.mkdir()
    (desk.home / "notes.sh").touch(mode=0o755)
    app.rescan(desk.config)
    assert desk.loose() == ["notes.sh"]


def test_links_among_our_names_are_not_followed(desk: Desk, tmp_path: Path) -> None:
    desk.home.mkdir()
    (tmp_path / "elsewhere").touch(mode=0o644)
    (desk.home / "status.json.new").symlink_to(tmp_path / "elsewhere")
    app.rescan(desk.config)
    assert stat.S_IMODE((tmp_path / "elsewhere").stat().st_mode) == 0o644


@pytest.mark.parametrize("name", ["../../zqout", "/zqout", "..", "a/../../zqout", "\0zqout"])
def test_ids_that_are_paths_lead_nowhere(desk: Desk, tmp_path: Path, name: str) -> None:
    before = {path for path in tmp_path.rglob("*") if desk.home not in path.parents}
    evil = Transcript("e", session_id=name)
    evil.user("zqevil")
    evil.result(evil.call("Task", {}), "done", toolUseResult={"agentId": name})
    path = desk.root / "-w" / "evil.jsonl"
    path.parent.mkdir()
    path.write_bytes(evil.data)
    app.rescan(desk.config)
    app.forget(desk.config, [name], [name])
    app.rescan(desk.config)
    after = {path for path in tmp_path.rglob("*") if desk.home not in path.parents}
    assert {found.name for found in after - before} <= {"home", "-w", "evil.jsonl"}
    assert not any("zqout" in found.name for found in desk.home.rglob("*"))
