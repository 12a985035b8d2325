"""The mark in the environment of a process that works for our own compressor: it must not start us again.

A model's client that runs under it (compressors/claude_cli.py) would otherwise be watched, given our context,
and compressed in turn: two observers that feed each other spent 345 million tokens in a day (ux-and-security,
finding 4).
"""

from __future__ import annotations

from collections.abc import Mapping

from indexer.errors import UsageError

NAME = "TRANSCRIPT_INDEXER_GUARD"


def is_set(env: Mapping[str, str]) -> bool:
    """Whether this process was started by our own compressor."""
    return bool(env.get(NAME))


def check(env: Mapping[str, str]) -> None:
    """Raises UsageError under it."""
    if is_set(env):
        raise UsageError(
            "this was started by transcript-indexer's own compressor, and compresses nothing",
            f"unset {NAME} if that is not so",
        )
