"""A provider that does as a script says, and a memory whose turns can be put to it: no network, no waiting."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from remembered import remember
from stores import read, store
from transcripts import Transcript

from indexer import compress
from indexer.compressors.base import Answer, Ask, Told
from indexer.compressors.http import ANTHROPIC, Dialect, Http
from indexer.compressors.prompt import Plain
from indexer.compressors.rules import Rules
from indexer.compressors.transport import Answered, Lost
from indexer.redact import Redactor
from indexer.refine import Desk, Limits, Ran, Wanted, run
from indexer.text import content_hash

NOON = 1_795_176_000_000
"""2026-11-20T12:00:00Z."""
GOOD = {
    "observations": [
        {
            "type": "bugfix",
            "title": "Pages are counted up",
            "subtitle": "the last page was lost",
            "narrative": "page_count now rounds up.",
            "facts": ["page_count uses ceil"],
            "concepts": ["problem-solution"],
            "files_read": [],
        }
    ]
}
USAGE = {"input_tokens": 900, "output_tokens": 100}


def message(body: object = GOOD, **more: Any) -> Answered:
    """An answer of the Messages API, whose text is `body`."""
    text = body if isinstance(body, str) else json.dumps(body)
    whole = {"content": [{"type": "text", "text": text}], "usage": USAGE, **more}
    return Answered(200, {}, json.dumps(whole))


def refusal(status: int, kind: str = "error", **headers: str) -> Answered:
    """An error of a provider; the message repeats what was sent, as some do."""
    text = json.dumps({"error": {"type": kind, "message": "you sent: hunter2"}})
    return Answered(status, {name.replace("_", "-"): value for name, value in headers.items()}, text)


class Server:
    """Stands in for transport.Client. script: what each request gets, in order; then what `rest` says."""

    def __init__(self, *script: Answered | Lost, rest: Answered | Lost | None = None) -> None:
        self.script, self.rest = list(script), rest or message()
        self.requests: list[tuple[str, Mapping[str, str], Any]] = []

    def post(self, url: str, headers: Mapping[str, str], body: object, seconds: float) -> Answered:
        """Answer one request."""
        self.requests.append((url, headers, body))
        answer = self.script.pop(0) if self.script else self.rest
        if isinstance(answer, Lost):
            raise answer
        return answer

    @property
    def turns(self) -> Counter[str]:
        """How often each question was asked."""
        return Counter(body["messages"][-1]["content"] for _, _, body in self.requests)


def provider(server: Any, dialect: Dialect = ANTHROPIC, key: str = "sk-test", **how: Any) -> Http:
    """A provider behind this server."""
    return Http(dialect, "small", lambda: key, client=server, wall=lambda: NOON / 1000, **how)


class Clock:
    """Epoch milliseconds that move when somebody waits."""

    def __init__(self, now: int = NOON) -> None:
        self.now = now
        self.waited: list[float] = []

    def __call__(self) -> int:
        return self.now

    def wait(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.waited.append(seconds)
        self.now += int(seconds * 1000)


class Backlog:
    """A memory of `turns` finished turns in `sessions` sessions, compressed by rules; and a desk over it."""

    def __init__(self, folder: Path, turns: int = 3, sessions: int = 1, calls: int = 1000, tokens: int = 10**9) -> None:
        self.folder, self.clock = folder, Clock()
        self.conn = store(folder / "home")
        for number in range(sessions):
            many(f"s{number}", range(number, turns, sessions)).write(folder / "projects")
        read(self.conn, folder / "projects")
        remember(self.conn)
        self.limits(calls, tokens)

    @classmethod
    def of(cls, folder: Path, now: int = NOON) -> Backlog:
        """That which stands in a folder, at this time."""
        made = cls.__new__(cls)
        made.folder, made.clock, made.conn = folder, Clock(now), store(folder / "home")
        made.limits()
        return made

    def limits(self, calls: int = 1000, tokens: int = 10**9) -> None:
        """A new desk, with these bounds of a day."""
        self.desk = Desk(self.conn, Plain(), Redactor(), Limits(calls, tokens), self.clock, lambda: 0.5)

    def run(self, model: Any, patience: float = 120.0, **wanted: Any) -> Ran:
        """Ask about all there is, and make the memory of what came."""
        self.desk.start(Wanted(model.name, model.overhead, **wanted), by_hand=True)
        asked = Wanted(model.name, model.overhead, **wanted)
        ran = run(self.desk, model.ask, lambda: asked, wait=self.clock.wait, wall=self.clock, patience=patience)
        self.compress()
        return ran

    def compress(self) -> None:
        """Make memory of what is pending."""
        for _ in compress.everything(self.conn, Rules()):
            pass

    @property
    def models(self) -> Counter[str]:
        """How many observations each has worded."""
        rows = self.conn.execute("SELECT generated_by_model FROM observations")
        return Counter(name for (name,) in rows)

    @property
    def states(self) -> Counter[str]:
        """How many turns are in which state."""
        return Counter(state for (state,) in self.conn.execute("SELECT state FROM model_turns"))

    @property
    def spent(self) -> list[tuple[str, int, int]]:
        """Days, calls, tokens."""
        return self.conn.execute("SELECT day, calls, tokens FROM model_days ORDER BY day").fetchall()

    def one(self, sql: str) -> Any:
        """A single value."""
        return self.conn.execute(sql).fetchone()[0]


def many(name: str, numbers: Iterable[int]) -> Transcript:
    """A session of small finished turns, each with an edit of its own."""
    made = Transcript(name)
    for number in numbers:
        made.user(f"fix the paging of list {number}")
        edited(made, number)
        made.text(f"Fixed the off-by-one in page_count of list {number}: the last page was never shown.")
    return made


def edited(made: Transcript, number: int) -> None:
    """An edit, as the client records it."""
    file = f"/home/dev/shop/list{number}.py"
    hunk = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a // b", "+ceil(a / b)"]}
    given = {"file_path": file, "old_string": "a // b", "new_string": f"ceil(a / b)  # {number}"}
    made.tool("Edit", given, "updated", toolUseResult={"filePath": file, "structuredPatch": [hunk]})


class Fixed:
    """A model that gives the same answer to all, or the answers in turn."""

    name, overhead = "fixed/one", 0

    def __init__(self, *answers: Answer) -> None:
        self.answers, self.asked = list(answers), list[Ask]()

    def ask(self, ask: Ask) -> Answer:
        """The next answer; the last one for ever."""
        self.asked.append(ask)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Ledger:
    """A provider that answers by what it is asked, and writes down what each call cost, come what may."""

    name, overhead = "ledger/one", 0

    def __init__(self, file: Path) -> None:
        self.file = file

    def ask(self, ask: Ask) -> Answer:
        """A title made of the question."""
        with self.file.open("a") as log:
            log.write(f"{ask.most - 10}\n")
        one = GOOD["observations"][0] | {"title": f"Told of {content_hash(ask.text)}"}
        return told({"observations": [one]}, ask.most - 10)

    @property
    def costs(self) -> list[int]:
        """Of each call."""
        return [int(line) for line in self.file.read_text().split()]


def told(body: object = GOOD, tokens: int | None = 1000) -> Told:
    """A model's answer."""
    return Told(body if isinstance(body, str) else json.dumps(body), tokens)
