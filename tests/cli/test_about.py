from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

from indexer.cli import about


def test_the_version_is_the_installed_ones(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about, "installed", lambda name: f"1.2.3 of {name}")
    assert call("--version") == (0, "transcript-indexer 1.2.3 of transcript-indexer\n", "")


def test_the_version_for_programs(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(about, "installed", lambda _: "1.2.3")
    assert call("--version", "--json").json == {
        "schema_version": 1,
        "name": "transcript-indexer",
        "version": "1.2.3",
    }


def test_a_checkout_says_so(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(about, "installed", missing)
    assert call("--version").out == "transcript-indexer (not installed)\n"
