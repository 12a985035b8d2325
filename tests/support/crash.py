"""Processes to be killed: a parent with everything imported that forks them in a millisecond or two,
and what they do until then. (Forking the test's own process would copy its threads' locks.)"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from archives import Archived
from daemons import settings
from memories import Memory
from remembered import Verbatim, remember
from scripted_model import Backlog, Ledger
from stores import store
from writers import write

from indexer import app, daemon, failpoints, ingest
from indexer.archive import keep
from indexer.archive.erase import erase
from indexer.daemon import Daemon
from indexer.rescan import rescan
from indexer.sources.claude_code import ClaudeCode
from indexer.store.connection import transaction


class Nursery:
    """The parent. Children are known by their pid; what becomes of them is a return code as in
    `subprocess`: negative for a signal. home: the HOME of all of them."""

    def __init__(self, home: Path) -> None:
        self._env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
        guard = filter(None, [os.environ.get("PYTHONPATH")])
        self._env |= {"HOME": str(home), "PYTHONPATH": os.pathsep.join([*guard, *sys.path])}

    def __enter__(self) -> Nursery:
        self._parent = subprocess.Popen(
            [sys.executable, "-c", "import crash; crash.nurse()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._env,
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._parent.communicate(timeout=30)

    def start(self, deed: str, *args: object) -> int:
        """A child that does one of DEEDS; returns its pid at once."""
        return self._ask(deed, [str(arg) if isinstance(arg, Path) else arg for arg in args])

    def wait(self, pid: int) -> int:
        """What became of a child that ends by itself."""
        return self._ask("wait", [pid])

    def kill(self, pid: int, after: float = 0.0) -> int:
        """Kill -9 a child so many seconds from now."""
        return self._ask("kill", [pid, after])

    def run(self, deed: str, *args: object) -> int:
        """Let a child do a deed to its end."""
        return self.wait(self.start(deed, *args))

    def _ask(self, what: str, args: list[object]) -> int:
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        self._parent.stdin.write(json.dumps([what, args]) + "\n")
        self._parent.stdin.flush()
        return int(self._parent.stdout.readline())


def nurse() -> None:
    """The parent's life: one request a line, one number as the answer."""
    for asked in sys.stdin:
        what, args = json.loads(asked)
        answer = _wait(*args) if what == "wait" else _kill(*args) if what == "kill" else _fork(what, args)
        os.write(1, f"{answer}\n".encode())


