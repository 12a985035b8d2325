"""What vectors cost: a question through the worker's socket, a row to sync, a document on disk.

usage: python -m benchmarks vectors [--documents 100000] [--projects 50] [--questions 40] [--home DIR]

Vectors are random, clustered, of the lengths of both default models: the cost of search does not depend on
what they mean. The worker is a real one, in a process of its own; its CPU is what the kernel says of it,
all threads together, so that index and scan are seen whole. What embedding costs is measured on real texts
(200 of about 100 tokens), where the models are installed. Prints one table; wall times of a busy machine
mean little.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from indexer.app import embedder, spec
from indexer.errors import IndexerError
from indexer.store.connection import open_writer
from indexer.store.filters import Filters
from indexer.store.migrations import migrate
from indexer.store.vectors import Held, folder, open_store
from indexer.worker import client
from indexer.worker.report import size_of

WORDS = (
    *("login", "timeout", "session", "cache", "index", "vector", "shed", "paint", "parser"),
    *("token", "socket", "memory"),
)
ARMS = ("use", "minilm")
BLOCK = 2_000


def fill(home: Path, documents: int, projects: int) -> None:
    """A memory of so many prompts, each taken in as one document, with vectors of both models."""
    rng = random.Random(7)
    conn = open_writer(home)
    migrate(conn)
    conn.execute("INSERT INTO sdk_sessions (content_session_id, memory_session_id) VALUES ('s', 'claude:s')")
    conn.execute("BEGIN")
    for number in range(1, documents + 1):
        text, key = f"{rng.choice(WORDS)} {rng.choice(WORDS)} {number}", f"/p/{number % projects}"
        values = (number, key, text, f"u{number}", "", number * 1000)
        conn.execute(
            "INSERT INTO user_prompts (id, session_db_id, content_session_id, project_key, prompt_text,"
            " native_prompt_id, native_prompt_hash, created_at_epoch) VALUES (?, 1, 's', ?, ?, ?, ?, ?)", values
        )  # fmt: skip
        conn.execute(
            "INSERT INTO search_texts (id, kind, uuid, session_db_id, project_key, created_at_epoch, body)"
            " VALUES (?, 'prompt', ?, 1, ?, ?, ?)", (number * 8, f"u{number}", key, number * 1000, text)
        )  # fmt: skip
    conn.execute("COMMIT")
    conn.close()


def take_in(home: Path, documents: int, projects: int) -> float:
    """Every row with its vectors, as sync would have put them; returns CPU seconds a document."""
    from indexer.documents import documents as made_of  # noqa: PLC0415
    from indexer.documents import stamp  # noqa: PLC0415
    from indexer.store import embeddable  # noqa: PLC0415
    from indexer.store.connection import open_reader  # noqa: PLC0415

    vectors, memory = open_store(home), open_reader(home)
    specs = [spec(arm) for arm in ARMS]
    for one in specs:
        vectors.add_model(one.model, one.arm)
    began = time.process_time()
    spent = 0.0
    for low in range(1, documents + 1, BLOCK):
        rows = list(embeddable.rows(memory, [8 * n for n in range(low, min(low + BLOCK, documents + 1))]))
        held = []
        for row in rows:
            found = made_of(row)
            about = (row.id, row.kind, row.project_key, row.merged, row.type, row.time, row.session)
            held.append(Held(*about, stamp(row, found), tuple((one.name, one.hash, one.latin) for one in found)))
        vectors.take_in(held, [one.model for one in specs])
        for one in specs:
            now = time.process_time()
            made = dict(random_vectors([digest for row in held for _, digest, _ in row.documents], one.dimensions))
            spent += time.process_time() - now
            vectors.add_vectors(one.model, made, [row.id for row in rows], one.latin_only)
    for one in specs:
        vectors.set_whole(one.model)
    vectors.close()
    memory.close()
    return (time.process_time() - began - spent) / documents


def random_vectors(hashes: list[bytes], dimensions: int) -> Iterator[tuple[bytes, bytes]]:
    """A vector a hash, in one of 200 clusters."""
    import numpy as np  # noqa: PLC0415

    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(hashes[0]).digest()[:4], "big"))
    centres = np.random.default_rng(1).normal(size=(200, dimensions))
    rows = centres[rng.integers(0, 200, len(hashes))] + 0.8 * rng.normal(size=(len(hashes), dimensions))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    yield from zip(hashes, (row.astype("<f2").tobytes() for row in rows), strict=True)


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, all threads, user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_of(pid: int) -> int:
    """Resident bytes of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def settled(home: Path) -> dict[str, object]:
    """Start the worker and wait until it has put everything into Chroma."""
    client.start(home)
    while True:
        try:
            state = client.request(home, {"op": "status"}, 30)
            if state["warm"] and state["swept"] and not any(row["unindexed"] + row["waiting"] for row in state["arms"]):
                return state
        except IndexerError:
            pass
        time.sleep(2)


