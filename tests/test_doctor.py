"""Each finding where it is due, nowhere else, with its remedy; and nothing is touched."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import sqlite3
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from daemons import settings
from managers import executable
from transcripts import Transcript

from indexer import app, doctor, service_checks, share, units
from indexer.doctor import Patient
from indexer.errors import IndexerError
from indexer.finding import NOTE, OK, PROBLEM, Finding
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import LOCK, WriterLock
from indexer.units import Command

DAY = 86_400
README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def talk(name: str, root: Path) -> None:
    made = Transcript(name)
    made.user(name)
    made.write(root)


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """The client's folder, with one transcript."""
    talk("one", tmp_path / "claude" / "projects")
    return tmp_path / "claude"


@pytest.fixture
def home(tmp_path: Path, claude: Path) -> Path:
    """A memory that has read it."""
    app.rescan(settings(tmp_path / "home", claude / "projects"))
    return tmp_path / "home"


def look(home: Path, claude: Path, changed: dict[str, Any] | None = None, **more: Any) -> list[Finding]:
    fields = {"env": {"HOME": os.environ["HOME"]}, "platform": "linux"} | more
    config = settings(home, claude / "projects", **(changed or {}))
    return doctor.examine(Patient(config, ClaudeCode(), **fields))


def of(found: list[Finding], kind: str) -> list[str]:
    return [finding.level for finding in found if finding.kind == kind]


def message(found: list[Finding], kind: str) -> str:
    return next(f"{finding.message} -> {finding.remedy}" for finding in found if finding.kind == kind)


Look = Callable[..., list[Finding]]


# --- a healthy memory


def test_nothing_is_wrong_with_a_healthy_memory(home: Path, claude: Path) -> None:
    found = look(home, claude)
    assert [finding for finding in found if finding.level == PROBLEM] == []
    assert {"roots", "permissions", "integrity", "behind"} <= {finding.kind for finding in found if finding.level == OK}


