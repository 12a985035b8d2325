"""How well lexical search ranks: nDCG@10 and recall@10 of a set of questions with known answers.

    python benchmarks/retrieval.py SET

SET is a folder with docs.jsonl (id, title, text), queries.jsonl (id, text, kind) and qrels.jsonl (qid,
did, rel). Each document becomes an observation in a store made for the run, with its title and body as the
index sees them. Results are given for all queries, for each kind, and for the even and odd ones, so that a
choice made on one half can be checked on the other.
"""

from __future__ import annotations

import argparse
import json
import math
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import indexer.store
from indexer.query import parse
from indexer.store.lexical import match
from indexer.text import search_tokens

CUT = 10
STORE = Path(indexer.store.__file__).parent


def load(folder: Path, name: str) -> list[dict[str, str]]:
    """The records of one JSON lines file of the set."""
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def build(docs: Sequence[dict[str, str]]) -> sqlite3.Connection:
    """A store in memory that holds each document as an observation, numbered from 1."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    for script in ("schema.sql", "fts.sql"):
        conn.executescript((STORE / script).read_text(encoding="utf-8"))
    conn.execute("INSERT INTO sdk_sessions (id, content_session_id, memory_session_id) VALUES (1, 's', 'm')")
    conn.executemany(
        "INSERT INTO observations (id, memory_session_id, project, type, title, narrative, content_hash) "
        "VALUES (?, 'm', '', 'discovery', ?, ?, ?)",
        ((i, doc["title"], doc["text"], str(i)) for i, doc in enumerate(docs, 1)),
    )
    conn.executemany(
        "INSERT INTO search_texts (id, kind, session_db_id, title, body) VALUES (?, 'observation', 1, ?, ?)",
        ((i * 8 + 3, search_tokens(doc["title"]), search_tokens(doc["text"])) for i, doc in enumerate(docs, 1)),
    )
    return conn


def ndcg(found: Sequence[str], wanted: dict[str, float]) -> float:
    gain = sum(wanted.get(doc, 0) / math.log2(place + 2) for place, doc in enumerate(found[:CUT]))
    best = sorted(wanted.values(), reverse=True)[:CUT]
    return gain / sum(rel / math.log2(place + 2) for place, rel in enumerate(best))


def recall(found: Sequence[str], wanted: dict[str, float]) -> float:
    return len(wanted.keys() & set(found[:CUT])) / len(wanted)


def report(name: str, scores: Iterable[tuple[float, float]]) -> None:
    both = list(scores)
    gains, recalls = (sum(column) / len(both) for column in zip(*both, strict=True))
    print(f"{name:12} {len(both):5} queries  nDCG@10 {gains:.3f}  recall@10 {recalls:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("set", type=Path, help="folder with docs.jsonl, queries.jsonl and qrels.jsonl")
    folder = parser.parse_args().set
    docs, queries = load(folder, "docs"), load(folder, "queries")
    answers: dict[str, dict[str, float]] = defaultdict(dict)
    for judged in load(folder, "qrels"):
        answers[judged["qid"]][judged["did"]] = float(judged["rel"])
    conn = build(docs)
    scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
    start = time.process_time()
    for number, query in enumerate(queries):
        rows = match(conn, parse(query["text"]), CUT).matches
        found = [docs[row.id // 8 - 1]["id"] for row in rows]
        score = ndcg(found, answers[query["id"]]), recall(found, answers[query["id"]])
        for group in ("all", query.get("kind", ""), "odd" if number % 2 else "even"):
            scores[group].append(score)
    spent = time.process_time() - start
    for group, both in scores.items():
        report(group, both)
    print(f"{spent / len(queries) * 1000:.2f} ms CPU a query over {len(docs)} documents")


if __name__ == "__main__":
    main()
