"""One observer's life, with a fake for its faults and the real one for its threads."""

from __future__ import annotations

import errno
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from watchdog.observers.polling import PollingObserver
from watchdog.utils import BaseThread

from indexer.files import observer
from indexer.files.hints import Handler, HintSet
from indexer.files.observer import Watcher


@pytest.fixture
def handler() -> Handler:
    return Handler(HintSet(0.0))


def test_every_folder_is_scheduled_then_started(world: Any, handler: Handler) -> None:
    watcher = Watcher(world.make_observer, handler, ["/a", "/b"])
    assert world.observer.folders == ["/a", "/b"]
    assert watcher.is_alive()


def test_a_dead_observer_or_emitter_is_seen(world: Any, handler: Handler) -> None:
    watcher = Watcher(world.make_observer, handler, ["/a"])
    world.observer.emitter_lives = False
    assert not watcher.is_alive()
    world.observer.emitter_lives = True
    world.observer.alive = False
    assert not watcher.is_alive()


def test_an_observer_that_cannot_start_is_stopped(world: Any, handler: Handler) -> None:
    world.next_faults = [OSError(errno.ENOSPC, "full")]
    with pytest.raises(OSError, match="full"):
        Watcher(world.make_observer, handler, ["/a"])
    assert world.observer.stopped


def test_row_28_stopping_gives_up_on_an_observer_that_hangs(world: Any, handler: Handler) -> None:
    watcher, hung = Watcher(world.make_observer, handler, ["/a"]), threading.Event()
    world.observer.stop = hung.wait
    began = time.monotonic()
    watcher.stop(0.05)
    assert time.monotonic() - began < 1.0
    hung.set()


def test_a_system_without_notification_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "Observer", PollingObserver)
    with pytest.raises(OSError, match="no change notification") as caught:
        observer.native()
    assert caught.value.errno == errno.ENOSYS


def test_watchdogs_warning_about_a_harmless_race_is_not_made_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observer, "Observer", lambda: None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        observer.native()
        warnings.warn("Callback with id '1' already exists for watch", RuntimeWarning, stacklevel=1)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at inotify's threads")
def test_the_real_observer_shows_the_death_of_its_hidden_reader(root: Path, handler: Handler) -> None:
    before = set(threading.enumerate())
    watcher = Watcher(observer.native, handler, [str(root)])
    assert watcher.is_alive()
    (reader,) = [thread for thread in set(threading.enumerate()) - before if "InotifyFD" in str(thread)]
    assert isinstance(reader, BaseThread)
    reader.stop()
    reader.join(5.0)
    assert not watcher.is_alive()
    watcher.stop()


def test_the_real_observers_threads_are_daemons_and_end(root: Path, handler: Handler) -> None:
    before = set(threading.enumerate())
    watcher = Watcher(observer.native, handler, [str(root)])
    started = set(threading.enumerate()) - before
    assert all(thread.daemon for thread in started)
    watcher.stop()
    for thread in started:
        thread.join(5.0)
    assert not any(thread.is_alive() for thread in started)
