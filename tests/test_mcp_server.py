"""The MCP server, asked by the SDK's own client: within the process, and over real pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

anyio = pytest.importorskip("anyio")
pytest.importorskip("mcp")

from mcp import Client  # noqa: E402 - only where it is installed
from mcp.shared.exceptions import MCPError  # noqa: E402

from indexer import config, mcp_server  # noqa: E402
from indexer.recall.tools import INSTRUCTIONS, TOOLS  # noqa: E402
from indexer.store.connection import open_writer, transaction  # noqa: E402
from indexer.store.migrations import migrate  # noqa: E402

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    conn = open_writer(tmp_path / "memory")
    migrate(conn)
    conn.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    conn.close()
    return tmp_path / "memory"


def with_client(home: Path, work: Callable[[Client], Awaitable[Any]]) -> Any:
    """What `work` returns, done with a client of the server of this memory."""

    async def run() -> Any:
        async with Client(mcp_server.make(config.load(home, (), {}))) as client:
            return await work(client)

    return anyio.run(run)


def call(home: Path, name: str, **given: Any) -> Any:
    return with_client(home, partial(_call, name=name, given=given))


async def _call(client: Client, name: str, given: dict[str, Any]) -> Any:
    return await client.call_tool(name, given)


def tell(home: Path) -> Any:
    async def listing(client: Client) -> Any:
        return await client.list_tools()

    return with_client(home, listing)


def test_every_tool_is_listed_with_its_schemas(home: Path) -> None:
    found = {tool.name: tool for tool in tell(home).tools}
    assert found.keys() == {tool.name for tool in TOOLS}
    assert all(found[tool.name].input_schema == tool.schema for tool in TOOLS)
    assert all(found[tool.name].output_schema == tool.output for tool in TOOLS)


def test_every_tool_only_reads_and_what_is_here(home: Path) -> None:
    hints = [tool.annotations for tool in tell(home).tools]
    assert {(h.read_only_hint, h.open_world_hint, h.idempotent_hint) for h in hints} == {(True, False, True)}


def test_the_list_of_tools_is_small(home: Path) -> None:
    assert len(tell(home).model_dump_json(by_alias=True, exclude_none=True)) <= 8_000


def test_the_instructions_are_given(home: Path) -> None:
    async def instructions(client: Client) -> Any:
        return client.instructions

    assert with_client(home, instructions) == INSTRUCTIONS


ASKED = [
    ("search", {"query": "timeout"}, "tool_use:3"),
    ("timeline", {"id": "prompt:1"}, "prompt:1"),
    ("get_observations", {"ids": ["1"]}, "observation:1"),
    ("get_tool_uses", {"ids": ["1"]}, "tool_use:1"),
    ("recent", {"kind": "prompt"}, "prompt:6"),
]


@pytest.mark.parametrize(("name", "given", "first"), ASKED)
def test_every_tool_answers_in_its_own_schema(home: Path, name: str, given: dict[str, Any], first: str) -> None:
    """The client itself checks the answer against the output schema."""
    answer = call(home, name, **given)
    assert not answer.is_error
    assert answer.structured_content["results"][0]["id"] == first
    assert json.loads(answer.content[0].text) == answer.structured_content


def test_work_answers_too(home: Path) -> None:
    (item,) = call(home, "work").structured_content["results"]
    assert (item["project"], item["fields"]["subject"]) == ("shop-api", "Test the timeout")


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("search", {}, "query is missing. Hint: give a text"),
        ("search", {"query": "x", "limit": 51}, "limit cannot be 51. Hint: give a whole number from 1 to 50"),
        ("search", {"query": "x", "kind": ["promt"]}, "Hint: give one of prompt, command"),
        ("search", {"query": "x", "project": "shop-apy"}, "did you mean shop-api"),
        ("search", {"query": "x", "since": "soon"}, "is not a time I can read"),
        ("search", {"query": "x", "cursor": "1.x"}, "does not belong to this call"),
        ("timeline", {"id": "zzz"}, "nothing has the id 'zzz'"),
        ("timeline", {"id": "prompt:1", "before": 51}, "from 0 to 50"),
        ("get_observations", {"ids": []}, "give 1 to 50 of"),
        ("get_observations", {"ids": ["1"], "max_chars": 99}, "from 100 to 65536"),
        ("get_tool_uses", {"ids": ["x"]}, "as tool_use:12"),
        ("recent", {"kind": "all"}, "one of session, prompt"),
        ("work", {"status": "done"}, "one of open, all"),
    ],
)
def test_every_error_reaches_the_model_with_a_way_out(home: Path, name: str, given: Any, said: str) -> None:
    answer = call(home, name, **given)
    assert answer.is_error
    assert said in answer.content[0].text


MINIMAL: dict[str, Any] = {"work": {}, **{name: given for name, given, _ in ASKED}}


def bounds() -> Iterator[tuple[str, str, Any, bool]]:
    """Of every argument of every tool that has a bound: a value on it, and one beyond it."""
    for tool in TOOLS:
        for name, rule in tool.schema["properties"].items():
            if "minimum" in rule:
                low, high = rule["minimum"], rule["maximum"]
                yield from ((tool.name, name, value, value in (low, high)) for value in (low - 1, low, high, high + 1))
            if "maxLength" in rule:
                yield tool.name, name, "x" * (rule["maxLength"] + 1), False
            if "enum" in rule:
                yield from ((tool.name, name, value, True) for value in rule["enum"])
                yield tool.name, name, "nothing", False
            if "maxItems" in rule:
                fit = rule["items"].get("enum", ["1"])[:1]
                yield tool.name, name, fit * rule["maxItems"], True
                yield tool.name, name, fit * (rule["maxItems"] + 1), False
                yield tool.name, name, ["x" * 400], False


def test_every_bound_of_every_tool_holds(home: Path) -> None:
    async def ask_all(client: Client) -> list[str]:
        return [
            f"{tool} {name}={value!r:.40}: {answer.content[0].text:.80}"
            for tool, name, value, fits in bounds()
            for answer in [await client.call_tool(tool, MINIMAL[tool] | {name: value})]
            if fits is answer.is_error or (not fits and f"{name} cannot be" not in answer.content[0].text)
        ]

    assert len({tool for tool, *_ in bounds()}) == len(TOOLS)
    assert with_client(home, ask_all) == []


def test_an_unknown_tool_is_an_error(home: Path) -> None:
    answer = call(home, "delete_everything")
    assert answer.is_error
    assert "tools are search" in answer.content[0].text


def test_without_a_memory_there_is_a_note(tmp_path: Path) -> None:
    answer = call(tmp_path / "none", "search", query="x")
    assert not answer.is_error
    assert "there is no memory yet" in answer.structured_content["notes"][0]


def read(home: Path, uri: str) -> Any:
    async def reading(client: Client) -> Any:
        return await client.read_resource(uri)

    return with_client(home, reading)


def test_an_observation_is_a_resource(home: Path) -> None:
    (content,) = read(home, "memory://observation/1").contents
    assert (content.mime_type, json.loads(content.text)["id"]) == ("application/json", "observation:1")


def test_a_resource_holds_lists_and_no_json_in_texts(home: Path) -> None:
    one = json.loads(read(home, "memory://observation/1").contents[0].text)
    assert (one["facts"], one["tool_uses"]) == (["30 s"], ["tool_use:1"])
    assert [name for name, value in one.items() if isinstance(value, str) and value[:1] in "[{"] == []


def test_a_resource_that_is_not_there_is_said(home: Path) -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(MCPError, match="there is no observation:99"), flatten_subgroups=True):
        read(home, "memory://observation/99")


def test_the_template_of_resources_is_listed(home: Path) -> None:
    async def templates(client: Client) -> Any:
        return (await client.list_resource_templates()).resource_templates, (await client.list_resources()).resources

    (template,), resources = with_client(home, templates)
    assert (template.uri_template, resources) == ("memory://observation/{id}", [])


def test_200_searches_while_a_writer_appends_1000_lines(home: Path) -> None:
    async def search(client: Client, answers: list[Any]) -> None:
        answers.append(await client.call_tool("search", {"query": "timeout"}))

    async def all_at_once(client: Client) -> list[Any]:
        answers: list[Any] = []
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, append, home)
            for _ in range(200):
                group.start_soon(search, client, answers)
        return answers

    answers = with_client(home, all_at_once)
    assert len(answers) == 200
    assert not any(answer.is_error for answer in answers)


def append(home: Path) -> None:
    conn = open_writer(home)
    for number in range(1000):
        with transaction(conn):
            conn.execute(
                "INSERT INTO search_texts (id, kind, session_db_id, body) VALUES (?, 'prompt', 1, 'timeout again')",
                (80_000 + number * 8,),
            )
    conn.close()


# --- over pipes


def spoken(home: Path, *messages: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """What a process of its own answers to these lines."""
    text = "".join(json.dumps({"jsonrpc": "2.0"} | message) + "\n" for message in messages)
    words = [sys.executable, "-m", "indexer", "mcp", "--home", str(home)]
    return subprocess.run(words, input=text, capture_output=True, text=True, timeout=60)


HELLO = {
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
READY = {"method": "notifications/initialized"}


def test_a_process_answers_and_ends_with_its_client(home: Path) -> None:
    done = spoken(home, HELLO, READY, {"id": 2, "method": "tools/list"})
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["id"] for line in lines] == [1, 2]
    assert (done.returncode, len(done.stdout.splitlines()[1]) <= 8_192) == (0, True)


def test_all_that_was_asked_is_answered_though_the_client_has_closed_its_end(home: Path) -> None:
    search = {"method": "tools/call", "params": {"name": "search", "arguments": {"query": "timeout"}}}
    done = spoken(home, HELLO, READY, *({"id": number} | search for number in range(2, 12)))
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == list(range(1, 12))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_line_that_is_no_json_is_answered_and_the_server_goes_on(home: Path) -> None:
    words = [sys.executable, "-m", "indexer", "mcp", "--home", str(home)]
    text = "".join(json.dumps({"jsonrpc": "2.0"} | one) + "\n" for one in (HELLO, READY))
    text += '{"bad\n' + json.dumps({"jsonrpc": "2.0", "id": 2, "method": "ping"})
    done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=60)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted((str(line["id"]), line.get("error", {}).get("code", 0)) for line in lines) == [
        ("1", 0),
        ("2", 0),
        ("None", -32700),
    ]


def test_what_a_library_prints_is_not_on_the_wire(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Printed while it is imported, and again by every search: by Python, and below it."""
    (tmp_path / "noise").mkdir()
    (tmp_path / "noise" / "sitecustomize.py").write_text(
        "import builtins, os, sys\n"
        "real = builtins.__import__\n"
        "def loud(name, *rest, **more):\n"
        "    if 'mcp' in sys.modules or name.startswith('mcp'):\n"
        "        print('noise'); sys.stdout.flush(); os.write(1, b'more noise\\n')\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = loud\n"
    )
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'noise'}:{Path(__file__).parent.parent}")
    done = spoken(home, HELLO, READY, {"id": 2, "method": "tools/call", "params": {"name": "recent", "arguments": {}}})
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == [1, 2]
    assert "more noise" in done.stderr


