"""Asks the page as a browser does, without a socket: raw ASGI, so that every header is the test's own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from indexer import config
from indexer.store.connection import open_writer
from indexer.store.migrations import migrate
from indexer.web.guard import LOOPBACK, Door
from indexer.web.keys import Keys
from indexer.web.site import make

PORT = 8385
HOST = f"127.0.0.1:{PORT}"
TOKEN = "t" * 43
DOOR = Door(LOOPBACK, PORT)
FIXTURE = Path(__file__).parent.parent / "fixtures" / "memory.sql"
LARGEST = 200_000


class Answer(NamedTuple):
    """What came back. headers: by lower-case name."""

    status: int
    headers: dict[str, str]
    body: str


def memory(home: Path) -> Path:
    """The small memory of the fixtures, in `home`."""
    conn = open_writer(home)
    migrate(conn)
    conn.executescript(FIXTURE.read_text(encoding="utf-8"))
    conn.close()
    return home


class Browser:
    """Asks one memory's page. Every answer is held to what all must hold: the headers, and the size."""

    def __init__(self, home: Path, door: Door = DOOR) -> None:
        self.home, self.keys = home, Keys(TOKEN)
        self.app = make(config.load(home, (), {"TRANSCRIPT_INDEXER_VECTORS": "none"}), door, self.keys)
        self.cookie = f"{door.cookie}={self.keys.cookie}"

    def get(self, path: str, **changed: str | None) -> Answer:
        """A GET with the cookie. changed: headers, `_` for `-`; None takes one away."""
        return self.ask("GET", path, changed)

    def page(self, path: str) -> str:
        """The body of a page that must be there."""
        answer = self.get(path)
        assert answer.status == 200, (answer.status, answer.body[:500])
        assert len(answer.body.encode()) <= LARGEST, len(answer.body)
        check(answer.body)
        return answer.body

    def post(self, path: str, asked: Any, **changed: str | None) -> Answer:
        """A POST of JSON as the page's own script sends it."""
        headers = {"origin": f"http://{HOST}", "content-type": "application/json", "sec_fetch_site": "same-origin"}
        body = asked if isinstance(asked, bytes) else json.dumps(asked).encode()
        return self.ask("POST", path, {**headers, **changed}, body)

    def ask(self, method: str, path: str, changed: Mapping[str, str | None], body: bytes = b"") -> Answer:
        """Any request."""
        headers: dict[str, str | None] = {"host": HOST, "cookie": self.cookie}
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items() if value is not None]
        answer: Answer = anyio.run(_ask, self.app, method, path, raw, body)
        return answer


async def _ask(app: Any, method: str, path: str, raw: list[tuple[bytes, bytes]], body: bytes) -> Answer:
    sent: list[Any] = []
    asked, heard = anyio.Event(), anyio.Event()
    plain, _, query = path.partition("?")

    async def receive() -> dict[str, Any]:
        """The request; then, once something was heard of a stream, the end."""
        if not asked.is_set():
            asked.set()
            return {"type": "http.request", "body": body, "more_body": False}
        await heard.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)
        if message.get("body"):
            heard.set()

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": plain,
    }
    scope |= {"raw_path": plain.encode(), "query_string": query.encode(), "headers": raw, "scheme": "http"}
    scope |= {"root_path": "", "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1)}
    await app(scope, receive, send)
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in sent[0]["headers"]}
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode("utf-8")
    return Answer(sent[0]["status"], headers, text)


class _Checker(HTMLParser):
    """Finds what no page of ours may hold."""

    VOID = frozenset({"input", "link", "meta", "br", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.faults: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found.append((tag, given))
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids += [given["id"] or ""] if "id" in given else []
        self.faults += [f"<{tag} {name}>" for name in given if name == "style" or name.startswith("on")]
        if tag == "script" and not (given.get("src") or "").startswith("/static/"):
            self.faults.append(f"script {given}")
        self.faults += [f"<{tag}>"] if tag in ("style", "iframe", "object", "embed", "base", "img") else []
        for name in ("href", "src", "action"):
            to = (given.get(name) or "").strip().lower()
            if name in given and not to.startswith(("/", "#", "?", "http://", "https://", "mailto:")):
                self.faults.append(f"{name}={to}")
            if to.startswith("//") or (name == "src" and name in given and not to.startswith("/")):
                self.faults.append(f"{name}={to}")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}>")


def parsed(markup: str) -> _Checker:
    """The elements of a page or a part of one."""
    checker = _Checker()
    checker.feed(markup)
    checker.close()
    return checker


def check(markup: str) -> None:
    """Markup is balanced, holds no script, style, event or foreign source, and each id once."""
    found = parsed(markup)
    assert (found.faults, found.open) == ([], [])
    assert sorted(set(found.ids)) == sorted(found.ids)
