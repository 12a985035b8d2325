"""How well `search --group session` finds a session by a title that is not indexed: hit@10 and MRR@10.

    python -m benchmarks sessions [--tree TREE] [--models use,minilm] [--cache DIR] [--filler 400]

The sessions are written for the run, as transcripts that are then read as any others: for each topic of
tests/fixtures/retrieval a prompt that half remembers it, work on other matters, the question, and an answer that
says what was found; its title is the query. Between them stand sessions about other matters, and those of
TREE (a tree of shared/bench/gen.py), if given. Methods as in retrieval.py; `every word` is what a plain
full-text search does.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.retrieval import FIXTURES, NAMES, Vectors, installed, meaning_of, pieces_of
from indexer import config
from indexer.app import rescan
from indexer.query import Filters, parse
from indexer.ranking import Meaning
from indexer.search import search_sessions
from indexer.store import embeddable
from indexer.store.connection import Connection
from indexer.store.reads import reading

sys.path.append(str(FIXTURES))
import make

TOOLS = ("Bash", "Read", "Edit", "Grep")
CUT = 10


class Told(NamedTuple):
    """A session to be written. title: "" for one that nobody asks for."""

    title: str
    prompt: str
    question: str
    answer: str


def topics() -> list[Told]:
    """One session a topic, told as people tell it: half remembered first, the finding last."""
    return [
        Told(title, questions[1], questions[0], text)
        for language in make.KINDS
        for title, text, questions in make.written(language)
    ]


def fillers(chance: random.Random, count: int) -> Iterator[Told]:
    for number in range(count):
        passage = make.chinese if number % 3 == 0 else make.english
        (title, text), (_, more) = passage(chance), passage(chance)
        yield Told("", f"{title}, please have a look", f"Is it that {title}?", more if chance.random() < 0.5 else text)


def records(number: int, told: Told, chance: random.Random) -> Iterator[dict[str, object]]:
    """The lines of one transcript: prompt, calls and results about other matters, now and then a further
    prompt, the answer."""
    session = f"{number:08d}-0000-4000-8000-000000000000"
    turns = chance.randint(3, 40)
    parent: str | None = None

    def record(kind: str, content: object, **more: object) -> dict[str, object]:
        nonlocal parent, count
        count += 1
        uuid = f"{number:08d}-0000-4000-9000-{count:012d}"
        base = {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": session, "version": "2.1.90"}
        where = {"cwd": f"/home/dev/p{number % 12}", "userType": "external", "isSidechain": False}
        clock = f"{10 + count // 3600:02d}:{count // 60 % 60:02d}:{count % 60:02d}"
        time = f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}T{clock}.000Z"
        parent = uuid
        return {**base, **where, "timestamp": time, "message": {"role": kind, "content": content, **more}}

    count = 0
    yield record("user", told.prompt)
    for turn in range(turns):
        (_, text), name = make.english(chance), chance.choice(TOOLS)
        sought = chance.choice(make.VERBS) + chance.choice(make.NOUNS) + chance.choice(make.TAILS)
        call = f"toolu_{number:08d}{turn:08d}abcdefgh"
        use = {"type": "tool_use", "id": call, "name": name, "input": {"command": f"grep -rn {sought} src"}}
        yield record("assistant", [use], id=f"msg_{number}_{turn}", model="claude-sonnet-4-5")
        yield record("user", [{"type": "tool_result", "tool_use_id": call, "content": text}])
        if chance.random() < 0.1:
            yield record("user", make.english(chance)[0])
    yield record("user", told.question)
    said = [{"type": "text", "text": told.answer}]
    yield record("assistant", said, id=f"msg_{number}_end", model="claude-sonnet-4-5")


def lay(folder: Path, sessions: Sequence[Told], tree: Path | None) -> None:
    chance = random.Random(7)
    for number, told in enumerate(sessions, 1):
        place = folder / f"-home-dev-p{number % 12}"
        place.mkdir(parents=True, exist_ok=True)
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in records(number, told, chance))
        (place / f"{number:08d}-0000-4000-8000-000000000000.jsonl").write_text("".join(lines), encoding="utf-8")
    if tree:
        shutil.copytree(tree / ".claude" / "projects", folder / "tree")


def score(find: Callable[[str], Sequence[str]], titles: dict[str, str]) -> tuple[float, float]:
    """titles: title -> session."""
    found = [(find(title)[:CUT], session) for title, session in titles.items()]
    hits = [1 / (sessions.index(session) + 1) for sessions, session in found if session in sessions]
    return len(hits) / len(titles), sum(hits) / len(titles)


def grouped(conn: Connection, meaning: Meaning | None, every: bool = False) -> Callable[[str], Sequence[str]]:
    names = dict(conn.execute("SELECT id, content_session_id FROM sdk_sessions").fetchall())

    def find(title: str) -> Sequence[str]:
        text = " ".join(f'"{word}"' for word in title.split()) if every else title
        _, groups = search_sessions(conn, parse(text, Filters(limit=CUT)), meaning)
        return [names[group.row_id] for group in groups]

    return find


def vectors(conn: Connection, arm: str, cache: Path | None) -> Vectors:
    wanted = sorted(embeddable.ids(conn, 0, embeddable.last_id(conn) + 1))
    return Vectors(arm, pieces_of(embeddable.rows(conn, wanted), arm), cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tree", type=Path, help="a tree of bench/gen.py to stand between")
    parser.add_argument("--models", default="use,minilm")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--filler", type=int, default=400, help="sessions that nobody asks for")
    args = parser.parse_args()
    asked = topics()
    sessions = [*asked, *fillers(random.Random(11), args.filler)]
    titles = {told.title: f"{number:08d}-0000-4000-8000-000000000000" for number, told in enumerate(asked, 1)}
    with tempfile.TemporaryDirectory() as folder:
        lay(Path(folder, "projects"), sessions, args.tree)
        settings = config.load(str(Path(folder, "home")), [str(Path(folder, "projects"))])
        rescan(settings)
        with reading(settings.home) as conn:
            count = conn.execute("SELECT count(*) FROM search_texts").fetchone()[0]
            print(f"{len(titles)} titles, {len(sessions)} sessions written, {count:,} rows")
            print(
                f"{'every word':24} hit@10 {{:.3f}}  MRR@10 {{:.3f}}".format(
                    *score(grouped(conn, None, every=True), titles)
                )
            )
            print(f"{'lexical':24} hit@10 {{:.3f}}  MRR@10 {{:.3f}}".format(*score(grouped(conn, None), titles)))
            have = {
                arm: vectors(conn, arm, args.cache)
                for arm in installed([name for name in args.models.split(",") if name in NAMES])
            }
            for chosen in [*([arm] for arm in have), *([list(have)] if len(have) > 1 else [])]:
                meaning = meaning_of([have[arm] for arm in chosen])
                name = f"ours ({' + '.join(NAMES[arm] for arm in chosen)})"
                print(f"{name:24} hit@10 {{:.3f}}  MRR@10 {{:.3f}}".format(*score(grouped(conn, meaning), titles)))


if __name__ == "__main__":
    main()
