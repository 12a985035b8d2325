"""Keeps vectors in step with the memory: rows become documents, documents vectors, vectors the index.

`step` is one piece of work, in this order, so that what is written now is found soon and the cheap model is
never kept waiting by the dear one: look for rows that are new or have changed; embed with the first model;
put its vectors into the index; then the same with the next. Each piece commits by itself; a kill loses one.

New rows are seen by their ids, every two seconds and at the cost of one statement. That is the hint; the
truth is a sweep over all rows, compared by stamp, at the start and then every five minutes if the memory
was written to, more seldom when it takes long (it may take half a percent of the time). So nothing needs a
trigger in the memory's own tables, which ingest would have to pay for, and a row that was missed once is
seen again.

The index is not trusted: what it says it holds is compared with what it was given, and most of a few documents must
find themselves, when it is opened, every five minutes, and when somebody asks. What fails is put aside and
filled again from SQLite, 2 ms a document. The scan answers meanwhile.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from indexer import events
from indexer.documents import documents, stamp
from indexer.embedders.base import Embedder, NoEmbedder, Spec
from indexer.errors import IndexerError
from indexer.store import embeddable
from indexer.store.connection import Connection, identity, open_reader
from indexer.store.vectors import Held, Place, Vectors
from indexer.text import many
from indexer.vectors.base import Index, IndexDamaged, IndexMissing, Scan

LOOK_SECONDS, SWEEP_SECONDS, CHECK_SECONDS, RETRY_SECONDS = 2.0, 300.0, 300.0, 60.0
SWEEP_SHARE = 200
"""A sweep is followed by a pause of at least so many times what it took."""
WINDOW = 40_000
"""Ids a piece of a sweep looks at: up to 5,000 rows of each table."""
TAIL = 400
"""Ids before the last one that are looked at again: an answer grows while it is written."""
ROWS, INDEXED = 256, 500
CANARIES = 8
"""Half of them must find themselves. Not all: HNSW is approximate, and among 2,500 texts that hardly differ it
missed 14 of 200 (measured); with a segment deleted or overwritten it finds next to none."""
_SAME = 0.99


class Arm:
    """A model in use: what is known of it, and the loaded model once there is one."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.embedder: Embedder | None = None
        self.trouble: NoEmbedder | None = None
        self.retry_at = float("-inf")
        self.whole = False

    def load(self, now: float) -> bool:
        """Load the model, if that has not failed a moment ago; says whether it is there."""
        if self.embedder is None and now >= self.retry_at:
            try:
                self.embedder, self.trouble = self.spec.load(), None
            except NoEmbedder as error:
                self.failed(error, now)
        return self.embedder is not None

    def failed(self, error: NoEmbedder, now: float) -> None:
        """It did not answer; it is asked again in a minute."""
        if self.trouble is None:
            events.embedder_failed(self.spec.arm, error)
        self.trouble, self.retry_at = error, now + RETRY_SECONDS


