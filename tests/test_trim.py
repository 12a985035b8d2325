"""What was freed goes back to the system, where the system takes it."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from indexer.trim import trim


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="of glibc")
def test_what_was_freed_is_given_back() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    held = [libc.malloc(50_000) for _ in range(1000)]  # small enough to come from the heap
    for place in held:
        ctypes.memset(place, 1, 50_000)
    last = libc.malloc(50_000)  # the heap does not shrink below it
    ctypes.memset(last, 1, 50_000)
    for place in held:
        libc.free(place)
    before = resident()
    trim()
    assert before - resident() > 30_000_000
    libc.free(last)


def test_without_such_a_call_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def fake(name: object) -> object:
        asked.append(name)
        return object()

    monkeypatch.setattr(ctypes, "CDLL", fake)
    trim()
    assert asked == [None]
