"""Which documents pass the filters that the scan knows: shared by both scans, so that they cannot differ."""

from __future__ import annotations

from typing import NamedTuple

from indexer.store.filters import Filters, codes
from indexer.store.items import CODES

KINDS = tuple(CODES)
UNDATED = -(1 << 63)


class Wanted(NamedTuple):
    """What columns must be. kinds: names. projects: keys, of the row's own project or the one it was merged
    into; None: any. type: lower case. since, until: milliseconds, undated rows pass neither."""

    kinds: frozenset[str]
    projects: frozenset[str] | None
    type: str | None
    since: int | None
    until: int | None


def wanted(filters: Filters) -> Wanted:
    """The part of the filters that is about columns of the scan."""
    tables = codes(filters)
    kinds = frozenset(kind for kind in filters.kinds or KINDS if CODES.get(kind) in tables)
    projects = None if filters.project is None else frozenset(filters.project)
    return Wanted(kinds, projects, filters.type and filters.type.lower(), filters.since, filters.until)


def others(filters: Filters) -> bool:
    """Whether there are filters that only the memory's own tables can answer."""
    return any((filters.session, filters.file, filters.concept, filters.agent, filters.platform, filters.tool))


def none(filters: Filters) -> bool:
    """Whether everything passes."""
    plain = (filters.kinds, filters.project, filters.type, filters.since, filters.until)
    return not others(filters) and all(value is None for value in plain)
