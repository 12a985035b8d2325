"""What a page costs: each of them, and search as somebody types, over a memory that is there.

    python benchmarks/web.py --home DIR [--rounds 15] [--browser]

The application is asked as a browser asks it, without a socket. A page's first answer after the start is told
apart from the later ones (numbers are counted once, then kept). Wall time is what a person waits; CPU, of all
threads, is what a quiet machine would need of it, since a shared one makes wall time mean little. With
--browser, Chromium (with chromedriver) opens each page and says when it first painted something.

Bars: first paint 150 ms, search as you type 100 ms, pages 200 KB. On 500 MB of made-up transcripts (404 MB of
database, 47,000 tool calls, 37,000 answers) and two cores with a load of 14, so that wall time is some three times
what a quiet machine takes, milliseconds:

                           first    p50  CPU p50  CPU p95     size
    today                    128     40       17       41    23 KB
    search, two words         37     64       23       36    24 KB
    session, largest         305     64       18       98    53 KB   (of 2,000 steps; 80 of CPU at first)
    project, largest         416    328       75      110    37 KB
    numbers                  292     96       26      123    84 KB   (120 of CPU at first)
    health                    72     76       17       20     6 KB
    typed, each letter        82     80       21       61    26 KB

Chromium, on the same machine, first painted after 100 to 172 ms (medians by page), loading included.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio

from indexer import config
from indexer.store.reads import reading
from indexer.web.guard import LOOPBACK, Door
from indexer.web.keys import Keys
from indexer.web.site import make

PAINT, TYPED, SIZE = 150, 100, 200_000
TOKEN = "t" * 43
QUESTIONS = ("timeout error", "why did the test fail", "database migration", "src/config.py", "commit review")


class Took(NamedTuple):
    """One answer. wall, cpu: milliseconds; size: bytes."""

    wall: float
    cpu: float
    size: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--browser", action="store_true")
    given = parser.parse_args()
    pages = dict(addresses(given.home))
    print(f"{(given.home / 'index.db').stat().st_size / 1e6:.0f} MB of database")
    print(f"{'':<24}{'first':>8}{'p50':>8}{'p95':>8}{'max':>8}{'CPU p50':>9}{'CPU p95':>9}{'size':>10}   ms")
    app = make(config.load(given.home, (), {"TRANSCRIPT_INDEXER_VECTORS": "none"}), Door(LOOPBACK, 1), Keys(TOKEN))
    for name, path in pages.items():
        tell(name, [ask(app, path) for _ in range(given.rounds)], PAINT)
    ask(app, "/search?q=warm&part=results&typing=1")
    tell("typed, each letter", [ask(app, path) for path in letters()], TYPED)
    if given.browser:
        paint(given.home, pages)


def addresses(home: Path) -> Iterator[tuple[str, str]]:
    """Pages by name, of this memory's largest session and project."""
    with reading(home) as conn:
        sql = "SELECT s.content_session_id FROM session_records r JOIN sdk_sessions s ON s.id = r.session_db_id"
        session = conn.execute(f"{sql} GROUP BY s.id ORDER BY count(*) DESC LIMIT 1").fetchone()[0]
        sql = "SELECT project_key FROM tool_uses GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
        project = conn.execute(sql).fetchone()[0]
    yield "today", "/"
    yield "search, nothing asked", "/search"
    yield "search, two words", "/search?q=timeout+error"
    yield "search, a question", "/search?q=why+did+the+test+fail"
    yield "session, largest", f"/session?id={quote(session)}"
    yield "session, within", f"/session?id={quote(session)}&page=9"
    yield "projects", "/projects"
    yield "project, largest", f"/project?key={quote(project, safe='')}"
    yield "numbers", "/numbers"
    yield "health", "/health"


def letters() -> Iterator[str]:
    """What is asked while the questions are typed, from the second letter on."""
    for question in QUESTIONS:
        for end in range(2, len(question) + 1):
            yield f"/search?q={quote(question[:end])}&part=results&typing=1"


def ask(app: Any, path: str) -> Took:
    start, cpu = time.perf_counter(), time.process_time()
    size = anyio.run(answered, app, path)
    return Took((time.perf_counter() - start) * 1000, (time.process_time() - cpu) * 1000, size)


async def answered(app: Any, path: str) -> int:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    plain, _, query = path.partition("?")
    headers = [(b"host", b"127.0.0.1:1"), (b"authorization", f"Bearer {TOKEN}".encode())]
    scope: dict[str, Any] = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET"}
    scope |= {"path": plain, "raw_path": plain.encode(), "query_string": query.encode(), "headers": headers}
    await app(scope | {"scheme": "http", "root_path": "", "server": ("127.0.0.1", 1)}, receive, send)
    if sent[0]["status"] != 200:
        raise SystemExit(f"{path}: {sent[0]['status']}")
    return sum(len(message.get("body", b"")) for message in sent)


def tell(name: str, took: Sequence[Took], bar: int) -> None:
    walls = [one.wall for one in took]
    p50, p95, most = median(walls), quantiles(walls, n=20)[-1], max(walls)
    cpus, size = [one.cpu for one in took], max(one.size for one in took)
    cpu = f"{median(cpus):>9.0f}{quantiles(cpus, n=20)[-1]:>9.0f}"
    said = "" if p95 <= bar and size <= SIZE else f"  over {bar} ms" if p95 > bar else "  too large"
    print(f"{name:<24}{walls[0]:>8.0f}{p50:>8.0f}{p95:>8.0f}{most:>8.0f}{cpu}{size / 1000:>7.0f} KB{said}")


def paint(home: Path, pages: dict[str, str]) -> None:
    sys.path.append(str(Path(__file__).parent.parent / "tests" / "support"))
    from browsers import chromium, running  # noqa: PLC0415 - of the tests, and only asked for

    said = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? -1"
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder), "web", "--home", str(home), "--port", "0", said=r"open (\S+)") as address,
        chromium(Path(folder) / "browser") as browser,
    ):
        browser.size(1100, 800)
        browser.go(address)
        for name, path in pages.items():
            times = []
            for _ in range(5):
                browser.go(address.partition("/?t=")[0] + path)
                browser.until("performance.getEntriesByName('first-contentful-paint').length")
                times.append(browser.run(said))
            print(f"{name:<24}painted after {median(times):.0f} ms ({min(times):.0f} to {max(times):.0f})")


if __name__ == "__main__":
    main()
