"""Finds, for a result whose id is not unique, the last call with that id before it in its file.

Ids like `call_0` repeat for each call of a session, so a scan over the calls in hand for each result is
quadratic: 3,000 of them took minutes. Calls are kept by id, and for each file in the order of its lines;
a line that has changed since a call was filed is noticed when the call is about to be given out.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from indexer.store.placing import Context, Placer
from indexer.store.rows import ToolRow


@dataclass(slots=True)
class _Column:
    """The calls of one id in one file of a session, by line. seen: of the id's calls, how many are filed."""

    lines: list[int] = field(default_factory=list)
    rows: list[ToolRow] = field(default_factory=list)
    seen: int = 0

    def file(self, line: int, row: ToolRow) -> None:
        at = bisect_right(self.lines, line)
        self.lines.insert(at, line)
        self.rows.insert(at, row)

    def drop(self, at: int) -> None:
        del self.lines[at], self.rows[at]


def weak_id(identity: str) -> str:
    """The id of a call as its client gave it, of an identity `<record>:<id>` or `<record>:<id>#<n>`; "" for
    an id that is unique as it is."""
    return identity.partition(":")[2].partition("#")[0]


class WeakCalls:
    """The calls with weak ids that one transaction has met."""

    def __init__(self, placer: Placer) -> None:
        self._placer = placer
        self._calls: dict[str, list[ToolRow]] = {}
        self._columns: dict[tuple[str, int, int], _Column] = {}

    def add(self, identity: str, row: ToolRow) -> None:
        """Note a call, or that a known one has got another record or place."""
        if weak := weak_id(identity):
            self._calls.setdefault(weak, []).append(row)

    def nearest(self, weak: str, context: Context) -> ToolRow | None:
        """The call on the last line before that of the record in hand, in the same file; None if none is."""
        session, file, line = self._placer.place_of(context)
        column = self._columns.setdefault((weak, session, file), _Column())
        calls = self._calls.get(weak, [])
        fresh, column.seen = calls[column.seen :], len(calls)
        places = self._placer.lines([row.record_uuid for row in fresh], session, file)
        for row in fresh:
            if row.record_uuid in places:
                column.file(places[row.record_uuid], row)
        return self._last_before(column, line, session, file)

    def _last_before(self, column: _Column, line: int, session: int, file: int) -> ToolRow | None:
        while at := bisect_left(column.lines, line):
            at = bisect_left(column.lines, column.lines[at - 1])  # of two on one line, the first
            row = column.rows[at]
            if self._placer.lines([row.record_uuid], session, file).get(row.record_uuid) == column.lines[at]:
                return row
            column.drop(at)
        return None