# --- by HTTP


CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "recent", "arguments": {"limit": 1}},
}


def post(home: Path, **changed: str) -> tuple[int, str]:
    """Status and body of one call with these headers, spoken to the application itself."""
    headers = {"host": "127.0.0.1:8123", "authorization": "Bearer secret", "content-type": "application/json"}
    headers |= {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"} | changed
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(CALL).encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope: dict[str, Any] = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "query_string": b"",
        "headers": raw,
    }
    scope |= {"asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": ""}
    scope |= {"server": ("127.0.0.1", 8123), "client": ("127.0.0.1", 1)}

    async def run() -> None:
        server = mcp_server.make(config.load(home, (), {}))
        app = mcp_server.http_app_of(server, "secret")
        async with server.session_manager.run():
            await app(scope, receive, send)

    anyio.run(run)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]).decode()


def test_who_knows_the_token_is_answered(home: Path) -> None:
    status, body = post(home)
    assert (status, json.loads(body)["result"]["structuredContent"]["results"][0]["project"]) == (200, "Notes")


@pytest.mark.parametrize("given", ["", "Bearer wrong", "secret", "Bearer secret2"])
def test_who_does_not_is_refused(home: Path, given: str) -> None:
    assert post(home, authorization=given)[0] == 401


def test_a_foreign_host_or_origin_is_refused(home: Path) -> None:
    assert post(home, host="evil.example")[0] == 421
    assert post(home, origin="http://evil.example")[0] == 403
