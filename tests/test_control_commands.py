"""Commands that write while the service runs: they go through its control socket, and none is turned away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from daemons import Service, settings
from scripted_model import Fixed, many, told

from indexer import app
from indexer.compressors.base import Failure
from indexer.compressors.rules import Rules
from indexer.config import Config
from indexer.control import ask
from indexer.errors import Busy, IndexerError
from indexer.refine import Wanted
from indexer.store.connection import WriterLock


@pytest.fixture
def config(tmp_path: Path) -> Config:
    many("s", range(3)).write(tmp_path / "projects")
    return settings(tmp_path / "home", tmp_path / "projects", idle_minutes=0.1)


@pytest.fixture
def service(config: Config) -> Iterator[Service]:
    running = Service(config, compressor=Rules(), commands=app._commands(config))
    running.settle()
    yield running
    running.stop()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Fixed:
    made = Fixed(told())
    monkeypatch.setattr(app, "model", lambda *_: made)
    return made


def wanted(model: Any) -> Wanted:
    return Wanted(model.name, model.overhead)


def refine(config: Config) -> Any:
    return app.refine(config, "fixed", wanted, lambda calls: None)


def one(service: Service, sql: str) -> Any:
    return service.daemon._conn.execute(sql).fetchone()[0]


def again(service: Service) -> None:
    """Have everything compressed again."""
    service.daemon._conn.execute("UPDATE compress_marks SET done = -1, seen = NULL")


def test_compress_goes_through_the_service(service: Service, config: Config) -> None:
    again(service)
    done = service.serve(lambda: app.compress(config))
    assert (done.sessions <= 1, one(service, "SELECT count(*) FROM compress_marks WHERE revision <> done")) == (True, 0)


def test_dedup_goes_through_the_service(service: Service, config: Config) -> None:
    pairs = one(service, "SELECT count(*) FROM observation_dedup_candidates")
    assert service.serve(lambda: app.scan(config)) >= pairs == 0
    assert service.serve(lambda: app.decide(config, 1, 2, merge=True)) is False


def test_a_decision_is_kept(service: Service, config: Config) -> None:
    sql = "INSERT INTO observation_dedup_candidates VALUES (1, 2, 0.9, 'pending')"
    service.daemon._conn.execute(sql)
    assert service.serve(lambda: app.decide(config, 1, 2, merge=False)) is True
    assert one(service, "SELECT status FROM observation_dedup_candidates") == "dismissed"


def test_a_model_is_asked_by_the_command_and_the_service_keeps_the_answers(
    service: Service, config: Config, model: Fixed
) -> None:
    ran, left = service.serve(lambda: refine(config))
    service.settle()
    assert (ran.calls, ran.made, left) == (3, 3, 0)
    assert one(service, "SELECT group_concat(DISTINCT generated_by_model) FROM observations") == "fixed/one"


def test_the_budget_is_the_services(service: Service, config: Config, model: Fixed) -> None:
    service.daemon._conn.execute("INSERT INTO model_days VALUES (date('now'), 98, 0)")
    ran, left = service.serve(lambda: refine(config))
    assert (ran.calls, ran.stop.reason, left) == (2, "budget", 1)


def test_a_failure_travels_too(service: Service, config: Config, model: Fixed) -> None:
    model.answers = [Failure("auth", "no key")]
    ran, _ = service.serve(lambda: refine(config))
    assert (ran.calls, ran.stop.message) == (1, "fixed is paused (auth): no key")


def test_without_a_service_the_command_does_it_itself(config: Config, model: Fixed) -> None:
    app.rescan(config)
    ran, left = refine(config)
    assert (ran.calls, ran.made, left) == (3, 3, 0)


@pytest.mark.parametrize(("days", "calls"), [(1.0, 0), (10_000.0, 3)])
def test_the_service_asks_by_itself_about_what_is_recent(
    days: float, calls: int, config: Config, model: Fixed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.model_calls._in_thread", lambda work: work())
    running = Service(config, compressor=Rules(), commands=app._commands(replace(config, compress_days=days)))
    running.settle()
    running.stop()
    assert len(model.asked) == calls


@pytest.mark.parametrize("command", ["compress", "scan", "refine"])
def test_a_writer_that_is_no_service_is_not_waited_for(command: str, config: Config, model: Fixed) -> None:
    app.rescan(config)
    lock = WriterLock(config.home)
    with pytest.raises(Busy):
        {"compress": app.compress, "scan": app.scan, "refine": refine}[command](config)
    lock.release()


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("dedup.decide", {"first": "1"}),
        ("model.start", {}),
        ("model.take", {"wanted": [1, 2, 3, 4, 5, 6, 7]}),
        ("model.give", {"job": [], "answer": []}),
        ("model.give", {"job": None, "answer": None}),
    ],
)
def test_requests_of_the_wrong_shape_are_refused(
    command: str, arguments: dict[str, Any], service: Service, config: Config
) -> None:
    with pytest.raises(IndexerError) as error:
        service.serve(lambda: ask(config.home, {}, command, **arguments))
    assert error.value.exit_code == 2
