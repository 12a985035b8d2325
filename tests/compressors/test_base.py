"""What comes back from JSON is what went in."""

from __future__ import annotations

import json

import pytest

from indexer.compressors.base import Finding


def test_a_finding_survives_json() -> None:
    one = Finding("bugfix", "修复", "s", "n", ("f", "g"), ("gotcha",), ())
    assert Finding.of(json.loads(json.dumps(one))) == one


def test_what_is_no_finding_is_an_error() -> None:
    with pytest.raises(ValueError, match="unpack"):
        Finding.of(["bugfix", "t"])