def _fork(what: str, args: list[Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.close(0)
        DEEDS[what](*args)
        code = 0
    except BaseException:  # noqa: BLE001 - a child of ours must never go on as its parent
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _kill(pid: int, after: float) -> int:
    time.sleep(after)
    os.kill(pid, signal.SIGKILL)
    return _wait(pid)


# -- what children do --------------------------------------------------------------------------------

SMALL = ingest.LIVE._replace(rows=3, data=1)
"""Every three lines are a turn, every turn a commit: many places to die at."""


class CheckpointFirst(ingest.Ingest):
    """What other tailers do: the offset goes first, in a transaction of its own."""

    def _commit(self) -> ingest.Progress:
        with transaction(self._conn):
            for mark in self._batch.marks:
                start = mark.row.offset, mark.row.line_no
                self._move_on(mark)
                mark.row.offset, mark.row.line_no = start
        return super()._commit()


def watch(home: str, root: str) -> None:
    """Be the service, with hints from the kernel and short intervals, until killed."""
    config = settings(
        Path(home),
        Path(root),
        debounce_ms=2,
        max_delay_ms=10,
        sweep_seconds=0.5,
        hot_sweep_seconds=0.05,
        quiet_seconds=0.2,
    )
    Daemon(config, ClaudeCode(), {}, compressor=Verbatim()).run(threading.Event())


def watch_wrongly(home: str, root: str) -> None:
    """Be a service that commits its checkpoints before the rows they cover."""
    vars(daemon)["Ingest"] = CheckpointFirst
    watch(home, root)


def sweep(folder: str, name: str, hit: int) -> None:
    """Read all of a memory's folder once, and die at the n-th passing of any failpoint."""
    memory = Memory(Path(folder))
    memory.reader = {"right": ingest.Ingest, "wrong": CheckpointFirst}[name]
    failpoints._armed[:] = ["*", str(hit), "kill"]
    memory.sweep(limit=SMALL)


def sweep_traced(folder: str, hit: int) -> None:
    """Read all of a memory's folder once, and die before the n-th SQL statement, those of the schema
    included."""
    die_at(hit)
    Memory(Path(folder)).sweep(limit=SMALL)


def load(folder: str, hit: int) -> None:
    """Rescan a folder, and die before the n-th SQL statement, or change to a file or folder."""
    die_at(hit)
    sys.addaudithook(lambda event, _: _step() if event in FILE_EVENTS else None)
    rescan(settings(Path(folder, "home"), Path(folder, "projects")), ClaudeCode(), {})


def keep_lines(folder: str, hit: int) -> None:
    """Read and archive all of a memory's folder in small windows, and die at the n-th passing of any
    failpoint."""
    vars(keep)["WINDOW"] = 9
    memory = Archived(Path(folder))
    failpoints._armed[:] = ["*", str(hit), "kill"]
    memory.sweep(limit=SMALL)
    memory.seal()


def erase_session(folder: str, session: str, hit: int) -> None:
    """Take a session out of a memory's archive, and die at the n-th passing of any failpoint."""
    memory = Archived(Path(folder))
    failpoints._armed[:] = ["*", str(hit), "kill"]
    erase(memory.conn, memory.archive, frozenset([session]), frozenset())


def load_anew(folder: str, hit: int) -> None:
    """Rebuild a memory, and die before the n-th SQL statement, or change to a file or folder."""
    die_at(hit)
    sys.addaudithook(lambda event, _: _step() if event in FILE_EVENTS else None)
    rescan(settings(Path(folder, "home"), Path(folder, "projects")), ClaudeCode(), {}, rebuild=True)


def forget(folder: str, session: str, hit: int) -> None:
    """Forget sessions (joined by commas), and die before the n-th SQL statement, or change to a file or folder."""
    die_at(hit)
    sys.addaudithook(lambda event, _: _step() if event in FILE_EVENTS else None)
    app.forget(settings(Path(folder, "home"), Path(folder, "projects")), session.split(","), [])


def compress(folder: str, hit: int) -> None:
    """Make memory of what stands in a memory's folder, and die before the n-th SQL statement."""
    die_at(hit)
    conn = store(Path(folder, "home"))
    remember(conn)
    conn.close()


def take_in(folder: str, what: str, hit: int) -> None:
    """Import a file, or claude-mem's database, and die before the n-th SQL statement, or change to a file or folder."""
    die_at(hit)
    sys.addaudithook(lambda event, _: _step() if event in FILE_EVENTS else None)
    config, file = settings(Path(folder, "home")), Path(what)
    if file.suffix == ".db":
        app.import_claude_mem(config, file)
    else:
        app.import_file(config, file)


def refine(folder: str, hit: int) -> None:
    """Have a model asked about what a memory's folder holds, and die before the n-th SQL statement."""
    die_at(hit)
    backlog = Backlog.of(Path(folder))
    backlog.run(Ledger(Path(folder, "ledger")))
    backlog.conn.close()


FILE_EVENTS = {"os.remove", "os.rename", "os.link", "os.mkdir", "os.chmod", "os.truncate"}
steps = 0
_last_step = 0


def die_at(hit: int) -> None:
    """Count the statements of every connection from now on, and die before the n-th; 0 only counts."""
    global steps, _last_step
    steps, _last_step = 0, hit
    real = sqlite3.connect

    def connect(*args: Any, **named: Any) -> sqlite3.Connection:
        conn: sqlite3.Connection = real(*args, **named)
        conn.set_trace_callback(lambda _: _step())
        return conn

    sqlite3.connect = connect  # type: ignore[assignment]


def _step() -> None:
    global steps
    steps += 1
    if steps == _last_step:
        os.kill(os.getpid(), signal.SIGKILL)


def count(folder: str, deed: str, *args: object) -> None:
    """Do a deed to its end, and leave the number of its steps in `folder`/steps."""
    DEEDS[deed](folder, *args, 0)
    Path(folder, "steps").write_text(str(steps or failpoints._passed))


DEEDS: dict[str, Callable[..., None]] = {
    deed.__name__: deed
    for deed in (
        watch,
        watch_wrongly,
        write,
        sweep,
        sweep_traced,
        load,
        keep_lines,
        erase_session,
        load_anew,
        forget,
        compress,
        take_in,
        refine,
        count,
    )
}
