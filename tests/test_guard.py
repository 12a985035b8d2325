"""Under our own compressor nothing of ours starts."""

from __future__ import annotations

import pytest

from indexer import config, guard
from indexer.errors import UsageError


def test_the_mark() -> None:
    assert (guard.is_set({}), guard.is_set({guard.NAME: "1"})) == (False, True)
    guard.check({})
    with pytest.raises(UsageError, match="own compressor"):
        guard.check({guard.NAME: "1"})


def test_it_is_no_setting() -> None:
    config.load(env={guard.NAME: "1"})
