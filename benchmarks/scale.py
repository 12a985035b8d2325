"""What search by words costs as the memory grows: CPU a row written, and a query's p50 and p95.

    python -m benchmarks scale [--steps 100000,1000000] [--home DIR]

Rows are synthetic observations, every other one Chinese, of about 100 words or 150 characters; words are
drawn by Zipf's law, so that some stand in a third of all rows and most in few. They are written as `watch`
writes: 1,000 rows a transaction, triggers and all. At each step 60 queries are asked, a third keywords, a
third questions in English and a third in Chinese, each in all projects and in one of 50. CPU seconds of one
process are counted, since a shared machine makes wall time mean little.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from indexer.query import Filters, parse
from indexer.ranking import ranked
from indexer.store.connection import open_writer, transaction
from indexer.store.migrations import migrate
from indexer.store.reads import reading
from indexer.text import search_tokens

BATCH = 1_000
PROJECTS = 50
WORDS, HAN = 30_000, 3_500
SYLLABLES = "ka re mo ti lo ser vex dra pon mil cat qua ster ven hol bri nex tor lin fam gar sul wen zor cha".split()  # noqa: SIM905


class Language:
    """Words or characters by Zipf's law."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        words = {"".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(WORDS * 2)}
        self.words = sorted(words, key=lambda word: (len(word), word))[:WORDS]
        self.han = [chr(0x4E00 + i) for i in chance.sample(range(20_000), HAN)]
        self._word_weights = list(accumulate(1 / (n + 3) for n in range(len(self.words))))
        self._han_weights = list(accumulate(1 / (n + 10) for n in range(HAN)))

    def english(self, count: int) -> str:
        return " ".join(self.chance.choices(self.words, cum_weights=self._word_weights, k=count))

    def chinese(self, count: int) -> str:
        runs = []
        while count > 0:
            size = min(count, self.chance.randint(4, 14))
            runs.append("".join(self.chance.choices(self.han, cum_weights=self._han_weights, k=size)))
            count -= size
        return "，".join(runs)

    def rare(self, count: int) -> str:
        return " ".join(self.chance.choices(self.words[50:5_000], k=count))


def rows(language: Language, start: int, count: int) -> Iterator[tuple[int, str, str, int]]:
    """Number, title, narrative, time."""
    for number in range(start, start + count):
        if number % 2:
            yield number, language.english(6), language.english(100), number * 60_000
        else:
            yield number, language.chinese(10), f"{language.chinese(150)} {language.english(2)}", number * 60_000


def write(home: Path, language: Language, start: int, count: int) -> float:
    """CPU seconds that writing took, without making up the texts."""
    conn = open_writer(home)
    migrate(conn)
    if start == 1:
        for i in range(1, PROJECTS + 1):
            conn.execute(
                "INSERT INTO sdk_sessions (id, content_session_id, memory_session_id, project, project_key) "
                "VALUES (?, ?, ?, ?, ?)",
                (i, f"s{i}", f"claude:s{i}", f"p{i}", f"/home/dev/p{i}"),
            )
    spent = 0.0
    for first in range(start, start + count, BATCH):
        batch = list(rows(language, first, min(BATCH, start + count - first)))
        begun = time.process_time()
        with transaction(conn):
            for number, title, text, when in batch:
                session = number % PROJECTS + 1
                conn.execute(
                    "INSERT INTO observations (id, memory_session_id, project, project_key, type, title, narrative, "
                    "content_hash, created_at_epoch) VALUES (?, ?, ?, ?, 'discovery', ?, ?, ?, ?)",
                    (
                        number,
                        f"claude:s{session}",
                        f"p{session}",
                        f"/home/dev/p{session}",
                        title,
                        text,
                        str(number),
                        when,
                    ),
                )
                conn.execute(
                    "INSERT INTO search_texts (id, kind, session_db_id, project_key, created_at_epoch, detail, title, "
                    "body) VALUES (?, 'observation', ?, ?, ?, 'discovery', ?, ?)",
                    (
                        *(number * 8 + 3, session, f"/home/dev/p{session}", when),
                        *(search_tokens(title), search_tokens(text)),
                    ),
                )
        spent += time.process_time() - begun
    conn.close()
    return spent


def questions(language: Language) -> dict[str, list[str]]:
    chance = language.chance
    return {
        "keywords": [language.rare(chance.randint(1, 3)) for _ in range(20)],
        "question": [f"{language.english(5)} {language.rare(4)}" for _ in range(20)],
        "chinese": [language.chinese(chance.randint(2, 14)).replace("，", "") for _ in range(20)],
    }


def ask(home: Path, asked: dict[str, list[str]]) -> None:
    with reading(home) as conn:
        for name, texts in asked.items():
            for where, project in (("all", None), ("one project", ("/home/dev/p7",))):
                costs = [
                    spent(lambda text=text, at=project: ranked(conn, parse(text, Filters(project=at)), 20))
                    for text in texts
                ]
                costs.sort()
                p50, p95 = statistics.median(costs), costs[int(len(costs) * 0.95)]
                print(f"  {name:10} {where:12} p50 {p50:7.1f} ms  p95 {p95:7.1f} ms CPU", flush=True)


def spent(run: Callable[[], object]) -> float:
    """Milliseconds of CPU; the second time, when pages are warm."""
    run()
    begun = time.process_time()
    run()
    return (time.process_time() - begun) * 1000


def measure(home: Path, steps: Sequence[int]) -> None:
    language = Language(random.Random(3))
    asked = questions(language)
    written = 0
    for step in steps:
        cost = write(home, language, written + 1, step - written)
        size = (home / "index.db").stat().st_size
        each = f"{cost / (step - written) * 1000:.2f} ms CPU a row written, {size / step / 1000:.1f} kB a row"
        print(f"{step:,} rows: {each}", flush=True)
        written = step
        ask(home, asked)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", default="100000,1000000", help="measure at these numbers of rows")
    parser.add_argument("--home", type=Path, help="folder for the memory, kept; default: one that is removed")
    args = parser.parse_args()
    steps = sorted(int(step) for step in args.steps.split(","))
    if args.home:
        measure(args.home, steps)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder, "home"), steps)


if __name__ == "__main__":
    main()
