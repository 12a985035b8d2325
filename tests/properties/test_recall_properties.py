"""Whatever a model asks: an answer in its own schema and budget, or an error with a way out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexer import config
from indexer.config import Config
from indexer.errors import IndexerError
from indexer.recall import tools
from indexer.recall.answers import BUDGET
from indexer.recall.tools import KINDS, TOOLS, Tool
from indexer.store.connection import open_writer
from indexer.store.migrations import migrate
from indexer.text import token_estimate

FIXTURES = Path(__file__).parent.parent / "fixtures"
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Config:
    home = tmp_path_factory.mktemp("memory") / "home"
    conn = open_writer(home)
    migrate(conn)
    conn.executescript((FIXTURES / "memory.sql").read_text(encoding="utf-8"))
    conn.execute("UPDATE tool_uses SET tool_response = ? WHERE id = 2", ("long " * 20_000,))
    conn.close()
    return config.load(home, (), {})


names = st.one_of(
    st.sampled_from(KINDS).flatmap(lambda kind: st.integers(0, 9).map(lambda number: f"{kind}:{number}")),
    st.sampled_from(["8c1f0a52-0000-4000-8000-000000000001", "33333333", "session:4444", "1", "x"]),
    st.text(max_size=20),
)
words = st.one_of(
    st.sampled_from(["timeout", '"auth timeout"', "-redis test", "修改", "title:Bash", ""]), st.text(max_size=30)
)
times = st.sampled_from(["2026-11-20", "2026-11-21T10:00Z", "3d", "now", "soon", ""])
VALUES = {
    "query": words,
    "id": names,
    "ids": st.lists(names, min_size=1, max_size=4),
    "project": st.sampled_from(["shop-api", "Notes", ".", "tools", "/home/dev/notes", "", "~", "\0"]),
    "session": names,
    "kind": st.lists(st.sampled_from(KINDS), max_size=3),
    "since": times,
    "until": times,
    "cursor": st.sampled_from(["", "5.00000000", "x"]),
    "status": st.sampled_from(["open", "all"]),
}


def value(name: str, rule: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if rule["type"] == "integer":
        return st.integers(rule["minimum"], rule["maximum"])
    if name == "kind" and rule["type"] == "string":
        return st.sampled_from(rule["enum"])
    return VALUES.get(name, st.text(max_size=10))


@st.composite
def calls(draw: st.DrawFn) -> tuple[Tool, dict[str, Any]]:
    """A tool with arguments that fit its schema."""
    tool = draw(st.sampled_from(TOOLS))
    optional = {name: value(name, rule) for name, rule in tool.schema["properties"].items()}
    needed = {name: optional.pop(name) for name in tool.schema.get("required", ())}
    return tool, draw(st.fixed_dictionaries(needed, optional=optional))


def fits(schema: Mapping[str, Any], given: Any) -> bool:
    """Whether a value has the types of its schema, as far as we write schemas."""
    if not isinstance(given, TYPES[schema["type"]]):
        return False
    if isinstance(given, list):
        return all(fits(schema["items"], one) for one in given)
    if isinstance(given, dict):
        known = schema.get("properties", {})
        whole = set(schema.get("required", ())) <= given.keys()
        return whole and all(fits(known[name], one) for name, one in given.items() if name in known)
    return True


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls())
def test_every_call_is_answered_or_refused_with_a_way_out(memory: Config, call: tuple[Tool, dict[str, Any]]) -> None:
    tool, arguments = call
    refused: IndexerError | None = None
    answer: dict[str, Any] = {}
    try:
        answer = tools.call(memory, tool.name, arguments)
    except IndexerError as error:
        refused = error
    assert refused is None or (refused.message and refused.hint)
    assert refused is not None or fits(tool.output, answer)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(call=calls())
def test_no_answer_passes_what_the_client_takes(memory: Config, call: tuple[Tool, dict[str, Any]]) -> None:
    """One entry may be larger than the budget, since it cannot be divided; never two."""
    tool, arguments = call
    try:
        answer = tools.call(memory, tool.name, arguments)
    except IndexerError:
        return
    assert token_estimate(json.dumps(answer, ensure_ascii=False)) <= BUDGET + 2_000 or len(answer["results"]) == 1


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tool=st.sampled_from(["search", "recent", "timeline"]), limit=st.integers(1, 4), query=words)
def test_pages_give_everything_once(memory: Config, tool: str, limit: int, query: str) -> None:
    whole = {
        "search": {"query": query, "limit": 50},
        "recent": {"kind": "tool_use", "limit": 50},
        "timeline": {"id": "8c1f0a52-0000-4000-8000-000000000001", "before": 0, "after": 50},
    }[tool]
    small = whole | ({"after": limit - 1} if tool == "timeline" else {"limit": limit})
    wanted = [one["id"] for one in tools.call(memory, tool, whole)["results"]]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        page = tools.call(memory, tool, small | {"cursor": cursor or None})
        seen += [one["id"] for one in page["results"]]
        cursor = page.get("next_cursor")
    assert seen == wanted
