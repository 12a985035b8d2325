"""Between the transport and the server: nothing that was read goes unanswered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

anyio = pytest.importorskip("anyio")
pytest.importorskip("mcp")

import mcp.types as types  # noqa: E402 - only where it is installed
from mcp.shared.message import SessionMessage  # noqa: E402

from indexer import mcp_wire  # noqa: E402

Serve = Callable[[Any, Any], Awaitable[None]]


def asked(identity: int) -> Any:
    return SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=identity, method="ping"))


def answered(identity: int) -> Any:
    return SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=identity, result={}))


def cancelled(identity: int) -> Any:
    params = {"requestId": identity}
    return SessionMessage(types.JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params))


def broken(line: str) -> Exception:
    """What the SDK makes of such a line."""
    with pytest.raises(ValueError, match="validation error") as raised:
        types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    return raised.value


def spoken(serve: Serve, *sent: Any) -> list[Any]:
    """What comes out when these are sent at once and the input then ends."""

    async def run() -> list[Any]:
        line_in, reading = anyio.create_memory_object_stream[Any](len(sent))
        writing, line_out = anyio.create_memory_object_stream[Any](100)
        for item in sent:
            line_in.send_nowait(item)
        line_in.close()
        async with mcp_wire.answering(mcp_wire.Streams(reading, writing)) as inner:
            await serve(inner.reading, inner.writing)
        async with line_out:
            return [item.message async for item in line_out]

    with_limit: list[Any] = anyio.run(within, run)
    return with_limit


async def within(run: Callable[[], Awaitable[Any]]) -> Any:
    with anyio.fail_after(20):
        return await run()


async def late(reading: Any, writing: Any) -> None:
    """A server that gives its answers only after all is read, and is cut off with its input."""

    async def answer(identity: int) -> None:
        for _ in range(50):
            await anyio.lowlevel.checkpoint()
        await writing.send(answered(identity))

    async with anyio.create_task_group() as tasks, reading, writing:
        async for item in reading:
            if isinstance(item.message, types.JSONRPCRequest):
                tasks.start_soon(answer, item.message.id)
        tasks.cancel_scope.cancel()


def test_what_was_asked_before_the_input_ended_is_answered() -> None:
    assert sorted(message.id for message in spoken(late, *map(asked, range(10)))) == list(range(10))


def test_nobody_waits_for_what_was_cancelled() -> None:
    async def deaf(reading: Any, writing: Any) -> None:
        async with reading, writing:
            async for _ in reading:
                pass

    assert spoken(deaf, asked(1), cancelled(1)) == []


def test_an_answer_that_never_comes_holds_the_end_up_only_so_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def deaf(reading: Any, writing: Any) -> None:
        async with reading, writing:
            async for _ in reading:
                pass

    monkeypatch.setattr(mcp_wire, "PATIENCE", 0.0)
    assert spoken(deaf, asked(1)) == []


def test_a_broken_line_is_answered_and_the_next_one_too() -> None:
    first, second = spoken(late, broken("{bad"), asked(2))
    assert (first.id, first.error.code) == (None, -32700)
    assert second.id == 2


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        ("[]", None),
        ("3", None),
        ('{"jsonrpc": "2.0", "id": 5}', 5),
        ('{"id": "a", "method": "ping"}', "a"),
        ('{"id": true, "method": "ping"}', None),
        ('{"id": {}, "params": 1}', None),
    ],
)
def test_json_that_is_no_message_is_refused_by_its_id(line: str, identity: object) -> None:
    (refused,) = spoken(late, broken(line))
    assert (refused.id, refused.error.code) == (identity, -32600)


def test_a_blank_line_is_nothing() -> None:
    assert spoken(late, broken("\n"), broken("  \n")) == []


def test_an_error_of_another_kind_is_refused_too() -> None:
    refused = mcp_wire.refusal(OSError("gone"))
    assert refused is not None
    assert refused.error.code == -32600
