"""The files beside the code are found in a checkout and in a wheel; the service templates are well-formed."""

from __future__ import annotations

import configparser
import plistlib
import shutil
import subprocess
from pathlib import Path

import pytest

from indexer import share


def test_finds_a_file_of_the_checkout() -> None:
    assert share.find("config/default.toml").is_file()


def test_finds_a_folder_of_the_checkout() -> None:
    assert share.find("systemd").is_dir()


def test_says_what_is_missing() -> None:
    with pytest.raises(FileNotFoundError, match=r"lacks config/nothing\.toml"):
        share.find("config/nothing.toml")


def lay(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return path


def test_a_wheel_carries_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share, "_PACKAGE", tmp_path / "indexer")
    inside = lay(tmp_path / "indexer" / "data" / "config" / "default.toml")
    lay(tmp_path / "pyproject.toml")
    lay(tmp_path / "config" / "default.toml")
    assert share.find("config/default.toml") == inside


def test_a_neighbours_config_folder_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share, "_PACKAGE", tmp_path / "site-packages" / "indexer")
    lay(tmp_path / "site-packages" / "config" / "default.toml")
    with pytest.raises(FileNotFoundError):
        share.find("config/default.toml")


def unit() -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # the documented way to keep case
    parser.read(share.find("systemd/transcript-indexer.service"))
    return parser


def test_the_unit_starts_the_service_by_an_absolute_path() -> None:
    assert unit()["Service"]["ExecStart"] == "@EXECUTABLE@ watch"


def test_the_unit_has_no_network_and_leaves_transcripts_alone() -> None:
    service = unit()["Service"]
    assert service["RestrictAddressFamilies"] == "AF_UNIX"
    assert (service["PrivateUsers"], service["ProtectSystem"]) == ("yes", "strict")
    assert "-%h/.claude" in service["ReadOnlyPaths"].split()


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_has_nothing_to_say_about_the_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    template = share.find("systemd/transcript-indexer.service").read_text()
    file = tmp_path / "transcript-indexer.service"
    file.write_text(template.replace("@EXECUTABLE@", "/bin/true"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    done = subprocess.run(["systemd-analyze", "--user", "verify", file], capture_output=True, text=True)
    # An unknown key is only a line on standard error.
    assert (done.returncode, done.stderr) == (0, "")


def test_the_launchd_agent_is_a_property_list() -> None:
    agent = plistlib.loads(share.find("systemd/transcript-indexer.plist").read_bytes())
    assert agent["ProgramArguments"] == ["@EXECUTABLE@", "watch"]
    assert agent["Umask"] == 0o077
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
