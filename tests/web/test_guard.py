"""Who is let in, and what every answer forbids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from indexer.web.guard import HEADERS, LOOPBACK, POLICY, Door, Refusal, guarded, joined, judge
from indexer.web.keys import Keys

KEYS = Keys("t" * 43)
DOOR = Door(LOOPBACK, 8385)
COOKIE = f"{DOOR.cookie}={KEYS.cookie}"
ADMITTED = {"host": "127.0.0.1:8385", "cookie": COOKIE}
CHANGING = {**ADMITTED, "origin": "http://127.0.0.1:8385", "content-type": "application/json"}


def status(method: str = "GET", base: dict[str, str] = ADMITTED, door: Door = DOOR, **changed: str | None) -> int:
    """What is answered to a request with these headers, 200 for a page."""
    return judged(method, base, door, changed)


def judged(method: str, base: dict[str, str], door: Door, changed: Mapping[str, str | None]) -> int:
    """As `status`."""
    headers = {**base, **{name.replace("_", "-"): value for name, value in changed.items()}}
    kept = {name: value for name, value in headers.items() if value is not None}
    refusal = judge(door, KEYS, method, kept)
    return refusal.status if refusal else 200


@pytest.mark.parametrize("host", ["127.0.0.1:8385", "localhost:8385", "[::1]:8385", "LOCALHOST:8385"])
def test_this_machine_is_answered_to_by_its_names(host: str) -> None:
    assert status(host=host) == 200


REBINDING = [
    "evil.example", "evil.example:8385", "localhost.example:8385", "127.0.0.1.evil.example:8385", "localhost",
    "127.0.0.1", "127.0.0.1:80", "127.0.0.1:83855", "127.0.0.1:8385.evil.example", "0.0.0.0:8385", "", "[::1]",
    "127.0.0.1:8385, evil.example", "user@127.0.0.1:8385", "127.1:8385", "2130706433:8385",
]  # fmt: skip


@pytest.mark.parametrize("host", REBINDING)
def test_a_rebound_name_is_refused(host: str) -> None:
    assert status(host=host) == 421


def test_without_a_host_nothing_is_answered() -> None:
    assert status(host=None) == 421


FORGED = [
    "http://localhost.example", "http://localhost.example:8385", "http://evil.example", "https://127.0.0.1:8385",
    "http://127.0.0.1", "http://127.0.0.1:8386", "http://127.0.0.1:8385.evil.example", "null", "",
    "http://127.0.0.1:8385, http://evil.example", "file://", "http://localhost:8385",
]  # fmt: skip


@pytest.mark.parametrize("origin", FORGED)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(origin: str, method: str) -> None:
    assert status(method, CHANGING, origin=origin) == 403


def test_the_pages_own_origin_is_not() -> None:
    assert status(origin="http://127.0.0.1:8385") == 200
    assert status(host="localhost:8385", origin="http://localhost:8385") == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site", "", "x"])
def test_a_fetch_of_another_site_or_port_is_refused(site: str) -> None:
    assert status(sec_fetch_site=site) == 403


@pytest.mark.parametrize("site", ["none", "same-origin"])
def test_a_typed_address_and_our_own_page_are_not(site: str) -> None:
    assert status(sec_fetch_site=site) == 200


WITHOUT = [
    {"cookie": None}, {"cookie": ""}, {"cookie": "x=y"}, {"cookie": f"{DOOR.cookie}=x"}, {"cookie": f"{DOOR.cookie}="},
    {"cookie": f"{DOOR.cookie}={'t' * 43}"}, {"cookie": f"transcript_indexer_9999={KEYS.cookie}"},
    {"cookie": "\x00=;;;=\x7f"}, {"cookie": None, "authorization": "Bearer x"},
    {"cookie": None, "authorization": f"Basic {'t' * 43}"}, {"cookie": None, "authorization": f"Bearer {KEYS.cookie}"},
]  # fmt: skip


@pytest.mark.parametrize("given", WITHOUT)
def test_without_the_token_nothing_is_read(given: dict[str, str | None]) -> None:
    assert judged("GET", ADMITTED, DOOR, given) == 401


def test_reading_wants_the_cookie_or_the_token() -> None:
    assert status() == 200
    assert status(cookie=None, authorization=f"Bearer {'t' * 43}") == 200


@pytest.mark.parametrize("odd", ['a={"b": [1]}', "=", "a", "a=\x00", "a b=c", f"{DOOR.cookie}=wrong", "é=ü"])
def test_odd_cookies_of_others_are_passed_over(odd: str) -> None:
    assert status(cookie=f"{odd}; {COOKIE}") == 200
    assert status(cookie=f"{COOKIE}; {odd}") == 200


def test_port_80_may_be_left_out() -> None:
    door = Door(LOOPBACK, 80)
    cookie = f"{door.cookie}={KEYS.cookie}"
    assert [status(door=door, host=host, cookie=cookie) for host in ("localhost", "localhost:80")] == [200, 200]
    assert status(door=door, host="localhost.example", cookie=cookie) == 421


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get"])
def test_no_other_method_is_understood(method: str) -> None:
    assert status(method, CHANGING) == 405


def test_a_change_is_asked_for_in_json() -> None:
    assert status("POST", CHANGING) == 200
    assert status("POST", CHANGING, content_type="application/json; charset=utf-8") == 200


SIMPLE = [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/json",
          "text/plain; application/json", "application/jsonp"]  # fmt: skip


@pytest.mark.parametrize("kind", SIMPLE)
def test_what_a_form_can_send_is_no_change(kind: str | None) -> None:
    assert status("POST", CHANGING, content_type=kind) == 415


def test_a_browsers_change_says_its_origin() -> None:
    assert status("POST", CHANGING, origin=None) == 403


def test_a_script_with_the_token_has_none_to_say() -> None:
    assert status("POST", CHANGING, origin=None, cookie=None, authorization=f"Bearer {'t' * 43}") == 200


def test_a_change_without_the_token_is_refused() -> None:
    assert status("POST", CHANGING, cookie=None) == 401


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "localhost:9000", "[::1]", "[::1]:9000"])
def test_behind_a_socket_every_port_is_right(host: str) -> None:
    door = Door(LOOPBACK, None)
    assert status(door=door, host=host, cookie=f"{door.cookie}={KEYS.cookie}") == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.example", "localhost:x", "[::1", "", "localhost:80:80"])
def test_behind_a_socket_names_are_not(host: str) -> None:
    door = Door(LOOPBACK, None)
    assert status(door=door, host=host, cookie=f"{door.cookie}={KEYS.cookie}") == 421


def test_two_memories_have_two_cookies() -> None:
    assert Door(LOOPBACK, 1).cookie != Door(LOOPBACK, 2).cookie


def test_a_header_that_came_twice_equals_nothing() -> None:
    assert joined([(b"Host", b"a"), (b"host", b"b"), (b"X", b"c")]) == {"host": "a, b", "x": "c"}


# --- as ASGI


def ask(
    path: str, method: str = "GET", headers: Iterable[tuple[str, str]] = ADMITTED.items(), kind: str = "http"
) -> Any:
    """Status, headers and body of a request that goes through the guard to a page that says `in`."""
    sent: list[Any] = []

    async def app(scope: Any, _: Any, send: Any) -> None:
        answer = {"type": "http.response.start", "status": 200, "headers": [(b"cache-control", b"max-age=9")]}
        await send(answer if scope["path"] == "/kept" else {"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"in"})

    async def send(message: Any) -> None:
        sent.append(message)

    plain, _, query = path.partition("?")
    scope = {"type": kind, "method": method, "path": plain, "query_string": query.encode()}
    scope |= {"headers": [(name.encode(), value.encode()) for name, value in headers]}
    run(guarded(app, DOOR, KEYS, lambda refusal: refusal.reason.encode())(scope, None, send))  # type: ignore[arg-type]
    return Sent(sent)


def run(coroutine: Any) -> None:
    """Nothing here waits, so that one step is all."""
    with pytest.raises(StopIteration):
        coroutine.send(None)


class Sent:
    """What was answered."""

    def __init__(self, messages: list[Any]) -> None:
        self.status = messages[0]["status"] if messages else 0
        self.headers = dict(messages[0].get("headers", ())) if messages else {}
        self.body = messages[1]["body"] if messages else b""


def test_a_page_goes_out_with_every_header() -> None:
    answer = ask("/")
    assert (answer.status, answer.body) == (200, b"in")
    assert {name: answer.headers[name] for name, _ in HEADERS} == dict(HEADERS)


def test_so_does_a_refusal() -> None:
    answer = ask("/", headers=[("host", "evil.example")])
    assert (answer.status, answer.headers[b"content-security-policy"]) == (421, POLICY.encode())


def test_the_policy_forbids_all_but_our_own_files() -> None:
    told = dict(part.strip().split(" ", 1) for part in POLICY.split(";"))
    assert (told["default-src"], told["frame-ancestors"], told["base-uri"]) == ("'none'",) * 3
    assert {told[name] for name in ("script-src", "style-src", "img-src", "connect-src", "form-action")} == {"'self'"}
    assert "unsafe" not in POLICY


def test_no_page_is_kept_by_the_browser_unless_it_says_so() -> None:
    assert ask("/").headers[b"cache-control"] == b"no-store"
    assert ask("/kept").headers[b"cache-control"] == b"max-age=9"


def test_no_answer_names_an_origin_that_may_read_it() -> None:
    assert not any(name.startswith(b"access-control") for name in ask("/").headers)


def test_a_refused_method_says_which_are_not() -> None:
    assert ask("/", "PUT").headers[b"allow"] == b"GET, HEAD, POST"


def test_a_web_socket_is_not_answered() -> None:
    assert ask("/", kind="websocket").status == 0


# --- the token's handing over

HOST = [("host", "127.0.0.1:8385")]


def handed(path: str, headers: Iterable[tuple[str, str]] = HOST, method: str = "GET") -> Any:
    return ask(path, method, headers)


def test_a_ticket_becomes_a_cookie_and_leaves_the_address() -> None:
    answer = handed(f"/search?q=a+b&t={KEYS.ticket()}&kind=prompt")
    assert (answer.status, answer.headers[b"location"]) == (303, b"/search?q=a+b&kind=prompt")
    assert answer.headers[b"set-cookie"].decode().startswith(COOKIE + "; ")


def test_the_cookie_is_strict_and_no_script_sees_it() -> None:
    told = handed(f"/?t={'t' * 43}").headers[b"set-cookie"].decode()
    assert "SameSite=Strict" in told
    assert "HttpOnly" in told
    assert "t" * 43 not in told


def test_a_used_ticket_is_refused() -> None:
    ticket = KEYS.ticket()
    assert [handed(f"/?t={ticket}").status for _ in range(2)] == [303, 401]


def test_who_is_in_already_only_loses_the_ticket() -> None:
    assert handed("/search?t=used&q=x", ADMITTED.items()).headers[b"location"] == b"/search?q=x"


@pytest.mark.parametrize("given", ["/?t=", "/?t=wrong", "/?t=%00", "/?x=1&t=", "/?tt=" + "t" * 43, "/?T=" + "t" * 43])
def test_a_wrong_token_is_refused(given: str) -> None:
    assert handed(given).status == 401


REFUSED = [
    ([("host", "evil.example")], 421),
    ([*HOST, ("sec-fetch-site", "cross-site")], 403),
    ([*HOST, ("origin", "http://localhost.example")], 403),
]


@pytest.mark.parametrize(("headers", "expected"), REFUSED)
def test_a_good_ticket_does_not_open_to_another_site(headers: list[tuple[str, str]], expected: int) -> None:
    assert handed(f"/?t={'t' * 43}", headers).status == expected


def test_a_ticket_is_for_reading_only() -> None:
    assert handed(f"/?t={'t' * 43}", method="POST").status == 401


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "///evil.example/x", "/\r\nset-cookie: x"])
def test_the_way_on_stays_on_this_page(path: str) -> None:
    to = handed(f"{path}?t={'t' * 43}").headers[b"location"]
    assert to[:1] == b"/"
    assert to[1:2] not in (b"/", b"\\")
    assert b"\n" not in to


def test_a_refusal_is_a_tuple_of_its_page() -> None:
    assert Refusal(401, "x") == (401, "x", "")
