"""Installs the service that keeps the memory up to date, and takes it away: systemd, or launchd on macOS.

Installing is idempotent: the unit is written only where its text differs, and the service is restarted only
then, so that running it again after an upgrade brings an old unit up to date and disturbs nothing else.
Nothing is written before the service manager has answered. What was tried of the manager's words on systemd
252 stands in systemd/transcript-indexer.service.

Commands are run by absolute name of the program from PATH, with a time limit, never through a shell.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import platformdirs

from indexer import control, share, units
from indexer.config import APP, Config, user_file
from indexer.errors import Busy, IndexerError, UsageError
from indexer.store.connection import OURS, database_path, prepare_home, writer_alive
from indexer.units import Command

SECONDS = 30
"""The longest a command of a service manager may take; stopping takes up to TimeoutStopSec (10)."""
_SHOWN = ("LoadState", "UnitFileState", "ActiveState", "SubState", "MainPID", "NRestarts", "StatusText", "Result")


class Done(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str


class State(NamedTuple):
    """How the service is. manager: systemd | launchd. unit: its file. program: the command in that file, ""
    when there is none. state: in the manager's words. detail: what the service says of itself."""

    manager: str
    unit: str
    installed: bool
    enabled: bool
    running: bool
    state: str
    pid: int | None
    restarts: int | None
    detail: str
    program: str
    program_exists: bool


class Manager(Protocol):
    """A service manager."""

    name: str

    def unit(self) -> Path:
        """Where its file for the service stands."""

    def render(self, command: Command) -> bytes:
        """The text of that file."""

    def reach(self) -> None:
        """Raises IndexerError when it cannot be spoken to."""

    def start(self, changed: bool) -> None:
        """Run the service now and at every login; again if its file has `changed`."""

    def stop(self) -> None:
        """Stop it, and run it no more."""

    def forget(self) -> None:
        """After the file is gone."""

    def state(self) -> State:
        """How it is."""

    def log_command(self, lines: int, follow: bool) -> list[str]:
        """The command that prints the log."""


def manager(platform: str = sys.platform, env: Mapping[str, str] = os.environ) -> Manager:
    """The service manager of this machine. Raises IndexerError when there is none we know."""
    unit = units.unit_path(platform, env)
    if platform == "darwin":
        return Launchd(unit)
    if shutil.which("systemctl"):
        return Systemd(unit)
    raise IndexerError(
        "there is no service manager here: neither systemd nor launchd",
        "run `transcript-indexer watch` by whatever starts programs on this machine",
    )


# --- what is done -------------------------------------------------------------------------------------


def command(config: Config, roots: Sequence[str], env: Mapping[str, str], *, home_given: bool) -> Command:
    """What the service is to run. roots: those of the command line, which become part of it, as does
    `--home` when `home_given`. Raises IndexerError for a path that no unit can hold."""
    args = ["--home", str(config.home)] if home_given else []
    for root in roots:
        args += ["--root", os.path.abspath(os.path.expanduser(root))]  # noqa: PTH100,PTH111 - no links resolved
    writable = [str(config.home), platformdirs.user_cache_dir(APP, appauthor=False)]
    door = control.address(config.home, env)
    if door.parent != config.home:  # a path too long for a socket: its folder is made in this one at every start
        writable.append(str(door.parent.parent))
    if config.metrics_socket is not None and config.metrics_socket.parent != config.home:
        writable.append(str(config.metrics_socket.parent))
    return Command(
        units.program(sys.argv[0], sys.prefix), tuple(args), units.carried(env), tuple(writable), config.roots
    )


def refuse(doubts: Sequence[str]) -> None:
    """Raises UsageError for a command that may soon be gone."""
    if (refused := refusal(doubts)) is not None:
        raise refused


def refusal(doubts: Sequence[str]) -> UsageError | None:
    """Why such a command is not installed; None without doubts."""
    if not doubts:
        return None
    return UsageError(
        f"not installed: {doubts[0]}",
        "install it for good (`pipx install .` or `uv tool install .`) and run that one; --force does it anyway",
    )


def needs_network(config: Config) -> bool:
    """Whether the settings ask for something that takes an internet socket, be it to this machine."""
    return bool(config.metrics_port or (config.vectors_url and "url" in config.vectors_models))


def install(chosen: Manager, config: Config, wanted: Command, *, network: bool = False) -> bool:
    """Write the unit and run the service; says whether anything was changed. Raises IndexerError, OSError.

    network: lift the unit's ban on network sockets, by a drop-in (systemd only).
    """
    if not units.runnable(wanted.program):
        raise IndexerError(
            f"there is no command {wanted.program}", "install it: `pipx install .` or `uv tool install .`"
        )
    chosen.reach()
    # The unit makes everything read-only but these, and what is not there cannot be made from inside.
    prepare_home(config.home)
    for folder in wanted.writable:
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
    changed = _write(chosen.unit(), chosen.render(wanted))
    changed |= _drop_in(chosen, network)
    chosen.start(changed)
    return changed


