"""Units: what they say, which command they name, and that they can be read back."""

from __future__ import annotations

import plistlib
import shlex
import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from managers import executable

from indexer import share, units
from indexer.errors import IndexerError
from indexer.units import Command

TEMPLATE = share.find("systemd/transcript-indexer.service").read_text(encoding="utf-8")
AGENT = share.find("systemd/transcript-indexer.plist").read_bytes()


def command(program: str = "/opt/bin/transcript-indexer", *args: str, **more: object) -> Command:
    fields: dict[str, object] = {"environment": (), "writable": ("/home/dev/memory",), "readable": ()}
    return Command(program, args, **(fields | more))  # type: ignore[arg-type]


def unit(*args: str, **more: object) -> dict[str, list[str]]:
    """Keys of the unit with all their values."""
    found: dict[str, list[str]] = {}
    for line in units.systemd_unit(TEMPLATE, command("/opt/bin/transcript-indexer", *args, **more)).splitlines():
        if "=" in line and line[0] not in "#[":
            found.setdefault(line.partition("=")[0], []).append(line.partition("=")[2])
    return found


# --- systemd


def test_the_unit_runs_watch() -> None:
    assert unit()["ExecStart"] == ["/opt/bin/transcript-indexer watch"]


def test_what_was_given_on_the_command_line_is_given_to_the_service() -> None:
    assert unit("--home", "/m y/x")["ExecStart"] == ['/opt/bin/transcript-indexer watch --home "/m y/x"']


def test_the_unit_is_supervised() -> None:
    found = unit()
    names = ("Type", "NotifyAccess", "WatchdogSec", "Restart")
    assert [found[name] for name in names] == [["notify"], ["main"], ["60"], ["on-failure"]]


def test_no_place_of_the_template_is_left_open() -> None:
    assert "@" not in units.systemd_unit(TEMPLATE, command()).replace("@system-service", "")


def test_the_unit_does_not_say_that_it_is_a_template() -> None:
    text = units.systemd_unit(TEMPLATE, command())
    assert text.startswith("# Written by `transcript-indexer service install`")
    assert "Template" not in text


def test_only_our_folders_are_writable() -> None:
    assert unit()["ReadWritePaths"] == ["-/home/dev/memory"]
    assert unit(writable=("/a b", "/c"))["ReadWritePaths"] == ['"-/a b" -/c']


def test_transcripts_elsewhere_are_read_only_too() -> None:
    assert unit(readable=("/srv/t",))["ReadOnlyPaths"] == ["-%h/.claude -%h/.config/claude -/srv/t"]


def test_variables_come_along() -> None:
    found = unit(environment=(("CLAUDE_CONFIG_DIR", "/c d"), ("XDG_DATA_HOME", "/x")))
    assert found["Environment"] == ['"CLAUDE_CONFIG_DIR=/c d"', "XDG_DATA_HOME=/x"]


def test_only_variables_that_say_where_things_are_come_along() -> None:
    env = {"PATH": "/bin", "XDG_DATA_HOME": "/x", "TRANSCRIPT_INDEXER_LOG_LEVEL": "debug", "CLAUDE_CONFIG_DIR": ""}
    assert units.carried(env) == (("TRANSCRIPT_INDEXER_LOG_LEVEL", "debug"), ("XDG_DATA_HOME", "/x"))


def test_specifiers_and_variables_are_taken_literally() -> None:
    assert unit("--home", "/a%h/$HOME")["ExecStart"][0].endswith("--home /a%%h/$$HOME")


def test_a_path_that_no_unit_can_hold_is_refused() -> None:
    with pytest.raises(IndexerError, match="cannot stand in a unit"):
        unit("--home", "/a\nExecStartPre=/bin/evil")