class Sync:
    """One thread's work over the vectors of `home`. See the module's docstring.

    arms: the models wanted, the first served first; old: those that still answer while a wanted one is not
    whole. open_index: opens generation n of the index; None: there is to be none. set_aside: puts the folder
    of generation n out of the way, of 0 deletes what was put aside. `beat` is called between pieces of work
    that may take a second.
    """

    def __init__(
        self,
        home: Path,
        vectors: Vectors,
        arms: Sequence[Arm],
        scan: Scan,
        *,
        old: Sequence[Arm] = (),
        open_index: Callable[[int], Index] | None = None,
        set_aside: Callable[[int], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._home, self.vectors, self.arms, self.scan = home, vectors, tuple(arms), scan
        self.old = list(old)
        self._open_index, self._set_aside, self._clock = open_index, set_aside, clock
        self.beat: Callable[[], None] = lambda: None
        self.index: Index | None = None
        self.index_trouble = ""
        self._memory: Connection | None = None
        self._file: tuple[int, int] | None = None
        self._last: tuple[int, ...] = ()
        self._seen = self._swept = -1
        self._look_at = self._sweep_at = self._index_at = self._check_at = float("-inf")
        self._windows: deque[int] = deque()
        self._sweep_cost, self._losses = 0.0, 0
        for arm in self.arms:
            vectors.add_model(arm.spec.model, arm.spec.arm)
        for arm in (*self.arms, *self.old):
            arm.whole = vectors.models().get(arm.spec.model, ("", False))[1]
        for model in vectors.models():
            if model not in {arm.spec.model for arm in (*self.arms, *self.old)}:
                vectors.drop_model(model)

    def load(self) -> None:
        """Put all vectors there are into the scan."""
        places = self.vectors.places()
        while block := list(islice(places, 4096)):
            self._scan_block([], block)
            self.beat()

    def close(self) -> None:
        """Close everything."""
        if self.index is not None:
            self._quietly(self.index.close)
        if self._memory is not None:
            self._memory.close()
        self.vectors.close()

    # -- one piece of work ---------------------------------------------------------------------------

    def step(self) -> bool:
        """Do one piece of work; says whether there was any."""
        now = self._clock()
        # A sweep of a long history goes on beside the work that it finds.
        found = self._find(now)
        for arm in self.arms:
            if arm.load(now) and (self._embed(arm, now) or self._fill(arm, now)):
                return True
        return found or self._retire() or self._check(now)

    @property
    def swept(self) -> bool:
        """Whether every row has been looked at once."""
        return self._swept >= 0

    def sweep(self) -> None:
        """Look at every row again, and at the index, whatever was seen before."""
        self._seen = self._swept = -1
        self._look_at = self._sweep_at = self._check_at = self._index_at = float("-inf")
        for arm in self.arms:
            arm.retry_at = float("-inf")

    # -- rows ----------------------------------------------------------------------------------------

    def _find(self, now: float) -> bool:
        """Rows that are new, have changed or are gone, a portion at a time."""
        if self._windows:
            began = time.process_time()
            self._sweep_window(self._windows.popleft())
            self._sweep_cost += time.process_time() - began
            if not self._windows:
                self._sweep_at = self._clock() + max(SWEEP_SECONDS, SWEEP_SHARE * self._sweep_cost)
                self._swept = self._seen
            return True
        if now < self._look_at:
            return False
        self._look_at = now + LOOK_SECONDS
        memory = self._reader()
        if memory is None:
            return False
        version = embeddable.version(memory)
        if now >= self._sweep_at and version != self._swept:
            self._seen, self._sweep_cost = version, 0.0
            self._last = embeddable.last_ids(memory)
            end = max(embeddable.last_id(memory), self.vectors.last_row())
            self._windows = deque(range(end - end % WINDOW, -1, -WINDOW))  # the last stored first
            return True
        if version == self._seen:
            return False
        self._seen = version
        return self._look(memory)

    def _look(self, memory: Connection) -> bool:
        """Rows stored since the last look, and the few before them."""
        last, self._last = self._last, embeddable.last_ids(memory)
        wanted = [
            number
            for before, now in zip(last, self._last, strict=True)
            for number in range(now, max(min(before, now) - TAIL, -1), -8)
        ]
        return sum(self._compare(memory, wanted[start : start + ROWS]) for start in range(0, len(wanted), ROWS)) > 0

    def _reader(self) -> Connection | None:
        """The memory; opened anew when another file has taken its place."""
        there = identity(self._home)
        if self._memory is not None and there != self._file:
            self._memory.close()
            self._memory, self._seen, self._swept = None, -1, -1
            self._sweep_at = float("-inf")
        if self._memory is None and there is not None:
            try:
                self._memory, self._file = open_reader(self._home), there
            except IndexerError as error:
                events.failed("vectors", error)
        return self._memory

    def _sweep_window(self, low: int) -> None:
        memory = self._reader()
        if memory is None:
            return
        held = self.vectors.stamps(low, low + WINDOW)
        there = embeddable.ids(memory, low, low + WINDOW)
        self._take_out(sorted(held.keys() - there))
        ordered = sorted(there, reverse=True)
        for start in range(0, len(ordered), ROWS):
            self._compare(memory, ordered[start : start + ROWS])
            self.beat()

    def _compare(self, memory: Connection, wanted: Sequence[int]) -> bool:
        """Take in those of these rows that are not held as they are; says whether there were any."""
        held = self.vectors.stamps_of(wanted)
        changed = []
        for row in embeddable.rows(memory, wanted):
            made = documents(row)
            mark = stamp(row, made)
            if held.get(row.id) != mark:
                named = tuple((one.name, one.hash, one.latin) for one in made)
                about = (row.id, row.kind, row.project_key, row.merged, row.type, row.time, row.session)
                changed.append(Held(*about, mark, named))
        if changed:
            self.vectors.take_in(changed, [arm.spec.model for arm in self.arms])
            self._rescan([row.id for row in changed])
        return bool(changed)

    def _take_out(self, gone: Sequence[int]) -> None:
        if gone:
            self.vectors.remove(gone)
            self.scan.replace(gone, (), {})

    def _rescan(self, rows: Sequence[int]) -> None:
        self._scan_block(rows, list(self.vectors.places(rows)))

    def _scan_block(self, rows: Sequence[int], places: Sequence[Place]) -> None:
        numbers = [place.id for place in places]
        models = [arm.spec.model for arm in (*self.arms, *self.old)]
        self.scan.replace(rows, places, {model: self.vectors.vectors_of(model, numbers) for model in models})

    # -- vectors -------------------------------------------------------------------------------------

    def _embed(self, arm: Arm, now: float) -> bool:
        """Vectors for some of the rows that wait for the model, the last stored first."""
        model, latin = arm.spec.model, arm.spec.latin_only
        rows = self.vectors.waiting(model, arm.spec.batch)
        if not rows:
            if not arm.whole and self.swept:
                self.vectors.set_whole(model)
                arm.whole = True
            return False
        lacking = self.vectors.lacking(model, rows, latin)
        try:
            made = self._made(arm, self._texts(rows, set(lacking.values())))
        except NoEmbedder as error:
            arm.failed(error, now)
            arm.embedder = None
            return False
        self.vectors.add_vectors(model, made, rows, latin)
        if made:
            self._rescan(rows)
        return True

    def _texts(self, rows: Sequence[int], hashes: set[bytes]) -> dict[bytes, str]:
        memory = self._reader()
        if memory is None or not hashes:
            return {}
        made = (one for row in embeddable.rows(memory, rows) for one in documents(row))
        return {one.hash: one.text for one in made if one.hash in hashes}

    def _made(self, arm: Arm, texts: dict[bytes, str]) -> dict[bytes, bytes]:
        embedder = arm.embedder
        if embedder is None:
            return {}
        # Of one length together: a batch is padded to its longest.
        ordered = sorted(texts.items(), key=lambda item: len(item[1]))
        made: dict[bytes, bytes] = {}
        for start in range(0, len(ordered), arm.spec.batch):
            part = ordered[start : start + arm.spec.batch]
            vectors = embedder.embed_documents([text for _, text in part])
            made.update(zip((digest for digest, _ in part), vectors, strict=True))
            self.beat()
        return made

    def _retire(self) -> bool:
        """Models that are wanted no more go once all wanted ones are whole."""
        if not self.old or not all(arm.whole for arm in self.arms):
            return False
        arm = self.old.pop()
        index = self.index
        if index is not None:
            self._quietly(lambda: index.drop(arm.spec.model))
        self.vectors.drop_model(arm.spec.model)
        return True

    # -- the index -----------------------------------------------------------------------------------

    def _fill(self, arm: Arm, now: float) -> bool:
        """Tell the index what it does not know yet."""
        if not self._opened(now) or self.index is None:
            return False
        put, gone = self.vectors.unindexed(arm.spec.model, INDEXED)
        if not put and not gone:
            return False
        try:
            self.index.put(arm.spec.model, put)
            self.index.remove(arm.spec.model, gone)
        except IndexDamaged as error:
            self.lose_index(error)
            return True
        self.vectors.set_indexed(arm.spec.model, put, gone)
        return True

    def _opened(self, now: float) -> bool:
        """Whether there is an index to work with; opened and looked at if it can be."""
        if self.index is not None or self._open_index is None or now < self._index_at:
            return self.index is not None
        self._index_at = now + RETRY_SECONDS
        try:
            self.index = self._open_index(self.generation)
            self.vectors.match_index()
            self._look_at_index()
            self.index_trouble = ""
        except IndexMissing as error:
            self.index_trouble = f"{error.message}: {error.hint}"
        except IndexDamaged as error:
            self.lose_index(error)
        return self.index is not None

    @property
    def generation(self) -> int:
        """Which of the index's folders counts."""
        return int(self.vectors.setting("generation") or 1)

    def lose_index(self, why: IndexerError | None = None) -> None:
        """Put the index aside; it is filled again from SQLite."""
        if self.index is not None:
            self._quietly(self.index.close)
        if why is not None:
            events.index_lost(why.message)
        self.index = None
        self.index_trouble = f"{why.message}; it is being rebuilt" if why else "the vector index is being rebuilt"
        number = self.generation
        self.vectors.set_setting("generation", str(number + 1))
        try:
            self._set_aside(number)
        except OSError as error:
            events.failed("vectors", error)
        self.vectors.index_lost()
        # At once the first time; an index that is lost again and again must not keep the machine busy.
        self._losses += 1
        self._index_at = self._clock() + (min(2.0**self._losses, 600.0) if self._losses > 1 else 0.0)

    def _check(self, now: float) -> bool:
        """Now and then: does the index hold what it was given?"""
        if self.index is None:
            # An index with nothing to be told is opened all the same: it may have lost everything.
            return self._open_index is not None and self._opened(now)
        if now < self._check_at:
            return False
        try:
            self._look_at_index()
        except IndexDamaged as error:
            self.lose_index(error)
            return True
        self._losses = 0
        return False

    def _look_at_index(self) -> None:
        """Raises IndexDamaged when the index does not hold what it was given."""
        index = self.index
        if index is None:
            return
        self._check_at = self._clock() + CHECK_SECONDS
        for arm in self.arms:
            model = arm.spec.model
            given = self.vectors.coverage(model, arm.spec.latin_only).indexed
            found = index.count(model)
            if found != given and not self._is_ahead(model, found, given):
                raise IndexDamaged(f"the vector index holds {found:,} of {many(given, 'document')}")
            canaries = self.vectors.canaries(model, CANARIES)
            if sum(_finds(index, model, vector) for _, vector in canaries) * 2 < len(canaries):
                raise IndexDamaged("the vector index does not find what it holds")

    def _is_ahead(self, model: str, found: int, given: int) -> bool:
        """A kill between the index and SQLite: the batch in hand is there, and will be put again."""
        return 0 < found - given <= INDEXED and self.vectors.coverage(model, False).unindexed >= found - given

    def opened(self) -> Index | None:
        """The index, opened now if that can be."""
        self._index_at = float("-inf")
        self._opened(self._clock())
        return self.index

    def rebuild(self) -> None:
        """Fill the index again from SQLite, after a look at every row."""
        self.sweep()
        if self._open_index is not None:
            self.lose_index()

    def forget(self) -> None:
        """What the memory does not hold any more leaves the vectors now, and the index with all its files:
        its own deletions leave the bytes where they are. Filled again from SQLite afterwards."""
        self.sweep()
        while not self.swept and self._find(self._clock()):
            self.beat()
        if self._open_index is not None:
            self.lose_index()
            self._set_aside(0)
        self.vectors.scrub()

    def _quietly(self, act: Callable[[], object]) -> None:
        try:
            act()
        except IndexerError as error:
            events.failed("vectors", error)


def _finds(index: Index, model: str, vector: bytes) -> bool:
    """Whether the index finds this vector, or one that cannot be told from it."""
    nearest = index.nearest(model, vector, 3)
    return bool(nearest) and nearest[0][1] >= _SAME
