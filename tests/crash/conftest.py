"""One nursery for all crash tests, and a way to say in a run's output what was done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from crash import Nursery


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("home")) as made:
        yield made


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Print a line whatever is captured: figures, and the seed that repeats them."""
    terminal: Any = request.config.pluginmanager.get_plugin("terminalreporter")
    capture: Any = request.config.pluginmanager.get_plugin("capturemanager")

    def write(text: str) -> None:
        with capture.global_and_fixture_disabled():
            terminal.ensure_newline()
            terminal.write_line(text)

    return write
