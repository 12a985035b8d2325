"""Vectors as bytes: normalised, half precision, the same on both sides."""

from __future__ import annotations

import math

import pytest

from indexer.embedders.base import packed, unpacked


def test_a_vector_is_two_bytes_a_number() -> None:
    assert len(packed([1.0, 2.0, 3.0])) == 6


def test_a_vector_is_normalised() -> None:
    assert math.hypot(*unpacked(packed([3.0, 4.0]))) == pytest.approx(1, abs=0.001)


def test_what_is_unpacked_points_where_the_numbers_did() -> None:
    assert unpacked(packed([3.0, 4.0])) == pytest.approx((0.6, 0.8), abs=0.001)


def test_nothing_stays_nothing() -> None:
    assert unpacked(packed([0.0, 0.0])) == (0.0, 0.0)