def uninstall(chosen: Manager) -> bool:
    """Stop the service and take its unit away; says whether there was one. The memory stays."""
    unit = chosen.unit()
    there = unit.exists() or _drop_ins(unit).exists()
    if there:
        chosen.reach()
        chosen.stop()
    unit.unlink(missing_ok=True)
    shutil.rmtree(_drop_ins(unit), ignore_errors=True)
    if there:
        chosen.forget()
    return there


def purge(config: Config, env: Mapping[str, str]) -> list[str]:
    """Delete the memory, the settings, caches and logs; returns what was deleted.

    Raises Busy while something writes, UsageError for a folder that holds more than a memory.
    """
    home = config.home
    if (pid := writer_alive(home)) is not None:
        raise Busy(f"another transcript-indexer (pid {pid or 'unknown'}) is writing to {home}", "stop it first")
    check_purgeable(home, env)
    cache = platformdirs.user_cache_dir(APP, appauthor=False)
    log = Path(platformdirs.user_log_dir(APP, appauthor=False))
    gone = [path for path in (home, user_file(), Path(cache), log) if path.exists()]
    for path in gone:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=path != home)
        else:
            path.unlink()
    if user_file() in gone and not any(user_file().parent.iterdir()):
        user_file().parent.rmdir()
    return [str(path) for path in gone]


def check_purgeable(home: Path, env: Mapping[str, str]) -> None:
    """Raises UsageError unless `home` is a memory's and nothing else's: `storage.home` may be set to one
    that holds a person's own files too."""
    if not home.exists():
        return
    real, person = os.path.realpath(home), os.path.realpath(env.get("HOME", "/"))
    if home.is_symlink() or (person + os.sep).startswith(real.rstrip(os.sep) + os.sep):
        raise UsageError(f"{home} is not a folder of ours alone, and is not deleted", "delete what you want by hand")
    others = sorted(entry.name for entry in home.iterdir() if not entry.name.startswith(OURS))
    if others and (home.name != APP or not database_path(home).exists()):
        some = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        raise UsageError(f"{home} holds files that are not ours ({some}), and is not deleted", "delete it by hand")


def _write(path: Path, text: bytes) -> bool:
    """Write a file of ours unless it says so already. 0600: a variable in it may be nobody's business."""
    try:
        if path.read_bytes() == text:
            return False
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.new")
    scratch.unlink(missing_ok=True)
    with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as stream:
        stream.write(text)
    scratch.replace(path)
    return True


def _drop_ins(unit: Path) -> Path:
    return unit.with_name(unit.name + ".d")


def network_drop_in(chosen: Manager) -> Path:
    """The file by which the unit is allowed network connections."""
    return _drop_ins(chosen.unit()) / "network.conf"


def _drop_in(chosen: Manager, network: bool) -> bool:
    path = network_drop_in(chosen)
    if network and chosen.name == "systemd":
        return _write(path, units.NETWORK.encode())
    there = path.exists()
    path.unlink(missing_ok=True)
    return there


