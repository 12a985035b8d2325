"""The files by which a service manager knows the service: a systemd user unit and a launchd agent.

The templates in systemd/ are the reference; what is filled in here is what differs from user to user: the
command, the folders, and the variables that the shell had and the service manager will not have.

A command is *durable* when it will still be there next month. User managers hand out a minimal PATH, so it
must be absolute, and a path into a cache dies with the cache: units written under `uvx` have pointed into
`~/.cache/uv/archive-v0` and died at the next prune; `systemd-analyze verify` notices neither (ux-and-security
1.1).
"""

from __future__ import annotations

import os
import plistlib
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from xml.parsers.expat import ExpatError

from indexer.config import PREFIX
from indexer.errors import IndexerError

NAME = "transcript-indexer"
CARRIED = ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
"""Variables that decide where things are; with all of our own they go into the unit."""
NETWORK = """\
# The unit allows no network; this drop-in does, for a provider that is reached by one.
[Service]
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
"""
_CACHES = ("/.cache/", "/archive-v0/", "/Library/Caches/", "/pipx/.cache/", "/builds-v0/")
_VOLATILE = ("/tmp", "/var/tmp", "/run", "/dev/shm")  # noqa: S108 - looked for, not written to
_PROJECT = ("pyproject.toml", "setup.py", ".git")


class Command(NamedTuple):
    """What the manager is to run, and what that needs. args: after `watch`. writable: folders of ours,
    all else is read-only to it. readable: folders of transcripts that are not in the usual places."""

    program: str
    args: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    writable: tuple[str, ...]
    readable: tuple[str, ...]


