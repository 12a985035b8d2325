"""Installing and removing the service, by the words that reach the service manager."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from managers import RUNNING, FakeManager, executable, on_path

from indexer import config, service
from indexer.config import Config
from indexer.errors import Busy, IndexerError, UsageError
from indexer.service import Launchd, Systemd
from indexer.store.connection import WriterLock
from indexer.units import Command


@pytest.fixture
def settings(isolated: Path) -> Config:
    return config.load(isolated / "memory", (), {})


@pytest.fixture
def wanted(isolated: Path, settings: Config) -> Command:
    program = executable(isolated / "bin" / "transcript-indexer")
    return Command(program, (), (), (str(settings.home), str(isolated / ".cache" / "transcript-indexer")), ())


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeManager:
    return on_path(monkeypatch, tmp_path / "fakes", "systemctl", "journalctl")


@pytest.fixture
def systemd(isolated: Path) -> Systemd:
    return Systemd(isolated / ".config" / "systemd" / "user" / "transcript-indexer.service")


# --- systemd


def test_installing_writes_the_unit_and_starts_it(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    assert service.install(systemd, settings, wanted)
    assert systemd.unit().read_bytes() == systemd.render(wanted)
    assert fake.asked() == ["daemon-reload", "enable", "reset-failed", "restart"]


def test_the_unit_is_for_its_owner_alone(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    service.install(systemd, settings, wanted)
    assert systemd.unit().stat().st_mode & 0o777 == 0o600


def test_our_folders_are_there_before_the_service_starts(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    service.install(systemd, settings, wanted)
    assert all(Path(folder).is_dir() for folder in wanted.writable)
    assert settings.home.stat().st_mode & 0o777 == 0o700


def test_installing_again_changes_nothing_and_restarts_nothing(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    service.install(systemd, settings, wanted)
    before = systemd.unit().stat()
    assert not service.install(systemd, settings, wanted)
    after = systemd.unit().stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert fake.asked()[4:] == ["daemon-reload", "enable", "reset-failed", "start"]


def test_an_old_unit_is_brought_up_to_date_in_place(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    service.install(systemd, settings, wanted)
    systemd.unit().write_text("[Service]\nExecStart=/old watch\n")
    assert service.install(systemd, settings, wanted)
    assert fake.asked()[-1] == "restart"
    assert [path.name for path in systemd.unit().parent.iterdir()] == ["transcript-indexer.service"]


def test_without_a_user_manager_nothing_is_written(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    fake.answer("--property=Version", "Failed to connect to bus: No medium found", code=1)
    with pytest.raises(IndexerError, match="No medium found") as raised:
        service.install(systemd, settings, wanted)
    assert "log in as this user" in raised.value.hint
    assert not systemd.unit().exists()
    assert not settings.home.exists()


def test_what_the_manager_refuses_is_said(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    fake.answer("restart", "Job failed", code=1)
    with pytest.raises(IndexerError, match="restart transcript-indexer` failed: Job failed"):
        service.install(systemd, settings, wanted)


def test_a_command_that_is_not_there_is_not_installed(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    with pytest.raises(IndexerError, match="there is no command /nowhere"):
        service.install(systemd, settings, wanted._replace(program="/nowhere"))
    assert fake.calls() == []


def test_network_is_a_drop_in_that_goes_again(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    drop_in = systemd.unit().with_name("transcript-indexer.service.d") / "network.conf"
    service.install(systemd, settings, wanted, network=True)
    assert "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6" in drop_in.read_text()
    assert service.install(systemd, settings, wanted)
    assert not drop_in.exists()


def test_uninstalling_leaves_nothing_but_the_memory(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    service.install(systemd, settings, wanted, network=True)
    assert service.uninstall(systemd)
    assert list(systemd.unit().parent.iterdir()) == []
    assert settings.home.exists()
    assert fake.asked()[4:] == ["disable", "daemon-reload", "reset-failed"]


def test_uninstalling_what_is_not_there_is_no_error(fake: FakeManager, systemd: Systemd) -> None:
    assert not service.uninstall(systemd)
    assert fake.calls() == []


def test_the_state_is_what_systemd_says(fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command) -> None:
    fake.answer("transcript-indexer", RUNNING)
    service.install(systemd, settings, wanted)
    state = systemd.state()
    assert (state.installed, state.enabled, state.running, state.pid, state.restarts) == (True, True, True, 4711, 2)
    assert (state.state, state.detail) == ("active (running)", "up to date; 0 files to read")
    assert (state.program, state.program_exists) == (wanted.program, True)


def test_a_manager_that_does_not_answer_is_a_state(fake: FakeManager, systemd: Systemd) -> None:
    fake.answer("show", "Failed to connect to bus", code=1)
    state = systemd.state()
    assert (state.installed, state.running, state.state) == (False, False, "Failed to connect to bus")


def test_a_command_that_went_away_is_seen(
    fake: FakeManager, systemd: Systemd, settings: Config, wanted: Command
) -> None:
    service.install(systemd, settings, wanted)
    Path(wanted.program).unlink()
    assert not systemd.state().program_exists


def test_the_log_is_the_journals(systemd: Systemd) -> None:
    words = systemd.log_command(20, follow=True)
    assert words[:3] == ["journalctl", "--user-unit=transcript-indexer", "--lines=20"]
    assert words[-1] == "--follow"


# --- launchd


@pytest.fixture
def launchctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeManager:
    return on_path(monkeypatch, tmp_path / "fakes", "launchctl")


@pytest.fixture
def launchd(isolated: Path) -> Launchd:
    return Launchd(isolated / "Library" / "LaunchAgents" / "transcript-indexer.plist")


LABEL = f"gui/{os.getuid()}/transcript-indexer"


def test_the_agent_is_written_and_loaded(
    launchctl: FakeManager, launchd: Launchd, settings: Config, wanted: Command
) -> None:
    launchctl.answer(LABEL, "not loaded", code=113)
    assert service.install(launchd, settings, wanted)
    assert launchd.unit().read_bytes() == launchd.render(wanted)
    assert launchctl.calls()[-1] == f"launchctl bootstrap gui/{os.getuid()} {launchd.unit()}"
    assert launchd.log().parent.is_dir()


def test_a_loaded_agent_is_loaded_again_only_after_a_change(
    launchctl: FakeManager, launchd: Launchd, settings: Config, wanted: Command
) -> None:
    service.install(launchd, settings, wanted)
    assert [line.split()[1] for line in launchctl.calls()] == ["print", "print", "bootout", "bootstrap"]
    service.install(launchd, settings, wanted)
    assert [line.split()[1] for line in launchctl.calls()][4:] == ["print", "print"]


def test_without_a_login_nothing_is_loaded(
    launchctl: FakeManager, launchd: Launchd, settings: Config, wanted: Command
) -> None:
    launchctl.answer(f"gui/{os.getuid()}", "Could not find domain", code=112)
    with pytest.raises(IndexerError, match="Could not find domain"):
        service.install(launchd, settings, wanted)
    assert not launchd.unit().exists()


def test_the_agent_is_unloaded_and_removed(
    launchctl: FakeManager, launchd: Launchd, settings: Config, wanted: Command
) -> None:
    service.install(launchd, settings, wanted)
    assert service.uninstall(launchd)
    assert launchctl.calls()[-1] == f"launchctl bootout {LABEL}"
    assert not launchd.unit().exists()


def test_the_agents_state(launchctl: FakeManager, launchd: Launchd, settings: Config, wanted: Command) -> None:
    service.install(launchd, settings, wanted)
    launchctl.answer(LABEL, "gui = {\\n  state = running\\n  pid = 99\\n}")
    assert (launchd.state().running, launchd.state().pid, launchd.state().program) == (True, 99, wanted.program)


def test_the_agents_log_is_its_file(launchd: Launchd) -> None:
    assert launchd.log_command(5, follow=False) == ["tail", "-n", "5", str(launchd.log())]


# --- which manager


def test_macos_has_launchd(isolated: Path) -> None:
    assert service.manager("darwin", {"HOME": str(isolated)}).unit().parent == isolated / "Library" / "LaunchAgents"


def test_linux_has_systemd(fake: FakeManager, isolated: Path) -> None:
    unit = service.manager("linux", {"HOME": str(isolated)}).unit()
    assert unit == isolated / ".config" / "systemd" / "user" / "transcript-indexer.service"
    moved = service.manager("linux", {"HOME": str(isolated), "XDG_CONFIG_HOME": "/xdg"}).unit()
    assert moved == Path("/xdg/systemd/user/transcript-indexer.service")


def test_neither_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(IndexerError, match="neither systemd nor launchd"):
        service.manager("linux", {})


def test_a_manager_that_hangs_is_given_up(fake: FakeManager, systemd: Systemd, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake.folder / "systemctl").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    monkeypatch.setattr(service, "SECONDS", 0.1)
    with pytest.raises(IndexerError, match="did not answer"):
        systemd.reach()


# --- what is run


def test_the_command_line_becomes_part_of_the_command(settings: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    made = service.command(replace(settings, roots=("/r",)), ["/r"], {"XDG_DATA_HOME": "/x"}, home_given=True)
    assert made.args == ("--home", str(settings.home), "--root", "/r")
    assert (made.environment, made.readable) == ((("XDG_DATA_HOME", "/x"),), ("/r",))


def test_without_options_nothing_is_fixed(settings: Config) -> None:
    made = service.command(settings, [], {}, home_given=False)
    assert (made.args, made.environment) == ((), ())
    assert str(settings.home) in made.writable


def test_a_home_too_deep_for_a_socket_needs_one_more_folder(settings: Config, tmp_path: Path) -> None:
    deep = replace(settings, home=tmp_path / ("x" * 120))
    assert (
        service.command(deep, [], {"XDG_RUNTIME_DIR": "/run/user/1000"}, home_given=False).writable[-1]
        == "/run/user/1000"
    )
    short = replace(settings, home=Path("/home/dev/memory"))
    assert len(service.command(short, [], {}, home_given=False).writable) == 2


def test_doubts_refuse_with_the_way_out() -> None:
    service.refuse([])
    with pytest.raises(UsageError, match="lies in a cache") as raised:
        service.refuse(["/x lies in a cache"])
    assert "pipx install" in raised.value.hint


# --- purge


def lay(settings: Config, isolated: Path) -> None:
    for path in (settings.home / "index.db", config.user_file(), isolated / ".cache/transcript-indexer/model"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_purging_leaves_nothing(settings: Config, isolated: Path) -> None:
    lay(settings, isolated)
    gone = service.purge(settings, {"HOME": str(isolated)})
    assert gone == [str(settings.home), str(config.user_file()), str(isolated / ".cache" / "transcript-indexer")]
    assert [path for path in isolated.rglob("*") if path.is_file()] == []
    assert not config.user_file().parent.exists()


def test_purging_twice_is_no_error(settings: Config, isolated: Path) -> None:
    lay(settings, isolated)
    service.purge(settings, {"HOME": str(isolated)})
    assert service.purge(settings, {"HOME": str(isolated)}) == []


def test_what_is_written_to_is_not_purged(settings: Config, isolated: Path) -> None:
    lay(settings, isolated)
    lock = WriterLock(settings.home)
    with pytest.raises(Busy):
        service.purge(settings, {"HOME": str(isolated)})
    lock.release()
    assert (settings.home / "index.db").exists()


def test_a_home_folder_is_not_purged(settings: Config, isolated: Path) -> None:
    (isolated / "index.db").touch()
    for home in (isolated, isolated.parent):
        with pytest.raises(UsageError, match="not a folder of ours alone"):
            service.purge(replace(settings, home=home), {"HOME": str(isolated)})
    assert isolated.exists()


@pytest.mark.parametrize("database", [False, True])
def test_a_folder_of_other_files_too_is_not_purged(settings: Config, isolated: Path, *, database: bool) -> None:
    lay(settings, isolated)
    (settings.home / "thesis.tex").touch()
    if not database:
        (settings.home / "index.db").unlink()
    with pytest.raises(UsageError, match=r"not ours \(thesis.tex\)"):
        service.purge(settings, {"HOME": str(isolated)})
    assert (settings.home / "thesis.tex").exists()
    assert config.user_file().exists()


def test_a_folder_of_our_name_is_purged_whole(settings: Config, isolated: Path) -> None:
    ours = replace(settings, home=isolated / "transcript-indexer")
    lay(ours, isolated)
    (ours.home / "archive").mkdir()
    (ours.home / "archive" / "2026.zst").touch()
    service.purge(ours, {"HOME": str(isolated)})
    assert not ours.home.exists()


def test_a_link_is_not_followed_into_someone_elses_folder(settings: Config, isolated: Path) -> None:
    (isolated / "elsewhere").mkdir()
    (isolated / "elsewhere" / "index.db").touch()
    settings.home.symlink_to(isolated / "elsewhere")
    with pytest.raises(UsageError, match="not a folder of ours alone"):
        service.purge(settings, {"HOME": str(isolated)})
    assert (isolated / "elsewhere" / "index.db").exists()


def test_only_settings_of_the_network_need_it(settings: Config) -> None:
    url: dict[str, Any] = {"vectors_url": "https://embed.example/v1", "vectors_models": ("url",)}
    assert not service.needs_network(settings)
    assert service.needs_network(replace(settings, metrics_port=9464))
    assert service.needs_network(replace(settings, **url))
    assert not service.needs_network(replace(settings, vectors_url="https://embed.example/v1"))


def test_the_folder_of_a_metrics_socket_may_be_written_to(settings: Config, tmp_path: Path) -> None:
    inside, beside = settings.home / "metrics.sock", tmp_path / "run" / "m.sock"
    found = [
        service.command(replace(settings, metrics_socket=path), (), {}, home_given=False).writable
        for path in (inside, beside)
    ]
    assert (str(tmp_path / "run") in found[0], str(tmp_path / "run") in found[1]) == (False, True)
