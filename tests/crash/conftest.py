"""One nursery for all crash tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from crash import Nursery


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("home")) as made:
        yield made
