"""What is wrong now, and the exact thing a person can do about it. Pure but for looking at folders.

A trouble stands in the status for as long as it lasts and not a moment longer, so nothing here remembers:
each is made anew from what is true.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from indexer.errors import IndexerError
from indexer.text import many

SHOWN = 3
"""Folders named one by one."""


class Trouble(NamedTuple):
    """reason: what is wrong. remedy: what to do, "" if there is nothing to do but wait."""

    reason: str
    remedy: str


def of_error(error: Exception) -> Trouble:
    """Why the service could not go on with its work."""
    if isinstance(error, IndexerError):
        return Trouble(error.message, error.hint)
    if isinstance(error, OSError) and error.strerror:
        where = f"{os.fsdecode(error.filename)}: " if error.filename else ""
        return Trouble(f"{where}{error.strerror}", "")
    return Trouble(str(error), "")


def of_folders(problems: Mapping[str, str]) -> Iterator[Trouble]:
    """Of folders and files that could not be looked at: path -> why."""
    for path, why in sorted(problems.items())[:SHOWN]:
        remedy = f"chmod u+rX {shlex.quote(path)}" if "ermission" in why else ""
        yield Trouble(f"cannot read {path}: {why}", remedy)
    if len(problems) > SHOWN:
        yield Trouble(f"nor {many(len(problems) - SHOWN, 'more folder')}", "")


def of_roots(chosen: Iterable[str]) -> Iterator[Trouble]:
    """Of folders of transcripts that somebody named in the settings and that do not exist."""
    for root in chosen:
        if not Path(root).is_dir():
            yield Trouble(f"waiting for {root} to appear", f"mkdir -p {shlex.quote(root)}, or correct sources.roots")


def joined(troubles: Iterable[Trouble]) -> Trouble:
    """All of them as one; the same said twice is said once."""
    told = list(troubles)
    reasons = dict.fromkeys(trouble.reason for trouble in told if trouble.reason)
    remedies = dict.fromkeys(trouble.remedy for trouble in told if trouble.remedy)
    return Trouble("; ".join(reasons), "; ".join(remedies))
