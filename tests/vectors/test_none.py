"""An index that is none: everything may be asked of it, and nothing is found."""

from __future__ import annotations

from scans import M, place, vector

from indexer.store.vectors import Entry
from indexer.vectors.none import NoIndex


def test_it_takes_everything_and_holds_nothing() -> None:
    index = NoIndex()
    index.put(M, [Entry("a", b"", vector(1), place(1, 8))])
    index.remove(M, ["a"])
    index.drop(M)
    index.close()
    assert (index.count(M), list(index.names(M)), index.nearest(M, vector(1), 5)) == (0, [], [])
