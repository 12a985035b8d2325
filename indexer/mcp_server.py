"""The MCP server: the tools of `recall` over the SDK's stdio transport, and nothing else.

The SDK's low-level server, since the schemas are ours: written by hand they take half the room of generated
ones. Importing the SDK costs 0.7 s of CPU, most of it pydantic building every message type, so nothing but
this command loads it.

Standard output is the wire. What a library prints goes to standard error: from before the SDK is imported
(cli/mcp.py) to the end (the SDK moves the wire to a descriptor of its own).

Over HTTP, when asked for, only this machine is listened to, the SDK refuses foreign Host and Origin headers
(a page in a browser must not read the memory by way of DNS), and a token is wanted: other users of the machine
can reach a port, but not read a file of mode 0600.

Searches run in a few threads, so that a slow one does not hold up the others; more than a few would only
wait for the same disk and the same interpreter.
"""

from __future__ import annotations

import functools
import hmac
import json
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import anyio
import anyio.to_thread
import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from indexer import mcp_wire
from indexer.config import APP, Config
from indexer.errors import IndexerError
from indexer.recall import tools

THREADS = 4
LOOPBACK = "127.0.0.1"
URI = "memory://observation/{id}"
_SCHEME = "memory://"
_INVALID_PARAMS = -32602


def serve(config: Config, wire: int) -> None:
    """Answer on standard input and on the descriptor `wire`, which is nobody else's, until the client goes."""
    anyio.run(_serve, config, wire)


def serve_http(config: Config, port: int, token: str) -> None:
    """Answer on http://127.0.0.1:port/mcp, to those who know the token, until interrupted."""
    uvicorn.run(http_app_of(make(config), token), host=LOOPBACK, port=port, log_level="warning", access_log=False)


def http_app_of(server: Server[Any], token: str) -> Any:
    """The ASGI application: streamable HTTP behind the token. Stateless, since every tool only reads."""
    app = server.streamable_http_app(host=LOOPBACK, stateless_http=True, json_response=True)
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not hmac.compare_digest(given, wanted):
            await send({"type": "http.response.start", "status": 401, "headers": [(b"www-authenticate", b"Bearer")]})
            await send(
                {"type": "http.response.body", "body": b"a token is wanted: see `transcript-indexer mcp --help`"}
            )
            return
        await app(scope, receive, send)

    return guarded


async def _serve(config: Config, wire: int) -> None:
    server = make(config)
    async with mcp_wire.stdio(wire) as streams:
        await server.run(streams.reading, streams.writing, server.create_initialization_options())


def make(config: Config) -> Server[Any]:
    """The server, connected to nothing yet."""
    limiter: list[anyio.CapacityLimiter] = []

    async def apart(work: Callable[[], Any]) -> Any:
        if not limiter:  # belongs to a running event loop
            limiter.append(anyio.CapacityLimiter(THREADS))
        return await anyio.to_thread.run_sync(work, limiter=limiter[0])

    async def call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        return _result(await apart(functools.partial(_answer, config, params.name, params.arguments)))

    async def read(_: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        answer = await apart(functools.partial(_resource, config, str(params.uri)))
        if isinstance(answer, IndexerError):
            raise MCPError(_INVALID_PARAMS, _sentence(answer))
        content = types.TextResourceContents(uri=params.uri, mime_type="application/json", text=_json(answer))
        return types.ReadResourceResult(contents=[content])

    return Server(
        APP,
        version=version(APP),
        instructions=tools.INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=call_tool,
        on_list_resources=_no_resources,
        on_list_resource_templates=_templates,
        on_read_resource=read,
    )


async def _list_tools(*_: Any) -> types.ListToolsResult:
    return types.ListToolsResult(tools=listed())


def listed() -> list[types.Tool]:
    """The tools as the client is told of them. All only read, what is on this machine, and may be repeated."""
    hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.schema,
            output_schema=tool.output,
            annotations=hints,
        )
        for tool in tools.TOOLS
    ]


async def _no_resources(*_: Any) -> types.ListResourcesResult:
    return types.ListResourcesResult(resources=[])


async def _templates(*_: Any) -> types.ListResourceTemplatesResult:
    about = "An observation in whole; also memory://prompt/{id}, summary, assistant and tool_use"
    template = types.ResourceTemplate(
        name="observation", uri_template=URI, description=about, mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


# --- one call ---------------------------------------------------------------------------------------


def _answer(config: Config, name: str, given: dict[str, Any] | None) -> dict[str, Any] | IndexerError:
    try:
        return tools.call(config, name, given)
    except IndexerError as error:
        return error


def _resource(config: Config, uri: str) -> dict[str, Any] | IndexerError:
    try:
        return tools.resource(config, uri.removeprefix(_SCHEME))
    except IndexerError as error:
        return error


def _result(answer: dict[str, Any] | IndexerError) -> types.CallToolResult:
    """What the model reads. The SDK hides the text of exceptions; a deliberate error is for the model, which
    can do better with it."""
    if isinstance(answer, IndexerError):
        return types.CallToolResult(content=[types.TextContent(text=_sentence(answer))], is_error=True)
    return types.CallToolResult(content=[types.TextContent(text=_json(answer))], structured_content=answer)


def _sentence(error: IndexerError) -> str:
    return f"{error.message}. Hint: {error.hint}" if error.hint else error.message


def _json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
