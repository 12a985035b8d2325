"""`service …` from the command line: what is printed where, and the exit codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from managers import RUNNING, FakeManager, executable, on_path

from indexer import units
from indexer.config import load
from indexer.store.connection import WriterLock


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeManager:
    return on_path(monkeypatch, tmp_path / "fakes", "systemctl", "journalctl")


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """This process was started as an installed command, in a place that stays."""
    path = executable(tmp_path / "bin" / "transcript-indexer")
    monkeypatch.setattr(sys, "argv", [path])
    monkeypatch.setattr(units, "_VOLATILE", ())
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/nowhere")
    return path


@pytest.fixture
def unit(isolated: Path) -> Path:
    return isolated / ".config" / "systemd" / "user" / "transcript-indexer.service"


def test_a_dry_run_prints_the_unit_and_touches_nothing(fake: FakeManager, call: Any, isolated: Path) -> None:
    answer = call("service", "install", "--dry-run")
    assert (answer.code, fake.calls(), list(isolated.iterdir())) == (0, [], [])
    assert answer.out.startswith("# Written by")
    assert "[Service]" in answer.out
    assert "warning: " in answer.err
    assert "warning" not in answer.out


def test_home_may_stand_before_the_action(fake: FakeManager, call: Any, program: str) -> None:
    answer = call("service", "--home", "/x/y z", "install", "--dry-run")
    assert f'ExecStart={program} watch --home "/x/y z"' in answer.out


def test_a_dry_run_for_programs(fake: FakeManager, call: Any, unit: Path) -> None:
    answer = call("service", "install", "--dry-run", "--json").json
    assert (answer["unit"], answer["text"].splitlines()[2]) == (str(unit), "[Unit]")


def test_a_command_that_may_go_is_refused(
    fake: FakeManager, call: Any, unit: Path, program: str, tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "pyvenv.cfg").touch()
    Path(program).parent.rename(tmp_path / "venv")
    link = executable(tmp_path / "venv" / "bin" / "transcript-indexer")
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    sys.argv[0] = link
    answer = call("service", "install")
    assert (answer.code, unit.exists()) == (2, False)
    assert "project folder" in answer.err
    assert call("service", "install", "--force").code == 0
    assert unit.exists()


def test_installing_says_what_it_did(fake: FakeManager, call: Any, program: str, unit: Path) -> None:
    first, second = call("service", "install"), call("service", "install")
    assert (first.code, first.out.splitlines()[0]) == (0, f"installed and running: {unit}")
    assert second.out.splitlines()[0] == f"already installed, unchanged; started: {unit}"
    fake.answer("transcript-indexer", RUNNING)
    third = call("service", "install")
    assert third.out.splitlines()[0] == f"already installed, unchanged and running: {unit}"


def test_installing_for_programs(fake: FakeManager, call: Any, program: str, unit: Path) -> None:
    answer = call("service", "install", "--json").json
    assert (answer["unit"], answer["changed"]) == (str(unit), True)
    assert answer["service"]["program"] == program


def test_a_second_writer_is_told_of(fake: FakeManager, call: Any, program: str) -> None:
    lock = WriterLock(load().home)
    assert "the service waits until it ends" in call("service", "install").err
    lock.release()


def test_uninstalling_says_where_the_memory_stays(fake: FakeManager, call: Any, program: str, unit: Path) -> None:
    call("service", "install")
    answer = call("service", "uninstall")
    assert answer.out.splitlines() == [f"removed {unit}", f"the memory stays in {load().home}"]
    assert call("service", "uninstall").out.splitlines()[0] == "there was no service to remove"


def test_purging_says_what_it_deleted(fake: FakeManager, call: Any, program: str, unit: Path) -> None:
    call("service", "install")
    home = load().home
    answer = call("service", "uninstall", "--purge", "--json").json
    assert answer["removed"]
    assert str(home) in answer["purged"]
    assert not home.exists()


def test_what_cannot_be_purged_is_said_before_anything_goes(
    fake: FakeManager, call: Any, program: str, unit: Path, tmp_path: Path
) -> None:
    call("service", "install", "--home", str(tmp_path / "mine"))
    (tmp_path / "mine" / "thesis.tex").touch()
    answer = call("service", "uninstall", "--purge", "--home", str(tmp_path / "mine"))
    assert (answer.code, "thesis.tex" in answer.err, unit.exists()) == (2, True, True)


def test_the_status_of_a_running_service(fake: FakeManager, call: Any, program: str, unit: Path) -> None:
    call("service", "install")
    fake.answer("transcript-indexer", RUNNING)
    answer = call("service", "status")
    assert answer.code == 0
    assert [line.split(maxsplit=1)[0] for line in answer.out.splitlines()] == [
        *("service", "says", "pid", "restarts", "at", "unit", "command")
    ]


def test_a_service_that_does_not_run_is_a_problem(fake: FakeManager, call: Any, program: str) -> None:
    call("service", "install")
    answer = call("service", "status")
    assert (answer.code, "service logs" in answer.out) == (1, True)


def test_no_service_is_a_problem_with_its_remedy(fake: FakeManager, call: Any) -> None:
    answer = call("service", "status")
    assert (answer.code, answer.out) == (1, "the service is not installed: `transcript-indexer service install`\n")


def test_a_command_that_is_gone_is_a_problem(fake: FakeManager, call: Any, program: str) -> None:
    call("service", "install")
    fake.answer("transcript-indexer", RUNNING)
    Path(program).unlink()
    answer = call("service", "status")
    assert answer.code == 1
    assert "is not there any more" in answer.out
    assert answer.out.splitlines()[-1] == "install again: `transcript-indexer service install`"


def test_the_status_for_programs(fake: FakeManager, call: Any) -> None:
    answer = call("service", "status", "--json")
    assert (answer.code, answer.json["service"]["installed"]) == (1, False)


def test_the_log_is_printed_by_who_keeps_it(fake: FakeManager, call: Any) -> None:
    fake.answer("--lines=3", "one\\ntwo")
    assert call("service", "logs", "--lines", "3", "--json").json["lines"] == ["one", "two"]
    assert call("service", "logs", "--lines", "3", "--follow").code == 0
    assert fake.calls()[-1].endswith("--follow")


def test_a_log_that_cannot_be_had_is_said(fake: FakeManager, call: Any) -> None:
    (fake.folder / "journalctl").unlink()
    answer = call("service", "logs")
    assert (answer.code, "there is no journalctl here" in answer.err) == (1, True)


def test_a_dry_run_says_that_an_installation_would_be_refused(fake: FakeManager, call: Any, unit: Path) -> None:
    tried, dry = call("service", "install"), call("service", "install", "--dry-run")
    refusal = tried.err.splitlines()[0].removeprefix("error: ")
    assert (tried.code, dry.code) == (2, 0)
    assert f"would be refused: {refusal}" in dry.err
    assert (f"would not write {unit}" in dry.err, "would write" in dry.err) == (True, False)
    assert call("service", "install", "--dry-run", "--json").json["refused"] == refusal


def test_a_dry_run_of_what_would_be_installed_says_so(fake: FakeManager, call: Any, program: str, unit: Path) -> None:
    answer = call("service", "install", "--dry-run")
    assert (answer.err.splitlines(), answer.code) == ([f"would write {unit}"], 0)


def test_a_setting_that_needs_the_network_gets_it(
    fake: FakeManager, call: Any, program: str, unit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drop_in = unit.with_name("transcript-indexer.service.d") / "network.conf"
    monkeypatch.setenv("TRANSCRIPT_INDEXER_METRICS_PORT", "9464")
    assert f"would write {drop_in}" in call("service", "install", "--dry-run").err
    fake.answer("show", RUNNING)
    assert call("service", "install").code == 0
    assert "AF_INET" in drop_in.read_text()
    monkeypatch.delenv("TRANSCRIPT_INDEXER_METRICS_PORT")
    call("service", "install")
    assert not drop_in.exists()