def _run(*words: str) -> Done:
    """Run a command of the service manager. Raises IndexerError when it is missing or hangs."""
    found = shutil.which(words[0])
    if found is None:
        raise IndexerError(f"there is no {words[0]} here", "the service needs it")
    try:
        done = subprocess.run(  # noqa: S603 - our own words; PATH is the caller's own
            [found, *words[1:]], capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise IndexerError(f"`{' '.join(words)}` did not answer in {SECONDS} s", "try again") from None
    return Done(done.returncode, done.stdout, done.stderr.strip())


def _must(*words: str) -> None:
    done = _run(*words)
    if done.code:
        raise IndexerError(
            f"`{' '.join(words)}` failed: {done.err or done.out.strip() or f'exit code {done.code}'}",
            "`transcript-indexer service logs` may say why",
        )


def program_of(unit: Path) -> str:
    """The command in an installed unit, "" if there is none or it cannot be read."""
    try:
        text = unit.read_bytes()
    except OSError:
        return ""
    return units.program_in(text)


# --- systemd ------------------------------------------------------------------------------------------


class Systemd:
    """systemd's user manager."""

    name = "systemd"

    def __init__(self, unit: Path) -> None:
        self._unit = unit

    def unit(self) -> Path:
        """Where the unit stands."""
        return self._unit

    def render(self, command: Command) -> bytes:
        """The unit's text."""
        template = share.find("systemd/transcript-indexer.service").read_text(encoding="utf-8")
        return units.systemd_unit(template, command).encode()

    def reach(self) -> None:
        """Raises IndexerError when there is no user manager, as after `su` or in a container."""
        done = _run("systemctl", "--user", "show", "--property=Version")
        if done.code:
            raise IndexerError(
                f"systemd's user manager does not answer: {done.err or 'no reason given'}",
                "log in as this user (not by su or sudo); without systemd, run `transcript-indexer watch`",
            )

    def start(self, changed: bool) -> None:
        """Enable it; restart it after a change, else start it if it is not running."""
        _must("systemctl", "--user", "daemon-reload")
        _must("systemctl", "--user", "enable", APP)
        # A service that gave up after five starts would refuse the sixth.
        _run("systemctl", "--user", "reset-failed", APP)
        _must("systemctl", "--user", "restart" if changed else "start", APP)

    def stop(self) -> None:
        """Stop and disable it. A unit the manager does not know any more is no error."""
        _run("systemctl", "--user", "disable", "--now", APP)

    def forget(self) -> None:
        """Have the manager look again."""
        _must("systemctl", "--user", "daemon-reload")
        _run("systemctl", "--user", "reset-failed", APP)

    def state(self) -> State:
        """As `systemctl show` says. A manager that does not answer is a state too."""
        done = _run("systemctl", "--user", "show", APP, f"--property={','.join(_SHOWN)}")
        said = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
        program = program_of(self.unit())
        state = f"{said.get('ActiveState', '')} ({said.get('SubState', '')})" if not done.code else done.err
        return State(
            manager=self.name,
            unit=str(self.unit()),
            installed=self.unit().exists(),
            enabled=said.get("UnitFileState") == "enabled",
            running=said.get("ActiveState") in ("active", "reloading"),
            state=state,
            pid=_number(said.get("MainPID")) or None,
            restarts=_number(said.get("NRestarts")),
            detail=said.get("StatusText", "") if said.get("ActiveState") == "active" else "",
            program=program,
            program_exists=units.runnable(program) if program else False,
        )

    def log_command(self, lines: int, follow: bool) -> list[str]:
        """The journal's."""
        base = ["journalctl", f"--user-unit={APP}", f"--lines={lines}", "--output=short-iso", "--no-pager"]
        return [*base, "--follow"] if follow else base


# --- launchd ------------------------------------------------------------------------------------------


class Launchd:
    """launchd's domain of a logged-in user."""

    name = "launchd"

    def __init__(self, unit: Path) -> None:
        self._unit = unit
        self._domain = f"gui/{os.getuid()}"

    def unit(self) -> Path:
        """Where the agent's property list stands."""
        return self._unit

    def log(self) -> Path:
        """The file the service's standard error goes to: `~/Library/Logs/…`."""
        return self._unit.parent.parent / "Logs" / APP / "service.log"

    def render(self, command: Command) -> bytes:
        """The property list."""
        template = share.find("systemd/transcript-indexer.plist").read_bytes()
        return units.launchd_agent(template, command, str(self.log().parent))

    def reach(self) -> None:
        """Raises IndexerError without a graphical login, where there is no domain to put the agent in."""
        self.log().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        done = _run("launchctl", "print", self._domain)
        if done.code:
            raise IndexerError(
                f"launchd has no {self._domain}: {done.err}", "log in at the machine itself, then try again"
            )

    def start(self, changed: bool) -> None:
        """Load the agent; one that runs already is loaded again after a change only."""
        loaded = _run("launchctl", "print", f"{self._domain}/{APP}").code == 0
        if loaded and changed:
            _run("launchctl", "bootout", f"{self._domain}/{APP}")
        if not loaded or changed:
            _must("launchctl", "bootstrap", self._domain, str(self.unit()))

    def stop(self) -> None:
        """Unload it. One that is not loaded is no error."""
        _run("launchctl", "bootout", f"{self._domain}/{APP}")

    def forget(self) -> None:
        """Nothing to do: unloading is enough."""

    def state(self) -> State:
        """As `launchctl print` says."""
        done = _run("launchctl", "print", f"{self._domain}/{APP}")
        said = dict(line.strip().split(" = ", 1) for line in done.out.splitlines() if " = " in line)
        program = program_of(self.unit())
        return State(
            manager=self.name,
            unit=str(self.unit()),
            installed=self.unit().exists(),
            enabled=done.code == 0,
            running=said.get("state") == "running",
            state=said.get("state", "not loaded"),
            pid=_number(said.get("pid")),
            restarts=None,
            detail="",
            program=program,
            program_exists=units.runnable(program) if program else False,
        )

    def log_command(self, lines: int, follow: bool) -> list[str]:
        """Of the file launchd writes to."""
        return ["tail", "-n", str(lines), *(["-F"] if follow else []), str(self.log())]


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None
