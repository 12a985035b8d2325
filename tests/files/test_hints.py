"""Hints: bounded, merged, due once, and nothing that could kill the thread they come from."""

from __future__ import annotations

import logging
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from watchdog import events as watchdog_events
from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedNoWriteEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileOpenedEvent,
    FileSystemEvent,
)

from indexer.files import hints
from indexer.files.hints import EVENTS, Handler, HintSet, OverflowLog


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=0.0)


@pytest.fixture
def found(clock: SimpleNamespace) -> HintSet:
    return HintSet(0.05, limit=5, clock=lambda: clock.now)


# -- the set ---------------------------------------------------------------------------------------


def test_hints_are_merged_and_taken_once(found: HintSet) -> None:
    for path in ("/a", "/b", "/a"):
        found.add(path)
    assert found.take() == {"/a", "/b"}
    assert found.take() == frozenset()


def test_due_50_ms_after_the_first_however_many_follow(found: HintSet, clock: SimpleNamespace) -> None:
    found.add("/a")
    for clock.now in (0.01, 0.02, 0.03, 0.04):
        found.add("/b")
        found.add(f"/{clock.now}"[:4])
        assert not found.is_due(clock.now)
    assert found.is_due(0.05)


def test_an_empty_set_is_never_due(found: HintSet) -> None:
    assert not found.is_due(1e9)


def test_the_wait_starts_anew_with_the_next_first(found: HintSet, clock: SimpleNamespace) -> None:
    found.add("/a")
    found.take()
    clock.now = 7.0
    found.add("/a")
    assert not found.is_due(7.04)
    assert found.is_due(7.05)


def test_beyond_the_limit_hints_become_one_overflow(found: HintSet) -> None:
    for n in range(6):
        found.add(f"/{n}")
    assert len(found) == 0
    assert found.take_overflow()
    assert not found.take_overflow()


def test_at_the_limit_known_paths_still_fit(found: HintSet) -> None:
    for n in (0, 1, 2, 3, 4, 0, 4):
        found.add(f"/{n}")
    assert not found.take_overflow()
    assert len(found) == 5


def test_after_an_overflow_hints_are_taken_again(found: HintSet) -> None:
    found.overflow()
    found.add("/a")
    assert found.take_overflow()
    assert found.take() == {"/a"}


def test_wait_is_over_at_once_when_hints_were_lost(found: HintSet) -> None:
    found.overflow()
    found.wait(60.0)


def test_wait_ends_when_the_set_is_due_not_with_each_hint() -> None:
    real = HintSet(0.02)
    real.add("/a")
    real.wait(60.0)
    assert real.is_due(time.monotonic())


def test_wait_hears_the_first_hint_of_another_thread() -> None:
    real = HintSet(0.0)
    thread = threading.Timer(0.01, real.add, ["/a"])
    thread.start()
    real.wait(60.0)
    thread.join()
    assert real.take() == {"/a"}


def test_threads_may_add_while_others_take() -> None:
    real, taken = HintSet(0.0, limit=10_000), set[str]()

    def add(name: int) -> None:
        for n in range(500):
            real.add(f"/{name}/{n}")

    threads = [threading.Thread(target=add, args=[name]) for name in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        taken |= real.take()
    assert len(taken | real.take()) == 2000


# -- the handler -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "paths"),
    [
        (FileCreatedEvent("/r/a.jsonl"), {"/r/a.jsonl"}),
        (FileModifiedEvent("/r/a.jsonl"), {"/r/a.jsonl"}),
        (FileMovedEvent("/r/a.jsonl", "/r/b.jsonl"), {"/r/a.jsonl", "/r/b.jsonl"}),
        (FileMovedEvent("/r/a.jsonl.tmp", "/r/a.jsonl"), {"/r/a.jsonl"}),
        (FileCreatedEvent("/r/agent-1.meta.json"), {"/r/agent-1.meta.json"}),
        (FileCreatedEvent("/r/toolu_1.txt"), set()),
        (DirCreatedEvent("/r/p"), {"/r/p"}),
        (DirMovedEvent("/r/p", "/r/q"), {"/r/p", "/r/q"}),
        (DirDeletedEvent("/r/p"), {"/r/p"}),
        (FileModifiedEvent(b"/r/caf\xe9.jsonl"), {"/r/caf\udce9.jsonl"}),
    ],
    ids=lambda value: f"{value.event_type} {value.src_path!r}" if isinstance(value, FileSystemEvent) else "",
)
def test_which_events_name_which_paths(found: HintSet, event: FileSystemEvent, paths: set[str]) -> None:
    Handler(found).dispatch(event)
    assert found.take() == paths


@pytest.mark.parametrize("event", [None, SimpleNamespace(src_path=7, dest_path="", is_directory=False)], ids=str)
def test_whatever_goes_wrong_the_handler_does_not_raise(found: HintSet, event: Any) -> None:
    Handler(found).dispatch(event)
    assert found.take_overflow()


def test_the_filter_leaves_out_what_our_own_reading_causes() -> None:
    assert not {FileOpenedEvent, FileClosedNoWriteEvent} & set(EVENTS)


def test_the_filter_admits_no_event_by_inheritance() -> None:
    kinds = [kind for kind in vars(watchdog_events).values() if isinstance(kind, type)]
    heard = {kind for kind in kinds if any(issubclass(kind, one) for one in EVENTS)}
    assert heard == set(EVENTS)


# -- the log ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", hints.OVERFLOW_LOGGERS)
@pytest.mark.parametrize("root_level", [logging.WARNING, logging.CRITICAL])
def test_row_21_an_overflow_in_watchdogs_log_is_heard(found: HintSet, name: str, root_level: int) -> None:
    log, before = OverflowLog(found), logging.getLogger().level
    logging.getLogger().setLevel(root_level)
    log.attach()
    try:
        logging.getLogger(name).warning("Inotify queue overflowed; filesystem events were lost")
    finally:
        log.detach()
        logging.getLogger().setLevel(before)
    assert found.take_overflow()


def test_other_warnings_are_not_overflows(found: HintSet) -> None:
    log = OverflowLog(found)
    log.attach()
    logging.getLogger(hints.OVERFLOW_LOGGERS[0]).warning("something else")
    log.detach()
    assert not found.take_overflow()


def test_detaching_leaves_the_loggers_as_they_were(found: HintSet) -> None:
    loggers = [logging.getLogger(name) for name in hints.OVERFLOW_LOGGERS]
    before = [(list(logger.handlers), logger.level) for logger in loggers]
    log = OverflowLog(found)
    log.attach()
    log.detach()
    assert [(list(logger.handlers), logger.level) for logger in loggers] == before
