"""The door before every page: who is asked for, from where, and with what right. Pure ASGI, no framework.

A page in a browser can reach a port of this machine, so being local is no right:

* Host must be this machine by name and port, or a name that an attacker points at 127.0.0.1 (DNS rebinding)
  would read everything.
* Origin, where there is one, must be exactly this page's own, compared whole: `http://localhost.example`
  begins like it (aattaran/deepclaude #16).
* Sec-Fetch-Site must be `same-origin` or `none` (an address typed or opened): other ports of this machine are
  the same *site*, and their cookies are not kept apart from ours.
* Reading needs the cookie, or `Authorization: Bearer` with the token of HOME/web.token (keys.py).
* GET and HEAD only read. POST needs a JSON body by its Content-Type, which no form and no simple request can
  send (cezar #426), and from a browser an Origin.

Every answer forbids framing, sniffing, storing, and any script or style but our own files.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from indexer.web.keys import Keys

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_KEPT_DAYS = 30
_HTTP = 80
"""The port that browsers leave out of an address."""
_LONGEST_QUERY = 16_384


class Door(NamedTuple):
    """hosts: names it answers to. port: None where every port is right (behind a Unix socket, which others
    forward to a port of theirs)."""

    hosts: tuple[str, ...]
    port: int | None

    @property
    def cookie(self) -> str:
        """Cookies know no port, so the name holds it: two memories on one machine do not log each other out."""
        return f"transcript_indexer_{self.port or 'socket'}"


class Refusal(NamedTuple):
    """An answer instead of the page. hint: what a person can do."""

    status: int
    reason: str
    hint: str = ""


def judge(door: Door, keys: Keys, method: str, headers: Mapping[str, str]) -> Refusal | None:
    """None where the request may go on. headers: by lower-case name; one that came twice joined by commas,
    so that it equals nothing."""
    host = headers.get("host", "").lower()
    if not _is_ours(door, host):
        return Refusal(421, "this address is not answered to", "use the address that `transcript-indexer web` prints")
    origin = headers.get("origin")
    if origin is not None and origin.lower() != f"http://{host}":
        return Refusal(403, "asked by a page of another origin")
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return Refusal(403, "asked by a page of another site", "type the address, or open it from a bookmark")
    if method not in ("GET", "HEAD", "POST"):
        return Refusal(405, "only GET and POST are understood")
    given = _right(door, keys, headers)
    if not given:
        return Refusal(
            401,
            "the token is missing",
            "add ?t= and what is in HOME/web.token to the address, or start `transcript-indexer web --open` anew",
        )
    if method == "POST":
        return _judge_change(headers, given)
    return None


def _judge_change(headers: Mapping[str, str], given: str) -> Refusal | None:
    if given == "cookie" and "origin" not in headers:
        return Refusal(403, "a change from a browser must say its origin")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return Refusal(415, "a change is asked for in JSON")
    return None


def _is_ours(door: Door, host: str) -> bool:
    if door.port is not None:
        return any(host == f"{name}:{door.port}" or (door.port == _HTTP and host == name) for name in door.hosts)
    name, colon, port = host.rpartition(":") if not host.endswith("]") and ":" in host else (host, "", "")
    return name in door.hosts and (not colon or (port.isascii() and port.isdigit()))


def _right(door: Door, keys: Keys, headers: Mapping[str, str]) -> str:
    """By what right it is asked: `cookie`, `bearer`, or none."""
    kind, _, token = headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer" and keys.is_token(token.strip()):
        return "bearer"
    # Cut by hand: one odd cookie of another program on this machine makes http.cookies drop those behind it.
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return "cookie" if any(name == door.cookie and keys.is_cookie(value) for name, _, value in pairs) else ""


def guarded(app: App, door: Door, keys: Keys, page: Callable[[Refusal], bytes]) -> App:
    """The application behind the door. page: what a person reads who is refused."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket is closed by not being accepted
        headers = joined(scope["headers"])
        sent = with_headers(send)
        if (to := _handed_over(door, keys, scope, headers)) is not None:
            await _redirect(sent, to, _cookie(door, keys))
            return
        refusal = judge(door, keys, scope["method"], headers)
        if refusal is None:
            await app(scope, receive, sent)
        else:
            await _refuse(sent, refusal, page(refusal))

    return answer


def joined(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name; of one that came twice, all values."""
    found: dict[str, str] = {}
    for name, value in raw:
        key, said = name.decode("latin-1").lower(), value.decode("latin-1")
        found[key] = f"{found[key]}, {said}" if key in found else said
    return found


def _handed_over(door: Door, keys: Keys, scope: Scope, headers: Mapping[str, str]) -> str | None:
    """Where a GET with a good `?t=` is to be sent on to: the same address without it."""
    query = scope["query_string"]
    if scope["method"] != "GET" or not (query.startswith(b"t=") or b"&t=" in query) or len(query) > _LONGEST_QUERY:
        return None
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    given = next((value for name, value in pairs if name == "t"), "")
    elsewhere = judge(door, keys, "GET", {**headers, "authorization": "", "cookie": ""})
    if elsewhere is None or elsewhere.status != 401:
        return None
    if not keys.admits(given) and not _right(door, keys, headers):
        return None
    rest = urlencode([pair for pair in pairs if pair[0] != "t"])
    # One slash: `//evil.example` would lead elsewhere.
    path = "/" + quote(scope["path"].lstrip("/\\"), safe="/:@!$&'()*+,;=-._~")
    return path + (f"?{rest}" if rest else "")


def _cookie(door: Door, keys: Keys) -> str:
    age = _KEPT_DAYS * 86_400
    return f"{door.cookie}={keys.cookie}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict"


def with_headers(send: Send) -> Send:
    """Whatever answers, these headers go with it; `no-store` unless the answer says how long it is good."""

    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = list(message.get("headers", ()))
            names = {name.lower() for name, _ in given}
            given += [pair for pair in HEADERS if pair[0] not in names]
            if b"cache-control" not in names:
                given.append((b"cache-control", b"no-store"))
            message = {**message, "headers": given}
        await send(message)

    return sent


async def _redirect(send: Send, to: str, cookie: str) -> None:
    headers = [(b"location", to.encode("latin-1")), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send, refusal: Refusal, body: bytes) -> None:
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 405:
        headers.append((b"allow", b"GET, HEAD, POST"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
