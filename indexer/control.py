"""The running service's door for commands that write: HOME/control.sock, for its owner alone.

One request a connection: a line of JSON, `{"command": …, …}`, and a line of JSON back. The service looks
at the door between two pieces of work (a second at most), in the thread that writes the database, so a
command needs no lock and meets no half-done batch. Peers are of the same user (folder 0700, socket 0600,
and SO_PEERCRED where there is such a thing); they may be broken, so reading is bounded in bytes and time.

A path of over 107 bytes is none for a socket (sun_path): then the socket stands in a 0700 folder of ours
in XDG_RUNTIME_DIR, or the system's folder for temporary files, under a name made of the memory's path.
"""

from __future__ import annotations

import hashlib
import json
import os
import select
import socket
import stat
import struct
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from indexer.errors import Busy, IndexerError, UsageError

Command: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Carries out a request and gives the answer, both as JSON can hold them. Raises IndexerError."""

NAME = "control.sock"
LONGEST_PATH = 107
LONGEST_LINE = 16 << 20
READ_SECONDS = 2.0
COMES_BACK_SECONDS, AGAIN_SECONDS = 0.1, 0.5
"""How long whoever has been answered is waited for, and how long the door is looked after in one go."""
_BACKLOG = 8


def address(home: Path, env: Mapping[str, str]) -> Path:
    """Where the socket of a memory stands; its folder may not exist yet."""
    path = home / NAME
    if len(os.fsencode(path)) <= LONGEST_PATH:
        return path
    base = env.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    name = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
    return Path(base) / f"transcript-indexer-{os.getuid()}" / f"{name}.sock"


class Server:
    """The service's end. `serve` is called by the loop that does the work; it never waits for a caller to
    come, and at most `READ_SECONDS` for one to say what it wants."""

    def __init__(self, home: Path, env: Mapping[str, str], commands: Mapping[str, Command]) -> None:
        self._commands = dict(commands)
        self._path = address(home, env)
        _private_folder(self._path.parent, home)
        with suppress(FileNotFoundError):
            self._path.unlink()  # the caller holds the writer lock: whoever made it is gone
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.bind(str(self._path))
            self._path.chmod(0o600)
            self._socket.listen(_BACKLOG)
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def serve(self) -> bool:
        """Answer who is at the door; says whether there was anybody. Who asks for one thing after the other, as an
        import does, is waited for a moment between two: else each would wait for the next round of work."""
        until, served = time.monotonic() + AGAIN_SECONDS, False
        while self._serve_one(COMES_BACK_SECONDS if served else 0):
            served = True
            if time.monotonic() >= until:
                break
        return served

    def _serve_one(self, patience: float) -> bool:
        if not select.select([self._socket], [], [], patience)[0]:
            return False
        try:
            peer, _ = self._socket.accept()
        except OSError:  # it has left again
            return False
        with peer, suppress(OSError):
            if _is_ours(peer):
                peer.settimeout(READ_SECONDS)
                peer.sendall(json.dumps(self._answer(peer)).encode() + b"\n")
        return True

    def _answer(self, peer: socket.socket) -> Mapping[str, Any]:
        try:
            asked = _object(_read_line(peer, time.monotonic() + READ_SECONDS))
            command = self._commands.get(str(asked.get("command")))
            if command is None:
                raise UsageError("the running service does not know this command", "restart it after an upgrade")
            return {"answer": dict(command(asked))}
        except IndexerError as error:
            return {"error": _described(error)}

    def close(self) -> None:
        """Take the door away."""
        self._socket.close()
        with suppress(OSError):
            self._path.unlink()


def ask(home: Path, env: Mapping[str, str], command: str, **arguments: Any) -> dict[str, Any]:
    """Have the running service carry out a command, however long that takes.

    Raises Busy when none listens, IndexerError with what the service answered."""
    asked = json.dumps({"command": command, **arguments}, ensure_ascii=False, separators=(",", ":"))
    line = asked.encode("utf-8", "surrogatepass") + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        try:
            peer.connect(str(address(home, env)))
            if not _is_ours(peer):
                raise Busy("the service that answers is not yours", "")
            peer.sendall(line)
            answer = _object(_read_line(peer, None))
        except OSError as error:
            raise Busy(
                f"the process that writes does not answer: {error.strerror or error}", "try again in a moment"
            ) from error
    if isinstance(said := answer.get("error"), dict):
        raise _raised(said)
    given = answer.get("answer")
    return given if isinstance(given, dict) else {}


def _private_folder(folder: Path, home: Path) -> None:
    """A folder of ours beside HOME; the memory's own is looked after elsewhere."""
    if folder == home:
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    info = folder.lstat()
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid():
        raise IndexerError(f"{folder} is not a folder of yours", "set XDG_RUNTIME_DIR to one that is")
    if info.st_mode & 0o077:
        folder.chmod(0o700)


def _is_ours(peer: socket.socket) -> bool:
    """Whether the other end is a process of the same user, where the system tells."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    _, uid, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, option, struct.calcsize("3i")))
    return bool(uid == os.getuid())


def _read_line(peer: socket.socket, deadline: float | None) -> bytes:
    """A line without its newline. Raises OSError when it does not come, IndexerError when it has no end."""
    data = bytearray()
    while b"\n" not in data[-65_536:]:
        if len(data) > LONGEST_LINE:
            raise UsageError("a request this long is none", "")
        if deadline is not None:
            peer.settimeout(max(0.01, deadline - time.monotonic()))
        block = peer.recv(65_536)
        if not block:
            raise ConnectionError("it hung up")
        data += block
    return bytes(data.partition(b"\n")[0])


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise UsageError("the request is no JSON object", "")
    return value


def names(given: object) -> list[str]:
    """A list of ids out of a request. Raises UsageError for anything else."""
    if not isinstance(given, list) or not all(isinstance(name, str) for name in given):
        raise UsageError("a list of ids is missing", "")
    return given


def _described(error: IndexerError) -> dict[str, Any]:
    return {
        "kind": error.kind, "message": error.message, "hint": error.hint, "retryable": error.retryable,
        "exit_code": error.exit_code,
    }  # fmt: skip


def _raised(said: Mapping[str, Any]) -> IndexerError:
    error = IndexerError(str(said.get("message")), str(said.get("hint") or ""))
    error.kind, error.retryable = str(said.get("kind")), said.get("retryable") is True
    code = said.get("exit_code")
    error.exit_code = code if isinstance(code, int) else 1
    return error