@given(st.text(st.characters(min_codepoint=0x20, exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1))
def test_every_word_is_one_word_again(word: str) -> None:
    quoted = units._quoted(word)
    assert [part.replace("%%", "%").replace("$$", "$") for part in shlex.split(quoted)] == [word.replace("'", "'")]


def verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> tuple[int, str]:
    file = tmp_path / "transcript-indexer.service"
    file.write_text(text)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    done = subprocess.run(["systemd-analyze", "--user", "verify", file], capture_output=True, text=True)
    return done.returncode, done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_has_nothing_to_say_about_a_filled_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = executable(tmp_path / "o d%d" / "transcript-indexer")
    filled = command(program, "--home", "/x y/$z", environment=(("XDG_DATA_HOME", '/q"uote'),), readable=("/r r",))
    assert verify(tmp_path, monkeypatch, units.systemd_unit(TEMPLATE, filled)) == (0, "")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
def test_systemd_would_have_something_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, said = verify(tmp_path, monkeypatch, units.systemd_unit(TEMPLATE, command()).replace("Nice", "Niece"))
    assert "Niece" in said


# --- launchd


def agent(*args: str, **more: object) -> bytes:
    return units.launchd_agent(
        AGENT, command("/opt/bin/transcript-indexer", *args, **more), "/home/dev/Library/Logs/ti"
    )


def read_plainly(node: ET.Element) -> object:
    """A property list by a second reader: XML and nothing of plistlib."""
    kinds = {"true": True, "false": False}
    if node.tag == "dict":
        pairs = list(node)
        return {key.text: read_plainly(value) for key, value in zip(pairs[::2], pairs[1::2], strict=True)}
    if node.tag == "array":
        return [read_plainly(child) for child in node]
    return kinds[node.tag] if node.tag in kinds else int(node.text or "") if node.tag == "integer" else node.text


def test_two_readers_agree_on_the_agent() -> None:
    made = agent("--home", "/a & <b>/ü", environment=(("XDG_DATA_HOME", "/x"),))
    assert read_plainly(ET.fromstring(made)[0]) == plistlib.loads(made)


@pytest.mark.skipif(not shutil.which("plistutil"), reason="needs libplist-utils")
def test_libplist_reads_the_agent(tmp_path: Path) -> None:
    file = tmp_path / "agent.plist"
    file.write_bytes(agent("--home", "/a & <b>/ü"))
    done = subprocess.run(["plistutil", "-i", file, "-f", "bin", "-o", tmp_path / "agent.bin"], check=False)
    assert done.returncode == 0
    assert plistlib.loads((tmp_path / "agent.bin").read_bytes()) == plistlib.loads(file.read_bytes())


def test_the_agent_runs_watch_and_comes_back_after_a_crash() -> None:
    found = plistlib.loads(agent("--home", "/x"))
    assert found["ProgramArguments"] == ["/opt/bin/transcript-indexer", "watch", "--home", "/x"]
    assert (found["KeepAlive"], found["RunAtLoad"], found["Umask"]) == ({"SuccessfulExit": False}, True, 0o077)


def test_the_agents_log_is_a_file_that_we_rotate() -> None:
    found = plistlib.loads(agent())
    assert found["StandardErrorPath"] == found["StandardOutPath"] == "/home/dev/Library/Logs/ti/service.log"


def test_the_agent_gets_the_variables() -> None:
    assert plistlib.loads(agent(environment=(("A", "b"),)))["EnvironmentVariables"] == {"A": "b"}
    assert "EnvironmentVariables" not in plistlib.loads(agent())


def test_a_path_that_no_property_list_can_hold_is_refused() -> None:
    with pytest.raises(IndexerError, match="property list"):
        agent("--home", "/a\x01b")


# --- reading back


@pytest.mark.parametrize("program", ["/opt/bin/transcript-indexer", "/o p%t/b'in/ti"])
def test_the_command_of_a_unit_can_be_read_back(program: str) -> None:
    assert units.program_in(units.systemd_unit(TEMPLATE, command(program)).encode()) == program
    assert units.program_in(units.launchd_agent(AGENT, command(program), "/l")) == program


@pytest.mark.parametrize("text", [b"", b"ExecStart=", b'ExecStart="open', b"<?xml no", b"bplist00", b"\xff\xfe"])
def test_a_broken_unit_names_no_command(text: bytes) -> None:
    assert units.program_in(text) == ""


# --- which command


def test_the_command_is_the_one_that_was_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    called = executable(tmp_path / "bin" / "transcript-indexer")
    assert units.program(called, "/elsewhere") == called


def test_called_as_a_module_it_is_the_one_beside_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    beside = executable(tmp_path / "venv" / "bin" / "transcript-indexer")
    assert units.program("/x/indexer/__main__.py", str(tmp_path / "venv")) == beside


def test_a_link_on_path_is_kept_for_it_outlives_what_it_points_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = executable(tmp_path / "tools" / "v1" / "bin" / "transcript-indexer")
    link = tmp_path / "bin" / "transcript-indexer"
    link.parent.mkdir()
    link.symlink_to(real)
    monkeypatch.setenv("PATH", str(link.parent))
    assert units.program(real, "/elsewhere") == str(link)


def test_another_installation_on_path_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = executable(tmp_path / "mine" / "transcript-indexer")
    executable(tmp_path / "other" / "transcript-indexer")
    monkeypatch.setenv("PATH", str(tmp_path / "other"))
    assert units.program(called, "/elsewhere") == called


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("/home/dev/.cache/uv/archive-v0/abc/bin/transcript-indexer", "cache"),
        ("/home/dev/.local/pipx/.cache/abc/bin/transcript-indexer", "cache"),
        ("/Users/dev/Library/Caches/uv/bin/transcript-indexer", "cache"),
        ("/tmp/venv/bin/transcript-indexer", "emptied"),
        ("/dev/shm/bin/transcript-indexer", "emptied"),
    ],
)
def test_a_place_that_is_emptied_is_doubted(place: str, why: str) -> None:
    assert any(why in doubt for doubt in units.doubts(place))