def test_nothing_is_written(home: Path, claude: Path, isolated: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        files = [path for top in (home, claude, isolated) for path in top.rglob("*") if path.is_file()]
        return {
            str(f): (f.stat().st_size, f.stat().st_mtime_ns) for f in files if f.suffix not in (".db-shm", ".db-wal")
        }

    before = state()
    look(home, claude)
    after = {path: at for path, at in state().items() if not path.endswith(("-shm", "-wal"))}
    assert after == {path: at for path, at in before.items() if not path.endswith(("-shm", "-wal"))}


def test_whatever_is_wrong_has_its_remedy(tmp_path: Path, claude: Path) -> None:
    found = look(tmp_path / "nothing", claude)
    assert all(finding.remedy for finding in found if finding.level != OK)


# --- transcripts


def test_no_place_with_transcripts(home: Path, tmp_path: Path) -> None:
    assert of(look(home, tmp_path / "nowhere"), "roots") == [PROBLEM]


def test_a_place_without_transcripts(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty" / "projects").mkdir(parents=True)
    assert of(look(home, tmp_path / "empty"), "roots") == [NOTE]


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read(home: Path, claude: Path) -> None:
    folder = next((claude / "projects").iterdir())
    folder.chmod(0)
    found = look(home, claude)
    folder.chmod(0o700)
    assert of(found, "unreadable") == [PROBLEM]


def test_a_transcript_that_could_not_be_read(home: Path, claude: Path) -> None:
    edit(home, "UPDATE ingest_files SET status = 'unreadable', last_error = 'Permission denied'")
    assert "Permission denied" in message(look(home, claude), "unreadable")


def edit(home: Path, sql: str) -> None:
    with sqlite3.connect(home / "index.db") as conn:
        conn.execute(sql)
    conn.close()


def aged(claude: Path, days: float) -> None:
    for file in (claude / "projects").rglob("*.jsonl"):
        then = file.stat().st_mtime - days * DAY
        os.utime(file, (then, then))


def test_what_is_deleted_soon_and_in_the_memory_is_a_note(home: Path, claude: Path) -> None:
    aged(claude, 24)
    assert of(look(home, claude), "deleted-soon") == [NOTE]


def test_what_is_deleted_soon_and_unread_is_a_problem(tmp_path: Path, claude: Path) -> None:
    aged(claude, 24)
    found = look(tmp_path / "nothing", claude)
    assert of(found, "deleted-soon") == [PROBLEM]
    assert "cleanupPeriodDays is 30" in message(found, "deleted-soon")


@pytest.mark.parametrize(("days", "age", "due"), [(30, 22, []), (90, 24, []), (90, 84, [NOTE]), (0.5, 0, [NOTE])])
def test_the_clients_own_setting_counts(home: Path, claude: Path, days: float, age: float, due: list[str]) -> None:
    (claude / "settings.json").write_text(json.dumps({"cleanupPeriodDays": days}))
    aged(claude, age)
    assert of(look(home, claude), "deleted-soon") == due


@pytest.mark.parametrize("days", ["soon", None, 0, -3, True, [], {"a": 1}])
def test_a_setting_that_the_client_would_not_take_counts_as_30(home: Path, claude: Path, days: object) -> None:
    (claude / "settings.json").write_text(json.dumps({"cleanupPeriodDays": days}))
    aged(claude, 24)
    assert of(look(home, claude), "deleted-soon") == [NOTE]


@pytest.mark.parametrize("text", ["{", "\udcff", "[" * 100_000])
def test_settings_that_cannot_be_read_are_told_of(home: Path, claude: Path, text: str) -> None:
    (claude / "settings.json").write_text(text, errors="surrogateescape")
    assert of(look(home, claude), "settings-file") == [NOTE]


# --- the folder of the memory


@pytest.mark.parametrize(("name", "mode"), [(".", 0o755), ("index.db", 0o644)])
def test_a_memory_that_others_may_read(home: Path, claude: Path, name: str, mode: int) -> None:
    (home / name).chmod(mode)
    found = look(home, claude)
    assert of(found, "permissions") == [PROBLEM]
    assert f"chmod -R go-rwx {home}" in message(found, "permissions")


def test_a_persons_own_file_in_that_folder_is_their_affair(home: Path, claude: Path) -> None:
    (home / "notes.txt").touch()
    (home / "notes.txt").chmod(0o644)
    assert of(look(home, claude), "permissions") == [OK]


def test_a_memory_of_another_user(home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    found = look(home, claude)
    assert "belongs to another user" in message(found, "permissions")


def test_little_room(home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 40, 1 << 40, 7 << 20))
    assert message(look(home, claude), "disk-space").startswith("7 MB are left")


def test_a_memory_that_is_not_there_yet_has_room(tmp_path: Path, claude: Path) -> None:
    assert of(look(tmp_path / "a" / "b", claude), "disk-space") == []


@pytest.mark.parametrize(("kind", "due"), [("nfs4", [PROBLEM]), ("fuse.sshfs", [PROBLEM]), ("ext4", [])])
def test_a_network_file_system(home: Path, claude: Path, tmp_path: Path, kind: str, due: list[str]) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"root / ext4 rw\nhost:/x {home.parent} {kind} rw 0 0\nhost:/y /elsewhere nfs rw\nbad\n")
    assert of(look(home, claude, mounts=mounts), "network-filesystem") == due


def test_without_a_list_of_mounts_nothing_is_said(home: Path, claude: Path, tmp_path: Path) -> None:
    assert of(look(home, claude, mounts=tmp_path / "none"), "network-filesystem") == []


# --- the database


def test_no_memory_yet(tmp_path: Path, claude: Path) -> None:
    found = look(tmp_path / "nothing", claude)
    assert of(found, "memory") == [PROBLEM]
    assert "transcript-indexer rescan" in message(found, "memory")


def test_a_database_that_is_none(home: Path, claude: Path) -> None:
    for path in home.glob("index.db*"):
        path.unlink()
    (home / "index.db").write_bytes(b"not a database, certainly not one" * 100)
    (home / "index.db").chmod(0o600)
    assert of(look(home, claude), "memory") == [PROBLEM]


def test_damage_is_found(home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("indexer.store.soundness.QUICK_CHECK", "SELECT 'row 3 missing from index x'")
    found = look(home, claude)
    assert of(found, "integrity") == [PROBLEM]
    assert "row 3 missing" in message(found, "integrity")


def test_an_index_that_lacks_texts(home: Path, claude: Path) -> None:
    edit(home, "DELETE FROM search_fts_docsize")
    assert of(look(home, claude), "full-text") == [PROBLEM]


def test_no_index_at_all(home: Path, claude: Path) -> None:
    edit(home, "DROP TABLE search_fts")
    assert "FTS5" in message(look(home, claude), "full-text")


def test_dead_letters(home: Path, claude: Path) -> None:
    edit(home, "INSERT INTO dead_letters SELECT id, 0, 9, 1, 'NUL bytes' FROM ingest_files LIMIT 1")
    assert of(look(home, claude), "dead-letters") == [NOTE]


# --- what keeps it up to date


def test_unread_transcripts(home: Path, claude: Path) -> None:
    talk("two", claude / "projects")
    assert of(look(home, claude), "behind") == [PROBLEM]


def test_unread_transcripts_while_somebody_reads(home: Path, claude: Path) -> None:
    talk("two", claude / "projects")
    lock = WriterLock(home)
    assert of(look(home, claude), "behind") == [NOTE]
    lock.release()


def test_nobody_watches(home: Path, claude: Path) -> None:
    assert of(look(home, claude), "no-watcher") == [NOTE]


@pytest.fixture
def watched(home: Path) -> Any:
    """A service holds the lock and says something."""
    lock = WriterLock(home)

    def say(**more: object) -> None:
        said = {"pid": os.getpid(), "mode": "native", "updated_at": 1_000_000_000} | more
        (home / "status.json").write_text(json.dumps(said))
        (home / "status.json").chmod(0o600)

    yield say
    lock.release()


def test_a_service_at_work(home: Path, claude: Path, watched: Any) -> None:
    watched()
    assert of(look(home, claude, now=1_000_060), "no-watcher") == [OK]


def test_a_service_that_says_nothing_any_more(home: Path, claude: Path, watched: Any) -> None:
    watched()
    found = look(home, claude, now=1_000_121)
    assert of(found, "hung") == [PROBLEM]
    assert "has said nothing for 121 s" in message(found, "hung")


def test_a_service_that_polls(home: Path, claude: Path, watched: Any) -> None:
    watched(mode="polling", reason="no watches left", remedy="sysctl …")
    assert message(look(home, claude, now=1_000_001), "polling").endswith("no watches left -> sysctl …")


def test_a_service_that_lives_and_reads_nothing(home: Path, claude: Path, watched: Any) -> None:
    watched(lag_bytes=5, progress_at=999_600_000, updated_at=1_000_000_000, remedy="make room")
    found = look(home, claude, now=1_000_000)
    assert (of(found, "stalled"), of(look(home, claude, now=999_890), "stalled")) == ([PROBLEM], [])
    assert message(found, "stalled").endswith("has read nothing for 400 s though something waits -> make room")


def test_what_the_service_says_is_wrong(home: Path, claude: Path, watched: Any) -> None:
    watched(reason="the disk is full", remedy="make room")
    assert message(look(home, claude, now=1_000_001), "trouble") == "the service says: the disk is full -> make room"


@pytest.mark.parametrize("said", [{"pid": 1}, {"updated_at": "x"}])
def test_a_writer_that_is_no_service(home: Path, claude: Path, watched: Any, said: dict[str, object]) -> None:
    watched(**said)
    assert of(look(home, claude), "no-watcher") == [OK]


# --- locks, the archive, vectors


def test_nobody_writes(home: Path, claude: Path) -> None:
    assert message(look(home, claude), "locks") == "nobody is writing -> "


def test_a_command_that_writes_for_hours_is_told_of(home: Path, claude: Path) -> None:
    lock = WriterLock(home)
    then = (home / LOCK).stat().st_mtime
    soon, late = look(home, claude, now=then + 3000), look(home, claude, now=then + 7200)
    lock.release()
    assert (of(soon, "locks"), of(late, "locks")) == ([OK], [NOTE])
    assert "has been writing for 120 minutes" in message(late, "locks")


def test_a_lock_that_is_no_file_is_a_problem(home: Path, claude: Path) -> None:
    (home / LOCK).unlink()
    (home / LOCK).mkdir(mode=0o700)
    assert of(look(home, claude), "locks") == [PROBLEM]


def test_a_place_where_locks_fail(home: Path, claude: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    found = look(home, claude)
    assert of(found, "locks") == [PROBLEM]
    assert "No locks available" in message(found, "locks")


def test_a_full_archive(home: Path, claude: Path) -> None:
    edit(home, "INSERT INTO archive_chunks VALUES (99, 'x', 9000000, 3000000)")
    full = look(home, claude, {"archive_max_mb": 2})
    assert of(full, "archive-full") == [PROBLEM]
    for changed in ({"archive_max_mb": 0}, {"archive_max_mb": 2, "archive_enabled": False}, {"archive_max_mb": 9}):
        assert of(look(home, claude, changed), "archive-full") == []


VECTORS = {"rows": 3, "taken_in": 3, "arms": [{"arm": "use", "documents": 5, "vectors": 4}]}


def test_texts_without_vectors_are_a_note(home: Path, claude: Path) -> None:
    found = look(home, claude, {"vectors_store": "chroma"}, vectors=lambda: VECTORS)
    assert of(found, "vectors") == [NOTE]
    assert "1 document without a vector of use" in message(found, "vectors")


def test_vectors_that_are_whole(home: Path, claude: Path) -> None:
    whole = VECTORS | {"arms": [{"arm": "use", "documents": 5, "vectors": 5}]}
    assert of(look(home, claude, {"vectors_store": "exact"}, vectors=lambda: whole), "vectors") == [OK]
    behind = whole | {"taken_in": 2}
    assert "1 row not taken in yet" in message(
        look(home, claude, {"vectors_store": "exact"}, vectors=lambda: behind), "vectors"
    )


def test_a_model_that_is_not_installed_is_a_problem_with_its_command(home: Path, claude: Path) -> None:
    absent = [("use", IndexerError("the package x is not installed", "install it with `pip install x`"))]
    found = look(home, claude, {"vectors_store": "chroma"}, absent=lambda: absent)
    assert of(found, "model") == [PROBLEM]
    assert message(found, "model") == "use: the package x is not installed -> install it with `pip install x`"
    assert of(look(home, claude, {"vectors_store": "chroma"}), "model") == [OK]


def test_vectors_that_are_switched_off_are_not_looked_at(home: Path, claude: Path) -> None:
    found = look(home, claude, vectors=lambda: VECTORS, absent=lambda: [("use", IndexerError("gone", ""))])
    assert (of(found, "vectors"), of(found, "model")) == ([], [])


# --- the unit


@pytest.fixture
def installed(isolated: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(units, "_VOLATILE", ())
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/nowhere")
    template = share.find("systemd/transcript-indexer.service").read_text(encoding="utf-8")

    def write(program: str, folder: Path = home) -> None:
        path = isolated / ".config" / "systemd" / "user" / "transcript-indexer.service"
        path.parent.mkdir(parents=True)
        path.write_text(units.systemd_unit(template, Command(program, (), (), (str(folder),), ())))

    return write


def test_a_unit_whose_command_stays(home: Path, claude: Path, installed: Any, tmp_path: Path) -> None:
    installed(executable(tmp_path / "bin" / "transcript-indexer"))
    assert of(look(home, claude), "unit") == [OK]


def test_a_unit_whose_command_is_gone(home: Path, claude: Path, installed: Any) -> None:
    installed("/gone/bin/transcript-indexer")
    found = look(home, claude)
    assert of(found, "unit") == [PROBLEM]
    assert "service install" in message(found, "unit")


def test_a_unit_whose_command_may_go(home: Path, claude: Path, installed: Any, tmp_path: Path) -> None:
    installed(executable(tmp_path / ".cache" / "uv" / "transcript-indexer"))
    assert of(look(home, claude), "unit") == [NOTE]


def test_a_unit_for_another_home(home: Path, claude: Path, installed: Any, tmp_path: Path) -> None:
    installed(executable(tmp_path / "bin" / "transcript-indexer"), tmp_path / "elsewhere")
    assert "does not let the service write" in message(look(home, claude), "unit")


# --- README


def entries() -> list[str]:
    told = README.partition("\n## Troubleshooting\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `([a-z-]+)` \|", told, re.MULTILINE)


def test_every_kind_of_finding_has_its_entry_in_the_readme() -> None:
    assert entries() == list(doctor.KINDS)


def test_no_finding_is_of_another_kind() -> None:
    source = "".join(Path(str(module.__file__)).read_text(encoding="utf-8") for module in (doctor, service_checks))
    assert set(re.findall(r'Finding\(\s*"([a-z-]+)"', source)) == set(doctor.KINDS)
