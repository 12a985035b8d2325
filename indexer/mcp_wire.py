"""What the SDK's stdio transport leaves to be done: every request that was read is answered, also the broken ones.

When a client closes standard input, the SDK (2.3) cancels what is still being worked on, so that of ten
requests piped in at once one was answered; a line that is no JSON it passes over in silence, and its client
waits for ever. Both are mended between the transport and the server: what comes in is handed on until
the input ends, the end only once all answers are out, and an unreadable line is answered with the error that
JSON-RPC 2.0 has for it (-32700 no JSON, -32600 no request; id null where none can be made out).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import anyio
import mcp.types as types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

PATIENCE = 60.0
"""Seconds that answers may take after the input has ended."""
PARSE_ERROR, INVALID_REQUEST = -32700, -32600
_CANCELLED = "notifications/cancelled"


class Streams(NamedTuple):
    """What a server reads from and writes to."""

    reading: Any
    writing: Any


@asynccontextmanager
async def stdio(wire: int) -> AsyncIterator[Streams]:
    """Standard input and the descriptor `wire`, as `stdio_server`, with nothing left unanswered."""
    with open(wire, "w", encoding="utf-8", newline="\n", closefd=False) as out:
        outer = stdio_server(stdout=anyio.wrap_file(out))
        async with outer as (reading, writing), answering(Streams(reading, writing)) as inner:
            yield inner


@asynccontextmanager
async def answering(outer: Streams) -> AsyncIterator[Streams]:
    """Streams for a server between which and `outer` every request is followed until it is answered."""
    to_server, reading = anyio.create_memory_object_stream[Any](0)
    writing, from_server = anyio.create_memory_object_stream[Any](0)
    open_requests = _Open()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_outward, from_server, outer.writing, open_requests)
        tasks.start_soon(_inward, outer, to_server, open_requests)
        yield Streams(reading, writing)
        tasks.cancel_scope.cancel()


class _Open:
    """Ids of requests that have no answer yet; each is asked for once at a time, as the protocol has it."""

    def __init__(self) -> None:
        self._ids: set[Any] = set()
        self._none = anyio.Event()

    def note(self, message: Any) -> None:
        """A message of the client's."""
        if isinstance(message, types.JSONRPCRequest):
            self._ids.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == _CANCELLED:
            self.settle((message.params or {}).get("requestId"))

    def settle(self, identity: Any) -> None:
        """It is answered, or nobody waits for it."""
        self._ids.discard(identity)
        if not self._ids:
            self._none.set()
            self._none = anyio.Event()

    async def wait(self) -> None:
        """Until none is left, or patience is."""
        with anyio.move_on_after(PATIENCE):
            while self._ids:
                await self._none.wait()


async def _inward(outer: Streams, to_server: Any, open_requests: _Open) -> None:
    async with outer.reading, to_server:
        async for item in outer.reading:
            if isinstance(item, Exception):
                await _refuse(item, outer.writing.send)
                continue
            open_requests.note(item.message)
            await to_server.send(item)
        await open_requests.wait()


async def _outward(from_server: Any, writing: Any, open_requests: _Open) -> None:
    async with from_server, writing:
        async for item in from_server:
            await writing.send(item)
            if isinstance(item.message, types.JSONRPCResponse | types.JSONRPCError):
                open_requests.settle(item.message.id)


async def _refuse(error: Exception, send: Callable[[Any], Any]) -> None:
    answer = refusal(error)
    if answer is not None:
        await send(SessionMessage(answer))


def refusal(error: Exception) -> types.JSONRPCError | None:
    """The answer to a line that is no message, from the SDK's (pydantic's) error about it; None for a blank one."""
    found = error.errors() if hasattr(error, "errors") else [{}]
    given = found[0].get("input")
    if found[0].get("type") == "json_invalid":
        if isinstance(given, str) and not given.strip():
            return None
        return _error(None, PARSE_ERROR, "Parse error: this line is no JSON")
    whole: dict[str, Any] = next(
        (one["input"] for one in found if isinstance(one.get("input"), dict) and "id" in one["input"]), {}
    )
    identity = whole.get("id")
    known = isinstance(identity, int | str) and not isinstance(identity, bool)
    return _error(identity if known else None, INVALID_REQUEST, "Invalid Request: this is no JSON-RPC 2.0 message")


def _error(identity: int | str | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=identity, error=types.ErrorData(code=code, message=message))