def test_a_command_that_is_not_there_is_doubted() -> None:
    assert units.doubts("/opt/none/bin/transcript-indexer") == ["there is no command /opt/none/bin/transcript-indexer"]


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """The test's folder is not among those that are emptied."""
    monkeypatch.setattr(units, "_VOLATILE", ())
    monkeypatch.setattr("tempfile.gettempdir", lambda: "/nowhere")


@pytest.mark.usefixtures("steady")
def test_a_durable_command_raises_no_doubt(tmp_path: Path) -> None:
    assert units.doubts(executable(tmp_path / "bin" / "transcript-indexer")) == []


@pytest.mark.usefixtures("steady")
def test_a_projects_own_environment_is_doubted(tmp_path: Path) -> None:
    program = executable(tmp_path / ".venv" / "bin" / "transcript-indexer")
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    assert units.doubts(program) == []
    (tmp_path / "pyproject.toml").touch()
    assert "project folder" in units.doubts(program)[0]


@pytest.mark.usefixtures("steady")
def test_what_a_link_leads_to_is_doubted_too(tmp_path: Path) -> None:
    link = tmp_path / "bin" / "transcript-indexer"
    link.parent.mkdir()
    link.symlink_to(executable(tmp_path / ".cache" / "uv" / "transcript-indexer"))
    assert "cache" in units.doubts(str(link))[0]


paths = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x2FF, exclude_categories=["Cc"]), min_size=1).map(
    "/".__add__
)


@given(program=paths, folder=paths)
def test_any_command_and_folder_can_be_read_back(program: str, folder: str) -> None:
    text = units.systemd_unit(TEMPLATE, command(program, writable=(folder,))).encode()
    assert units.program_in(text) == program
    assert units.may_write(text, folder)
    assert units.may_write(text, f"{folder}/below")
    assert not units.may_write(text, f"{folder}beside")


def test_a_unit_that_names_no_folder_lets_nothing_be_written() -> None:
    assert not units.may_write(b"[Service]\nExecStart=/x watch\n", "/home/dev/memory")
    assert not units.may_write(b'ReadWritePaths="-/open', "/open")


@pytest.mark.parametrize(
    ("platform", "env", "place"),
    [
        ("linux", {"HOME": "/home/dev"}, "/home/dev/.config/systemd/user/transcript-indexer.service"),
        ("linux", {"HOME": "/home/dev", "XDG_CONFIG_HOME": "/x"}, "/x/systemd/user/transcript-indexer.service"),
        ("darwin", {"HOME": "/Users/dev"}, "/Users/dev/Library/LaunchAgents/transcript-indexer.plist"),
    ],
)
def test_where_the_unit_stands(platform: str, env: dict[str, str], place: str) -> None:
    assert str(units.unit_path(platform, env)) == place


def test_the_drop_in_for_the_network_is_a_section_of_the_service() -> None:
    lines = units.NETWORK.splitlines()
    assert lines[1:] == ["[Service]", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6"]
