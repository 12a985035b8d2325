"""Loaded by every Python that a test starts, since conftest puts this folder on PYTHONPATH."""

import sys

_support = __file__.rpartition("/")[0].rpartition("/")[0]
sys.path.append(_support)
import reaching  # noqa: E402 - found by the line before

sys.path.remove(_support)
reaching.install()