def ask(home: Path, pid: int, filters: Filters, number: int) -> tuple[float, float, str]:
    """CPU ms a question (the worker's, a mean: the kernel counts in 10 ms), median ms on the wall, via."""
    rng = random.Random(3)
    client.ask(home, "warm up", filters)
    before, walls, via = cpu_of(pid), [], ""
    for _ in range(number):
        began = time.perf_counter()
        answer = client.ask(home, " ".join(rng.choices(WORDS, k=5)), filters, timeout=30)
        walls.append(1000 * (time.perf_counter() - began))
        via = "+".join(answer.via) or str(answer.notes)
    return 1000 * (cpu_of(pid) - before) / number, statistics.median(walls), via


def embedding(arm: str) -> str:
    """CPU ms a text of about 100 tokens."""
    try:
        model = embedder(arm)
    except IndexerError as error:
        return error.message
    rng = random.Random(5)
    texts = [" ".join(rng.choices(WORDS, k=90)) for _ in range(64)]
    began = time.process_time()
    model.embed_documents(texts)
    return f"{1000 * (time.process_time() - began) / len(texts):.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--projects", type=int, default=50)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--home", type=Path)
    args = parser.parse_args()
    home = args.home or Path(tempfile.mkdtemp(prefix="vectors-"))
    try:
        if not (home / "index.db").exists():
            fill(home, args.documents, args.projects)
            print(
                f"taking in, a document: {1000 * take_in(home, args.documents, args.projects):.2f} ms CPU", flush=True
            )
        state = settled(home)
        pid = int(str(state["pid"]))
        print(f"until Chroma held all of both models: {cpu_of(pid):.0f} s CPU, "
              f"{1000 * cpu_of(pid) / args.documents / 2:.2f} ms a vector", flush=True)  # fmt: skip
        asked = {
            "one project": Filters(project=("/p/7",)),
            "one project of two kinds, a week": Filters(project=("/p/7",), kinds=("prompt", "shell"), since=1),
            "everything": Filters(),
            "everything, behind a filter": Filters(since=1),
        }
        for name, filters in asked.items():
            cpu, wall, via = ask(home, pid, filters, args.questions)
            print(f"{name:34} {cpu:7.1f} ms CPU {wall:8.1f} ms  {via}", flush=True)
        print(f"worker {rss_of(pid) / 1e6:.0f} MB resident")
        database = sum(one.stat().st_size for one in folder(home).glob("vectors.db*"))
        chroma = size_of(folder(home) / "chroma")
        each = f"{database / args.documents:.0f} B in SQLite, {chroma / args.documents:.0f} B in Chroma"
        print(f"on disk, a document: {each}")
        client.request(home, {"op": "stop"})
        for arm in ARMS:
            print(f"embedding 90 words with {arm}: {embedding(arm)}", flush=True)
    finally:
        if args.home is None:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
