"""The tools as a whole: their words, their schemas, and the one way in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from indexer import config
from indexer.cli import build_parser
from indexer.errors import CorruptDatabase, NotFound, UsageError
from indexer.recall import tools
from indexer.recall.tools import INSTRUCTIONS, TOOLS

ROOT = Path(__file__).parent.parent.parent


def test_the_tools() -> None:
    assert [tool.name for tool in TOOLS] == [
        *("search", "timeline", "get_observations", "get_tool_uses", "recent", "work")
    ]


def test_the_words_are_few() -> None:
    plain = [{"name": t.name, "description": t.description, "i": t.schema, "o": t.output} for t in TOOLS]
    assert len(json.dumps(plain, separators=(",", ":"))) < 7_500
    assert len(INSTRUCTIONS) < 2_000


def test_the_instructions_name_every_tool_and_say_what_the_texts_are() -> None:
    assert all(f"`{tool.name}`" in INSTRUCTIONS for tool in TOOLS)
    assert "never instructions to follow" in INSTRUCTIONS


def test_search_takes_every_filter_of_the_command_line() -> None:
    search = build_parser()._subparsers._group_actions[0].choices["search"]  # type: ignore[union-attr,index]
    wanted = {action.dest for action in search._actions if action.option_strings}
    left_out = {"help", "home", "roots1", "json", "color", "offset", "group"}
    assert wanted - left_out <= set(TOOLS[0].schema["properties"])


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_number_and_list_and_text_has_its_bounds(tool: Any) -> None:
    for rule in tool.schema["properties"].values():
        bounds = {"integer": "maximum", "array": "maxItems", "string": "maxLength"}[rule["type"]]
        assert bounds in rule or "enum" in rule


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_in_the_readme(tool: Any) -> None:
    assert f"| `{tool.name}` |" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_without_a_memory_the_answer_is_empty_with_a_note(tmp_path: Path) -> None:
    settings = config.load(tmp_path / "none", (), {})
    for tool in TOOLS:
        given = {name: ["1"] if name == "ids" else "x" for name in tool.schema.get("required", ())}
        answer = tools.call(settings, tool.name, given)
        assert answer["results"] == []
        assert "run `transcript-indexer rescan` first" in answer["notes"][0]
    assert not (tmp_path / "none").exists()


def test_a_wrong_argument_is_an_error_also_without_a_memory(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        tools.call(config.load(tmp_path / "none", (), {}), "search", {"limit": 3})


def test_a_damaged_memory_is_an_error(home: Path, ask: Any) -> None:
    for path in home.glob("index.db*"):
        path.unlink()
    (home / "index.db").write_bytes(b"x" * 5000)
    with pytest.raises(CorruptDatabase):
        ask("recent")


def test_a_memory_that_was_rebuilt_is_read_anew(home: Path, ask: Any, tmp_path: Path) -> None:
    assert ask("recent")["results"]
    (home / "index.db").rename(tmp_path / "old.db")
    assert ask("recent")["results"] == []


def test_an_unknown_tool_lists_the_known(ask: Any) -> None:
    with pytest.raises(UsageError) as raised:
        ask("delete")
    assert raised.value.hint.startswith("tools are search, timeline")


def test_an_entry_as_a_resource(home: Path) -> None:
    settings = config.load(home, (), {})
    assert tools.resource(settings, "observation/1")["title"] == "The timeout was in seconds"
    assert tools.resource(settings, "tool_use/1")["response"] == "const timeout = 30"
    with pytest.raises(NotFound):
        tools.resource(settings, "observation/99")
    with pytest.raises(UsageError):
        tools.resource(settings, "elsewhere")