def unit_path(platform: str, env: Mapping[str, str]) -> Path:
    """Where the service's file stands on this platform (sys.platform), whether or not it is there."""
    home = Path(env.get("HOME") or "~").expanduser()
    if platform == "darwin":
        return home / "Library" / "LaunchAgents" / f"{NAME}.plist"
    return Path(env.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user" / f"{NAME}.service"


def carried(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The variables of `env` that the service needs to find what the caller finds."""
    wanted = (name for name in env if name in CARRIED or name.startswith(PREFIX))
    return tuple(sorted((name, env[name]) for name in wanted if env[name]))


# --- which command ----------------------------------------------------------------------------------


def program(argv0: str, prefix: str) -> str:
    """The absolute path of the installed command, which may not be there (`runnable`). Links are kept:
    `~/.local/bin/…` outlives what it points to. argv0: how this process was called; prefix: its virtual
    environment."""
    called, beside = Path(argv0), str(Path(prefix, "bin", NAME))
    known = [str(called.absolute())] if called.name == NAME else []
    on_path = shutil.which(NAME)
    if on_path and _same(on_path, [*known, beside]):
        known = [on_path]
    found = next((path for path in [*known, beside] if runnable(path)), beside)
    return os.path.normpath(Path(found).absolute())


def runnable(path: str) -> bool:
    """Whether there is a program."""
    return Path(path).is_file() and os.access(path, os.X_OK)


def _same(path: str, others: Sequence[str]) -> bool:
    return any(os.path.realpath(path) == os.path.realpath(other) for other in others if Path(other).exists())


def doubts(path: str, volatile: Sequence[str] = ()) -> list[str]:
    """Why the command at `path` may not be there next month; none if it will be. volatile: folders that
    are emptied, beside the well-known ones."""
    return list(
        dict.fromkeys(reason for place in (path, os.path.realpath(path)) for reason in _doubts(place, volatile))
    )


def _doubts(path: str, volatile: Sequence[str]) -> Iterator[str]:
    if not runnable(path):
        yield f"there is no command {path}"
    if any(ord(char) < 0x20 for char in path):
        yield f"{path!r} holds control characters, which no unit can"
    for part in _CACHES:
        if part in path:
            yield f"{path} lies in a cache ({part.strip('/')}), which is emptied now and then"
            return
    for folder in (*_VOLATILE, tempfile.gettempdir(), *volatile):
        if path.startswith(folder.rstrip("/") + "/"):
            yield f"{path} lies in {folder}, which is emptied"
            return
    venv = Path(path).parent.parent
    if (venv / "pyvenv.cfg").is_file() and any((venv.parent / name).exists() for name in _PROJECT):
        yield f"{path} is in the virtual environment of a project folder, and goes with it"


# --- systemd ----------------------------------------------------------------------------------------


def systemd_unit(template: str, command: Command) -> str:
    """The text of the user unit."""
    exec_start = " ".join(map(_quoted, (command.program, "watch", *command.args)))
    environment = "".join(
        f"Environment={_quoted(f'{name}={value}', exec_=False)}\n" for name, value in command.environment
    )
    lines = {
        "ExecStart=": f"{environment}ExecStart={exec_start}",
        "ReadOnlyPaths=": _paths("ReadOnlyPaths=-%h/.claude -%h/.config/claude", command.readable),
        "ReadWritePaths=": _paths("ReadWritePaths=", command.writable),
    }
    return "".join(_filled(line, lines) + "\n" for line in _body(template))


def _body(template: str) -> list[str]:
    """The template without the comment that says it is one."""
    lines = template.splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("["))
    return [f"# Written by `{NAME} service install`, which may be run again at any time.", "", *lines[first:]]


def _filled(line: str, lines: Mapping[str, str]) -> str:
    return next((text for start, text in lines.items() if line.startswith(start)), line)


def _paths(start: str, folders: Sequence[str]) -> str:
    """A line of paths. `-`: one that is not there is no reason not to start."""
    return " ".join([start, *(_quoted(f"-{folder}", exec_=False) for folder in folders)]).replace("= ", "=")


def _quoted(text: str, *, exec_: bool = True) -> str:
    """A word as systemd.syntax(7) reads it back: `%` is a specifier, `$` a variable in commands only."""
    if any(ord(char) < 0x20 for char in text):
        raise IndexerError(f"{text!r} cannot stand in a unit", "give folders whose names hold no control characters")
    text = text.replace("\\", "\\\\").replace("%", "%%").replace('"', '\\"')
    text = text.replace("$", "$$") if exec_ else text
    return f'"{text}"' if any(char in text for char in " '\"\\;#") or not text else text


# --- launchd ----------------------------------------------------------------------------------------


def launchd_agent(template: bytes, command: Command, logs: str) -> bytes:
    """The property list of the agent. logs: the folder of its log, which launchd does not rotate: the
    service does (logfile.py)."""
    agent = plistlib.loads(template)
    log = f"{logs}/service.log"
    agent["ProgramArguments"] = [command.program, "watch", *command.args]
    agent["StandardOutPath"] = agent["StandardErrorPath"] = log
    if command.environment:
        agent["EnvironmentVariables"] = dict(command.environment)
    try:
        return plistlib.dumps(agent)
    except ValueError as error:
        raise IndexerError(
            f"a path cannot stand in a property list: {error}", "give folders with plain names"
        ) from None


# --- reading one back -------------------------------------------------------------------------------


def program_in(unit: bytes) -> str:
    """The command that an installed unit or agent runs, "" if it names none."""
    try:
        if unit.lstrip().startswith((b"<?xml", b"bplist")):
            words = plistlib.loads(unit).get("ProgramArguments", [])
            return str(words[0]) if words else ""
        text = unit.decode("utf-8", "replace")
        line = next((line for line in text.splitlines() if line.startswith("ExecStart=")), "ExecStart=")
        words = shlex.split(line.partition("=")[2])
    except (ValueError, AttributeError, plistlib.InvalidFileException, ExpatError):
        return ""
    return words[0].replace("%%", "%").replace("$$", "$") if words else ""


def may_write(unit: bytes, folder: str) -> bool:
    """Whether an installed systemd unit lets the service write to `folder`."""
    lines = (line for line in unit.decode("utf-8", "replace").splitlines() if line.startswith("ReadWritePaths="))
    try:
        words = [word for line in lines for word in shlex.split(line.partition("=")[2])]
    except ValueError:
        return False
    return any((folder + "/").startswith(word.lstrip("-").replace("%%", "%").rstrip("/") + "/") for word in words)
